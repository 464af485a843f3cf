"""The objects of several models that share kernels and constants: one for these, and one for each model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

from ..ir.identity import model_id
from ..ir.program import Program
from ..targets import Machine
from . import backend
from .coded import with_known_blocks
from .entry import EntryWriter, ModuleOptions, constant_symbol
from .guard import word_definition
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

Split = Callable[[Program], Sequence[Program]]
"""Takes the program of a library apart into those of its models."""


def linked_objects(whole: Program, split: Split, machine: Machine) -> list[tuple[str, bytes]]:
    """``LIBRARY.o`` with the kernels and ``LIBRARY_data.o`` with the constants of ``whole``, ``MODEL.o`` for each
    model, and ``LIBRARY_runtime.o`` where the machine lacks something."""
    known, how = with_known_blocks(whole, machine), module_options(whole, machine)
    identities = [model_id(model) for model in split(whole)]
    models = [replace(model, identity=each) for model, each in zip(split(known), identities, strict=True)]

    def compiled(text: str) -> bytes:
        return generator_for(machine).emit_object(optimized_module(text, whole, machine))

    objects = [(f"{whole.name}.o", compiled(_library_text(known, machine, how)))]
    if whole.constants and whole.weights is None:
        objects += constants_objects(whole, machine)
    objects += [(f"{model.name}.o", compiled(_model_text(model, machine, how))) for model in models]
    elsewhere = {symbol for model in models for symbol in linked_besides(model, machine)}
    objects = with_helpers(objects, whole.name, machine, elsewhere)
    return objects if machine.target.hosted else [(name, bare_metal(image, machine)) for name, image in objects]


def _library_text(known: Program, machine: Machine, how: ModuleOptions) -> str:
    functions = kernel_functions(known, machine, how)
    return _module(known.name, machine, [], functions)


def _model_text(model: Program, machine: Machine, how: ModuleOptions) -> str:
    entry = EntryWriter(model, machine, replace(how, external_constants=True))
    guarded = bool(machine.asked_for)
    functions = [*entry.chunks(), *(entry.guarded() if guarded else entry.entries(model.name, ""))]
    functions += entry.besides(guarded)
    declarations = [word_definition(model.name)] if guarded else []
    for kernel in model.kernels:
        types = ", ".join([*["ptr"] * len(kernel.params), *["i32"] * (len(kernel.scalars) + kernel.chunked)])
        declarations.append(f"declare hidden void @{model.owner}_{kernel.name}({types}) nounwind")
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
