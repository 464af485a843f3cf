"""Rules of operators whose results have as many entries as a run finds: Compress, NonMaxSuppression, NonZero, Unique.

Their shapes are bounds; the builder knows the extents. Where all operands are constant, results have the shapes that
these give (``constant_operators.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, prod

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from ..ops.narrow import computed
from .context import NodeContext, Rule
from .places import check_size, strides


def compress(ctx: NodeContext) -> Sequence[Value]:
    """The elements, or along an axis the slices, whose condition is true; a short condition ends with false."""
    x, condition = ctx.input(0), ctx.input(1)
    axis = ctx.axis(ctx.integer("axis"), len(x.shape)) if ctx.has("axis") else None
    if condition.dtype is not DType.BOOL or len(condition.shape) != 1:
        raise ctx.invalid(f"the condition {condition.type} is no list of bools")
    if axis is None:
        x, axis = ctx.reshape(x, (x.type.size,)), 0
    if condition.shape[0] > x.shape[axis]:
        sizes = (x.shape[axis],)
        condition = ctx.emit("slice", condition, starts=(0,), steps=(1,), sizes=sizes)
    places, _ = ctx.emit_all("nonzero", condition)
    return [ctx.emit("gather", x, places, axis=axis)]


def non_zero(ctx: NodeContext) -> Sequence[Value]:
    """The positions, one a column. A scalar has no dimensions, and so positions without rows."""
    x = ctx.input(0)
    if not x.shape:
        raise ctx.unsupported("NonZero of a scalar", hint="reshape it to [1]")
    check_size(ctx, x.type.size)
    flat = ctx.reshape(x, (x.type.size,))
    places, _ = ctx.emit_all("nonzero", ctx.cast(flat, DType.BOOL))
    rows: list[Value] = []
    for extent, step in zip(x.shape, strides(x.shape)):
        row = places if step == 1 else ctx.emit("div", places, ctx.scalar(step, places))
        if len(rows):
            row = ctx.emit("mod", row, ctx.scalar(extent, row), fmod=False)
        rows.append(ctx.reshape(ctx.cast(row, DType.I64), (1, x.type.size)))
    return [rows[0] if len(rows) == 1 else ctx.emit("concat", *rows, axis=0)]


def unique(ctx: NodeContext) -> Sequence[Value]:
    """The different elements, or slices along an axis; where each occurs first, which of them each is, and counts."""
    x = ctx.input(0)
    axis = ctx.axis(ctx.integer("axis"), len(x.shape)) if ctx.has("axis") else None
    if axis is None:
        x, axis = ctx.reshape(x, (x.type.size,)), 0
    check_size(ctx, x.type.size)
    perm = (axis, *(d for d in range(len(x.shape)) if d != axis))
    rows = x if axis == 0 else ctx.emit("transpose", x, perm=perm)
    rows = ctx.reshape(rows, (x.shape[axis], prod(x.shape) // x.shape[axis]))
    rows = ctx.cast(rows, computed(x.dtype) if x.dtype.is_narrow else DType.U8 if x.dtype is DType.BOOL else x.dtype)
    first, inverse, counts, _ = ctx.emit_all("unique", rows, sorted=bool(ctx.integer("sorted", 1)))
    values = ctx.emit("gather", x, first, axis=axis)
    return [values, *(ctx.cast(value, DType.I64) for value in (first, inverse, counts))]


def non_max_suppression(ctx: NodeContext) -> Sequence[Value]:
    """Without a limit there are no results; it bounds them where it is constant."""
    boxes, scores = ctx.input(0), ctx.input(1)
    if len(scores.shape) != 3 or boxes.shape != (scores.shape[0], scores.shape[2], 4):
        raise ctx.invalid(f"boxes {boxes.type} and scores {scores.type} do not fit each other")
    count = scores.shape[2]
    limit = _number(ctx, 2, np.zeros((), np.int64))
    known = ctx.array(limit)
    bound = count if known is None else int(np.clip(known, 1, count))
    within = ctx.cast(ctx.emit("clip", limit, lo=0, hi=count), DType.I32)
    overlap, least = _number(ctx, 3, np.zeros((), np.float32)), _number(ctx, 4, np.asarray(-inf, np.float32))
    centered = ctx.integer("center_point_box", 0) == 1
    operands = (boxes, scores, within, overlap, least)
    rows, _ = ctx.emit_all("suppress", *operands, limit=bound, centered=centered)
    return [rows]


def _number(ctx: NodeContext, position: int, default: np.ndarray) -> Value:
    """An operand that is a single number."""
    value = ctx.optional(position) or ctx.constant(default)
    if value.type.size != 1:
        raise ctx.invalid(f"{value.name} has {value.type.size} elements, not one")
    return ctx.reshape(value, ())


RULES: Mapping[str, Rule] = {
    "Compress": compress,
    "NonMaxSuppression": non_max_suppression,
    "NonZero": non_zero,
    "Unique": unique,
}
