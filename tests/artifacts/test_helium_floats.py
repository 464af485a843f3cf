"""float32 in Helium's vectors, by GCC and by LLVM: the bits of the operators' definitions, but for denormal numbers."""

from __future__ import annotations

from collections.abc import Callable
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

HARD = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 1.5, 2.5, -2.5, 3e9, -3e9, 1e-30], np.float32)


def pointwise(builder: GraphBuilder, x: Value, y: Value) -> list[Value]:
    unary = [builder.emit1(op, x) for op in ("neg", "abs", "floor", "ceil", "round", "relu", "sqrt")]
    binary = [builder.emit1(op, x, y) for op in ("add", "sub", "mul", "div", "min", "max")]
    chosen = [builder.emit1("where", builder.emit1(op, x, y), x, y) for op in ("eq", "lt", "le", "gt", "ge")]
    return [*unary, *binary, *chosen]


def products(builder: GraphBuilder, x: Value, y: Value) -> list[Value]:
    """Sums of small integers, which are exact in any order: with rows and columns that fill no block, and to bytes."""
    rng = np.random.default_rng(3)
    found = []
    for columns in (1, 4, 7, 9, 30):
        w = builder.constant(rng.integers(-5, 5, (LENGTH, columns)).astype(np.float32))
        found.append(builder.emit1("matmul", x, w))
    to_bytes = {"scale": (0.5,), "zero_point": (3,), "axis": 0, "to": DType.I8}
    total = builder.emit1("reduce", y, kind="sum", axes=(1,), keepdims=False)
    return [*found, builder.emit1("quantize", found[3], **to_bytes), total]


def products_of_two(builder: GraphBuilder, x: Value, y: Value) -> list[Value]:
    """Both operands are computed: rows and columns that fill no vector, in memory that tensors share."""
    inner = builder.emit1("matmul", builder.emit1("relu", x), builder.emit1("transpose", y, perm=(1, 0)))
    outer = builder.emit1("matmul", inner, y)
    stacks = [builder.emit1("reshape", value, shape=(7, LENGTH, 1)) for value in (x, y)]
    return [outer, builder.emit1("matmul", stacks[0], builder.emit1("transpose", stacks[1], perm=(0, 2, 1)))]


def graph_of(outputs: Callable[[GraphBuilder, Value, Value], list[Value]], rows: int) -> Graph:
    builder = GraphBuilder(infer_types)
    x, y = (Value(name, TensorType(DType.F32, (rows, LENGTH))) for name in ("x", "y"))
    found = outputs(builder, x, y)
    return optimize(Graph("g", (x, y), tuple(found), tuple(builder.nodes), builder.constants))


def hard_numbers(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(shape) < 0.5, rng.choice(HARD, shape), rng.normal(0, 3, shape)).astype(np.float32)


def small_integers(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return rng.integers(-5, 5, shape).astype(np.float32)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("form", [Emit.C, Emit.OBJECT], ids=["gcc", "llvm"])
@pytest.mark.parametrize(
    ("outputs", "numbers"),
    [(pointwise, hard_numbers), (products, small_integers), (products_of_two, small_integers)],
)
def test_bits(
    outputs: Callable[[GraphBuilder, Value, Value], list[Value]],
    numbers: Callable[[tuple[int, ...], np.random.Generator], np.ndarray],
    form: Emit,
    tmp_path: Path,
) -> None:
    graph = graph_of(outputs, 7)
    rng = np.random.default_rng(11)
    feed = {value.name: numbers(value.shape, rng) for value in graph.inputs}
    program = lower_graph(graph, M55)
    (found,) = run_artifact(program, M55, form, tmp_path, [feed])
    with np.errstate(all="ignore"):
        expected = evaluate_graph(graph, feed)
    for value in graph.outputs:
        np.testing.assert_array_equal(found[value.name], expected[value.name], value.name)
