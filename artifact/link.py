"""Several models as one library: folder, reports, and what all of them take together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ..bindings.write import write_bindings
from ..costs.build import build_objects
from ..costs.predict import is_predictable, predict
from ..driver import Compiled
from ..emit_c.artifact import custom_sources
from ..emit_c.linked import linked_headers, linked_sources
from ..emit_c.symbols import assign_symbols
from ..emit_c.weights import write_binary
from ..emit_llvm.coded import with_known_blocks
from ..emit_llvm.entry import exported_symbols
from ..emit_llvm.levels import Level
from ..emit_llvm.linked import linked_objects
from ..emit_llvm.module import foreign_kernels
from ..errors import CcmlError, ErrorCode
from ..ir.identity import model_id
from ..ir.loops import Invoke
from ..ir.loops_rewrite import walk_stmts
from ..ir.program import Program
from ..program.link import Linked, link_programs, taken_apart
from ..report.build import build_report, weight_bytes
from ..report.routes import objects_route
from ..report.schema import REPORT_FILE, SCHEMA, Firmware, LibraryTotals, Report, json_text
from ..report.sections import Section, allocated_sections, sections_of
from ..targets import Machine
from .contents import own_report
from .emit import Emit, compiled_custom, write_machine_code
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


MoreOfLibrary = Callable[[Linked, Sequence[Report], LibraryTotals, Path], None]
"""Writes more files of a library into its folder, which is there but for its own report."""


def link_models(
    name: str, compiled: Sequence[Compiled], *, slices: bool = False, external_weights: bool = False
) -> Linked:
    """The library ``name`` of models that were lowered for one machine with kernels of their own; with
    ``external_weights`` each takes its constants from a file of its own. Raises ``BAD_OPTION`` where names clash."""
    names = [each.program.name for each in compiled]
    for number, own in enumerate([*names, name]):
        if own.lower() in (other.lower() for other in names[:number]):
            raise CcmlError(ErrorCode.BAD_OPTION, f"two models, or a model and the library, are called '{own}'",
                            hint="name models as NAME=FILE, and the library with --name")  # fmt: skip
    programs = [replace(each.program, sliced=slices) for each in compiled]
    machine = compiled[0].machine
    linked = link_programs(name, programs, machine, compiled[0].goal)
    if not external_weights:
        return linked
    whole, *models = (with_weights_apart([each], machine)[0] for each in (linked.whole, *linked.models))
    return Linked(whole, tuple(models))


def write_library(
    linked: Linked, compiled: Sequence[Compiled], kinds: Sequence[Emit], folder: Path, languages: Sequence[str] = (),
    more: MoreOfLibrary | None = None,
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
            write_bindings(model, compiled[0].machine, languages, stage)
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


def _emit(linked: Linked, machine: Machine, kinds: Sequence[Emit], folder: Path) -> list[tuple[str, bytes]] | None:
    whole, models, made = linked.whole, linked.models, Emit.OBJECT in kinds or Emit.LIBRARY in kinds
    custom = compiled_custom([Level(machine, whole)]) if made else []
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
        write_weights(model.name, [model], folder)
    if not made:
        return None
    code = linked_objects(whole, lambda program: taken_apart(program, models), machine)
    objects = [*code, *(custom or [])]
    exported = None if custom is None else [symbol for model in models for symbol in exported_symbols(model)]
    write_machine_code(whole.name, objects, machine, kinds, folder, exported, bool(foreign_kernels(whole)))
    return objects


def _report(
    compiled: Compiled, model: Program, objects: list[tuple[str, bytes]] | None, kinds: Sequence[Emit], linked: Linked
) -> Report:
    """What one model takes, as if the others were not there."""
    machine, costs, sections = compiled.machine, None, None
    identity = compiled.source.identity([kind.value for kind in kinds], compiled.goal)
    given = ArtifactOptions(external_weights=model.weights is not None)
    identity = replace(identity, options=replace(identity.options, slices=model.sliced, weights=given.weights))
    printed = taken_apart(with_known_blocks(linked.whole, machine), linked.models)[linked.models.index(model)]
    printed = replace(printed, identity=model_id(model))
    if objects is not None:
        sections = list(_own_sections(printed, objects))
        if is_predictable(printed, machine):
            log.info("predicting costs")
            costs = predict(printed, machine, build_objects(printed, machine, objects))
    graphs = compiled.source.graph, compiled.optimized
    return build_report(identity, *graphs, printed, machine, sections, costs)


def _own_sections(model: Program, objects: Sequence[tuple[str, bytes]]) -> Iterator[Section]:
    """The sections of a library that a program with one of its models takes in."""
    own = {f".text.{model.owner}_{name}" for name in _functions(model)}
    foreign = {f"{symbol}.o" for symbol in foreign_kernels(model)}
    for file, image in objects:
        for section in allocated_sections(image):
            if file in foreign:
                yield section
            elif file == f"{model.owner}_data.o":
                yield replace(section, size=weight_bytes(model))
            elif file == f"{model.owner}.o" and section.executable:
                if section.name in own or not section.name.startswith(f".text.{model.owner}_"):
                    yield section
            elif file in (f"{model.owner}.o", f"{model.owner}_runtime.o", f"{model.name}.o"):
                yield section


def _totals(
    linked: Linked, reports: Sequence[Report], objects: Sequence[tuple[str, bytes]] | None
) -> LibraryTotals:
    whole, own = linked.whole, [_functions(model) for model in linked.models]
    route = None if objects is None else objects_route(sections_of(objects))
    return LibraryTotals(
        ram_bytes=sum(pool.ram for pool in whole.plan.pools),
        arena_bytes=sum(pool.size for pool in whole.plan.pools),
        arena_align=max(pool.align for pool in whole.plan.pools),
        state_bytes=sum(report.totals.state_bytes for report in reports),
        weight_bytes=weight_bytes(whole),
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
