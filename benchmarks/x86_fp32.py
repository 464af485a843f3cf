"""Latency on this machine against ONNX Runtime, one thread, in the same run.

    python benchmarks/x86_fp32.py MODEL.onnx [MODEL.onnx ...]

Both sides run in short rounds that alternate, so that a slow moment of the machine hits both. Printed are the median
over rounds of each side's median, the minima, and the ratio ccml / ONNX Runtime of the medians (below 1: ccml wins).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import ccml
import numpy as np
import onnxruntime
from ccml.emit_llvm.jit import JitModel, host_machine

ROUNDS, CALLS = 40, 50


def timings(call: Callable[[], object], calls: int) -> list[float]:
    """Seconds of each of ``calls`` calls."""
    found = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return found


def peer(path: Path, inputs: dict[str, np.ndarray]) -> Callable[[], object]:
    """One inference in ONNX Runtime, with inputs and outputs bound beforehand."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_cpu_input(name, array)
    for output in session.get_outputs():
        binding.bind_output(output.name)
    return lambda: session.run_with_iobinding(binding)


def own(path: Path, options: ccml.ModelOptions) -> tuple[Callable[[], object], dict[str, np.ndarray]]:
    """One inference of the compiled model, and seeded inputs for both sides."""
    machine = host_machine()
    program = ccml.compile_model(path, machine, options).program
    rng = np.random.default_rng(0)
    inputs = {
        side.name: rng.standard_normal(side.type.shape).astype(side.type.dtype.numpy) for side in program.inputs
    }
    return JitModel(program, machine).caller(inputs), inputs


def compare(path: Path, options: ccml.ModelOptions) -> tuple[float, float, float, float]:
    """(own median, own minimum, peer median, peer minimum) in microseconds."""
    mine, inputs = own(path, options)
    theirs = peer(path, inputs)
    timings(mine, CALLS), timings(theirs, CALLS)
    medians: tuple[list[float], list[float]] = ([], [])
    minima = [float("inf"), float("inf")]
    for _ in range(ROUNDS):
        for side, call in enumerate((mine, theirs)):
            found = timings(call, CALLS)
            medians[side].append(statistics.median(found))
            minima[side] = min(minima[side], *found)
    a, b = (statistics.median(side) * 1e6 for side in medians)
    return a, minima[0] * 1e6, b, minima[1] * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--dim", action="append", default=[], help="name=value for a symbolic dimension")
    arguments = parser.parse_args()
    dims = {name: int(value) for name, value in (item.split("=") for item in arguments.dim)}
    print(f"{'model':36} {'ccml µs':>9} {'(min)':>9} {'ORT µs':>9} {'(min)':>9} {'ratio':>6}")
    for path in arguments.models:
        a, a_min, b, b_min = compare(path, ccml.ModelOptions(dims=dims))
        print(f"{path.stem:36} {a:9.1f} {a_min:9.1f} {b:9.1f} {b_min:9.1f} {a / b:6.2f}")


if __name__ == "__main__":
    main()
