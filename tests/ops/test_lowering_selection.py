"""Nests of nonzero, unique, pack, unpack and suppress, compiled and in the interpreter, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.nest_harness import check_nest, normal


def test_nonzero() -> None:
    for x in (normal(17) > 0, np.zeros(5, bool), np.ones(3, bool)):
        places, count = check_nest("nonzero", x)
        np.testing.assert_array_equal(places[:count], np.flatnonzero(x))
        assert not places[count:].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.uint64])
def test_unique_of_single_elements(dtype: type[Any]) -> None:
    x = np.round(normal(23, 1, dtype=dtype))
    first, inverse, counts, count = check_nest("unique", x, sorted=True)
    values, *expected = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    assert count == len(values)
    for result, wanted in zip((first[:count], inverse, counts[:count]), expected, strict=True):
        np.testing.assert_array_equal(result, wanted.reshape(-1))


@pytest.mark.parametrize("in_order", [True, False])
def test_unique_rows(in_order: bool) -> None:
    rows = np.random.default_rng(3).integers(0, 3, (12, 2)).astype(np.int32)
    first, inverse, counts, count = check_nest("unique", rows, sorted=in_order)
    found = rows[first[:count]]
    np.testing.assert_array_equal(found[inverse], rows)
    assert counts[:count].sum() == len(rows) and len({tuple(row) for row in found}) == count
    keys = [tuple(row) for row in found] if in_order else list(first[:count])
    assert keys == sorted(keys)


def test_unique_takes_nan_for_the_greatest_and_one_number() -> None:
    x = np.array([[np.nan], [1], [-0.0], [np.nan], [0.0], [np.inf]], np.float32)
    first, inverse, _, count = check_nest("unique", x, sorted=True)
    assert count == 4 and list(first[:4]) == [2, 1, 5, 0] and list(inverse) == [3, 1, 0, 3, 0, 2]


@pytest.mark.parametrize("extent", [-1, 0, 1, 3, 4, 9])
def test_pack_and_unpack(extent: int) -> None:
    """Extents that are out of range are clamped."""
    x, count = normal(2, 4, 3), np.asarray(extent, np.int64)
    within = min(max(extent, 0), 4)
    (packed,) = check_nest("pack", x, count, axes=(1,))
    np.testing.assert_array_equal(packed[: 6 * within], x[:, :within].reshape(-1))
    assert not packed[6 * within :].any()
    (back,) = check_nest("unpack", packed, count, axes=(1,), shape=x.shape)
    np.testing.assert_array_equal(back[:, :within], x[:, :within])
    assert not back[:, within:].any()


def test_pack_two_axes() -> None:
    x = normal(3, 4, 5, dtype=np.int8)
    (packed,) = check_nest("pack", x, np.asarray(2), np.asarray(3), axes=(2, 1))
    np.testing.assert_array_equal(packed[:18], x[:, :3, :2].reshape(-1))


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("limit", [0, 1, 3, 9])
def test_suppress(centered: bool, limit: int) -> None:
    rng = np.random.default_rng(limit)
    boxes = rng.integers(0, 8, (2, 9, 4)).astype(np.float32)
    scores = rng.integers(0, 6, (2, 2, 9)).astype(np.float32)
    numbers = (np.asarray(limit, np.int32), np.asarray(0.25, np.float32), np.asarray(1, np.float32))
    rows, count = check_nest("suppress", boxes, scores, *numbers, limit=5, centered=centered)
    assert rows.shape == (20, 3) and 0 <= count <= 4 * min(limit, 5) and not rows[count:].any()
