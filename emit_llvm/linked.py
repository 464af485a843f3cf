"""The objects of several models that share kernels and constants: one for these, and one for each model.

A library for several CPUs has that for each of them, and an object for each model that chooses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from ..ir.identity import model_id
from ..ir.linked import taken_apart
from ..ir.program import Program
from ..processes import mapped
from ..record import record
from ..targets import Machine
from . import backend
from .coded import with_known_blocks
from .entry import EntryWriter, ModuleOptions, constant_symbol
from .guard import word_definition
from .levels import Level, choosing_object, level_constants, level_suffix
from .module import constant_align, kernel_functions
from .objects import (
    bare_metal,
    constants_objects,
    generator_for,
    linked_besides,
    module_options,
    optimized_module,
    with_helpers,
)
from .placement import comdats
from .writer import Function

Objects = list[tuple[str, bytes]]


@record
class LinkedLevel:
    """The code of a library for one of the CPUs of an ABI: all kernels and constants as ``whole``, and the programs of
    those models that have code for this CPU, by the names of the models. The programs have names of their own."""

    machine: Machine
    whole: Program
    models: Mapping[str, Program]

    @property
    def suffix(self) -> str:
        """What the names of its files and symbols end in."""
        return level_suffix(self.machine)

    def printed(self) -> dict[str, Program]:
        """The programs of the models as they are printed, by the names of the models."""
        return dict(zip(self.models, printed_models(self.whole, [*self.models.values()], self.machine), strict=True))


def levels_of(name: str, levels: Sequence[LinkedLevel]) -> list[Level]:
    """The programs of the model ``name``, the most demanding first."""
    return [Level(level.machine, level.models[name]) for level in levels if name in level.models]


def printed_models(whole: Program, models: Sequence[Program], machine: Machine) -> list[Program]:
    """The models of a library as they are printed for ``machine``, with their identities."""
    printed = taken_apart(with_known_blocks(whole, machine), models)
    return [replace(each, identity=model_id(model)) for each, model in zip(printed, models, strict=True)]


def linked_objects(whole: Program, models: Sequence[Program], machine: Machine) -> Objects:
    """``LIBRARY.o`` with the kernels and ``LIBRARY_data.o`` with the constants of ``whole``, ``MODEL.o`` for each
    model, and ``LIBRARY_runtime.o`` where the machine lacks something."""
    objects = _code(whole, models, machine, chosen=False)
    if whole.constants and whole.weights is None:
        objects += constants_objects(whole, machine)
    elsewhere = {symbol for model in models for symbol in linked_besides(model, machine)}
    objects = with_helpers(objects, whole.name, machine, elsewhere)
    return objects if machine.target.hosted else [(name, bare_metal(image, machine)) for name, image in objects]


def linked_level_objects(whole: Program, models: Sequence[Program], levels: Sequence[LinkedLevel]) -> Objects:
    """``MODEL.o`` for each model, which chooses among the ``levels`` that it has; ``LIBRARY_LEVEL.o`` and
    ``MODEL_LEVEL.o`` with the code of each; ``LIBRARY_data.o`` with the constants of all; and ``LIBRARY_runtime.o``
    where the machines lack something. ``models`` are what callers see, ``levels`` begin with the most demanding."""
    objects = [(f"{model.name}.o", choosing_object(model, levels_of(model.name, levels))) for model in models]
    objects += chain.from_iterable(mapped(_level_code, levels))
    objects += level_constants(whole.name, [Level(level.machine, level.whole) for level in levels])
    most, least = levels[0].machine, levels[-1].machine
    elsewhere = {symbol for level in levels for each in level.models.values() for symbol in linked_besides(each, most)}
    return with_helpers(objects, whole.name, least, elsewhere)


def _level_code(level: LinkedLevel) -> Objects:
    return _code(level.whole, [*level.models.values()], level.machine, chosen=True)


def _code(whole: Program, models: Sequence[Program], machine: Machine, *, chosen: bool) -> Objects:
    known, how = with_known_blocks(whole, machine), replace(module_options(whole, machine), chosen=chosen)

    def compiled(text: str) -> bytes:
        return generator_for(machine).emit_object(optimized_module(text, whole, machine))

    printed = printed_models(whole, models, machine)
    objects = [(f"{whole.name}.o", compiled(_library_text(known, machine, how)))]
    return objects + [(f"{model.name}.o", compiled(_model_text(model, machine, how))) for model in printed]


def _library_text(known: Program, machine: Machine, how: ModuleOptions) -> str:
    functions = kernel_functions(known, machine, how)
    return _module(known.name, machine, [], functions)


def _model_text(model: Program, machine: Machine, how: ModuleOptions) -> str:
    entry = EntryWriter(model, machine, replace(how, external_constants=True))
    guarded = bool(machine.asked_for) and not how.chosen
    entries = entry.guarded() if guarded else entry.entries(model.name, "hidden" if how.chosen else "")
    functions = [*entry.chunks(), *entries, *([] if how.chosen else entry.besides(guarded))]
    declarations = [word_definition(model.name)] if guarded else []
    for kernel in model.kernels:
        types = ", ".join([*["ptr"] * len(kernel.params), *["i32"] * (len(kernel.scalars) + kernel.chunked)])
        result = "i32" if kernel.fetches else "void"
        declarations.append(f"declare hidden {result} @{model.owner}_{kernel.name}({types}) nounwind")
    for name, align in constant_align(model, machine).items() if model.weights is None else ():
        size = model.buffers[name].nbytes
        symbol = constant_symbol(model, name)
        declarations.append(f"@{symbol} = external hidden constant [{size} x i8], align {align}")
    return _module(model.name, machine, declarations, functions)


def _module(name: str, machine: Machine, lines: Sequence[str], functions: Sequence[Function]) -> str:
    declarations = sorted(set(chain.from_iterable(function.declarations for function in functions)))
    head = (f'source_filename = "{name}"', f'target triple = "{backend.triple(machine)}"')
    texts = (function.text for function in functions)
    return "\n".join((*head, *comdats(machine, functions), *lines, *declarations, *texts))
