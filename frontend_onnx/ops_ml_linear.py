"""Rules of LinearRegressor and LinearClassifier: a product of matrices, and what is done with its scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
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


def feature_rows(ctx: NodeContext) -> Value:
    """The features in float32, a row for each sample."""
    x = ctx.cast(ctx.input(0), DType.F32)
    if len(x.shape) not in (1, 2):
        raise ctx.invalid(f"features {x.type} have no rows")
    return x if len(x.shape) == 2 else ctx.reshape(x, (1, x.shape[0]))


def _scores(ctx: NodeContext, x: Value, columns: int) -> Value:
    """x @ coefficients^T + intercepts"""
    coefficients = np.asarray(ctx.numbers("coefficients"), np.float32)
    intercepts = np.asarray(ctx.numbers("intercepts", ()), np.float32)
    if columns < 1 or coefficients.size != columns * x.shape[1] or len(intercepts) not in (0, columns):
        raise ctx.invalid(
            f"{coefficients.size} coefficients and {len(intercepts)} intercepts for {columns} scores of {x.type}"
        )
    bias = ctx.constant(intercepts) if len(intercepts) else None
    return ctx.emit("matmul", x, ctx.constant(coefficients.reshape(columns, -1).T.copy()), bias)


def linear_regressor(ctx: NodeContext) -> Sequence[Value]:
    scores = _scores(ctx, feature_rows(ctx), ctx.integer("targets", 1))
    return [transformed(ctx, scores, post_transform(ctx))]


def linear_classifier(ctx: NodeContext) -> Sequence[Value]:
    """The label of the greatest score; one score for two classes means the second where it is above 0."""
    x, name, labels = feature_rows(ctx), post_transform(ctx), class_labels(ctx, "classlabels_ints")
    classes = class_count(ctx, "classlabels_ints")
    columns = len(ctx.numbers("coefficients")) // max(x.shape[1], 1)
    if columns != classes and (columns, classes) != (1, 2):
        raise ctx.invalid(f"{columns} scores for {classes} labels")
    scores = _scores(ctx, x, columns)
    if columns > 1:
        return [label_of(ctx, greatest(ctx, scores), labels), transformed(ctx, scores, name)]
    positive = ctx.emit("gt", ctx.reshape(scores, (x.shape[0],)), ctx.scalar(0, scores))
    chosen = two_labels(ctx, ctx.cast(positive, DType.I32), labels)
    return [chosen, both_scores(ctx, scores, name, True) if classes == 2 else transformed(ctx, scores, name)]


RULES: Mapping[str, Rule] = {
    "ai.onnx.ml.LinearClassifier": linear_classifier,
    "ai.onnx.ml.LinearRegressor": linear_regressor,
}
