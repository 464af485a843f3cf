"""Positions of elements in a tensor as numbers of the elements in a row, for gathers and scatters.

They are computed in 32 bits. A position that is out of range, which ONNX forbids, is -1 or kept within: no input can
make a model touch other memory than its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext


def strides(shape: Sequence[int]) -> list[int]:
    """Elements between neighbours along each dimension."""
    return [prod(shape[d + 1 :]) for d in range(len(shape))]


def check_reach(ctx: NodeContext, axis: int, count: Value, needed: int) -> None:
    """Raises ``UNSUPPORTED_FEATURE`` where constant positions need ``needed`` elements along a dimension, and the least
    extent that a run may be given is smaller."""
    least = ctx.builder.least(count)
    if least is not None and needed > max(least, 1):
        reason = f"{ctx.op_type} takes elements that not every extent of dimension {axis} has: it needs {needed}"
        hint = f"let the range begin at {needed} (--dim {count.name}={needed}..), or fix the dimension"
        raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=ctx.loc, hint=hint)


def within(ctx: NodeContext, indices: Value, bound: int, count: Value) -> Value:
    """Indices of a dimension whose extent is ``count``, at most ``bound``: those below 0 counted from its end, others
    kept within it; 0 where there are no elements."""
    found = ctx.cast(ctx.emit("clip", indices, lo=-bound, hi=bound), DType.I32)
    number = ctx.cast(count, DType.I32)
    below = ctx.emit("lt", found, ctx.scalar(0, found))
    found = ctx.emit("where", below, ctx.emit("add", found, number), found)
    found = ctx.emit("min", found, ctx.emit("sub", number, ctx.scalar(1, number)))
    return ctx.emit("clip", found, lo=0, hi=bound - 1)


def counted_positions(ctx: NodeContext, indices: Value, bound: int, count: Value) -> Value:
    """As :func:`positions` where the extent is ``count``, at most ``bound``: -1 where indices are beyond it."""
    found = ctx.cast(ctx.emit("clip", indices, lo=-bound - 1, hi=bound), DType.I32)
    number = ctx.cast(count, DType.I32)
    below = ctx.emit("lt", found, ctx.scalar(0, found))
    found = ctx.emit("where", below, ctx.emit("add", found, number), found)
    outside = ctx.emit("ge", found, number)
    return ctx.emit("max", ctx.emit("where", outside, ctx.scalar(-1, found), found), ctx.scalar(-1, found))


def filled_beyond(ctx: NodeContext, x: Value, extents: Mapping[int, Value], fill: int = 0) -> Value:
    """``x`` with ``fill`` beyond the extents of its dimensions."""
    for axis, count in extents.items():
        x = ctx.emit("where", inside_of(ctx, x.shape, axis, count), x, ctx.scalar(fill, x))
    return x


def inside_of(ctx: NodeContext, shape: Sequence[int], axis: int, count: Value) -> Value:
    """Whether places of a shape are before ``count`` (i64) along ``axis``: a mask that broadcasts to it."""
    ctx.guard_constant(shape[axis])
    numbers = np.arange(shape[axis], dtype=np.int64).reshape(-1, *[1] * (len(shape) - axis - 1))
    return ctx.emit("lt", ctx.constant(numbers), count)


def positions(ctx: NodeContext, indices: Value, extent: int, count: Value | None = None) -> Value:
    """Indices as i32, those below 0 counted from the end; -1 where they are out of range. Constants are checked.

    ``count`` is the extent where only a run knows it, at most ``extent``."""
    if count is not None:
        return counted_positions(ctx, indices, extent, count)
    known = ctx.array(indices)
    if known is not None and known.size and not (-extent <= known.min() and known.max() < extent):
        raise ctx.invalid(f"indices {known.min()} to {known.max()} reach outside of an extent of {extent}")
    narrow = ctx.cast(ctx.emit("clip", indices, lo=-extent - 1, hi=extent), DType.I32)
    if known is not None and known.size and known.min() >= 0:
        return narrow
    below = ctx.emit("lt", narrow, ctx.scalar(0, narrow))
    counted = ctx.emit("where", below, ctx.emit("add", narrow, ctx.scalar(extent, narrow)), narrow)
    above = ctx.emit("ge", narrow, ctx.scalar(extent, narrow))
    return ctx.emit("where", above, ctx.scalar(-1, narrow), counted)


def arange(ctx: NodeContext, extent: int, rank: int, axis: int, step: int = 1) -> Value:
    """0, step, 2 * step, ... along ``axis`` of a tensor of ``rank`` dimensions, in i32."""
    ctx.guard_constant(extent)
    numbers = np.arange(extent, dtype=np.int64) * step
    return ctx.constant(numbers.astype(np.int32).reshape(-1, *[1] * (rank - axis - 1)))


def flattened(ctx: NodeContext, columns: Sequence[Value], steps: Sequence[int]) -> Value:
    """sum(column * step); -1 where a column is negative."""
    total: Value | None = None
    valid: Value | None = None
    for column, step in zip(columns, steps, strict=True):
        part = column if step == 1 else ctx.emit("mul", column, ctx.scalar(step, column))
        total = part if total is None else ctx.emit("add", total, part)
        if ctx.array(column) is None and (len(columns) > 1 or step != 1):
            inside = ctx.emit("ge", column, ctx.scalar(0, column))
            valid = inside if valid is None else ctx.emit("and", valid, inside)
    assert total is not None
    return total if valid is None else ctx.emit("where", valid, total, ctx.scalar(-1, total))


def check_size(ctx: NodeContext, elements: int) -> None:
    """Places have 32 bits."""
    if elements >= 1 << 31:
        raise ctx.unsupported(f"a tensor of {elements} elements")
