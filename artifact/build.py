"""Programs -> the files of the output folder, report.json among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..costs.predict import object_costs
from ..ir.graph import Graph
from ..ir.program import Program
from ..report.accuracy import Accuracy
from ..report.build import Identity, build_report
from ..report.schema import REPORT_FILE, SCHEMA, Report, json_text
from ..report.sections import sections_of
from ..targets import Machine
from .emit import Emit, emit
from .folder import list_files, publish, staging


@dataclass(frozen=True)
class Plan:
    """A program that is to be written, with what its report tells of its origin."""

    program: Program
    machine: Machine
    identity: Identity
    imported: Graph
    optimized: Graph
    accuracy: Accuracy | None = None


@dataclass(frozen=True)
class Artifact:
    """The files that were written into ``folder`` for one ABI, and the report on them."""

    folder: Path
    report: Report


def write_artifacts(
    plans: Iterable[Plan], kinds: Sequence[Emit], folder: Path, *, subfolders: bool
) -> tuple[Artifact, ...]:
    """Writes the artifact of each plan, all or none; with ``subfolders`` into a folder named after its ABI."""
    artifacts = []
    with staging(folder) as stage:
        for plan in plans:
            sub = plan.machine.abi.name if subfolders else ""
            (stage / sub).mkdir(exist_ok=True)
            artifacts.append(Artifact(folder / sub, _write(plan, kinds, stage / sub)))
        if subfolders:
            (stage / REPORT_FILE).write_text(_index(artifacts, stage), encoding="utf-8", newline="\n")
        publish(stage, folder)
    return tuple(artifacts)


def _write(plan: Plan, kinds: Sequence[Emit], folder: Path) -> Report:
    objects = emit(plan.program, plan.machine, kinds, folder)
    sections = None if objects is None else sections_of(objects)
    costs = None if objects is None else object_costs(plan.program, plan.machine, objects)
    report = build_report(plan.identity, plan.imported, plan.optimized, plan.program, plan.machine, sections, costs)
    report = replace(report, accuracy=plan.accuracy, files=list_files(folder))
    (folder / REPORT_FILE).write_text(report.to_json(), encoding="utf-8", newline="\n")
    return report


def _index(artifacts: Sequence[Artifact], stage: Path) -> str:
    """The report above the reports of several ABIs."""
    first = artifacts[0].report
    reports = {artifact.report.target.abi: f"{artifact.folder.name}/{REPORT_FILE}" for artifact in artifacts}
    files = [{"path": file.path, "bytes": file.bytes, "sha256": file.sha256} for file in list_files(stage)]
    return json_text({"schema": SCHEMA, "ccml": first.ccml, "reports": reports, "files": files})
