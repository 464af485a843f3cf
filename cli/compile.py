"""``ccml compile``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from time import perf_counter
from typing import TYPE_CHECKING

import click

from ..output_files import check_output_file
from .accuracy import (
    accuracy_options,
    accuracy_title,
    check_accuracy_files,
    print_accuracy,
    require_quantization,
    write_accuracy,
)
from .artifact_options import (
    artifact_options,
    bindings_option,
    emit_option,
    jobs_option,
    name_option,
    package_option,
    page_option,
)
from .help import Command
from .options import (
    budget_options,
    goal_options,
    input_option,
    json_option,
    model_options,
    target_options,
)
from .output import (
    cost_facts,
    kibibytes,
    print_facts,
    print_json,
    print_table,
    ram_text,
    route_facts,
    state_facts,
)
from .progress import progress
from .quantize_options import quantization_options, quantize_option
from .table import columns
from .verbosity import logging_options, note, settings

if TYPE_CHECKING:
    from ..artifact.build import Artifact
    from ..artifact.options import ArtifactOptions
    from ..driver import Goal, ModelOptions
    from ..quantization.source import Quantization
    from ..report.budget import Budget
    from ..report.schema import LevelInfo, Report, Totals


@click.command("compile", cls=Command)
@model_options
@target_options(default="that of --board", several=True)
@click.option(
    "-o", "--output", type=click.Path(), metavar="DIR", help="Folder for the files.  [default: NAME_TARGET]"
)
@emit_option("c sources, obj files, lib: static and shared library, asm, llvm IR")
@name_option
@bindings_option
@package_option
@input_option(": the sample of --package")
@goal_options
@budget_options
@artifact_options
@click.option(
    "--dump-ir", type=click.Path(), metavar="DIR",
    help="Write the graph after every pass, and the program after every step.",
)  # fmt: skip
@jobs_option
@quantize_option
@quantization_options
@accuracy_options
@page_option
@json_option
@logging_options
def command(
    model: str,
    options: ModelOptions,
    target: str | None,
    abi: str | None,
    cpu: str | None,
    output: str | None,
    emit: tuple[str, ...],
    bindings: tuple[str, ...],
    packages: tuple[str, ...],
    file: str | None,
    goal: Goal,
    board: str | None,
    budget: Budget,
    artifact: ArtifactOptions,
    dump_ir: str | None,
    jobs: int,
    as_json: bool,
    quantization: Quantization | None,
    report_file: str | None,
    chart_file: str | None,
    page: str | None,
) -> None:
    """Compile MODEL for a target.

    \b
    ccml compile kws.onnx -t arm                  Cortex-M4: C, libkws.a
    ccml compile kws.onnx -t android --abi all    a folder for each ABI
    ccml compile kws.onnx -t x86 --cpu native --emit lib -o out
    ccml compile kws.onnx -t arm --quantize int8 --calibration typical.npz
    ccml compile kws.onnx -t arm --max-ram 16KiB  or say why not
    ccml compile kws.onnx -t cortex-m7 --pool dtcm=64K --pool sram
    ccml compile kws.onnx -t cortex-m4 --package cmake,arduino
    ccml compile kws.onnx -t arm --page kws.html --clock 80MHz
    ccml compile kws.onnx --board nucleo-f446re --max-time 50ms
    ccml compile kws.onnx -t arm --weights external

    Needs no compiler or toolchain, but a linker for shared libraries ('ccml doctor' shows what is there). Files of an
    earlier compilation in the same folder are replaced or removed; other files are never touched. Stdout sums up the
    memory that the model needs, and what quantization cost; report.json in the folder has all the details.
    """
    if target is None and board is None:
        raise click.UsageError("missing option '-t' / '--target', or '--board'")
    if file is not None and not packages:
        raise click.UsageError("--input is the sample of --package")
    require_quantization(quantization is not None, report_file, chart_file)
    check_accuracy_files(report_file, chart_file)
    check_output_file(page, ".html")
    with progress():
        from .. import api
        from ..report.budget import board_target, whole_budget

        start = perf_counter()
        result = api.compile(
            model, target or board_target(str(board)), output, abi=abi, cpu=cpu, emit=emit, options=options,
            dump_ir=dump_ir, quantization=quantization, goal=goal, packages=packages, bindings=bindings,
            file=file, budget=budget, board=board, artifact=artifact, jobs=jobs,
        )  # fmt: skip
        seconds = perf_counter() - start
    report = result.artifacts[0].report
    if report.accuracy is not None:
        title = accuracy_title(report.model.file, report.options.quantize)
        write_accuracy(report.accuracy, title, report_file, chart_file)
    whole = whole_budget(budget, board, goal)
    if page is not None:
        api.write_page([artifact.report for artifact in result.artifacts], page, whole.clock)
    if as_json:
        reports = [asdict(artifact.report) for artifact in result.artifacts]
        print_json({"reports": reports} if abi == api.ALL_ABIS else reports[0])
    elif not settings().quiet:
        for written in result.artifacts:
            _print_summary(written, whole)
        if report.accuracy is not None:
            click.echo()
            print_accuracy(report.accuracy)
    note(f"compiled in {seconds:.1f} s")


def _print_summary(artifact: Artifact, budget: Budget) -> None:
    from ..report.budget import budget_text

    report = artifact.report
    totals, machine = report.totals, report.target
    print_facts([
        ("model", f"{report.model.name} ({report.model.file}), {report.model.parameters:,} parameters"),
        ("target", f"{machine.name}, {machine.abi}, {machine.cpu}"),
        ("RAM", f"{ram_text(totals)}, aligned to {totals.arena_align}"),
        *state_facts(totals),
        *_flash(report),
        *([("weights file", kibibytes(totals.external_weight_bytes))] if totals.external_weight_bytes else []),
        *([("slices", _slices(report))] if totals.slices else []),
        *route_facts(totals),
        ("MACs", totals.macs),
        *cost_facts(totals),
        *([("fits", budget_text(totals, budget))] if budget.has_limits else []),
    ])  # fmt: skip
    click.echo()
    print_table(f"{artifact.folder}/", columns("file", "#bytes"), list(_listed(report)))


def _slices(report: Report) -> str:
    """How many there are, and which is the longest."""
    if report.totals.longest_slice is None:
        return f"{report.totals.slices} at most"
    longest = report.layers[report.totals.longest_slice]
    cost = f"{longest.cycles:,} cycles" if longest.cycles else f"{longest.instructions:,} instructions"
    return f"{report.totals.slices} at most, the longest about {cost} (layer {longest.index})"


def _flash(report: Report) -> list[tuple[str, str]]:
    """All of it, and what weights and code take: of several CPUs those of the one that the report is about."""
    totals, levels = report.totals, report.levels
    own: Totals | LevelInfo = next((level for level in levels if level.cpu == report.target.cpu), totals)
    weights = "" if totals.external_weight_bytes else f"weights {kibibytes(own.weight_bytes)}, "
    whole, parts = kibibytes(totals.flash_bytes), f"{weights}code {kibibytes(own.code_bytes)}"
    if len(levels) < 2:
        return [("flash", f"{whole}: {parts}")]
    return [("flash", f"{whole} for {len(levels)} CPUs"), (report.target.cpu, parts)]


def _listed(report: Report) -> Iterator[tuple[str, int]]:
    """The files, those of a package as one."""
    packages: dict[str, int] = {}
    for file in report.files:
        parts = file.path.split("/")
        if len(parts) < 3:
            yield file.path, file.bytes
        else:
            folder = f"{parts[0]}/{parts[1]}/"
            packages[folder] = packages.get(folder, 0) + file.bytes
    yield from packages.items()
