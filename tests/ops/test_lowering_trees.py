"""The nest of trees against its meaning, and that against the leaves that rows come to one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.ir.types import DType
from ccml.ops.float_keys import keys_of, spare_keys
from ccml.ops.trees import evaluate_trees

from tests.ops.nest_harness import check_nest


def ensemble(
    seed: int, targets: int, *, each: bool, key: type[Any] = np.int32, value: type[Any] = np.int32
) -> list[np.ndarray]:
    """Three trees of random nodes, one of which is a leaf; with ``each`` a tree has leaves for one target."""
    rng = np.random.default_rng(seed)
    columns, split, low, high, roots, depths = [], [], [], [], [-4], [0]
    leaves = 9

    def grow(depth: int) -> int:
        if depth == 0 or rng.random() < 0.2:
            return -1 - int(rng.integers(leaves))
        at = len(columns)
        for column in (columns, split, low, high):
            column.append(0)
        columns[at], split[at] = int(rng.integers(4)), int(rng.integers(-3, 4))
        low[at], high[at] = grow(depth - 1), grow(depth - 1)
        return at

    for depth in (3, 5):
        roots.append(grow(depth))
        depths.append(depth)
    values = rng.integers(-50, 50, (leaves, 1 if each else targets)).astype(value)
    base = rng.integers(-5, 5, targets).astype(np.int32 if np.dtype(value).kind == "i" else value)
    operands = [
        rng.integers(-4, 5, (11, 4)).astype(key), np.array(columns or [0], np.uint8), np.array(split or [0], key),
        np.array([low or [-1], high or [-1]], np.int16).T.copy(), np.array(roots, np.int16), np.array(depths, np.uint8),
        values, base,
    ]  # fmt: skip
    return [*operands, np.array([1, 0, 1], np.uint8)] if each else operands


@pytest.mark.parametrize("kind", ["sum", "min", "max"])
@pytest.mark.parametrize(("targets", "each"), [(1, False), (3, False), (2, True)])
def test_nest(targets: int, each: bool, kind: str) -> None:
    for key, value in ((np.int32, np.int32), (np.int32, np.int8), (np.int64, np.float32), (np.int32, np.float64)):
        check_nest("trees", *ensemble(3, targets, each=each, key=key, value=value), kind=kind, missing="above")


@pytest.mark.parametrize("targets", [1, 3, 9])
def test_place_of_the_greatest(targets: int) -> None:
    """Instead of the totals of a row, where the first greatest of them stands."""
    operands = ensemble(6, targets, each=False)
    operands[6] %= 2  # many totals are equal
    operands[7][:] = 0
    check_nest("trees", *operands, kind="sum", missing="above", greatest=True)
    totals = evaluate_trees(operands, {"kind": "sum", "missing": "above"})[0]
    assert targets == 1 or any((row == row.max()).sum() > 1 for row in totals)


@pytest.mark.parametrize("missing", ["above", "below", "both"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats(dtype: type[Any], missing: str) -> None:
    """Floats, NaN of both signs among them, are compared by their keys."""
    keys, column, threshold, *others = ensemble(5, 2, each=False, key=np.int32)
    x = (keys / 2).astype(dtype)
    x[::3, 1], x[1::3, 2], x[4, 0] = np.nan, -np.nan, -np.inf
    low = column % 2 == 1
    spare = spare_keys(DType.from_numpy(x.dtype))
    below = low if missing == "both" else np.full(len(column), missing == "below")
    moved = keys_of((threshold / 2).astype(dtype)) + np.where(below, spare, -spare)
    columns = np.where(low, 2 * column + 1, 2 * column) if missing == "both" else column
    operands = [x, columns.astype(np.uint8), moved.astype(f"i{x.itemsize}"), *others]
    check_nest("trees", *operands, kind="sum", missing=missing)
    child, root, _, value, base = others
    expected = np.repeat(base[None], len(x), axis=0)
    for row, total in zip(x, expected):
        for place in root.tolist():
            while place >= 0:
                split, feature = threshold[place] / 2, row[column[place]]
                above = feature > split if below[place] else not feature <= split
                place = int(child[place, int(above)])
            total += value[-1 - place]
    attrs = {"kind": "sum", "missing": missing}
    np.testing.assert_array_equal(evaluate_trees(operands, attrs)[0], expected)


def test_meaning() -> None:
    """Row by row and node by node."""
    keys, column, threshold, child, root, depth, value, base = ensemble(4, 2, each=False)
    expected = np.repeat(base[None], len(keys), axis=0)
    for row, total in zip(keys, expected):
        for place in root.tolist():
            while place >= 0:
                place = int(child[place, int(row[column[place]] > threshold[place])])
            total += value[-1 - place]
    operands = (keys, column, threshold, child, root, depth, value, base)
    np.testing.assert_array_equal(evaluate_trees(operands, {"kind": "sum", "missing": "above"})[0], expected)
