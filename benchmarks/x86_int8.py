"""Latency of int8 models on this machine against ONNX Runtime, one thread, in the same run.

    python benchmarks/x86_int8.py [kws ic ...]

The float models are quantized by ONNX Runtime with uint8 activations, by ccml with int8 activations, and the given
``*_qdq_int8.onnx`` are taken as they are. ccml compiles its own form and the given one; ONNX Runtime runs all of them,
and the faster counts. All sides run in short rounds that alternate; printed are medians in microseconds and the ratio
of ccml's median to the fastest of ONNX Runtime's (below 1: ccml wins).
"""

from __future__ import annotations

import argparse
import logging
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import ccml
import onnx
from quantized_models import FLOAT_MODELS, MODELS, quantized_file, samples
from x86_fp32 import CALLS, ROUNDS, own, peer, timings

Call = Callable[[], object]


def options(model: Path) -> ccml.ModelOptions:
    """One sample at a time."""
    shape = onnx.load(model).graph.input[0].type.tensor_type.shape
    return ccml.ModelOptions(dims={dim.dim_param: 1 for dim in shape.dim if dim.dim_param})


def own_form(stem: str, folder: Path) -> Path:
    """The float model quantized by ccml."""
    data, file = MODELS / f"{stem.replace('digits_cnn', 'digits')}_calib.npz", folder / f"{stem}_ccml.onnx"
    ccml.quantize(MODELS / f"{stem}.onnx", ccml.Quantization(data), file, options(MODELS / f"{stem}.onnx"))
    return file


def sides(stem: str, folder: Path) -> tuple[dict[str, Call], dict[str, Call]]:
    """One inference of each form, in ccml and in ONNX Runtime."""
    mine: dict[str, Call] = {}
    theirs: dict[str, Call] = {}
    own_file, uint8 = own_form(stem, folder), quantized_file(stem, folder)
    given = MODELS / f"{stem}_qdq_int8.onnx"
    x = {onnx.load(uint8).graph.input[0].name: samples(stem)[0]}
    mine["own"] = own(own_file, options(own_file))[0]
    theirs["uint8"] = peer(uint8, x)
    theirs["own"] = peer(own_file, x)
    if given.is_file():
        mine["given"] = own(given, options(given))[0]
        theirs["given"] = peer(given, x)
    return mine, theirs


def medians(calls: dict[str, Call]) -> dict[str, float]:
    """Microseconds: the median over rounds of the medians."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        timings(call, CALLS)
    for _ in range(ROUNDS):
        for name, call in calls.items():
            found[name].append(statistics.median(timings(call, CALLS)))
    return {name: statistics.median(values) * 1e6 for name, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[[], *FLOAT_MODELS], help="default: all")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        for short in arguments.models or FLOAT_MODELS:
            mine, theirs = sides(FLOAT_MODELS[short], Path(folder))
            calls = {**{f"ccml {name}": call for name, call in mine.items()},
                     **{f"ORT {name}": call for name, call in theirs.items()}}  # fmt: skip
            found = medians(calls)
            best = min(value for name, value in found.items() if name.startswith("ORT"))
            ratios = ", ".join(f"{name} {found[f'ccml {name}'] / best:.2f}" for name in mine)
            print(f"{short:12} " + "  ".join(f"{name} {value:.1f}" for name, value in found.items()), "ratio", ratios)


if __name__ == "__main__":
    main()
