"""Rules of operators whose results have as many entries as a run finds: Compress, NonMaxSuppression, NonZero, Unique.

Their shapes are bounds; the builder knows the extents. Where all operands are constant, results have the shapes that
these give (``constant_operators.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, prod

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from ..ops.narrow import computed
from .context import NodeContext, Rule
from .ops_constants import counted_places
from .places import check_size, inside_of, strides
from .polynomials import Polynomial


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
    within, known = ctx.extents(x).get(axis), ctx.array(condition)
    if within is None and known is not None and not ctx.builder.extents_of(condition, ctx.loc):
        return [ctx.emit("gather", x, ctx.constant(np.flatnonzero(known)), axis=axis)]
    if within is not None:
        condition = _true_within(ctx, condition, within)
    places, count = ctx.emit_all("nonzero", condition)
    if not ctx.extents(x):
        return [ctx.emit("gather", x, places, axis=axis)]
    y = replace(ctx, over_bounds=True).emit("gather", x, places, axis=axis)
    return [ctx.with_extents(y, {**ctx.extents(x), axis: count})]


def _true_within(ctx: NodeContext, condition: Value, count: Value) -> Value:
    """A list of bools that are false from ``count`` on, beside its own extent."""
    whole = replace(ctx, over_bounds=True)
    inside = inside_of(whole, condition.shape, 0, count)
    return ctx.with_extents(whole.emit("and", condition, inside), ctx.extents(condition))


def non_zero(ctx: NodeContext) -> Sequence[Value]:
    """The positions, one a column. A scalar has no dimensions, and so positions without rows."""
    x = ctx.input(0)
    if not x.shape:
        raise ctx.unsupported("NonZero of a scalar", hint="reshape it to [1]")
    check_size(ctx, x.type.size)
    if ctx.builder.numbers.is_of_ones(x):
        return [_all_places(ctx, x)]
    single = x.type.size == 1 and ctx.array(x) is None  # whose dimensions all look alike to a reshape
    inner = replace(ctx, over_bounds=True) if single or ctx.extents(x) else ctx
    chosen = inner.cast(x, DType.BOOL)
    for axis, count in ctx.extents(x).items():  # elements keep the places that they have within the bounds
        chosen = inner.emit("and", chosen, inside_of(inner, x.shape, axis, count))
    places, found = inner.emit_all("nonzero", inner.reshape(chosen, (x.type.size,)))
    rows: list[Value] = []
    for extent, step in zip(x.shape, strides(x.shape)):
        row = places if step == 1 else inner.emit("div", places, inner.scalar(step, places))
        if len(rows):
            row = inner.emit("mod", row, inner.scalar(extent, row), fmod=False)
        rows.append(inner.reshape(inner.cast(row, DType.I64), (1, x.type.size)))
    result = rows[0] if len(rows) == 1 else inner.emit("concat", *rows, axis=0)
    if not inner.over_bounds:
        return [result]
    ctx.builder.counts.atom(found, x.type.size)
    return [ctx.with_extents(result, {1: found})]


def _all_places(ctx: NodeContext, x: Value) -> Value:
    """The positions of all elements within the extents of ``x``."""
    counts, whole = ctx.builder.counts, replace(ctx, over_bounds=True)
    extents, inner = [ctx.extent_along(x, axis) for axis in range(len(x.shape))], Polynomial.constant(1)
    steps: list[Polynomial] = []
    for extent in reversed(extents):
        steps.insert(0, inner)
        inner = inner * extent
    places, rows = counted_places(ctx, x.type.size, counts.value(inner, ctx.loc)), list[Value]()
    for extent, step in zip(extents, steps):
        row = places
        if step.number != 1:  # of none there are no places
            least = counts.greatest_of(step, Polynomial.constant(1), ctx.loc)
            row = whole.emit("div", row, counts.value(least, ctx.loc))
        if rows:
            least = counts.greatest_of(extent, Polynomial.constant(1), ctx.loc)
            row = whole.emit("mod", row, counts.value(least, ctx.loc), fmod=False)
        rows.append(whole.reshape(row, (1, x.type.size)))
    result = rows[0] if len(rows) == 1 else whole.emit("concat", *rows, axis=0)
    return ctx.with_extents(result, {} if inner.number is not None else {1: counts.value(inner, ctx.loc)})


def unique(ctx: NodeContext) -> Sequence[Value]:
    """The different elements, or slices along an axis; where each occurs first, which of them each is, and counts."""
    x = ctx.input(0)
    axis = ctx.axis(ctx.integer("axis"), len(x.shape)) if ctx.has("axis") else None
    if axis is None:
        x, axis = ctx.reshape(x, (x.type.size,)), 0
    if any(d != axis for d in ctx.extents(x)):
        raise ctx.unsupported("slices with an extent that only a run knows")
    check_size(ctx, x.type.size)
    perm = (axis, *(d for d in range(len(x.shape)) if d != axis))
    rows = x if axis == 0 else ctx.emit("transpose", x, perm=perm)
    rows = ctx.reshape(rows, (x.shape[axis], prod(x.shape) // x.shape[axis]))
    rows = ctx.cast(rows, computed(x.dtype) if x.dtype.is_narrow else DType.U8 if x.dtype is DType.BOOL else x.dtype)
    if ctx.extents(x):
        return _unique_within(ctx, x, rows, axis)
    first, inverse, counts, _ = ctx.emit_all("unique", rows, sorted=bool(ctx.integer("sorted", 1)))
    values = ctx.emit("gather", x, first, axis=axis)
    return [values, *(ctx.cast(value, DType.I64) for value in (first, inverse, counts))]


def _unique_within(ctx: NodeContext, x: Value, rows: Value, axis: int) -> Sequence[Value]:
    """Of the first ``extent`` rows alone: those behind become the first one, which changes nothing but its count."""
    within, whole = ctx.extents(x)[axis], replace(ctx, over_bounds=True)
    inside = inside_of(whole, rows.shape, 0, within)
    top = whole.emit("slice", rows, starts=(0, 0), steps=(1, 1), sizes=(1, rows.shape[1]))
    rows = whole.emit("where", inside, rows, top)
    ordered = bool(ctx.integer("sorted", 1))
    first, inverse, counts, number = whole.emit_all("unique", rows, sorted=ordered)
    number = whole.emit("min", number, within)
    numbers = whole.constant(np.arange(rows.shape[0], dtype=np.int64))
    own = whole.reshape(whole.emit("slice", inverse, starts=(0,), steps=(1,), sizes=(1,)), ())
    behind = whole.emit("sub", whole.scalar(rows.shape[0], within), within)
    counts = whole.cast(counts, DType.I64)
    of_first = whole.emit("eq", numbers, whole.cast(own, DType.I64))
    counts = whole.emit("where", of_first, whole.emit("sub", counts, behind), counts)
    values = whole.emit("gather", x, first, axis=axis)
    found = [values, whole.cast(first, DType.I64), whole.cast(inverse, DType.I64), counts]
    extents = [{axis: number}, {0: number}, {0: within}, {0: number}]
    return [ctx.with_extents(value, each) for value, each in zip(found, extents, strict=True)]


def non_max_suppression(ctx: NodeContext) -> Sequence[Value]:
    """Without a limit there are no results; it bounds them where it is constant."""
    boxes, scores = ctx.input(0), ctx.input(1)
    if len(scores.shape) != 3 or boxes.shape != (scores.shape[0], scores.shape[2], 4):
        raise ctx.invalid(f"boxes {boxes.type} and scores {scores.type} do not fit each other")
    limit, most = _number(ctx, 2, np.zeros((), np.int64)), np.iinfo(np.int32).max
    known = ctx.array(limit)
    bound = int(most if known is None else np.clip(known, 1, most))
    within = ctx.cast(ctx.emit("clip", limit, lo=0, hi=most), DType.I32)
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
