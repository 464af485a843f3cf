"""Rules of SVMRegressor and SVMClassifier: kernels between rows and support vectors, and sums over these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext, Rule
from .ml_scores import class_count, class_labels, greatest, label_of, post_transform, transformed
from .ops_ml_linear import feature_rows

KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


def _kernel(ctx: NodeContext, x: Value, vectors: np.ndarray) -> Value:
    """The kernel of each row of x and each support vector; ``kernel_params`` are gamma, coef0 and degree."""
    kind = ctx.string("kernel_type", "LINEAR")
    gamma, offset, degree = (*ctx.numbers("kernel_params", ()), 0.0, 0.0, 0.0)[:3]
    if kind not in KERNELS:
        raise ctx.invalid(f"there is no kernel {kind}")

    def number(value: float) -> Value:
        return ctx.scalar(value, x)

    if kind == "RBF":
        distance = ctx.emit("square_distance", x, ctx.constant(vectors))
        return ctx.emit("exp", ctx.emit("mul", distance, number(-gamma)))
    product = ctx.emit("matmul", x, ctx.constant(vectors.T.copy()), None)
    if kind == "LINEAR":
        return product
    moved = ctx.emit("add", ctx.emit("mul", product, number(gamma)), number(offset))
    return ctx.emit("pow", moved, number(degree)) if kind == "POLY" else ctx.emit("tanh", moved)


def _matrix(ctx: NodeContext, name: str, rows: int, columns: int) -> np.ndarray:
    array = np.asarray(ctx.numbers(name), np.float32)
    if array.size != rows * columns or not array.size:
        raise ctx.invalid(f"{name} has {array.size} entries, not {rows} x {columns}")
    return array.reshape(rows, columns)


def _sums(ctx: NodeContext, x: Value, weights: np.ndarray, bias: np.ndarray) -> Value:
    """x @ weights + bias"""
    return ctx.emit("matmul", x, ctx.constant(weights.astype(np.float32)), ctx.constant(bias.astype(np.float32)))


def _rho(ctx: NodeContext, count: int) -> np.ndarray:
    rho = np.asarray(ctx.numbers("rho", ()), np.float32)
    if len(rho) != count:
        raise ctx.invalid(f"{len(rho)} entries of rho, not {count}")
    return rho


def svm_regressor(ctx: NodeContext) -> Sequence[Value]:
    """Without support vectors the coefficients are those of the features. One class is told by the sign."""
    x, count = feature_rows(ctx), ctx.integer("n_supports", 0)
    if count < 0:
        raise ctx.invalid(f"{count} support vectors")
    inner = _kernel(ctx, x, _matrix(ctx, "support_vectors", count, x.shape[1])) if count else x
    weights = _matrix(ctx, "coefficients", 1, inner.shape[1]).T
    scores = _sums(ctx, inner, weights, _rho(ctx, 1))
    if ctx.integer("one_class", 0):
        positive = ctx.emit("gt", scores, ctx.scalar(0, scores))
        return [ctx.emit("where", positive, ctx.scalar(1, scores), ctx.scalar(-1, scores))]
    return [transformed(ctx, scores, post_transform(ctx))]


def svm_classifier(ctx: NodeContext) -> Sequence[Value]:
    """A sum for each pair of classes votes for one of them; the class with most votes is the label.

    Scores are the sums, or probabilities where there are ``prob_a`` and ``prob_b``.
    """
    x, name, labels = feature_rows(ctx), post_transform(ctx), class_labels(ctx, "classlabels_ints")
    classes, supports = class_count(ctx, "classlabels_ints"), ctx.integers("vectors_per_class", ())
    if classes < 2 or min(supports, default=0) < 0 or len(supports) not in (0, classes):
        raise ctx.invalid(f"{list(supports)} support vectors for {classes} labels")
    ctx.guard_constant(classes * classes * max(sum(supports), 1))
    if not supports:
        weights = _matrix(ctx, "coefficients", classes, x.shape[1]).T
        scores = _sums(ctx, x, weights, np.full(classes, ctx.numbers("rho", (0.0,))[0]))
        return [label_of(ctx, greatest(ctx, scores), labels), transformed(ctx, scores, name)]
    pairs = list(combinations(range(classes), 2))
    sums = _pair_sums(ctx, x, supports, pairs)
    first = np.zeros((len(pairs), classes), np.float32)
    for number, (i, j) in enumerate(pairs):
        first[number, i], first[number, j] = 1, -1
    positive = ctx.cast(ctx.emit("gt", sums, ctx.scalar(0, sums)), DType.F32)
    votes = _sums(ctx, positive, first, np.arange(classes))  # where no sum is positive, class j has j votes
    label = label_of(ctx, greatest(ctx, votes), labels)
    if ctx.has("prob_a"):
        return [label, transformed(ctx, _probabilities(ctx, sums, pairs, classes), name)]
    if classes > 2:
        return [label, transformed(ctx, sums, name)]
    both = ctx.emit("concat", ctx.emit("neg", sums), sums, axis=1)
    return [label, transformed(ctx, both, name)]


def _pair_sums(ctx: NodeContext, x: Value, supports: Sequence[int], pairs: Sequence[tuple[int, int]]) -> Value:
    """For classes i < j: coefficients j - 1 of the vectors of class i and i of those of class j."""
    count, ends = sum(supports), np.cumsum(supports)
    coefficients = _matrix(ctx, "coefficients", len(supports) - 1, count)
    weights = np.zeros((count, len(pairs)), np.float32)
    for number, (i, j) in enumerate(pairs):
        own, other = (slice(ends[c] - supports[c], ends[c]) for c in (i, j))
        weights[own, number], weights[other, number] = coefficients[j - 1, own], coefficients[i, other]
    kernel = _kernel(ctx, x, _matrix(ctx, "support_vectors", count, x.shape[1]))
    return _sums(ctx, kernel, weights, _rho(ctx, len(pairs)))


def _probabilities(ctx: NodeContext, sums: Value, pairs: Sequence[tuple[int, int]], classes: int) -> Value:
    """Platt's sigmoid 1 - sigmoid(a s + b) for each pair, kept 1e-7 away from 0 and 1, then coupled."""
    a, b = (_matrix(ctx, name, 1, len(pairs)) for name in ("prob_a", "prob_b"))
    slope = ctx.emit("add", ctx.emit("mul", sums, ctx.constant(a)), ctx.constant(b))
    sure = ctx.emit("sub", ctx.scalar(1, slope), ctx.emit("sigmoid", slope))
    kept = ctx.emit("clip", sure, lo=float(np.float32(1e-7)), hi=float(np.float32(1 - 1e-7)))
    all_pairs = ctx.emit("concat", kept, ctx.emit("sub", ctx.scalar(1, kept), kept), axis=1)
    places = np.zeros((classes, classes), np.int32)
    for number, (i, j) in enumerate(pairs):
        places[i, j], places[j, i] = number, number + len(pairs)
    table = ctx.emit("gather", all_pairs, ctx.constant(places.reshape(-1)), axis=1)
    return ctx.emit("couple_probabilities", ctx.reshape(table, (sums.shape[0], classes, classes)))


RULES: Mapping[str, Rule] = {
    "ai.onnx.ml.SVMClassifier": svm_classifier,
    "ai.onnx.ml.SVMRegressor": svm_regressor,
}
