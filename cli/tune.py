"""``ccml tune``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from .help import Command
from .options import database_option, json_option, model_options, target_options, threads_option
from .output import print_facts, print_json, print_table
from .progress import progress
from .quantize_options import quantization_options, quantize_option
from .table import columns
from .verbosity import logging_options, note

if TYPE_CHECKING:
    from ..driver import ModelOptions
    from ..quantization.source import Quantization
    from ..tuning.tune import TunedKernel, Tuning

_MOST_NAMES = 2
"""Layers of a kernel that the table names."""


@click.command("tune", cls=Command, short_help="Search for faster loops by measuring, and keep what was found.")
@model_options
@target_options(default="this machine")
@database_option("Where measurements are appended; those that it holds are not made again.", "tuning.jsonl")
@click.option(
    "--seconds", type=click.FloatRange(1), default=60, show_default=True, metavar="S",
    help="How long the search takes, about.",
)
@threads_option("Seek as well into how many chunks the work of each layer is best split for so many threads.")
@quantize_option
@quantization_options
@json_option
@logging_options
def command(
    model: str,
    options: ModelOptions,
    target: str | None,
    abi: str | None,
    cpu: str | None,
    database: str,
    seconds: float,
    threads: int | None,
    as_json: bool,
    quantization: Quantization | None,
) -> None:
    """Search for loops of MODEL's layers that are faster than those that the cost model chooses.

    \b
    ccml tune kws.onnx
    ccml compile kws.onnx -t x86 --database tuning.jsonl
    ccml tune kws_int8.onnx -t cortex-m4 --seconds 20

    Blocks of accumulators, unrolling, Winograd's algorithm or direct convolution, tiles: code for this machine is
    timed, that for a Cortex-M judged by its predicted cycles, other code by a model of the core's ports. At the end
    the whole model is timed; what is no gain there does not count. Outputs of integer layers stay the same to the
    last bit. Files of several people or machines are joined by appending one to the other.
    """
    with progress():
        from .. import api

        found = api.tune(
            model, database, target, options, abi=abi, cpu=cpu, seconds=seconds, quantization=quantization,
            threads=threads or 0,
        )
    if as_json:
        print_json(asdict(found))
        return
    _print(found)
    note(f"use it: ccml compile {model} --database {database}")


def _print(found: Tuning) -> None:
    timed = found.meter == "time"
    head = columns("@layers", "#measured", "#us" if timed else "#cycles", "#tuned", "~best")
    rows = [
        (_names(kernel), kernel.measurements, _amount(kernel.reference, timed), f"{kernel.ratio:.1%}",
         kernel.best or "as it is")
        for kernel in found.kernels
    ]  # fmt: skip
    how = {"time": "timed", "cycles": "by predicted cycles", "estimate": "by a model of the core's ports"}[found.meter]
    print_table(f"loops for {found.cpu}, {how}", head, rows)
    click.echo()
    facts: list[tuple[str, object]] = [("measured", f"{found.measurements:,} decisions in {found.seconds:.0f} s")]
    if found.before is not None and found.behind is not None:
        whole = f"{found.before * 1e6:,.1f} us before, {found.behind * 1e6:,.1f} us tuned"
        facts.append(("run", f"{whole} ({found.behind / found.before:.1%})"))
    print_facts(facts)


def _names(kernel: TunedKernel) -> str:
    shown = ", ".join(kernel.layers[:_MOST_NAMES])
    more = len(kernel.layers) - _MOST_NAMES
    return f"{shown} and {more} more" if more > 0 else shown


def _amount(value: float, timed: bool) -> str:
    return f"{value * 1e6:,.1f}" if timed else f"{value:,.0f}"
