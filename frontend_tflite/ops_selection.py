"""Operators that take elements by their places: slices, rows, interpolation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .context import OpContext, Rule

_TO_THE_START = -(1 << 31)


def slice_(ctx: OpContext) -> Sequence[str]:
    """x, begin, size (-1: the rest)"""
    shape, begin, size = ctx.shape(0), ctx.integers(1, "the begin"), ctx.integers(2, "the size")
    if not len(begin) == len(size) == len(shape):
        raise ctx.invalid(f"begin {begin[:8]} and size {size[:8]} of the shape {list(shape)}")
    ends = [extent if s == -1 else b + s for extent, b, s in zip(shape, begin, size)]
    if not all(0 <= b <= e <= extent for b, e, extent in zip(begin, ends, shape)):
        raise ctx.invalid(f"the slice from {begin} to {ends} leaves the shape {list(shape)}")
    (x,), finish = ctx.carried([0])
    return [finish(ctx.emit("Slice", x, ctx.indices(begin), ctx.indices(ends)), ctx.out)]


def strided_slice(ctx: OpContext) -> Sequence[str]:
    """x, begin, end, strides; masks say where these do not count, and which of them are new or vanishing axes."""
    shape = ctx.shape(0)
    entries = list(zip(*(ctx.integers(1 + n, what) for n, what in enumerate(("the begin", "the end", "the strides")))))
    masks = {name: ctx.integer(f"{name}Mask") for name in ("Begin", "End", "Ellipsis", "NewAxis", "ShrinkAxis")}
    marked = {name: [bool(mask >> n & 1) for n in range(len(entries))] for name, mask in masks.items()}
    new = sum(marked["NewAxis"][n] and not marked["Ellipsis"][n] for n in range(len(entries)))
    skipped = len(shape) - (len(entries) - new - sum(marked["Ellipsis"]))
    if sum(marked["Ellipsis"]) > 1 or skipped < 0:
        raise ctx.invalid(f"{len(entries)} slices of {len(shape)} dimensions")
    starts, ends, steps, axes, axis = [], [], [], [], 0
    for n, (begin, end, step) in enumerate(entries):
        if marked["Ellipsis"][n]:
            axis += skipped
            continue
        if marked["NewAxis"][n]:
            continue
        extent = shape[axis]
        if step == 0:
            raise ctx.invalid("a stride is 0")
        if marked["ShrinkAxis"][n]:
            begin = ctx.axis(begin, extent)
            begin, end, step = begin, begin + 1, 1
        else:
            bounds = slice(
                None if marked["Begin"][n] else begin, None if marked["End"][n] else end, step
            ).indices(extent)  # fmt: skip
            begin, end, step = bounds[0], bounds[1] if bounds[1] >= 0 else _TO_THE_START, bounds[2]
        starts.append(begin)
        ends.append(end)
        steps.append(step)
        axes.append(axis)
        axis += 1
    (x,), finish = ctx.carried([0])
    if axes:
        x = ctx.emit("Slice", x, *(ctx.indices(each) for each in (starts, ends, axes, steps)))
    return [finish(ctx.reshaped(x, ctx.out.shape), ctx.out)]


def gather(ctx: OpContext) -> Sequence[str]:
    """x, indices; behind ``batch_dims`` leading dimensions, which both have, along ``axis``."""
    shape, rank = ctx.shape(0), len(ctx.shape(0))
    axis = ctx.axis(ctx.integer("Axis"), rank)
    batch = ctx.axis(ctx.integer("BatchDims"), len(ctx.shape(1)) + 1)
    if batch > axis or shape[:batch] != ctx.shape(1)[:batch]:
        raise ctx.invalid(f"{batch} batch dimensions of {list(shape)} and {list(ctx.shape(1))}, axis {axis}")
    (x,), finish = ctx.carried([0])
    indices = ctx.stored(1)
    if batch == 0:
        return [finish(ctx.emit("Gather", x, ctx.cast(indices, np.int64), axis=axis), ctx.out)]
    front = [*range(batch), axis, *range(batch, axis), *range(axis + 1, rank)]
    picked = ctx.emit("Unsqueeze", ctx.cast(indices, np.int64), ctx.indices([-1]))
    found = ctx.emit("GatherND", ctx.transposed(x, front), picked, batch_dims=batch)
    more = len(ctx.shape(1)) - batch
    middle = axis - batch
    back = [*range(batch), *range(batch + more, batch + more + middle), *range(batch, batch + more)]
    back += range(len(back), rank - 1 + more)
    return [finish(ctx.transposed(found, back), ctx.out)]


def gather_nd(ctx: OpContext) -> Sequence[str]:
    (x,), finish = ctx.carried([0])
    return [finish(ctx.emit("GatherND", x, ctx.cast(ctx.stored(1), np.int64)), ctx.out)]


def embedding_lookup(ctx: OpContext) -> Sequence[str]:
    """ids, table: rows; those of a quantized table become floats where the result is one."""
    ids = ctx.cast(ctx.stored(0), np.int64)
    (table,), finish = ctx.carried([1])
    return [finish(ctx.emit("Gather", table, ids, axis=0), ctx.out)]


def reverse(ctx: OpContext) -> Sequence[str]:
    rank = len(ctx.shape(0))
    axes = [ctx.axis(axis, rank) for axis in ctx.integers(1, "the axes")]
    (x,), finish = ctx.carried([0])
    ones = [-1] * len(axes)
    every = (ones, [_TO_THE_START] * len(axes), axes, ones)
    return [finish(ctx.emit("Slice", x, *(ctx.indices(each) for each in every)), ctx.out)]


def dynamic_update_slice(ctx: OpContext) -> Sequence[str]:
    """x, update, start: the update lies where it fits, at the place next to ``start``."""
    shape, update = ctx.shape(0), ctx.shape(1)
    if len(update) != len(shape) or any(u > extent for u, extent in zip(update, shape)):
        raise ctx.invalid(f"an update {list(update)} of the shape {list(shape)}")
    (x, new), finish = ctx.carried([0, 1])
    start = ctx.cast(ctx.reshaped(ctx.stored(2), (-1,)), np.int64)
    most = ctx.indices([extent - u for extent, u in zip(shape, update)])
    start = ctx.emit("Min", ctx.emit("Max", start, ctx.indices([0])), most)
    places = np.stack(np.meshgrid(*(np.arange(u) for u in update), indexing="ij"), axis=-1).astype(np.int64)
    return [finish(ctx.emit("ScatterND", x, ctx.emit("Add", ctx.constant(places), start), new), ctx.out)]


def _resized(ctx: OpContext, kind: str, **attributes: str) -> Sequence[str]:
    """x [n, h, w, c], the size [h, w]"""
    n, _, _, c = ctx.shape(0, 4)
    size = ctx.integers(1, "the size")
    if len(size) != 2 or min(size) < 1:
        raise ctx.invalid(f"the size {size[:8]}")
    if ctx.flag("AlignCorners"):
        place = "align_corners"
    else:
        place = "half_pixel" if ctx.flag("HalfPixelCenters") else "asymmetric"
    sizes = ctx.indices([n, c, *size])
    real = ctx.emit(
        "Resize", ctx.channels_first(0), "", "", sizes, mode=kind, coordinate_transformation_mode=place, **attributes
    )
    return [ctx.channels_last(ctx.result(real))]


def resize_bilinear(ctx: OpContext) -> Sequence[str]:
    return _resized(ctx, "linear")


def resize_nearest_neighbor(ctx: OpContext) -> Sequence[str]:
    """floor(y * scale); round(y * scale) where corners are aligned; floor((y + 0.5) * scale) by centres."""
    rounds = ctx.flag("AlignCorners") or ctx.flag("HalfPixelCenters")
    return _resized(ctx, "nearest", nearest_mode="round_prefer_ceil" if rounds else "floor")


RULES: Mapping[str, Rule] = {
    "DYNAMIC_UPDATE_SLICE": dynamic_update_slice,
    "EMBEDDING_LOOKUP": embedding_lookup,
    "GATHER": gather,
    "GATHER_ND": gather_nd,
    "RESIZE_BILINEAR": resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": resize_nearest_neighbor,
    "REVERSE_V2": reverse,
    "SLICE": slice_,
    "STRIDED_SLICE": strided_slice,
}
