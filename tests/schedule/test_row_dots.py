"""Float products with few columns: lanes along the rows."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.frontend_onnx import import_model
from ccml.ir.loops import Kernel, Reduce
from ccml.ir.loops_rewrite import stmt_exprs, walk_expr, walk_stmts
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import select

from tests.frontend_onnx.graphs import one_node


def kernel(proto: onnx.ModelProto, cpu: str = "x86-64-v4", target: str = "x86") -> Kernel:
    (found,) = lower_graph(optimize(import_model(proto)), select(target, cpu=cpu)).kernels
    return found


def reduces(made: Kernel) -> bool:
    exprs = (part for stmt in walk_stmts(made.body) for expr in stmt_exprs(stmt) for part in walk_expr(expr))
    return any(isinstance(part, Reduce) for part in exprs)


@pytest.mark.parametrize(
    ("a", "b", "frozen"),
    [
        ((33, 256), (256, 1), [1]), ((33, 256), (256, 3), [1]), ((7, 77), (77, 2), [1]), ((1, 1024), (1024, 4), [1]),
        ((2, 5, 133), (133, 1), []), ((2, 5, 133), (2, 133, 1), []), ((3, 1, 6, 64), (2, 64, 1), []),
    ],
)  # fmt: skip
def test_products(a: tuple[int, ...], b: tuple[int, ...], frozen: list[int]) -> None:
    """Of small integers, whose sums are exact in any order."""
    rng = np.random.default_rng(5)
    x, w = (rng.integers(-9, 9, shape).astype(np.float32) for shape in (a, b))
    proto, feeds = one_node("MatMul", [x, w], 13, frozen)
    assert reduces(kernel(proto))
    (got,) = JitModel(lower_graph(optimize(import_model(proto)), host_machine())).run(feeds).values()
    np.testing.assert_array_equal(got, x @ w)


def test_biases() -> None:
    rng = np.random.default_rng(6)
    x, w, bias = (rng.integers(-9, 9, shape).astype(np.float32) for shape in ((18, 200), (200, 2), (2,)))
    proto, feeds = one_node("Gemm", [x, w, bias], 13, [1, 2])
    assert reduces(kernel(proto))
    (got,) = JitModel(lower_graph(optimize(import_model(proto)), host_machine())).run(feeds).values()
    np.testing.assert_array_equal(got, x @ w + bias)


@pytest.mark.parametrize(("columns", "depth"), [(5, 256), (1, 12), (4, 32)])
def test_more_columns_or_short_rows_fill_no_lanes(columns: int, depth: int) -> None:
    proto, _ = one_node("MatMul", [np.zeros((9, depth), np.float32), np.zeros((depth, columns), np.float32)], 13, [1])
    assert not reduces(kernel(proto))


@pytest.mark.parametrize(("target", "cpu"), [("x86", "x86-64-v3"), ("linux-arm64", "armv8-a")])
def test_other_vectors(target: str, cpu: str) -> None:
    weights = np.random.default_rng(7).normal(size=(256, 1)).astype(np.float32)
    proto, _ = one_node("MatMul", [np.zeros((9, 256), np.float32), weights], 13, [1])
    assert reduces(kernel(proto, cpu, target))
