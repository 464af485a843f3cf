"""Reductions, places of extremes, running sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from .context import OpContext, Rule


def _axes(ctx: OpContext) -> list[int]:
    rank = len(ctx.shape(0))
    return sorted({ctx.axis(axis, rank) for axis in ctx.integers(1, "the axes")})


def reduced(op_type: str, ctx: OpContext) -> Sequence[str]:
    """Along constant axes; no axes, no reduction."""
    axes, keep = _axes(ctx), int(ctx.flag("KeepDims"))
    real = ctx.emit(op_type, ctx.real(0), ctx.indices(axes), keepdims=keep, noop_with_empty_axes=1)
    return [ctx.result(real)]


def reduced_booleans(op_type: str, ctx: OpContext) -> Sequence[str]:
    axes, keep = _axes(ctx), int(ctx.flag("KeepDims"))
    numbers = ctx.cast(ctx.stored(0), np.int32)
    found = ctx.emit(op_type, numbers, ctx.indices(axes), keepdims=keep, noop_with_empty_axes=1)
    return [ctx.cast(found, np.bool_)]


def arg_extreme(op_type: str, ctx: OpContext) -> Sequence[str]:
    """The first of equals; quantized elements are compared as they are stored."""
    axes = ctx.integers(1, "the axis")
    if len(axes) != 1:
        raise ctx.invalid("there is more than one axis")
    found = ctx.emit(op_type, ctx.stored(0), axis=ctx.axis(axes[0], len(ctx.shape(0))), keepdims=0)
    return [ctx.cast(found, ctx.out.dtype)]


def cumsum(ctx: OpContext) -> Sequence[str]:
    axes = ctx.integers(1, "the axis")
    if len(axes) != 1:
        raise ctx.invalid("there is more than one axis")
    axis = ctx.constant(np.asarray(ctx.axis(axes[0], len(ctx.shape(0))), np.int64))
    exclusive, reverse = int(ctx.flag("Exclusive")), int(ctx.flag("Reverse"))
    return [ctx.result(ctx.emit("CumSum", ctx.real(0), axis, exclusive=exclusive, reverse=reverse))]


RULES: Mapping[str, Rule] = {
    "ARG_MAX": partial(arg_extreme, "ArgMax"),
    "ARG_MIN": partial(arg_extreme, "ArgMin"),
    "CUMSUM": cumsum,
    "MEAN": partial(reduced, "ReduceMean"),
    "REDUCE_ALL": partial(reduced_booleans, "ReduceMin"),
    "REDUCE_ANY": partial(reduced_booleans, "ReduceMax"),
    "REDUCE_MAX": partial(reduced, "ReduceMax"),
    "REDUCE_MIN": partial(reduced, "ReduceMin"),
    "REDUCE_PROD": partial(reduced, "ReduceProd"),
    "SUM": partial(reduced, "ReduceSum"),
}
