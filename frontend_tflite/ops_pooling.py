"""Pools, softmax and norms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .context import OpContext, Rule
from .ops_contraction import window


def _pool(ctx: OpContext, op_type: str, real: str) -> str:
    sizes = window(ctx, (ctx.positive("FilterHeight"), ctx.positive("FilterWidth")))
    del sizes["dilations"]
    return ctx.emit(op_type, real, **sizes)


def average_pool_2d(ctx: OpContext) -> Sequence[str]:
    """The mean of what lies within the input."""
    real = _pool(ctx, "AveragePool", ctx.channels_first(0))
    return [ctx.channels_last(ctx.result(ctx.activated(real)))]


def max_pool_2d(ctx: OpContext) -> Sequence[str]:
    real = _pool(ctx, "MaxPool", ctx.channels_first(0))
    return [ctx.channels_last(ctx.result(ctx.activated(real)))]


def l2_pool_2d(ctx: OpContext) -> Sequence[str]:
    """The root of the mean of squares, of what lies within the input."""
    x = ctx.channels_first(0)
    mean = _pool(ctx, "AveragePool", ctx.emit("Mul", x, x))
    return [ctx.channels_last(ctx.result(ctx.activated(ctx.emit("Sqrt", mean))))]


def softmax(ctx: OpContext) -> Sequence[str]:
    """Along the last axis, of beta * x."""
    beta, x = ctx.number("Beta", 1.0), ctx.real(0)
    if not np.isfinite(beta):
        raise ctx.invalid(f"beta is {beta}")
    scaled = x if beta == 1 else ctx.emit("Mul", x, ctx.scalar(beta))
    return [ctx.result(ctx.emit("Softmax", scaled, axis=-1))]


def log_softmax(ctx: OpContext) -> Sequence[str]:
    return [ctx.result(ctx.emit("LogSoftmax", ctx.real(0), axis=-1))]


def l2_normalization(ctx: OpContext) -> Sequence[str]:
    """x / max(|x|, 1e-6) along the last axis."""
    x = ctx.real(0)
    norm = ctx.emit("ReduceL2", x, ctx.indices([-1]), keepdims=1)
    return [ctx.result(ctx.activated(ctx.emit("Div", x, ctx.emit("Max", norm, ctx.scalar(1e-6)))))]


RULES: Mapping[str, Rule] = {
    "AVERAGE_POOL_2D": average_pool_2d,
    "L2_NORMALIZATION": l2_normalization,
    "L2_POOL_2D": l2_pool_2d,
    "LOG_SOFTMAX": log_softmax,
    "MAX_POOL_2D": max_pool_2d,
    "SOFTMAX": softmax,
}
