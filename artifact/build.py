"""Programs -> the files of the output folder, report.json among them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from ..costs.build import build_c, build_objects, has_compiler
from ..costs.predict import Costs, is_predictable, predict
from ..driver import Compiled, lower_levels
from ..emit_c.makefile import MAKEFILE
from ..emit_llvm.levels import Level, level_of, with_common_memory
from ..errors import CcmlError, ErrorCode
from ..ir.graph import Graph
from ..ir.identity import model_id
from ..ir.program import Program
from ..program.placing import WEIGHTS, placed
from ..record import record
from ..report.accuracy import Accuracy
from ..report.build import Identity, build_report
from ..report.routes import route_of
from ..report.schema import LevelInfo, Report, Route
from ..report.sections import Section, code_size, sections_of
from ..targets import Machine
from .contents import Contents, read_contents
from .emit import Emit, Objects, emit_code, emit_sources
from .folder import list_files, publish, staging
from .options import DEFAULT_ARTIFACT, ArtifactOptions
from .short_slices import with_short_slices
from .weights_apart import with_weights_apart

log = logging.getLogger(__name__)


@record
class Plan:
    """A program that is to be written, with what its report tells of its origin.

    With ``levels``, the most demanding first, objects and libraries have the code of all of them, and choose.
    """

    program: Program
    machine: Machine
    identity: Identity
    imported: Graph
    optimized: Graph
    accuracy: Accuracy | None = None
    levels: tuple[Level, ...] = ()

    @property
    def linked(self) -> Machine:
        """The machine that asks for most of those that the library has code for."""
        return self.levels[0].machine if self.levels else self.machine


def dispatches_by_default(machine: Machine, kinds: Sequence[Emit], options: ArtifactOptions) -> bool:
    """Whether machine code has that of every CPU where none is chosen: C has not, nor code with a place of its own."""
    return machine.target.dispatch and not options.places and any(kind is not Emit.C for kind in kinds)


def make_plan(
    compiled: Compiled,
    kinds: Sequence[Emit],
    *,
    every_cpu: bool = False,
    accuracy: Accuracy | None = None,
    options: ArtifactOptions = DEFAULT_ARTIFACT,
) -> Plan:
    """What is to be written of a compilation as ``kinds``; with ``every_cpu`` for all CPUs of its ABI."""
    levels = lower_levels(compiled) if every_cpu else ()
    program = with_common_memory(compiled.program, levels) if levels else compiled.program
    if options.slice_cycles is not None:
        program = with_short_slices(program, compiled.machine, options.slice_cycles)
    if options.external_weights:
        program, *others = with_weights_apart([program, *(level.program for level in levels)], compiled.machine)
        levels = tuple(replace(level, program=other) for level, other in zip(levels, others, strict=True))
    if options.places:
        _check_places(compiled.machine, options, levels)
        program = placed(program, options.places)
    if options.slices or options.slice_cycles is not None:
        program = replace(program, sliced=True)
        levels = tuple(replace(level, program=replace(level.program, sliced=True)) for level in levels)
    source = compiled.source
    identity = source.identity([kind.value for kind in kinds], compiled.goal)
    given = replace(identity.options, weights=options.weights, slice_cycles=options.slice_cycles)
    identity = replace(identity, options=replace(given, slices=program.sliced))
    program = replace(program, identity=model_id(program))
    return Plan(program, compiled.machine, identity, source.graph, compiled.optimized, accuracy, levels)


def _check_places(machine: Machine, options: ArtifactOptions, levels: Sequence[Level]) -> None:
    """Raises ``BAD_OPTION`` where there are no sections to choose."""
    if machine.abi.elf is None or levels:
        reason = f"--place is not for {'--cpu all' if levels else machine.name}: its code has no sections of its own"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="leave --place out")
    if options.external_weights and any(each.what == WEIGHTS for each in options.places):
        reason = "--place weights:... does not go with --weights external"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="place code alone, or keep weights inside")


@dataclass(frozen=True)
class Artifact:
    """The files that were written into ``folder`` for one ABI, and the report on them."""

    folder: Path
    report: Report


More = Callable[[Plan, Report, Path], None]
"""Writes more files of a plan into the folder of its artifact, which is there but for the report."""


def write_artifacts(
    plans: Iterable[Plan], kinds: Sequence[Emit], folder: Path, *, subfolders: bool, more: More | None = None
) -> tuple[Artifact, ...]:
    """Writes the artifact of each plan, all or none; with ``subfolders`` into a folder named after its ABI."""
    artifacts = []
    with staging(folder) as stage:
        for plan in plans:
            sub = plan.machine.abi.name if subfolders else ""
            (stage / sub).mkdir(exist_ok=True)
            report = _write(plan, kinds, stage / sub, read_contents(folder / sub), more)
            artifacts.append(Artifact(folder / sub, report))
        publish(stage, folder, [artifact.folder.name for artifact in artifacts] if subfolders else ())
    return tuple(artifacts)


def _write(plan: Plan, kinds: Sequence[Emit], folder: Path, beside: Contents, more: More | None) -> Report:
    """Writes an artifact for a folder that holds what is ``beside`` it."""
    name = plan.program.name
    objects, costs, routes = _made(plan, kinds, folder)
    sections = None if objects is None else [_of_default(section, plan) for section in sections_of(objects)]
    report = build_report(
        plan.identity, plan.imported, plan.optimized, plan.program, plan.machine, sections, costs, routes
    )
    if (folder / MAKEFILE).exists():
        (folder / MAKEFILE).rename(folder / beside.makefile_name(name))
    if more is not None:
        more(plan, report, folder)
    report = replace(report, accuracy=plan.accuracy, files=list_files(folder), levels=_levels(plan, objects or []))
    (folder / beside.report_file(name)).write_text(report.to_json(), encoding="utf-8", newline="\n")
    return report


def _made(plan: Plan, kinds: Sequence[Emit], folder: Path) -> tuple[Objects | None, Costs | None, dict[str, Route]]:
    """Writes C and machine code. Returns the objects, what the model costs by them, and what it takes by each way to
    machine code: GCC compiles the C beside LLVM, which takes about as long."""
    program, machine, routes = plan.program, plan.machine, dict[str, Route]()
    predictable, costs, by_gcc = is_predictable(program, machine), None, None
    custom = emit_sources(program, machine, kinds, folder, plan.levels)
    with ThreadPoolExecutor(1) as beside:
        if Emit.C in kinds and predictable and has_compiler(machine):
            log.info("compiling the C to see what it takes")
            by_gcc = beside.submit(build_c, program, machine, folder)
        objects = emit_code(program, machine, kinds, folder, plan.levels, custom)
        if objects is not None and predictable:
            log.info("predicting costs")
            built = build_objects(program, machine, objects)
            costs, routes["llvm"] = predict(program, machine, built), route_of(built)
        if by_gcc is not None:
            routes["c"] = route_of(by_gcc.result())
    return objects, costs, routes


def _of_default(section: Section, plan: Plan) -> Section:
    """``section``, by its kernel's own name where it belongs to the level that the plan's machine runs."""
    level = level_of(plan.levels, plan.machine)
    if level is None:
        return section
    name = plan.program.name
    return replace(section, name=section.name.replace(f".text.{name}_{level.suffix}_", f".text.{name}_", 1))


def _levels(plan: Plan, objects: Objects) -> list[LevelInfo]:
    """What each of several levels takes. Constants that levels share count in each."""
    images = dict(objects)
    return [
        LevelInfo(
            cpu=level.machine.cpu.name,
            requires=sorted(level.machine.cpu.requires),
            arena_bytes=sum(pool.size for pool in level.program.plan.pools),
            weight_bytes=sum(array.nbytes for array in level.program.constants.values()),
            code_bytes=None if file not in images else code_size(sections_of([(file, images[file])])),
        )
        for level in plan.levels
        for file in (f"{plan.program.name}_{level.suffix}.o",)
    ]
