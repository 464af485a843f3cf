"""Nests of reduce, arg_reduce, cumsum, softmax, the normalizations and gather."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.ops import normalization_nest

from tests.ops.nest_harness import check_nest, normal, run_nest


@pytest.mark.parametrize("kind", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int8, np.uint8, np.int64])
def test_reduce(kind: str, dtype: type[Any]) -> None:
    x = normal(2, 3, 4, dtype=dtype)
    for axes in ((0,), (1,), (2,), (0, 2), (2, 1), (0, 1, 2), ()):
        for keepdims in (False, True):
            check_nest("reduce", x, kind=kind, axes=axes, keepdims=keepdims)


def test_reduce_of_half_floats_sums_in_single_precision() -> None:
    x = np.full((1, 4096), 1.001, np.float16)
    check_nest("reduce", x, kind="sum", axes=(1,), keepdims=False, rtol=0, atol=0)


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_arg_reduce(kind: str, dtype: type[Any]) -> None:
    x = np.round(normal(4, 5, 3, dtype=dtype))
    for axis in range(3):
        for last in (False, True):
            check_nest("arg_reduce", x, kind=kind, axis=axis, keepdims=bool(axis), last=last)


def test_arg_reduce_of_infinities() -> None:
    check_nest("arg_reduce", np.full((2, 3), -np.inf, np.float32), kind="max", axis=1, keepdims=False, last=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_cumsum(dtype: type[Any]) -> None:
    x = normal(3, 4, 2, dtype=dtype)
    for axis in range(3):
        for exclusive in (False, True):
            for reverse in (False, True):
                check_nest("cumsum", x, axis=axis, exclusive=exclusive, reverse=reverse)
                check_nest("cumprod", x, axis=axis, exclusive=exclusive, reverse=reverse)


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
def test_softmax(op: str) -> None:
    x = normal(2, 5, 3) * np.float32(8)
    for axis in range(3):
        check_nest(op, x, axis=axis)
    check_nest(op, normal(4, dtype=np.float64), axis=0, rtol=1e-14, atol=1e-15)
    check_nest(op, normal(4, 6).astype(np.float16), axis=1, rtol=2e-3, atol=1e-3)
    check_nest(op, np.array([[1e4, 0, -1e4], [-np.inf, 1, 2]], np.float32), axis=1)


def test_softmax_of_long_rows_computes_the_exponentials_twice() -> None:
    check_nest("softmax", normal(2, normalization_nest.ROW_LIMIT + 1), axis=1)
    check_nest("softmax", normal(2, normalization_nest.ROW_LIMIT), axis=1)


@pytest.mark.parametrize("op", ["normalize", "rms_normalize"])
def test_normalize(op: str) -> None:
    x = normal(2, 6, 5) * np.float32(3) + np.float32(10)
    for axes in ((2,), (1, 2), (1,), (2, 0)):
        check_nest(op, x, axes=axes, epsilon=1e-5, rtol=1e-5, atol=2e-5)
    check_nest(op, x.astype(np.float64), axes=(2,), epsilon=1e-12, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("indices", [(), (3,), (2, 2), (0,)])
def test_gather(indices: tuple[int, ...]) -> None:
    x = normal(4, 5, 3)
    for axis in range(3):
        for dtype in (np.int32, np.int64):
            chosen = np.random.default_rng(0).integers(0, x.shape[axis], indices).astype(dtype)
            check_nest("gather", x, chosen, axis=axis)


def test_gather_never_reads_outside() -> None:
    x = normal(3, 2)
    (result,) = run_nest("gather", x, np.array([-5, 1, 99], np.int64), axis=0)
    np.testing.assert_array_equal(result, x[[0, 1, 2]])
