"""Writes packages into the folder of an artifact: ``<ecosystem>/<model>/...``."""

from __future__ import annotations

import difflib
import logging
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..emit_c.artifact import write_c
from ..emit_c.makefile import MAKEFILE
from ..errors import CcmlError, ErrorCode
from ..ir.program import Program
from ..record import record
from ..report.schema import LibraryTotals, Report
from ..targets import Machine
from ..targets.development_boards import DevelopmentBoard
from .aar import write_aar
from .archives import zip_archive
from .context import PACKAGE_VERSION, build_context, linked_context
from .ecosystem import ECOSYSTEMS, NAMES, TARGET_OF, Ecosystem
from .engine import make_engine
from .every_abi import AbiBuild
from .sample import Sample
from .xcframework import write_xcframework

if TYPE_CHECKING:
    import jinja2

log = logging.getLogger(__name__)

_PORTABLE = "--target generic writes C for every machine"
_FOR_EVERY_ABI = {"aar": write_aar, "xcframework": write_xcframework}
_CHECK = ("check.c", "check.h", "sample.c", "sample.h")


@record
class Model:
    """A compiled model, a sample of what it computes, and the folder with its artifact; perhaps the board that it is
    for, and for packages for every ABI what was compiled for each."""

    program: Program
    machine: Machine
    report: Report
    sample: Sample
    folder: Path
    board: DevelopmentBoard | None = None
    builds: Sequence[AbiBuild] = ()


def find_ecosystems(names: Iterable[str], machines: Iterable[Machine]) -> list[Ecosystem]:
    """Those of the names, each once. Raises ``BAD_OPTION`` for a name that there is not, or an ecosystem that does not
    build for one of ``machines``, or where there are several of these."""
    found = []
    machines = list(machines)
    for name in dict.fromkeys(names):
        ecosystem = next((known for known in ECOSYSTEMS if known.name == name), None)
        if ecosystem is None:
            hint = "those of 'ccml compile --help'"
            close = difflib.get_close_matches(name, NAMES, 1)
            hint = f"did you mean '{close[0]}'?" if close else hint
            raise CcmlError(ErrorCode.BAD_OPTION, f"no package '{name}'", hint=hint)
        if len(machines) > 1 and ecosystem.every_abi:
            reason = f"a package for {ecosystem.title} has all ABIs by itself"
            raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="leave --abi out")
        if len(machines) > 1:
            raise CcmlError(ErrorCode.BAD_OPTION, "a package is for one ABI", hint="name one with --abi")
        for machine in machines:
            if not ecosystem.builds_for(machine):
                reason = f"a package for {ecosystem.title} cannot be for the target {machine.name}"
                hint = f"--target {TARGET_OF[ecosystem.families[0]]}" if ecosystem.every_abi else _PORTABLE
                raise CcmlError(ErrorCode.BAD_OPTION, reason, hint=hint)
        found.append(ecosystem)
    return found


def write_packages(model: Model, ecosystems: Iterable[Ecosystem]) -> None:
    """Writes a package for each ecosystem into folders of ``model.folder``."""
    with tempfile.TemporaryDirectory(prefix="ccml-") as name:
        sources = Path(name)
        write_c(model.program, model.machine, sources, layer_hook=True)
        (sources / MAKEFILE).unlink()
        listed = sorted(path.name for path in sources.iterdir())
        context = build_context(model.program, model.machine, model.report, model.sample, listed, model.board)
        for ecosystem in ecosystems:
            log.info("writing the package for %s", ecosystem.title)
            if ecosystem.every_abi:
                _write_for_every_abi(model, ecosystem, context)
            else:
                _write(model, ecosystem, sources, context)


@record
class LinkedModels:
    """A library of several ``models``, each with its report and a sample, and the folder that it was written into.
    ``write_sources`` writes its C into another folder, where the time of each layer can be measured."""

    whole: Program
    models: Sequence[tuple[Program, Report, Sample]]
    machine: Machine
    totals: LibraryTotals
    folder: Path
    write_sources: Callable[[Path], None]


def check_linked(ecosystems: Iterable[Ecosystem]) -> None:
    """Raises ``BAD_OPTION`` for a package that holds one model alone."""
    for ecosystem in ecosystems:
        if ecosystem.every_abi:
            reason = f"a package for {ecosystem.title} is for one model"
            raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="ccml compile writes one of each")


def write_linked_packages(library: LinkedModels, ecosystems: Iterable[Ecosystem]) -> None:
    """Writes a package of all models for each ecosystem into folders of ``library.folder``."""
    with tempfile.TemporaryDirectory(prefix="ccml-") as name:
        sources = Path(name)
        library.write_sources(sources)
        (sources / MAKEFILE).unlink()
        listed = sorted(path.name for path in sources.iterdir())
        contexts = [
            build_context(program, library.machine, report, sample, listed)
            for program, report, sample in library.models
        ]
        context = linked_context(library.whole, contexts, library.machine, library.totals, listed)
        for ecosystem in ecosystems:
            log.info("writing the package for %s", ecosystem.title)
            _write(library, ecosystem, sources, context)


def _write_for_every_abi(model: Model, ecosystem: Ecosystem, facts: Mapping[str, object]) -> None:
    engine = make_engine(__package__)
    context = {**facts, "budget_text": _budget_text(engine, facts)}
    root = model.folder / ecosystem.name / str(facts["name"])

    def render(name: str, more: Mapping[str, object]) -> str:
        return engine.get_template(name).render(more)

    _FOR_EVERY_ABI[ecosystem.name](root, model.builds, model.sample, render, context)


def _write(
    model: Model | LinkedModels, ecosystem: Ecosystem, sources: Path, facts: Mapping[str, Any]
) -> None:
    name = str(facts["name"])
    root = model.folder / ecosystem.name / name
    context = dict(facts)
    for path in sorted(sources.iterdir()):
        place = ecosystem.headers if path.name in facts["headers"] else ecosystem.sources
        _copy(path, root / place.format(name=name))
    library = model.folder / model.machine.abi.objects.library.format(name=name)
    if model.machine.name in ecosystem.library_targets and library.is_file():
        _copy(library, root / ecosystem.library)
        context["library"] = True
    engine = make_engine(__package__)
    context["budget_text"] = _budget_text(engine, context)
    application = root / ecosystem.application.format(name=name)
    for member in facts["members"]:
        for file in _CHECK:
            _render(engine, f"common/{file}", application / f"{member['name']}_{file}", member)
    if len(facts["members"]) > 1:
        _render(engine, "common/check.h", application / f"{name}_check.h", context)
        _render(engine, "common/all_checks.c", application / f"{name}_check.c", context)
    for template in ecosystem.templates:
        if not template.needs or context[template.needs]:
            _render(engine, template.source, root / template.path.format(name=name), context)
    if any(template.needs == "cortex_m" for template in ecosystem.templates) and context["bare"]:
        for file in (*_startup(model.machine), "semihosting.h"):
            _write_text(application / file, (files("ccml.emulation") / "c" / file).read_text(encoding="utf-8"))
    if ecosystem.archive:
        archive = root.parent / ecosystem.archive.format(name=name, version=PACKAGE_VERSION)
        _zip(root, archive, ecosystem.archive_root.format(name=name))


def _budget_text(engine: jinja2.Environment, context: Mapping[str, object]) -> str:
    return engine.get_template("common/budget.j2").render(context).strip()


def _startup(machine: Machine) -> list[str]:
    return [file for file in machine.abi.environment.driver if file.startswith("startup")]


def _render(engine: jinja2.Environment, source: str, path: Path, context: Mapping[str, object]) -> None:
    _write_text(path, engine.get_template(source).render(context))


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _copy(path: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, folder / path.name)


def _zip(folder: Path, archive: Path, root: str) -> None:
    """The files of ``folder`` below ``root``; equal files make equal bytes."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    archive.write_bytes(zip_archive({root + path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}))
