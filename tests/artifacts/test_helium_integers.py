"""Integers in Helium's vectors, by GCC and by LLVM: the bits of the operators' definitions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ccml.artifact.emit import Emit
from ccml.ir.graph import Graph, GraphBuilder, Value
from ccml.ir.types import DType, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import infer_types
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import select

from tests.artifacts.built import run_artifact
from tests.tools import needs

M55 = select("cortex-m55")
LENGTH = 4 * 5 + 3
"""Whole vectors, and a rest."""
SHAPE = (3, LENGTH)


def graph_of(dtype: DType) -> Graph:
    """Arithmetic that wraps around, comparisons, choices, conversions and sums of two tensors."""
    builder = GraphBuilder(infer_types)
    x, y = (Value(name, TensorType(dtype, SHAPE)) for name in ("x", "y"))
    found = [builder.emit1(op, x, y) for op in ("add", "sub", "mul", "min", "max", "bitand", "bitor", "bitxor")]
    found += [builder.emit1(op, x) for op in ("neg", "abs", "bitnot") if dtype.is_signed or op == "bitnot"]
    found += [builder.emit1("where", builder.emit1(op, x, y), x, y) for op in ("eq", "lt", "ge")]
    others = (DType.I8, DType.U8, DType.I16, DType.I32, DType.U32, DType.F32)
    found += [builder.emit1("cast", x, to=to) for to in others]
    found += [builder.emit1("reduce", x, kind=kind, axes=(1,), keepdims=False) for kind in ("sum", "min", "max")]
    if dtype in (DType.I8, DType.U8):
        steps = {"zero_point": 3, "y_scale": 0.1, "lo": -120, "hi": 90, "to": DType.I8}
        product = {"z1": -5, "z2": 17, "m": 9639, "bias": 300_000, "shift": 20}
        found.append(builder.emit1("rescale_product", x, y, **steps, **product))  # type: ignore[arg-type]
        product = {"z1": -5, "z2": 17, "m": 40_000_000, "bias": 7, "shift": 1, "upper": True}
        found.append(builder.emit1("rescale_product", x, y, **steps, **product))  # type: ignore[arg-type]
        floats = builder.emit1("cast", x, to=DType.F32)
        found += [builder.emit1("cast", builder.emit1("mul", floats, floats), to=to) for to in (DType.I32, DType.U32)]
    outputs = [builder.emit1("add", value, value) if value in (x, y) else value for value in found]
    return optimize(Graph("g", (x, y), tuple(outputs), tuple(builder.nodes), builder.constants))


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("form", [Emit.C, Emit.OBJECT], ids=["gcc", "llvm"])
@pytest.mark.parametrize("dtype", [DType.I8, DType.U8, DType.I16, DType.U16, DType.I32], ids=lambda d: d.value)
def test_bits(dtype: DType, form: Emit, tmp_path: Path) -> None:
    graph, limits = graph_of(dtype), np.iinfo(dtype.numpy)
    rng = np.random.default_rng(5)
    ends = np.array([limits.min, limits.max, limits.min + 1, 0, 1], dtype.numpy)
    feed = {
        value.name: np.where(
            rng.random(SHAPE) < 0.4, rng.choice(ends, SHAPE), rng.integers(limits.min, limits.max, SHAPE, dtype.numpy)
        ).astype(dtype.numpy)
        for value in graph.inputs
    }
    program = lower_graph(graph, M55)
    (found,) = run_artifact(program, M55, form, tmp_path, [feed])
    with np.errstate(all="ignore"):
        expected = evaluate_graph(graph, feed)
    for value in graph.outputs:
        np.testing.assert_array_equal(found[value.name], expected[value.name], value.name)


@pytest.mark.parametrize("dtype", [DType.I8, DType.I16], ids=lambda d: d.value)
def test_loops_become_vectors(dtype: DType) -> None:
    text = "\n".join(str(kernel.body) for kernel in lower_graph(graph_of(dtype), M55).kernels if "add" in kernel.name)
    assert "lanes=4" in text
