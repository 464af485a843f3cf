"""Rules of the tree ensembles of ai.onnx.ml: the operator ``trees``, and what scores become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from ..record import record
from .context import NodeContext, Rule
from .ml_scores import (
    both_scores,
    class_count,
    class_labels,
    greatest,
    label_of,
    post_transform,
    transformed,
    two_labels,
)
from .ops_ml_features import as_float
from .tree_ensemble import Ensemble
from .tree_forms import AGGREGATES, TRANSFORMS, listed_nodes, numbered_nodes
from .tree_tables import Tables, tables_of

MAX_TARGETS = 2**16


def _rows(ctx: NodeContext) -> Value:
    x = as_float(ctx, ctx.input(0))
    if len(x.shape) != 2 or not x.shape[1]:
        raise ctx.invalid(f"trees take rows of features, not {x.type}")
    return x


@record
class _Scores:
    """What trees give, and that as floats; integers come with their tables."""

    sums: Value
    floats: Value
    tables: Tables

    def above(self, ctx: NodeContext, threshold: float) -> Value:
        """Whether the float is above a threshold that is not negative, without floats where there are integers."""
        scale = self.tables.scale
        if scale is None:
            return ctx.emit("gt", self.floats, ctx.scalar(threshold, self.floats))
        limit = int(threshold / scale)
        while limit < self.tables.bound and np.float32(np.float32(limit + 1) * np.float32(scale)) <= threshold:
            limit += 1
        return ctx.emit("gt", self.sums, ctx.scalar(limit, self.sums))

    def ranked(self, ctx: NodeContext) -> Value:
        """What the greatest is found in: integers are rounded to 25 bits, so that what float32 could not tell apart
        counts as equal."""
        spare = self.tables.bound.bit_length() - 25
        if self.tables.scale is None or spare <= 0:
            return self.sums
        rounded = ctx.emit("add", self.sums, ctx.scalar(2 ** (spare - 1), self.sums))
        return ctx.emit("shr", rounded, ctx.scalar(spare, self.sums))


def _scores(ctx: NodeContext, trees: Ensemble, x: Value, base: np.ndarray, aggregate: str, result: DType) -> _Scores:
    """The scores of every row with ``base`` added."""
    extreme = aggregate in ("MIN", "MAX")
    start = np.full(len(base), np.inf if aggregate == "MIN" else -np.inf) if extreme else base
    tables = tables_of(ctx, trees, x.type, start, aggregate, result)
    target = () if tables.target is None else (tables.target,)
    operands = (
        tables.column, tables.threshold, tables.child, tables.root, tables.depth, tables.value, tables.base, *target
    )  # fmt: skip
    kind = {"MIN": "min", "MAX": "max"}.get(aggregate, "sum")
    constants = (ctx.constant(np.ascontiguousarray(array)) for array in operands)
    sums = ctx.emit("trees", x, *constants, kind=kind, missing=tables.missing)
    floats = sums
    if tables.scale is not None:
        floats = ctx.cast(sums, DType.F32)
        floats = ctx.emit("mul", floats, ctx.scalar(tables.scale, floats))
    if extreme:
        without = ctx.emit("isinf", floats, negative=True, positive=True)
        floats = ctx.emit("where", without, ctx.scalar(0, floats), floats)
        floats = ctx.emit("add", floats, ctx.constant(base.astype(floats.dtype.numpy)))
    return _Scores(sums, floats, tables)


def _base(ctx: NodeContext, counts: Sequence[int]) -> np.ndarray:
    tensor = ctx.has("base_values_as_tensor")
    given = ctx.tensor("base_values_as_tensor").reshape(-1) if tensor else np.asarray(ctx.numbers("base_values", ()))
    if (given.dtype.kind != "f" and given.size) or len(given) not in (0, *counts):
        raise ctx.invalid(f"{len(given)} base_values for {counts[0]} targets")
    return given.astype(np.float64)


def regressor(ctx: NodeContext) -> Sequence[Value]:
    x, targets, aggregate = _rows(ctx), ctx.integer("n_targets", 1), ctx.string("aggregate_function", "SUM")
    _check(ctx, targets, aggregate)
    trees, base = numbered_nodes(ctx, x.shape[1], targets, "target"), _base(ctx, (targets,))
    scores = _scores(ctx, trees, x, base if len(base) else np.zeros(targets), aggregate, DType.F32)
    return [transformed(ctx, scores.floats, post_transform(ctx))]


def ensemble(ctx: NodeContext) -> Sequence[Value]:
    """TreeEnsemble of version 5; aggregate and transform are numbers there."""
    x, targets = _rows(ctx), ctx.integer("n_targets", 1)
    aggregate, transform = ctx.integer("aggregate_function", 1), ctx.integer("post_transform", 0)
    if not 0 <= aggregate < len(AGGREGATES) or not 0 <= transform < len(TRANSFORMS):
        raise ctx.invalid(f"there is no aggregate_function {aggregate} or post_transform {transform}")
    _check(ctx, targets, AGGREGATES[aggregate])
    trees = listed_nodes(ctx, x.shape[1], targets)
    scores = _scores(ctx, trees, x, np.zeros(targets), AGGREGATES[aggregate], x.dtype)
    return [ctx.cast(transformed(ctx, scores.floats, TRANSFORMS[transform]), ctx.input(0).dtype)]


def _check(ctx: NodeContext, targets: int, aggregate: str) -> None:
    if targets < 1 or aggregate not in AGGREGATES:
        raise ctx.invalid(f"{targets} targets, aggregate_function {aggregate!r}")
    if targets > MAX_TARGETS:
        raise ctx.unsupported(f"{targets} targets are more than {MAX_TARGETS}")


def classifier(ctx: NodeContext) -> Sequence[Value]:
    """The label of the greatest score. Two classes of which one alone has weights are told apart by its score: above
    0.5 where no weight is negative, above 0 otherwise; and a single class is 1 where its score is positive, else 0."""
    x, name, labels = _rows(ctx), post_transform(ctx), class_labels(ctx, "classlabels_int64s")
    classes = class_count(ctx, "classlabels_int64s")
    _check(ctx, classes, "SUM")
    trees = numbered_nodes(ctx, x.shape[1], classes, "class")
    scored = np.unique(trees.target)
    if classes <= 2 and len(scored) <= 1:
        return _one_score(ctx, trees, x, name, labels, classes)
    base = _base(ctx, (classes, 1) if classes == 2 else (classes,))
    full = np.pad(base, (0, classes - len(base)))
    scores = _scores(ctx, trees, x, full, "SUM", DType.F32)
    ranked = scores.ranked(ctx)
    if not len(base) and len(scored) < classes:  # a class without any weight is never the label
        never = np.setdiff1d(np.arange(classes), scored)
        least = np.zeros(classes, ranked.dtype.numpy)
        least[never] = -np.inf if ranked.dtype.is_float else -(2**30)
        ranked = ctx.emit("add", ranked, ctx.constant(least))
    return [label_of(ctx, greatest(ctx, ranked), labels), transformed(ctx, scores.floats, name)]


def _one_score(
    ctx: NodeContext, trees: Ensemble, x: Value, name: str, labels: np.ndarray, classes: int
) -> Sequence[Value]:
    base, which = _base(ctx, (1, 2)), int(trees.target.max(initial=0))
    one = Ensemble(**{**vars(trees), "target": np.zeros_like(trees.target)})
    start = base[min(which, len(base) - 1)] if len(base) else 0.0
    scores = _scores(ctx, one, x, np.full(1, start), "SUM", DType.F32)
    positive = bool((trees.weight >= 0).all())
    above = scores.above(ctx, 0.5 if positive and classes == 2 else 0.0)
    place = ctx.reshape(ctx.cast(above, DType.I32), (x.shape[0],))
    label = two_labels(ctx, place, labels)
    if classes == 1:
        return [label, transformed(ctx, scores.floats, name)]
    if which == 0:
        return [label, both_scores(ctx, scores.floats, name, positive)]
    pair = ctx.emit("pad", scores.floats, before=(0, 1), after=(0, 0), mode="constant", value=0.0)
    return [label, transformed(ctx, pair, name)]


RULES: Mapping[str, Rule] = {
    "ai.onnx.ml.TreeEnsemble": ensemble,
    "ai.onnx.ml.TreeEnsembleClassifier": classifier,
    "ai.onnx.ml.TreeEnsembleRegressor": regressor,
}
