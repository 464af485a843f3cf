"""``ccml run``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..output_files import check_output_file
from .help import Command
from .options import input_option, json_option, model_options
from .output import print_json, print_table, shape_text
from .progress import progress
from .quantize_options import quantization_options, quantize_option
from .table import columns
from .verbosity import logging_options, note

if TYPE_CHECKING:
    import numpy as np

    from ..driver import ModelOptions
    from ..quantization.source import Quantization

_SHOWN = 8
"""Elements of an output that the table shows."""


@click.command("run", cls=Command)
@model_options
@input_option("")
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Write the outputs to this .npz.")
@quantize_option
@quantization_options
@json_option
@logging_options
def command(
    model: str,
    options: ModelOptions,
    file: str | None,
    output: str | None,
    as_json: bool,
    quantization: Quantization | None,
) -> None:
    """Compile MODEL in memory for this machine and run it.

    \b
    ccml run kws.onnx                             on random data
    ccml run kws.onnx -i samples.npz -o out.npz
    ccml run kws.onnx -i samples.npz --quantize int8 --calibration typical.npz

    The arrays of FILE have the names of the model's inputs ('input' will do where there is one), their types and their
    shapes, or hold several samples along their first axis. Without --input the model runs on seeded random data.
    """
    check_output_file(output, ".npz")
    with progress():
        from .. import api

        loaded = api.load(model, options, quantization)
    samples = loaded.compiled.samples(file)
    if file is None:
        note("no --input: running on random data (seed 0)")
    with progress():
        outputs = loaded.run_samples(samples)
    if output is not None:
        api.save_arrays(output, outputs)
    if as_json:
        print_json({"samples": samples.count, "outputs": [_described(name, a) for name, a in outputs.items()]})
        return
    rows = [_row(name, array) for name, array in outputs.items()]
    title = f"{samples.count:,} sample{'s' if samples.count != 1 else ''}"
    print_table(title, columns("@output", "type", "shape", "#min", "#max", "#mean", "~values"), rows)


def _row(name: str, array: np.ndarray) -> tuple[object, ...]:
    from ..ops.narrow import widened

    if array.dtype.kind == "U":
        words = " ".join(map(repr, array.reshape(-1)[:_SHOWN].tolist()))
        return name, "string", shape_text(array.shape), "-", "-", "-", words + (" ..." if array.size > _SHOWN else "")
    name_of_type, array = str(array.dtype), widened(array)
    flat = array.reshape(-1)
    values = " ".join(f"{value:.6g}" for value in flat[:_SHOWN].tolist()) + (" ..." if flat.size > _SHOWN else "")
    numbers = [f"{value:.6g}" for value in (array.min(), array.max(), array.mean())] if array.size else ["-"] * 3
    return name, name_of_type, shape_text(array.shape), *numbers, values


def _described(name: str, array: np.ndarray) -> dict[str, object]:
    from ..ops.narrow import widened
    from ..report.schema import finite

    if array.dtype.kind == "U":
        return {"name": name, "dtype": "string", "shape": list(array.shape), "values": array.reshape(-1).tolist()}
    return {
        "name": name, "dtype": str(array.dtype), "shape": list(array.shape),
        "values": [finite(value) for value in widened(array).reshape(-1).tolist()],
    }  # fmt: skip
