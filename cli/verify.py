"""``ccml verify``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .board_check import described_check, print_check
from .help import Command
from .options import (
    goal_on_the_command_line,
    goal_options,
    input_option,
    json_option,
    model_options,
    route_option,
    target_options,
)
from .output import print_json, print_table, shape_text
from .parameter_types import Number
from .progress import progress
from .quantize_options import quantization_options, quantize_option
from .table import columns
from .verbosity import logging_options, say

if TYPE_CHECKING:
    from ..driver import Goal, ModelOptions
    from ..quantization.source import Quantization
    from ..verification.compare_model import Row, Verification

_HEAD = columns("#", "@layer", "@tensor", "shape", "reference", "#relative L2", "#max abs", "#SNR dB", "")


@click.command("verify", cls=Command, short_help="Compare a compiled model with the ONNX reference.")
@model_options
@input_option("; expected outputs in it are compared, too")
@click.option(
    "--tolerance", type=Number(min=0),
    help="Largest relative L2 error.  [default: 1e-4, of recurrent layers in integers 1e-3; with --precision "
    "fp16 0.02, bf16 0.05]",
)  # fmt: skip
@click.option(
    "--samples", "limit", type=click.IntRange(min=1), default=4, show_default=True, help="Samples to compare at most."
)
@click.option(
    "--backend", type=click.Choice(["jit", "c"]),
    help="Run the model by LLVM in memory, or its C sources by a C compiler (outputs only).  [default: jit]",
)  # fmt: skip
@click.option("--cc", "compiler", metavar="COMMAND", help="The compiler for --backend c.  [default: cc, gcc or clang]")
@click.option(
    "--from-log", "log_file", type=click.Path(), metavar="FILE",
    help="Compare what the application of a package printed on a board, instead of running the model.",
)  # fmt: skip
@target_options(default="this machine")
@route_option
@goal_options
@quantize_option
@quantization_options
@json_option
@logging_options
def command(
    model: str,
    options: ModelOptions,
    file: str | None,
    tolerance: float | None,
    limit: int,
    backend: str | None,
    compiler: str | None,
    log_file: str | None,
    target: str | None,
    abi: str | None,
    cpu: str | None,
    route: str,
    goal: Goal,
    as_json: bool,
    quantization: Quantization | None,
) -> None:
    """Compare the compiled MODEL with the ONNX reference, layer by layer.

    \b
    ccml verify kws.onnx                          on this machine, random data
    ccml verify kws.onnx -i samples.npz --samples 20
    ccml verify kws.onnx -t cortex-m4             the target's code, in emulation
    ccml verify kws.onnx -t cortex-m4 --from-log board.txt

    The model is compiled for this machine and run on samples; every tensor that has memory is compared with the tensor
    of that name in the ONNX reference evaluator, whatever layout it is held in, and so are the outputs. Where a tensor
    differs by more than the tolerance, the first such layer and the first pass of the compiler whose result differs are
    named, and the exit code is 4. With --quantize the reference is the quantized model.

    With --target the machine code for that target is run under emulation: by QEMU on boards, as a program for Linux or
    by itself, by Node.js where it is WebAssembly. Its outputs are compared with the reference and with those of this
    machine, which integers have to equal.

    With --from-log FILE the model was run on a board: FILE is what the application of 'ccml compile --package' printed
    there. Its outputs are compared with this machine's, and the cycles of its layers with the prediction. The options
    have to be those of that compilation, and --input its sample.
    """
    if target is None and (abi or cpu or route == "c"):
        raise click.UsageError("--abi, --cpu and --route belong to --target")
    if target is None and goal_on_the_command_line():
        raise click.UsageError("--optimize, --max-ram and --pool belong to --target")
    if target is not None and (backend or compiler):
        raise click.UsageError("--backend and --cc are for this machine; with --target there is --route")
    if compiler is not None and backend != "c":
        raise click.UsageError("--cc belongs to --backend c")
    if log_file is not None:
        if target is None or backend or compiler:
            raise click.UsageError("--from-log needs --target, and neither --backend nor --cc")
        with progress():
            from .. import api

            check = api.verify_log(
                model, log_file, target, options, file, tolerance=tolerance, abi=abi, cpu=cpu,
                quantization=quantization, goal=goal,
            )  # fmt: skip
        print_json(described_check(check)) if as_json else print_check(check)
        check.require()
        return
    with progress():
        from .. import api

        result = api.verify(
            model, options, file, samples=limit, tolerance=tolerance, backend=backend or (route if target else "jit"),
            compiler=compiler, target=target, abi=abi, cpu=cpu, quantization=quantization, goal=goal,
        )  # fmt: skip
    if as_json:
        print_json(_described(result))
    else:
        if result.layers:
            print_table("layers", _HEAD, [_row(number, row) for number, row in enumerate(result.layers)])
            click.echo()
        print_table("outputs", _HEAD, [_row(number, row) for number, row in enumerate(result.outputs)])
        click.echo()
        if result.ok:
            same = "" if result.target is None else f"on {result.target}: integers equal this machine's, "
            text = f" {same}relative L2 error at most {result.tolerance:g}, samples compared: {result.samples}"
            say(click.style("ok:", fg="green") + text, error=False)
    result.require()


def _row(number: int, row: Row) -> tuple[object, ...]:
    apart = row.difference
    return (
        number, row.node, row.tensor, shape_text(row.shape), row.reference, f"{apart.relative_l2:.2e}",
        f"{apart.max_abs:.2e}", f"{apart.snr_db:.1f}", "" if row.ok else "DIFFERS",
    )  # fmt: skip


def _described(result: Verification) -> dict[str, object]:
    first = result.first_layer
    return {
        "ok": result.ok, "backend": result.backend, "target": result.target, "reference": result.reference,
        "tolerance": result.tolerance, "samples": result.samples,
        "first_layer": None if first is None else {"layer": first.node, "tensor": first.tensor},
        "first_stage": result.first_stage, "unchecked": list(result.unchecked),
        "layers": [_described_row(row) for row in result.layers],
        "outputs": [_described_row(row) for row in result.outputs],
    }  # fmt: skip


def _described_row(row: Row) -> dict[str, object]:
    from ..report.schema import finite

    return {
        "layer": row.node, "tensor": row.tensor, "shape": list(row.shape), "reference": row.reference,
        "relative_l2": finite(row.difference.relative_l2), "max_abs": finite(row.difference.max_abs),
        "snr_db": finite(row.difference.snr_db), "ok": row.ok,
    }  # fmt: skip
