"""Nests of scatter and top_k against their meaning, compiled and in the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.nest_harness import check_nest, normal


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int64])
def test_scatter(reduction: str, dtype: type[Any]) -> None:
    """Places repeat, and some are out of range: these change nothing."""
    x, updates = normal(4, 3, dtype=dtype), normal(2, 5, 3, dtype=dtype)
    for places in (np.int32, np.int64):
        chosen = np.array([[0, 3, 3, 1, -1], [4, 3, 0, 99, -7]], places)
        check_nest("scatter", x, chosen, updates, reduction=reduction, rtol=0, atol=0)


def test_scatter_keeps_nan_in_extremes() -> None:
    x, places = np.array([np.nan, 1, 2], np.float32), np.array([0, 1, 1], np.int32)
    for reduction in ("min", "max"):
        check_nest("scatter", x, places, np.array([1, np.nan, 5], np.float32), reduction=reduction)


def test_scatter_of_places_beyond_32_bits() -> None:
    places = np.array([(1 << 32) + 1, -(1 << 40), 1], np.int64)
    check_nest("scatter", normal(3), places, normal(3, seed=1), reduction="none")


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.uint64])
def test_top_k(dtype: type[Any], largest: bool) -> None:
    """With many equal elements, of which the first come first."""
    for shape, axis in (((2, 9, 3), 1), ((33,), 0), ((5, 2), 0), ((3, 1), 1)):
        x = np.round(normal(*shape, dtype=dtype))
        for k in {1, 2, shape[axis] // 2 or 1, shape[axis]}:
            if k <= shape[axis]:
                check_nest("top_k", x, axis=axis, k=k, largest=largest)


@pytest.mark.parametrize("largest", [True, False])
def test_top_k_takes_nan_for_the_greatest(largest: bool) -> None:
    x = np.array([1, np.nan, -np.inf, 0.0, np.inf, -0.0, np.nan, 3], np.float32)
    for k in (1, 3, 8):
        check_nest("top_k", x, axis=0, k=k, largest=largest)


def test_top_k_of_sorted_lines() -> None:
    for x in (np.arange(40, dtype=np.float32), np.arange(40, 0, -1, dtype=np.float32), np.zeros(40, np.float32)):
        for largest in (True, False):
            check_nest("top_k", x, axis=0, k=17, largest=largest)
