"""Whether int8 models give the same bytes on every machine, by every compiler, on all inputs of their data.

    python benchmarks/bit_matrix.py [--folder DIR] [--samples N] [--only TEXT ...] [kws8 vww ...]

The models are the ``*_qdq_int8.onnx`` of the model set (``kws8`` ...) and its float models quantized by ccml
(``kws-own`` ...). The judge is the meaning of the operators in NumPy. Boards and foreign processors are emulated.
``--only`` keeps the machines with such a text in their names. ``--folder`` keeps what is built, for the next run.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import ccml
import numpy as np
from ccml.driver import read, run_passes
from ccml.ops.evaluate import evaluate_graph
from ccml.samples import Samples
from ccml.targets import Machine, select

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.artifacts.machines import X86
from tests.artifacts.routes import Case, Route, by_c_with, by_llvm, by_make, in_process, stacked
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import AD, DIGITS, FLOAT, IC, INT8, KWS, TRANSFORMER, VWW, WAKEWORD, Model

OWN = (KWS, IC, WAKEWORD, VWW, AD, DIGITS, TRANSFORMER)
CORES = ("m0", "m0plus", "m3", "m4", "m7", "m33", "m55")


@dataclass(frozen=True)
class Column:
    """A machine and a way to it."""

    title: str
    machine: Machine
    route: Route


def columns() -> Iterator[Column]:
    for machine in (*X86, select("generic")):
        routes = {"gcc -O0": by_c_with("-O0"), "gcc -O3": by_c_with("-O3"), "clang": by_make("CC=clang")}
        for title, route in {**routes, "JIT": in_process}.items():
            yield Column(f"{machine.cpu.name} {title}", machine, route)
    for cpu in ("armv8-a", "armv8.2-a-dotprod"):
        yield Column(f"linux-arm64 {cpu} gcc", select("linux-arm64", cpu=cpu), by_make())
    for abi in ("arm64-v8a", "armeabi-v7a"):
        yield Column(f"android {abi} LLVM", select("android", abi), by_llvm("so"))
    for core in CORES:
        for title, route in {"gcc": by_c_with(), "LLVM": by_llvm("a")}.items():
            yield Column(f"cortex-{core} {title}", select(f"cortex-{core}"), route)


def quantized(model: Model, folder: Path) -> Model:
    """``model`` as ccml quantizes it with its calibration data, inputs and outputs included."""
    file = folder / f"{model.name}_own.onnx"
    if not file.exists():
        data = model.data_path.with_name(model.data_path.name.replace("digits_test", "digits_calib"))
        integers = ccml.QuantizeOptions(integer_io=True)
        ccml.quantize(model.path, ccml.Quantization(data, integers), file, model.options)
    name, inputs = f"{model.name}_own", file.with_suffix(".npz")
    np.savez(inputs, input=integer_inputs(model, file))
    options = ccml.ModelOptions(name=name)
    return replace(model, name=name, file=str(file.with_suffix("")), data=str(inputs.with_suffix("")), options=options)


def integer_inputs(model: Model, file: Path) -> np.ndarray:
    """The inputs of the model's data as the integers that the quantized ``file`` takes."""
    (value,) = read(file, ccml.ModelOptions()).graph.inputs
    (dequantize,) = (node for node in read(file, ccml.ModelOptions()).graph.nodes if value in node.operands)
    (scale,), (zero_point,) = dequantize.attrs["scale"], dequantize.attrs["zero_point"]
    with np.load(model.data_path) as data:
        steps = np.rint(data["input"] / np.float32(scale)) + zero_point
    return np.clip(steps, -128, 127).astype(np.int8)


def meaning(model: Model, samples: Samples) -> dict[str, np.ndarray]:
    """The outputs of all samples by the definition of the operators."""
    graph = run_passes(read(model.path, model.options))
    found = [evaluate_graph(graph, sample) for sample in samples]
    return {value.name: np.stack([each[value.name] for each in found]) for value in graph.outputs}


def differing(column: Column, workshop: Workshop, model: Model, samples: Samples, wanted: dict[str, np.ndarray]) -> int:
    """How many bytes of the outputs differ from ``wanted``."""
    found = stacked(column.route(Case(workshop, model, column.machine, samples)))
    return sum(np.count_nonzero(found[name].view(np.uint8) != wanted[name].view(np.uint8)) for name in wanted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="default: all")
    parser.add_argument("--samples", type=int, help="inputs of each model; default: all")
    parser.add_argument("--only", nargs="*", default=[""])
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        workshop = Workshop(folder)
        names = arguments.models or [*(str(model) for model in INT8), *(f"{model}-own" for model in OWN)]
        for name in names:
            given = next((model for model in INT8 if str(model) == name), None)
            model = given or quantized(next(m for m in FLOAT if f"{m}-own" == name), folder)
            samples = workshop.samples(model, select("generic"), arguments.samples)
            wanted = meaning(model, samples)
            total = sum(array.nbytes for array in wanted.values())
            for column in columns():
                if any(text in column.title for text in arguments.only):
                    wrong = differing(column, workshop, model, samples, wanted)
                    print(f"{name:16} {column.title:32} {wrong} of {total} bytes differ", flush=True)


if __name__ == "__main__":
    main()
