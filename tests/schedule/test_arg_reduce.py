"""Places of extremes by vectors: what the plain nest finds, on every route, at all extents beside vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.frontend_onnx import import_model
from ccml.ir.loops import Kernel, Reduce, Store
from ccml.ir.loops_rewrite import stmt_exprs, walk_expr, walk_stmts
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import select

from tests.frontend_onnx.graphs import one_node

SHAPES = [((3, 384), 1), ((2, 21, 37), 1), ((5, 7, 67), 0), ((3, 19), 1), ((2, 16), 1), ((3, 5), 1), ((2, 9, 130), 1)]


def kernel(proto: onnx.ModelProto, target: str, cpu: str) -> Kernel:
    (found,) = lower_graph(optimize(import_model(proto)), select(target, cpu=cpu)).kernels
    return found


def expected(x: np.ndarray, kind: str, axis: int, last: bool) -> np.ndarray:
    """Of elements one after the other, of which each that is beyond the best so far takes its place."""
    integers = x.dtype.kind != "f"
    ends = (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max) if integers else (-np.inf, np.inf)
    lines = np.moveaxis(x, axis, -1)
    places = np.zeros(lines.shape[:-1], np.int64)
    for at in np.ndindex(places.shape):
        best = ends[kind == "ArgMin"]
        for r, value in enumerate(lines[at]):
            beyond = value > best if kind == "ArgMax" else value < best
            if beyond or (last and value == best):
                places[at], best = r, value
    return places


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("kind", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint8, np.int32, np.float64])
def test_first_or_last_of_equals_and_no_nan(
    shape: tuple[int, ...], axis: int, kind: str, last: bool, dtype: type[Any]
) -> None:
    rng = np.random.default_rng(7)
    x = rng.integers(0, 5, shape).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[rng.random(shape) < 0.1] = np.nan
        x[rng.random(shape) < 0.1] = -np.inf if kind == "ArgMax" else np.inf
        np.moveaxis(x, axis, -1)[0] = np.nan
        np.moveaxis(x, axis, -1)[-1] = [-np.inf if kind == "ArgMax" else np.inf] + [np.nan] * (shape[axis] - 1)
    proto, feeds = one_node(kind, [x], 13, axis=axis, select_last_index=int(last), keepdims=0)
    (got,) = JitModel(lower_graph(optimize(import_model(proto)), host_machine())).run(feeds).values()
    np.testing.assert_array_equal(got, expected(x, kind, axis, last))


@pytest.mark.parametrize(("target", "cpu"), [("x86", "x86-64-v4"), ("x86", "x86-64-v3"), ("linux-arm64", "armv8-a")])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int32])
@pytest.mark.parametrize("axis", [1, 2])
def test_vectors_are_compared(target: str, cpu: str, dtype: type[Any], axis: int) -> None:
    proto, _ = one_node("ArgMax", [np.zeros((2, 21, 64), dtype)], 13, axis=axis)
    made = kernel(proto, target, cpu)
    stores = [stmt for stmt in walk_stmts(made.body) if isinstance(stmt, Store)]
    assert all(stmt.value.type.lanes > 1 for stmt in stores if stmt.buffer.name.startswith(("best", "place_")))
    reduced = [part for s in stores for e in stmt_exprs(s) for part in walk_expr(e) if isinstance(part, Reduce)]
    assert bool(reduced) == (axis == 2)


def test_microcontrollers_keep_the_plain_nest() -> None:
    """A vector of theirs takes several cycles, and reading lines twice more flash."""
    proto, _ = one_node("ArgMax", [np.zeros((2, 64), np.float32)], 13, axis=1)
    made = kernel(proto, "cortex-m55", "cortex-m55")
    assert not [s for s in walk_stmts(made.body) if isinstance(s, Store) and s.value.type.lanes > 1]
