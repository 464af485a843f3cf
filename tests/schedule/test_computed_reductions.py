"""Reductions of what their kernel computes itself: values by NumPy's definition, and no memory between the two."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.frontend_onnx import import_model
from ccml.ir.loops import Access
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph

from tests.frontend_onnx.graphs import one_node

NUMPY: dict[str, Callable[..., np.ndarray]] = {
    "ReduceL1": lambda x, axes: np.abs(x).sum(axes, keepdims=True),
    "ReduceL2": lambda x, axes: np.sqrt(np.square(x).sum(axes, keepdims=True)),
    "ReduceSumSquare": lambda x, axes: np.square(x).sum(axes, keepdims=True),
    "ReduceLogSumExp": lambda x, axes: np.log(np.exp(x).sum(axes, keepdims=True)),
}
SHAPES = [
    ((4, 48), (1,)), ((3, 63), (1,)), ((2, 3, 8, 9), (2, 3)), ((2, 33, 19), (1,)), ((37, 5), (0,)),
    ((6, 7, 16), (0, 2)),
    ((500,), (0,)), ((3, 1, 17), (1,)), ((0, 16), (1,)), ((4, 3, 5), (0, 1, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "axes"), SHAPES)
@pytest.mark.parametrize("op", NUMPY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats(op: str, shape: tuple[int, ...], axes: tuple[int, ...], dtype: type[Any]) -> None:
    """Terms are positive: each of the partial sums, of 32 terms at most in a lane, may be half a unit in the last place
    off, and so may be the functions around them."""
    x = (np.random.default_rng(7).standard_normal(shape) * 3).astype(dtype)
    want = NUMPY[op](x.astype(np.float64), axes).astype(dtype)
    tolerance = 32 * np.finfo(dtype).eps
    np.testing.assert_allclose(_run(op, x, axes), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("shape", "axes"), SHAPES)
@pytest.mark.parametrize("op", ["ReduceL1", "ReduceSumSquare"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integers(op: str, shape: tuple[int, ...], axes: tuple[int, ...], dtype: type[Any]) -> None:
    x = np.random.default_rng(7).integers(-99, 99, shape, dtype)
    np.testing.assert_array_equal(_run(op, x, axes), NUMPY[op](x, axes))


def _run(op: str, x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    proto, feeds = one_node(op, [x, np.array(axes)], 18, [1])
    (got,) = JitModel(lower_graph(optimize(import_model(proto)), host_machine())).run(feeds).values()
    return got


@pytest.mark.parametrize("op", ["ReduceL1", "ReduceL2", "ReduceSumSquare"])
@pytest.mark.parametrize(("shape", "axes"), [((64, 48), (1,)), ((2, 16, 9, 9), (2, 3)), ((9, 200), (0,))])
def test_no_result_is_as_large_as_the_input(op: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    proto, _ = one_node(op, [np.zeros(shape, np.float32), np.array(axes)], 18, [1])
    kernels = lower_graph(optimize(import_model(proto)), host_machine()).kernels
    written = [param for kernel in kernels for param in kernel.params if param.access is not Access.READ]
    assert all(prod(param.shape) < prod(shape) for param in written)
