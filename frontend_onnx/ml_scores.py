"""Scores of the classifiers and regressors of ai.onnx.ml: transforms and labels, by ONNX Runtime's meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import pi, sqrt

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext
from .ops_strings import chosen_strings


def softmax_zero(ctx: NodeContext, scores: Value) -> Value:
    """Softmax of the scores that are not 0; those stay, times e^-max. Where all are 0 it is 0 / 0: no number."""
    axis = len(scores.shape) - 1
    top = ctx.emit("reduce", scores, kind="max", axes=(axis,), keepdims=True)
    zero = ctx.emit("le", ctx.emit("abs", scores), ctx.scalar(1e-7, scores))
    powers = ctx.emit("exp", ctx.emit("sub", scores, top))
    counted = ctx.emit("where", zero, ctx.scalar(0, scores), powers)
    small = ctx.emit("mul", scores, ctx.emit("exp", ctx.emit("neg", top)))
    total = ctx.emit("reduce", counted, kind="sum", axes=(axis,), keepdims=True)
    return ctx.emit("div", ctx.emit("where", zero, small, powers), total)


def probit(ctx: NodeContext, scores: Value) -> Value:
    """sqrt(2) * erfinv(2p - 1) with Winitzki's approximation of erfinv, which ONNX Runtime takes.

    With L = log(1 - x^2), a = 0.147 and v = 2 / (pi a) + L / 2: erfinv(x) = sign(x) sqrt(sqrt(v^2 - L / a) - v)
    """

    def times(x: Value, factor: float) -> Value:
        return ctx.emit("mul", x, ctx.scalar(factor, x))

    x = ctx.emit("sub", times(scores, 2), ctx.scalar(1, scores))
    one = ctx.scalar(1, x)
    log = ctx.emit("log", ctx.emit("mul", ctx.emit("sub", one, x), ctx.emit("add", one, x)))
    v = ctx.emit("add", times(log, 0.5), ctx.scalar(2 / (pi * 0.147), x))
    root = ctx.emit("sqrt", ctx.emit("sub", ctx.emit("mul", v, v), times(log, 1 / 0.147)))
    size = ctx.emit("sqrt", ctx.emit("sub", root, v))
    negative = ctx.emit("lt", x, ctx.scalar(0, x))
    return times(ctx.emit("where", negative, ctx.emit("neg", size), size), sqrt(2))


_TRANSFORMS: Mapping[str, Callable[[NodeContext, Value], Value]] = {
    "NONE": lambda ctx, scores: scores,
    "LOGISTIC": lambda ctx, scores: ctx.emit("sigmoid", scores),
    "SOFTMAX": lambda ctx, scores: ctx.emit("softmax", scores, axis=len(scores.shape) - 1),
    "SOFTMAX_ZERO": softmax_zero,
    "PROBIT": probit,
}


def post_transform(ctx: NodeContext, default: str = "NONE") -> str:
    name = ctx.string("post_transform", default)
    if name not in _TRANSFORMS:
        raise ctx.invalid(f"there is no post_transform {name}")
    return name


def transformed(ctx: NodeContext, scores: Value, name: str) -> Value:
    """``scores[rows, columns]`` after a post transform. Of a single column PROBIT is the only one that is applied."""
    if scores.shape[-1] == 1 and name != "PROBIT":
        return scores
    return _TRANSFORMS[name](ctx, scores)


def both_scores(ctx: NodeContext, score: Value, name: str, complement: bool) -> Value:
    """Two columns for the one score of a classifier of two classes: with LOGISTIC sigmoid(-s) and sigmoid(s), else
    1 - s or, without ``complement``, -s, and s."""
    if name == "PROBIT":
        raise ctx.unsupported("PROBIT of one score for two classes")
    negative = ctx.emit("neg", score)
    if name == "LOGISTIC":
        return ctx.emit("sigmoid", ctx.emit("concat", negative, score, axis=1))
    other = ctx.emit("sub", ctx.scalar(1, score), score) if complement else negative
    return ctx.emit("concat", other, score, axis=1)


def class_labels(ctx: NodeContext, integers: str) -> np.ndarray:
    """The labels of the classes in order; strings are objects. ``integers`` names the attribute of numeric ones."""
    names = ctx.strings("classlabels_strings", ())
    return np.array(names, object) if names else np.asarray(ctx.integers(integers, ()), np.int64)


def class_count(ctx: NodeContext, integers: str) -> int:
    return len(ctx.strings("classlabels_strings", ())) or len(ctx.integers(integers, ()))


def label_of(ctx: NodeContext, place: Value, labels: np.ndarray) -> Value:
    """The labels at the places (numbers of classes) ``place[rows]``."""
    if labels.dtype.kind == "O":
        return chosen_strings(ctx, place, labels.tolist())
    if np.array_equal(labels, np.arange(len(labels))):
        return ctx.cast(place, DType.I64)
    return ctx.emit("gather", ctx.constant(labels), ctx.cast(place, DType.I32), axis=0)


def two_labels(ctx: NodeContext, place: Value, labels: np.ndarray) -> Value:
    """The label of one of two classes; where there is a single class, 1 or 0 for whether it is that."""
    if len(labels) != 2 and labels.dtype.kind == "O":
        raise ctx.unsupported("a single class whose label is a string", hint="train with integers as labels")
    return label_of(ctx, place, labels if len(labels) == 2 else np.arange(2))


def greatest(ctx: NodeContext, scores: Value) -> Value:
    """The number of the first greatest score of each row."""
    return ctx.emit("arg_reduce", scores, kind="max", axis=1, keepdims=False, last=False)
