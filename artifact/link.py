"""Several models as one library: folder, reports, and what all of them take together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ..bindings.write import write_bindings
from ..costs.build import build_objects
from ..costs.predict import is_predictable, predict
from ..driver import Compiled, lower_levels
from ..emit_c.artifact import custom_sources
from ..emit_c.linked import linked_headers, linked_sources
from ..emit_c.symbols import assign_symbols
from ..emit_c.weights import write_binary
from ..emit_llvm.entry import exported_symbols
from ..emit_llvm.levels import Level, level_of, level_suffix, with_common_memory
from ..emit_llvm.linked import LinkedLevel, levels_of, linked_level_objects, linked_objects, printed_models
from ..emit_llvm.module import foreign_kernels
from ..errors import CcmlError, ErrorCode
from ..ir.identity import model_id
from ..ir.loops import Invoke
from ..ir.loops_rewrite import walk_stmts
from ..ir.program import Program
from ..program.link import Linked, common_plan, link_programs
from ..record import record
from ..report.build import build_report, weight_bytes
from ..report.routes import objects_route
from ..report.schema import REPORT_FILE, SCHEMA, Firmware, LevelInfo, LibraryTotals, Report, json_text
from ..report.sections import Section, allocated_sections, code_size, sections_of
from ..targets import Machine
from .contents import own_report
from .emit import Emit, Objects, compiled_custom, write_machine_code
from .folder import list_files, publish, staging
from .options import ArtifactOptions
from .weights_apart import with_weights_apart, write_weights

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Library:
    """What :func:`write_library` wrote into ``folder``: the report of each model, and what all of them take."""

    name: str
    folder: Path
    reports: tuple[Report, ...]
    totals: LibraryTotals

    @property
    def firmware(self) -> Firmware:
        """What a page shows of all models."""
        return Firmware(self.name, self.totals)


@record
class LinkedModels(Linked):
    """A library of models; with ``levels``, the most demanding CPU first, its objects have the code of all of them, and
    choose, while the C is ``whole`` and ``models``."""

    levels: tuple[LinkedLevel, ...] = ()

    def machine(self, default: Machine) -> Machine:
        """The machine that asks for most of those that the library has code for."""
        return self.levels[0].machine if self.levels else default


MoreOfLibrary = Callable[[LinkedModels, Sequence[Report], LibraryTotals, Path], None]
"""Writes more files of a library into its folder, which is there but for its own report."""


def link_models(
    name: str, compiled: Sequence[Compiled], *, slices: bool = False, external_weights: bool = False,
    every_cpu: bool = False,
) -> LinkedModels:  # fmt: skip
    """The library ``name`` of models that were lowered for one machine with kernels of their own; with
    ``external_weights`` each takes its constants from a file of its own, with ``every_cpu`` machine code is for all
    CPUs of the ABI. Raises ``BAD_OPTION`` where names clash."""
    models = [each.program.name for each in compiled]
    _check_names([*models, name])
    programs = [replace(each.program, sliced=slices) for each in compiled]
    machine = compiled[0].machine
    linked = link_programs(name, programs, machine, compiled[0].goal)
    levels = _levels(name, compiled, slices) if every_cpu else ()
    _check_names([*models, name, *(f"{own}_{level.suffix}" for level in levels for own in (name, *level.models))])
    if levels:
        common = tuple(with_common_memory(model, levels_of(model.name, levels)) for model in linked.models)
        linked = Linked(replace(linked.whole, plan=common_plan(common)), common)
    found = LinkedModels(linked.whole, linked.models, levels)
    return _with_weights_apart(found, machine) if external_weights else found


def _check_names(names: Sequence[str]) -> None:
    """Raises ``BAD_OPTION`` where two of the models, the library, and their code for a CPU have the same name."""
    for number, own in enumerate(names):
        if own.lower() in (other.lower() for other in names[:number]):
            raise CcmlError(ErrorCode.BAD_OPTION, f"two models, or a model and the library, are called '{own}'",
                            hint="name models as NAME=FILE, and the library with --name")  # fmt: skip


def _levels(name: str, compiled: Sequence[Compiled], slices: bool) -> tuple[LinkedLevel, ...]:
    """The code of the library ``name`` for each CPU that one of the models has a level for."""
    found = {each.program.name: lower_levels(each, shared=False) for each in compiled}
    machines = {level.machine.cpu.name: level.machine for levels in found.values() for level in levels}
    linked = []
    for machine in sorted(machines.values(), key=lambda each: -len(each.cpu.requires)):
        suffix = level_suffix(machine)
        own = {
            model: replace(level.program, name=f"{model}_{suffix}", sliced=slices)
            for model, levels in found.items()
            for level in levels
            if level.machine.cpu.name == machine.cpu.name
        }
        both = link_programs(f"{name}_{suffix}", [*own.values()], machine, compiled[0].goal)
        linked.append(LinkedLevel(machine, both.whole, dict(zip(own, both.models, strict=True))))
    return tuple(linked)


def _with_weights_apart(linked: LinkedModels, machine: Machine) -> LinkedModels:
    """``linked`` with a file of constants for each model, which holds those of all of its levels."""
    models: list[Program] = []
    apart: dict[str, dict[str, Program]] = {level.suffix: {} for level in linked.levels}
    for model in linked.models:
        own = [level for level in linked.levels if model.name in level.models]
        first, *others = with_weights_apart([model, *(level.models[model.name] for level in own)], machine)
        models.append(first)
        for level, other in zip(own, others, strict=True):
            apart[level.suffix][model.name] = other
    levels = (
        replace(level, whole=with_weights_apart([level.whole], machine)[0], models=apart[level.suffix])
        for level in linked.levels
    )
    return LinkedModels(with_weights_apart([linked.whole], machine)[0], tuple(models), tuple(levels))


def write_library(
    linked: LinkedModels, compiled: Sequence[Compiled], kinds: Sequence[Emit], folder: Path,
    languages: Sequence[str] = (), more: MoreOfLibrary | None = None,
) -> Library:  # fmt: skip
    """Writes headers, sources, objects, reports, bindings of each model for ``languages``, and ``more`` of a library
    into ``folder``, all or none."""
    whole = linked.whole
    with staging(folder) as stage:
        objects = _emit(linked, compiled[0].machine, kinds, stage)
        reports = [
            _report(each, model, objects, kinds, linked)
            for each, model in zip(compiled, linked.models, strict=True)
        ]
        for report in reports:
            text = report.to_json()
            (stage / own_report(report.model.name)).write_text(text, encoding="utf-8", newline="\n")
        for model in _identified(linked.models):
            machine = compiled[0].machine
            write_bindings(model, machine, languages, stage, linked=linked.machine(machine))
        totals = _totals(linked, reports, objects)
        if more is not None:
            more(replace(linked, models=_identified(linked.models)), reports, totals, stage)
        _write_index(stage, whole, reports, totals)
        publish(stage, folder)
    return Library(whole.name, folder, tuple(reports), totals)


def _identified(models: Sequence[Program]) -> tuple[Program, ...]:
    """The models with the numbers by which headers and libraries know each other."""
    return tuple(replace(model, identity=model_id(model)) for model in models)


def write_library_sources(linked: Linked, machine: Machine, folder: Path) -> None:
    """Writes the C of a library into ``folder``, in which the time of each layer can be measured."""
    texts, constants = linked_sources(linked.whole, linked.models, machine, layer_hook=True)
    if constants is not None:
        write_binary(constants, folder / f"{linked.whole.name}_weights.bin")
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def _emit(linked: LinkedModels, machine: Machine, kinds: Sequence[Emit], folder: Path) -> Objects | None:
    whole, models, made = linked.whole, linked.models, Emit.OBJECT in kinds or Emit.LIBRARY in kinds
    wholes = [Level(level.machine, level.whole) for level in linked.levels] or [Level(machine, whole)]
    custom = compiled_custom(wholes) if made else []
    if Emit.C in kinds:
        texts, constants = linked_sources(whole, models, machine, custom_apart=custom is None)
        if constants is not None:
            write_binary(constants, folder / f"{whole.name}_weights.bin")
    else:
        texts = linked_headers(whole, models, machine, custom_apart=custom is None)
        texts |= custom_sources(whole, assign_symbols(whole)) if custom is None else {}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    for model in models:
        own = levels_of(model.name, linked.levels)
        write_weights(model.name, [model, *(level.program for level in own)], folder)
    if not made:
        return None
    if linked.levels:
        code = linked_level_objects(whole, models, linked.levels)
    else:
        code = linked_objects(whole, models, machine)
    objects = [*code, *(custom or [])]
    exported = None if custom is None else [symbol for model in models for symbol in exported_symbols(model)]
    most, foreign = linked.machine(machine), bool(foreign_kernels(whole))
    write_machine_code(whole.name, objects, most, kinds, folder, exported, foreign)
    return objects


def _report(
    compiled: Compiled, model: Program, objects: Objects | None, kinds: Sequence[Emit], linked: LinkedModels
) -> Report:
    """What one model takes, as if the others were not there."""
    machine, costs, sections = compiled.machine, None, None
    identity = compiled.source.identity([kind.value for kind in kinds], compiled.goal)
    given = ArtifactOptions(external_weights=model.weights is not None)
    identity = replace(identity, options=replace(identity.options, slices=model.sliced, weights=given.weights))
    printed = printed_models(linked.whole, linked.models, machine)[linked.models.index(model)]
    parts = [(level, level.printed()[model.name]) for level in linked.levels if model.name in level.models]
    if objects is not None:
        sections = list(_own_sections(printed, machine, parts, objects))
        if is_predictable(printed, machine):
            log.info("predicting costs")
            costs = predict(printed, machine, build_objects(printed, machine, objects))
    graphs = compiled.source.graph, compiled.optimized
    report = build_report(identity, *graphs, printed, machine, sections, costs)
    return replace(report, levels=[_level_info(level, part, objects) for level, part in parts])


def _own_sections(
    model: Program, machine: Machine, parts: Sequence[tuple[LinkedLevel, Program]], objects: Objects
) -> Iterator[Section]:
    """The sections of a library that a program with one of its models takes in; those of the level that ``machine``
    runs by the names that they would have alone."""
    beside = {f"{model.owner}_runtime.o", *(f"{symbol}.o" for symbol in foreign_kernels(model))}
    for _, part in parts:
        beside |= {f"{part.name}.o", *(f"{symbol}.o" for symbol in foreign_kernels(part))}
    for file, image in objects:
        if file in beside or file == f"{model.name}.o":
            yield from allocated_sections(image)
        elif file == f"{model.owner}_data.o":
            constants = _different([part for _, part in parts] or [model])
            yield from (replace(section, size=constants) for section in allocated_sections(image))
        elif file == f"{model.owner}.o":
            yield from _of_kernels(model, image)
    images, run = dict(objects), level_of([Level(level.machine, part) for level, part in parts], machine)
    for _, part in parts:
        for section in _of_kernels(part, images[f"{part.owner}.o"]):
            begins, own = f".text.{part.owner}_", f".text.{model.owner}_"
            named = run is not None and part is run.program
            yield replace(section, name=section.name.replace(begins, own, 1)) if named else section


def _of_kernels(program: Program, image: bytes) -> Iterator[Section]:
    """The sections of the library's object of kernels that the model ``program`` takes in."""
    begins = f".text.{program.owner}_"
    own = {f"{begins}{name}" for name in _functions(program)}
    for section in allocated_sections(image):
        if not section.executable or section.name in own or not section.name.startswith(begins):
            yield section


def _different(programs: Sequence[Program]) -> int:
    """Bytes of constants, those that are equal counted once."""
    arrays = (array for program in programs for array in program.constants.values())
    return sum({array.tobytes(): array.nbytes for array in arrays}.values())


def _level_info(level: LinkedLevel, part: Program, objects: Objects | None) -> LevelInfo:
    """What the code of a model for one of several CPUs takes."""
    code, images = None, dict(objects or [])
    if objects is not None:
        code = code_size(sections_of([("", images[f"{part.name}.o"])]))
        code += code_size(_of_kernels(part, images[f"{part.owner}.o"]))
    return LevelInfo(
        cpu=level.machine.cpu.name,
        requires=sorted(level.machine.cpu.requires),
        arena_bytes=sum(pool.size for pool in part.plan.pools),
        weight_bytes=sum(array.nbytes for array in part.constants.values()),
        code_bytes=code,
    )


def _totals(
    linked: LinkedModels, reports: Sequence[Report], objects: Objects | None
) -> LibraryTotals:
    whole, own = linked.whole, [_functions(model) for model in linked.models]
    route = None if objects is None else objects_route(sections_of(objects))
    return LibraryTotals(
        ram_bytes=sum(pool.ram for pool in whole.plan.pools),
        arena_bytes=sum(pool.size for pool in whole.plan.pools),
        arena_align=max(pool.align for pool in whole.plan.pools),
        state_bytes=sum(report.totals.state_bytes for report in reports),
        weight_bytes=_different([level.whole for level in linked.levels]) if linked.levels else weight_bytes(whole),
        code_bytes=None if route is None else route.code_bytes,
        flash_bytes=None if route is None else route.flash_bytes,
        kernels=len(_functions(whole)),
        shared_kernels=sum(sum(name in each for each in own) > 1 for name in _functions(whole)),
    )


def _functions(program: Program) -> set[str]:
    """The kernels of a program, and the block instructions that they invoke."""
    invoked = (stmt for kernel in program.kernels for stmt in walk_stmts(kernel.body) if isinstance(stmt, Invoke))
    return {*(kernel.name for kernel in program.kernels), *(stmt.block for stmt in invoked)}


def _write_index(stage: Path, whole: Program, reports: Sequence[Report], totals: LibraryTotals) -> None:
    """The report of the library, which names those of its models."""
    target = reports[0].target
    content = {
        "schema": SCHEMA,
        "ccml": reports[0].ccml,
        "model": {"name": whole.name},
        "target": asdict(target),
        "totals": asdict(totals),
        "linked": {report.model.name: own_report(report.model.name) for report in reports},
        "files": [asdict(file) for file in list_files(stage)],
    }
    (stage / REPORT_FILE).write_text(json_text(content), encoding="utf-8", newline="\n")
