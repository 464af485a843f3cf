"""Every operator behind a convolution and in front of one, quantized: nothing may be an internal error, and the written
model, read again, gives the same.

    python -m tests.fuzz.quantized --seed 1 --count 2 [--before] [--only OPS]
"""

from __future__ import annotations

import argparse
import logging
import sys
import traceback
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from ccml.driver import Source, compile_source, import_source
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError
from ccml.frontend_onnx.export import export_model
from ccml.quantization.source import Quantization, quantize_source

from tests.fuzz.cases import Case, pair
from tests.fuzz.table import operators

_SAMPLES = 10


def case(operator: str, seed: int, *, before: bool = False) -> Case | None:
    """The operator behind a convolution, or ``before`` one; ``None`` where nothing can be quantized."""
    found = pair(operator, "Conv", seed) if before else pair("Conv", operator, seed)
    if found is None or not any(array.dtype == np.float32 for array in found.parts.inputs.values()):
        return None
    return found if all(array.dtype.isbuiltin == 1 for array in found.parts.inputs.values()) else None


def samples(case: Case, seed: int) -> list[dict[str, np.ndarray]]:
    """The inputs of the case, and others around them."""
    rng = np.random.default_rng(seed)

    def moved(array: np.ndarray) -> np.ndarray:
        return np.asarray(array * rng.uniform(0.8, 1.1)).astype(array.dtype) if array.dtype.kind == "f" else array

    first = dict(case.parts.inputs)
    return [first, *({name: moved(array) for name, array in first.items()} for _ in range(_SAMPLES - 1))]


def outcome(case: Case, seed: int) -> str:
    """``ok``, or what kept the model from being quantized (``refused``) or written (``not written``), or ``wrong``."""
    data = samples(case, seed)
    try:
        with np.errstate(all="ignore"):
            source = import_source(Path("model.onnx"), case.parts.model(case.opset))
            quantized = quantize_source(source, Quantization(data)).source
            wanted = _results(quantized, data[0])
    except CcmlError as problem:
        return f"{'wrong' if problem.kind.code.startswith('E3') else 'refused'}: {problem}"
    try:
        written = export_model(quantized.graph)
    except CcmlError as problem:
        return f"not written: {problem}"
    try:
        found = _results(import_source(Path("written.onnx"), written), data[0])
    except CcmlError as problem:
        return f"wrong: what was written is refused: {problem}"
    return "ok" if _same(found, wanted) else "wrong: what was written gives something else"


def _results(source: Source, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    machine = host_machine()
    program = compile_source(source, machine).program
    return dict(JitModel(program, machine).run(program.filled(inputs)))


def _same(found: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray]) -> bool:
    """Floats but for the order of sums: MatMul and Add are two operators in ONNX."""
    return all(
        np.allclose(found[name], array, rtol=1e-4, atol=1e-5, equal_nan=True)
        if array.dtype.kind == "f" else np.array_equal(found[name], array)
        for name, array in wanted.items() if name in found
    )  # fmt: skip


def run(names: Iterable[str], seed: int, *, before: bool = False) -> Counter[str]:
    """Prints what did not go well, and counts."""
    counts: Counter[str] = Counter()
    for name in names:
        made = case(name, seed, before=before)
        if made is None:
            continue
        try:
            found = outcome(made, seed)
        except Exception as problem:  # anything that the compiler lets through is what we are looking for
            last = traceback.extract_tb(problem.__traceback__)[-1]
            found = f"wrong: {type(problem).__name__} at {last.filename}:{last.lineno}: {problem}"
        counts[found.split(":")[0]] += 1
        if found != "ok":
            print(made.name, found, flush=True)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--before", action="store_true", help="operators in front of a convolution")
    parser.add_argument("--only", nargs="*", help="operators")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    counts: Counter[str] = Counter()
    for seed in range(given.seed, given.seed + given.count):
        counts += run(given.only or operators(), seed, before=given.before)
    print(dict(counts))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
