"""Positions of elements in a tensor as numbers of the elements in a row, for gathers and scatters.

They are computed in 32 bits. A position that is out of range, which ONNX forbids, is -1 or kept within: no input can
make a model touch other memory than its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext


def strides(shape: Sequence[int]) -> list[int]:
    """Elements between neighbours along each dimension."""
    return [prod(shape[d + 1 :]) for d in range(len(shape))]


def positions(ctx: NodeContext, indices: Value, extent: int) -> Value:
    """Indices as i32, those below 0 counted from the end; -1 where they are out of range. Constants are checked."""
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
