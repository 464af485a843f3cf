"""Tree ensembles as tables of the operator ``trees``.

Every test of a node is a choice ``key <= threshold`` between the keys of floats (``ops/float_keys.py``): x < t is one
key less, x >= t the same with its branches exchanged, and x = t, or one of several, a search in the keys of the
borders. Neighbouring floats have neighbouring keys, and NaN are above or below all numbers, as the nodes want it; where
some want the one and some the other, there are keys of both kinds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..ir.types import DType, TensorType
from ..ops.counted_shares import counted_shares
from ..ops.float_keys import keys_of, spare_keys
from ..record import record
from .context import NodeContext
from .fractions_of_floats import common_denominator
from .tree_ensemble import EQ, GT, GTE, LT, MEMBER, NEQ, Ensemble

MAX_DEPTH = 4096
"""Nodes from the root of a tree to a leaf."""


def _least(dtype: np.dtype) -> int:
    return int(keys_of(np.array([-np.inf], dtype))[0])


def _borders(value: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """The keys of the greatest floats of ``dtype`` that are at most ``value``, and less than it."""
    with np.errstate(over="ignore"):
        near = value.astype(dtype)
    keys = keys_of(near)
    below = np.where(keys == 0, -2, keys - 1)  # -0.0 is not less than 0.0
    return np.where(near > value, below, keys), np.where(near >= value, below, keys)


@dataclass
class _Nodes:
    """Nodes that choose by ``key <= threshold``; those that a test needs besides are appended."""

    feature: list[int] = field(default_factory=list)
    threshold: list[int] = field(default_factory=list)
    nan_low: list[bool] = field(default_factory=list)
    low: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)

    def arrays(self) -> tuple[np.ndarray, ...]:
        lists = (self.feature, self.threshold, self.nan_low, self.low, self.high)
        return tuple(np.array(each, bool if each is self.nan_low else np.int64) for each in lists)


def _tests(trees: Ensemble, dtype: np.dtype) -> tuple[_Nodes, np.ndarray]:
    """Nodes in their order and others behind them, and how many of these a row passes at most for each."""
    below, strictly = _borders(trees.value, dtype)
    swapped = np.isin(trees.mode, (GTE, GT))
    threshold = np.where(np.isin(trees.mode, (LT, GTE)), strictly, below)
    low = np.where(swapped, trees.branch[:, 0], trees.branch[:, 1])
    high = np.where(swapped, trees.branch[:, 1], trees.branch[:, 0])
    nodes = _Nodes(*(array.tolist() for array in (trees.feature, threshold, trees.missing != swapped, low, high)))
    passed = np.ones(len(trees.mode), np.int64)
    for node in np.flatnonzero(np.isin(trees.mode, (EQ, NEQ, MEMBER))).tolist():
        values = np.unique(trees.members.get(node, trees.value[node : node + 1]))
        outside, inside = trees.branch[node].tolist()
        if trees.mode[node] == NEQ:
            outside, inside = inside, outside
        borders = np.stack(_borders(values, dtype)[::-1], axis=1).reshape(-1).tolist()
        missing = bool(trees.missing[node]) and trees.mode[node] != NEQ
        passed[node] = _search(nodes, node, borders, outside, inside, missing, dtype)
    return nodes, passed


def _search(
    nodes: _Nodes, node: int, borders: list[int], outside: int, inside: int, missing: bool, dtype: np.dtype
) -> int:
    """Makes a binary search of ``node``: behind an odd number of borders is ``inside``. NaN goes there if ``missing``:
    it is above all borders, but not above the last. Returns the depth."""
    if not borders:
        borders = [_least(dtype) - 1] * 2
    feature, last = nodes.feature[node], len(borders) - 1

    def place(first: int, end: int, at: int | None = None) -> tuple[int, int]:
        if first == end:
            return (inside if first % 2 else outside), 0
        if at is None:
            at = len(nodes.feature)
            for column in (nodes.feature, nodes.threshold, nodes.low, nodes.high):
                column.append(0)
            nodes.nan_low.append(False)
        middle = (first + end) // 2
        low, low_depth = place(first, middle)
        high, high_depth = place(middle + 1, end)
        nodes.feature[at], nodes.threshold[at] = feature, borders[middle]
        nodes.low[at], nodes.high[at], nodes.nan_low[at] = low, high, missing and middle == last
        return at, 1 + max(low_depth, high_depth)

    return place(0, len(borders), node)[1]


@record
class _Reached:
    """Trees with the leaves in them, in pairs, and the depth of each tree."""

    tree: np.ndarray
    leaf: np.ndarray
    depth: np.ndarray


def _reached(ctx: NodeContext, trees: Ensemble, passed: np.ndarray) -> _Reached:
    """Level by level; no node has two parents."""
    count = len(trees.roots)
    at, tree = trees.roots, np.arange(count)
    levels, leaf_trees, leaves = [], [], []
    while len(at):
        inner = at >= 0
        leaf_trees.append(tree[~inner])
        leaves.append(-1 - at[~inner])
        levels.append(at[inner])
        at, tree = trees.branch[at[inner]].reshape(-1), np.repeat(tree[inner], 2)
        if len(levels) > MAX_DEPTH:
            raise ctx.unsupported(f"a tree is more than {MAX_DEPTH} nodes deep")
    lost = len(trees.mode) - sum(map(len, levels))
    if lost:
        raise ctx.invalid(f"{lost} nodes cannot be reached from the root of a tree; they lead in a circle or to no one")
    below = np.zeros(len(trees.mode) + trees.leaves, np.int64)  # a leaf's place is negative: from the end
    for nodes in reversed(levels):
        below[nodes] = passed[nodes] + below[trees.branch[nodes]].max(axis=1, initial=0)
    return _Reached(np.concatenate(leaf_trees), np.concatenate(leaves), below[trees.roots])


@record
class Tables:
    """Operands of ``trees``; ``missing`` is its attribute. Scores are what it gives times ``scale``, and integers where
    that is not ``None``; ``bound`` is the greatest size of these."""

    missing: str
    column: np.ndarray
    threshold: np.ndarray
    child: np.ndarray
    root: np.ndarray
    depth: np.ndarray
    value: np.ndarray
    base: np.ndarray
    target: np.ndarray | None
    scale: float | None
    bound: int


def narrowest(array: np.ndarray) -> np.ndarray:
    """As the smallest integers that hold all elements."""
    low, high = int(array.min(initial=0)), int(array.max(initial=0))
    kinds = (np.uint8, np.int8, np.uint16, np.int16, np.int32, np.int64)
    fits = (kind for kind in kinds if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
    return array.astype(next(fits))


def tables_of(
    ctx: NodeContext, trees: Ensemble, features: TensorType, base: np.ndarray, aggregate: str, result: DType
) -> Tables:
    """The tables of an ensemble over rows of f32 or f64 with as many targets as ``base`` has entries."""
    nodes, passed = _tests(trees, features.dtype.numpy)
    feature, threshold, nan_low, low, high = nodes.arrays()
    reached = _reached(ctx, trees, passed)
    if not len(feature):  # only leaves
        feature, nan_low = np.zeros(1, np.int64), np.zeros(1, bool)
        threshold, low, high = (np.zeros(1, np.int64) for _ in range(3))
    missing, column = _columns(feature, nan_low)
    spare = spare_keys(features.dtype)
    nothing = (threshold < _least(features.dtype.numpy)) & ~nan_low  # is below it, and there is no such key
    low, threshold = np.where(nothing, high, low), np.where(nothing, 0, threshold)
    target = _target_of_trees(trees, reached, len(base))
    rows = _leaf_rows(ctx, trees, len(base) if target is None else 1, aggregate)
    value, new_base, scale, bound = _sums(rows, reached, target, base, len(trees.roots), aggregate, result)
    distinct, leaf = np.unique(value, axis=0, return_inverse=True)

    def placed(at: np.ndarray) -> np.ndarray:
        return np.where(at >= 0, at, -1 - leaf.reshape(-1)[np.maximum(-1 - at, 0)])

    low, high, root = placed(low), placed(high), placed(trees.roots)
    low, high, root = _without_idle(low, high, root)
    signed = np.int16 if max(len(feature), len(distinct)) < 2**15 else np.int32
    return Tables(
        missing, narrowest(column),
        np.where(nan_low, threshold + spare, threshold - spare).astype(f"i{features.dtype.size}"),
        np.stack([low, high], axis=1).astype(signed), root.astype(signed), narrowest(reached.depth), distinct, new_base,
        None if target is None else narrowest(target), scale, bound,
    )  # fmt: skip


def _without_idle(low: np.ndarray, high: np.ndarray, root: np.ndarray) -> tuple[np.ndarray, ...]:
    """Leads past nodes whose branches come to the same place, until there are none on the way."""
    while True:
        idle = np.append(low == high, False)
        places = [np.where(idle[np.maximum(at, -1)], low[np.maximum(at, 0)], at) for at in (low, high, root)]
        if all(np.array_equal(old, new) for old, new in zip((low, high, root), places)):
            return low, high, root
        low, high, root = places


def _columns(feature: np.ndarray, nan_low: np.ndarray) -> tuple[str, np.ndarray]:
    """Where NaN are to be, and the column of each node's key."""
    if nan_low.all() == nan_low.any():
        return "below" if nan_low.all() else "above", feature
    return "both", 2 * feature + nan_low


def _target_of_trees(trees: Ensemble, reached: _Reached, targets: int) -> np.ndarray | None:
    """The target of each tree, where all leaves of a tree have weights of one target only, and there are several."""
    if targets == 1:
        return None
    least, most = np.full(trees.leaves, targets), np.full(trees.leaves, -1)
    np.minimum.at(least, trees.leaf, trees.target)
    np.maximum.at(most, trees.leaf, trees.target)
    first, last = np.full(len(trees.roots), targets), np.full(len(trees.roots), -1)
    np.minimum.at(first, reached.tree, least[reached.leaf])
    np.maximum.at(last, reached.tree, most[reached.leaf])
    return np.minimum(first, targets - 1) if (first >= last).all() else None


def _leaf_rows(ctx: NodeContext, trees: Ensemble, columns: int, aggregate: str) -> np.ndarray:
    """Weights in float64, a row for each leaf; where a target has none it is 0, or for MIN and MAX out of the way."""
    ctx.guard_constant(trees.leaves * columns)
    start, combine = {"MIN": (np.inf, np.minimum), "MAX": (-np.inf, np.maximum)}.get(aggregate, (0.0, np.add))
    rows = np.full((trees.leaves, columns), start)
    combine.at(rows, (trees.leaf, trees.target if columns > 1 else np.zeros_like(trees.target)), trees.weight)
    return rows


FRACTION_BITS = 30
"""Integer sums of leaves are below 2^30 in size."""

SHARES = 2**24
"""Integer sums of fractions are below that: float32 holds them."""

MANY = 4
"""With more targets, leaves are rows of a table."""

_CLOSE = 2.0**-7
"""What leaves are typically worth, at least, in relation to the most that they may be worth."""


def _sums(
    rows: np.ndarray, reached: _Reached, target: np.ndarray | None, base: np.ndarray, count: int, aggregate: str,
    result: DType,
) -> tuple[np.ndarray, np.ndarray, float | None, int]:  # fmt: skip
    """Leaves, base, the scale of integer scores, and a bound of them.

    Where all leaves are the float32 of fractions with a small common denominator, as the shares of classes in small
    leaves are, integers count its parts: their sums are those of the fractions, and equal scores are equal.

    Where leaves hold shares of many classes, integers are multiples of a part for each leaf (``counted_shares``):
    tables of counts are smaller than those of weights.

    Else integers in steps of 2^-e, with a sum below 2^30, hold leaves more exactly than a float32 holds sums that are
    at least 2^-7 of their bound; their sum is exact, the same in any order, and one rounding makes a float of it. Where
    typical leaves are smaller than that, and in float64, sums are of floats. So are the least and the greatest.
    """
    if aggregate == "AVERAGE":
        rows = rows / count
    sizes = np.abs(rows).max(axis=1, initial=0)[reached.leaf]
    order = np.argsort(reached.tree, kind="stable")
    by_tree = np.split(sizes[order], np.cumsum(np.bincount(reached.tree, minlength=count))[:-1])
    greatest = np.array([part.max() for part in by_tree])
    typical = np.array([np.sort(part)[(len(part) - 1) // 2] for part in by_tree])
    bounds = np.bincount(target, greatest, len(base)) if target is not None else greatest.sum()
    bound = float(np.max(bounds + np.abs(base)))
    plain = rows.astype(result.numpy), base.astype(result.numpy), None, 0
    if aggregate in ("MIN", "MAX") or result is DType.F64 or not 2.0**-60 < bound < 2.0**60:
        return plain
    parts = common_denominator(np.append(rows.reshape(-1), base), int(SHARES / bound))
    if parts is not None:
        leaves, start = np.rint(rows * parts).astype(np.int64), np.rint(base * parts).astype(np.int32)
        return narrowest_signed(leaves), start, 1 / parts, int(bound * parts) + 1
    step = 2.0 ** (np.ceil(np.log2(bound)) - FRACTION_BITS)
    if rows.shape[1] > MANY and not base.any():
        counted = counted_shares(rows, count, step)
        if counted is not None:
            return narrowest_signed(counted.rows()), base.astype(np.int32), step, int(bound / step) + 1
    leaves, start = np.rint(rows / step).astype(np.int64), np.rint(base / step).astype(np.int64)
    exact = bool((leaves * step == rows).all() and (start * step == base).all())
    worth = float(typical.sum() / (len(base) if target is not None else 1) + np.abs(base).max())
    if not exact and worth < bound * _CLOSE:
        return plain
    common = int(np.gcd.reduce(np.append(leaves.reshape(-1), start))) or 1
    leaves, start = leaves // common, start // common
    return narrowest_signed(leaves), start.astype(np.int32), step * common, int(bound / step / common) + 1


def narrowest_signed(array: np.ndarray) -> np.ndarray:
    small = narrowest(array)
    return small if small.dtype != np.uint16 else small.astype(np.int32)
