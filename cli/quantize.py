"""``ccml quantize``."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import click

from ..output_files import check_output_file
from .accuracy import accuracy_options, accuracy_title, check_accuracy_files, print_accuracy, write_accuracy
from .help import Command
from .options import budget_options, goal_options, json_option, model_options, target_options
from .output import print_facts, print_json
from .progress import progress
from .quantize_options import mode_option, quantization_options
from .verbosity import logging_options, note

if TYPE_CHECKING:
    from ..driver import Goal, ModelOptions
    from ..quantization.source import Quantization
    from ..report.budget import Budget


@click.command("quantize", cls=Command, short_help="Quantize a float model and show what that costs.")
@model_options
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Write the quantized model as a QDQ model.")
@target_options(default="that of --board, or none")
@goal_options
@budget_options
@mode_option
@quantization_options
@accuracy_options
@json_option
@logging_options
def command(
    model: str,
    options: ModelOptions,
    target: str | None,
    abi: str | None,
    cpu: str | None,
    output: str | None,
    goal: Goal,
    board: str | None,
    budget: Budget,
    as_json: bool,
    quantization: Quantization,
    report_file: str | None,
    chart_file: str | None,
) -> None:
    """Quantize the float MODEL to 8-bit integers and show what that costs.

    \b
    ccml quantize kws.onnx --calibration typical.npz -o kws_int8.onnx
    ccml quantize net.onnx --calibration photos/ --mean 127.5 --scale 127.5
    ccml quantize kws.onnx --calibration typical.npz -t cortex-m4 --max-cycles 5M

    The float model is compiled into this process and runs on the calibration data, which should be typical: some
    hundred samples. The written model has QuantizeLinear and DequantizeLinear nodes, as other tools read it, too;
    'ccml compile' makes the same integer code of it as 'ccml compile --quantize int8' does of MODEL. With --target,
    precision is mixed by what it costs there: the best SQNR within a budget, or that of --min-sqnr at the least cost.
    """
    check_output_file(output, ".onnx")
    check_accuracy_files(report_file, chart_file)
    with progress():
        from dataclasses import asdict

        from ..quantization.model_file import quantize

        start = perf_counter()
        result = quantize(
            model, quantization, output, options, target=target, abi=abi, cpu=cpu, goal=goal, budget=budget, board=board
        )  # fmt: skip
        seconds = perf_counter() - start
    title = accuracy_title(result.source.path.name, result.source.quantized)
    write_accuracy(result.accuracy, title, report_file, chart_file)
    if as_json:
        print_json(asdict(result.accuracy))
    else:
        if output is not None:
            print_facts([("written", output)])
        print_accuracy(result.accuracy)
    note(f"quantized in {seconds:.1f} s")
