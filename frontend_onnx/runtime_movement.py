"""Slice and Pad with amounts that are computed at run time: gathers at computed positions.

The output's shape is the declared one. Positions are kept within the tensor whatever the operands are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from .bounded_shapes import is_bounded, padded_totals
from .context import NodeContext
from .linear import Linear, differences, linear
from .places import arange, check_size, strides
from .polynomials import Polynomial
from .runtime_choices import counted_from_start
from .spans import is_part

_FURTHEST = 1 << 30
"""Positions and amounts are kept within this, so that sums of two of them have 32 bits."""


def slice_anywhere(ctx: NodeContext) -> Sequence[Value]:
    """x[start + i * step] for each i of the extent, the start clamped as Slice does; ends are not read. Of a dimension
    whose extent a run tells, that counts."""
    x, starts, extents = ctx.input(0), ctx.input(1), ctx.extents(ctx.input(0))
    ctx = replace(ctx, over_bounds=True) if extents else ctx
    rank = len(x.shape)
    axes = _axes(ctx, 3, starts.type.size, rank)
    steps = ctx.optional(4)
    fixed = ctx.array(axes)
    shape = _slice_shape(ctx, axes)
    columns: dict[int, Value] = {}
    for d, (extent, count) in enumerate(zip(x.shape, shape, strict=False)):
        if fixed is not None and d not in fixed:
            continue
        start = _entry(ctx, starts, axes, d, 0)
        step = _entry(ctx, steps, axes, d, 1) if steps is not None else ctx.constant(np.asarray(1, np.int32))
        below = ctx.emit("lt", start, ctx.scalar(0, start))
        room = ctx.cast(extents[d], start.dtype) if d in extents else ctx.scalar(extent, start)
        start = ctx.emit("where", below, ctx.emit("add", start, room), start)
        if d in extents:
            start = ctx.emit("min", start, ctx.emit("sub", room, ctx.scalar(1, start)))
        start = ctx.emit("clip", start, lo=0, hi=max(extent - 1, 0))
        step = ctx.emit("clip", step, lo=-extent, hi=extent)
        columns[d] = ctx.emit("add", start, ctx.emit("mul", arange(ctx, count, 1, 0), step))
    other = [d for d in range(rank) if d not in columns]
    if len(shape) != rank or any(shape[d] != x.shape[d] for d in other) or any(a > b for a, b in zip(shape, x.shape)):
        raise ctx.invalid(f"{x.type} has no slice of the declared shape {list(shape)}")
    y = gather_at(ctx, x, shape, columns)
    return [ctx.with_extents(y, {d: count for d, count in extents.items() if d not in columns}) if extents else y]


def is_known_slice(ctx: NodeContext) -> bool:
    """Whether the shape of a slice is known whose starts or ends a run computes: it is declared, or all elements up to
    ends that lie a constant number behind the starts are there."""
    axes = _axes(ctx, 3, ctx.input(1).type.size, len(ctx.input(0).shape))
    return None not in _known_extents(ctx, axes)


def _slice_shape(ctx: NodeContext, axes: Value) -> tuple[int, ...]:
    found = _known_extents(ctx, axes)
    if None in found:
        return ctx.declared_shape("the range", (1, 2, 3, 4))
    return tuple(extent for extent in found if extent is not None)


def _known_extents(ctx: NodeContext, axes: Value) -> list[int | None]:
    """The declared extents; others follow from ends that lie a constant number behind the starts."""
    x, starts, ends, declared = ctx.input(0), ctx.input(1), ctx.input(2), ctx.declared(0)
    fixed, steps = ctx.array(axes), ctx.array(ctx.optional(4))
    by_one = ctx.optional(4) is None or (steps is not None and bool((steps == 1).all()))
    if declared is not None and len(declared) != len(x.shape):
        raise ctx.invalid(f"{x.type} has no slice of the declared shape {list(declared)}")
    found: list[int | None] = [None] * len(x.shape) if declared is None else list(declared)
    if fixed is not None and by_one:
        places = zip(linear(ctx.builder, starts), differences(ctx.builder, ends, starts))
        parts = dict(zip(fixed.reshape(-1).tolist(), places))
        for d, extent in enumerate(x.shape):
            if found[d] is None and d in parts:
                start, length = parts[d]
                found[d] = None if length is None else _part(ctx, x, d, start, max(length, 0))
            elif found[d] is None:
                found[d] = extent
    return found


def _part(ctx: NodeContext, x: Value, axis: int, start: Linear, length: int) -> int | None:
    """``length`` where so many elements from ``start`` on are there in every run."""
    return length if not length or is_part(ctx.builder, start, length, ctx.extent_along(x, axis)) else None


def pad_anywhere(ctx: NodeContext, mode: str) -> Sequence[Value]:
    """Each element of the declared shape, or within the bounds of the user, from where it lies in x, cut by the
    negative amounts and then continued."""
    x, pads, rank = ctx.input(0), ctx.input(1), len(ctx.input(0).shape)
    axes = _axes(ctx, 3 if ctx.opset >= 18 else len(ctx.inputs), pads.type.size // 2, rank)
    fixed = ctx.array(axes)
    extents: dict[int, Value] = {}
    if is_bounded(ctx, 1) and fixed is not None:
        shape, extents = _padded_extents(ctx, x, mode, [int(axis) for axis in fixed])
    else:
        shape = ctx.declared_shape("pads", (1, 2, 3), bound=True)
    if len(shape) != rank or pads.type.size != 2 * axes.type.size:
        raise ctx.invalid(f"pads {pads.type} of {x.type} do not give the declared shape {list(shape)}")
    count = axes.type.size
    begins = ctx.emit("slice", ctx.reshape(pads, (2 * count,)), starts=(0,), steps=(1,), sizes=(count,))
    ends = ctx.emit("slice", ctx.reshape(pads, (2 * count,)), starts=(count,), steps=(1,), sizes=(count,))
    columns: dict[int, Value] = {}
    inside: Value | None = None
    for d, extent in enumerate(x.shape):
        if fixed is not None and d not in fixed:
            if shape[d] != extent:
                raise ctx.invalid(f"{x.type} is not padded to the declared shape {list(shape)} along its axis {d}")
            continue
        before, after = _entry(ctx, begins, axes, d, 0), _entry(ctx, ends, axes, d, 0)
        cut = ctx.emit("clip", ctx.emit("neg", before), lo=0, hi=extent)
        rest = ctx.emit("sub", ctx.scalar(extent, cut), cut)
        rest = ctx.emit("sub", rest, ctx.emit("clip", ctx.emit("neg", after), lo=0, hi=extent))
        place = ctx.emit("sub", arange(ctx, shape[d], 1, 0), ctx.emit("clip", before, lo=0, hi=_FURTHEST))
        if mode == "constant":
            valid = ctx.emit(
                "and", ctx.emit("ge", place, ctx.scalar(0, place)), ctx.emit("lt", place, rest)
            )  # fmt: skip
            valid = ctx.reshape(valid, (shape[d], *[1] * (rank - d - 1)))
            inside = valid if inside is None else ctx.emit("and", inside, valid)
        else:
            place = _continued(ctx, place, ctx.emit("max", rest, ctx.scalar(1, rest)), mode)
        columns[d] = ctx.emit("add", place, cut)
    if mode != "constant":
        return [ctx.with_extents(gather_at(ctx, x, shape, columns), extents)]
    given = ctx.optional(2)
    fill = ctx.scalar(0, x) if given is None else ctx.reshape(given, ())
    if inside is None or 0 in x.shape:
        y = x if inside is None else ctx.emit("expand", fill, shape=shape)
        return [ctx.with_extents(y, extents)]
    return [ctx.with_extents(ctx.emit("where", inside, gather_at(ctx, x, shape, columns), fill), extents)]


def _padded_extents(
    ctx: NodeContext, x: Value, mode: str, axes: Sequence[int]
) -> tuple[tuple[int, ...], dict[int, Value]]:
    """The greatest shape of the result of Pad, and the extents of a run."""
    if ctx.extents(x):
        hint = "fix it with --dim, declare the shape of the result in the model (value_info), or make pads a constant"
        reason = f"Pad of mode {mode} by amounts that a run computes, of a tensor whose extent a run finds"
        raise ctx.unsupported(reason, hint=hint)
    counts, shape, extents = ctx.builder.counts, list(x.shape), dict[int, Value]()
    for axis, before, after in zip(axes, *padded_totals(ctx, x, axes), strict=True):
        total = Polynomial.constant(x.shape[axis]) + before + after
        shape[axis] = max(counts.span(total)[1], 0)
        if total.number is None:
            extents[axis] = counts.value(total, ctx.loc)
    return tuple(shape), extents


def _continued(ctx: NodeContext, place: Value, count: Value, mode: str) -> Value:
    """Positions outside of 0..count-1 as positions inside: the nearest, or those of a periodic continuation."""
    one = ctx.scalar(1, count)
    last = ctx.emit("sub", count, one)
    if mode == "edge":
        return ctx.emit("min", ctx.emit("max", place, ctx.scalar(0, place)), last)
    if mode == "wrap":
        return ctx.emit("mod", place, count, fmod=False)
    period = ctx.emit("max", ctx.emit("add", last, last), one)
    turned = ctx.emit("mod", place, period, fmod=False)
    return ctx.emit("min", turned, ctx.emit("sub", period, turned))


def _axes(ctx: NodeContext, position: int, count: int, rank: int) -> Value:
    """The axes, counted from the start; the first ones where the node names none."""
    given = ctx.optional(position)
    if given is None:
        if count > rank:
            raise ctx.invalid(f"{count} axes of {ctx.input(0).type}")
        return ctx.constant(np.arange(count, dtype=np.int32))
    known = ctx.array(given)
    if known is not None:
        return ctx.constant(np.asarray(ctx.axes([int(a) for a in known.reshape(-1)], rank), np.int32))
    if given.type.size != count:
        raise ctx.invalid(f"axes {given.type} for {count} entries")
    return counted_from_start(ctx, ctx.reshape(given, (count,)), rank)


def _entry(ctx: NodeContext, entries: Value, axes: Value, axis: int, default: int) -> Value:
    """The entry of an axis as i32: the last one whose axis it is, else ``default``."""
    count = axes.type.size
    if entries.type.size != count:
        raise ctx.invalid(f"{entries.name} has {entries.type.size} entries for {count} axes")
    narrow = ctx.cast(ctx.emit("clip", ctx.reshape(entries, (count,)), lo=-_FURTHEST, hi=_FURTHEST), DType.I32)
    known = ctx.array(axes)
    result = ctx.constant(np.asarray(default, np.int32))
    for number in range(count):
        if known is not None and known[number] != axis:
            continue
        one = ctx.reshape(ctx.emit("slice", narrow, starts=(number,), steps=(1,), sizes=(1,)), ())
        own = ctx.reshape(ctx.emit("slice", axes, starts=(number,), steps=(1,), sizes=(1,)), ())
        result = ctx.emit("where", ctx.emit("eq", own, ctx.scalar(axis, own)), one, result)
    return result


def gather_at(ctx: NodeContext, x: Value, shape: Sequence[int], columns: Mapping[int, Value]) -> Value:
    """y[i, j, ...] = x[columns[0][i], columns[1][j], ...], positions clamped; dimensions without a column stay."""
    if not columns:
        return x
    if 0 in shape:
        return ctx.constant(np.empty(shape, x.dtype.numpy))
    if 0 in x.shape:
        raise ctx.invalid(f"{x.type} has no elements for the declared shape {list(shape)}")
    first, last = min(columns), max(columns)
    check_size(ctx, prod(x.shape[first : last + 1]))
    steps, total = strides(x.shape[first : last + 1]), None
    for d in range(first, last + 1):
        column = columns.get(d)
        if column is None:
            part = arange(ctx, shape[d], last + 1, d, steps[d - first])
        else:
            part = ctx.emit("clip", column, lo=0, hi=x.shape[d] - 1)
            part = ctx.emit("mul", part, ctx.scalar(steps[d - first], part))
            part = ctx.reshape(part, (shape[d], *[1] * (last - d)))
        total = part if total is None else ctx.emit("add", total, part)
    assert total is not None
    rows = ctx.reshape(x, (*x.shape[:first], prod(x.shape[first : last + 1]), *x.shape[last + 1 :]))
    return ctx.reshape(ctx.emit("gather", rows, total, axis=first), tuple(shape))
