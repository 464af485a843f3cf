"""Rules of operators that read a tensor between its elements, and of AffineGrid, which says where.

The core operators have channels last; around them are transposes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext, Rule
from .padding import WindowAttributes, window_attributes
from .places import filled_beyond

_MODES = {"bilinear": "linear", "bicubic": "cubic", "linear": "linear", "cubic": "cubic", "nearest": "nearest"}
_BORDERS = {"zeros": "zeros", "border": "edge", "reflection": "reflect"}


def _channels_last(ctx: NodeContext, x: Value) -> Value:
    rank = len(x.shape)
    return ctx.emit("transpose", x, perm=(0, *range(2, rank), 1))


def _channels_first(ctx: NodeContext, x: Value) -> Value:
    rank = len(x.shape)
    return ctx.emit("transpose", x, perm=(0, rank - 1, *range(1, rank - 1)))


def grid_sample(ctx: NodeContext) -> Sequence[Value]:
    """Positions from -1 to 1 along each dimension, the last dimension first, become positions in elements.

    -1 and 1 are the centers of the first and the last element with ``align_corners``, else their outer borders. NaN is
    taken for -1, as PyTorch has it.
    """
    x, grid = ctx.input(0), ctx.input(1)
    mode = _MODES.get(ctx.string("mode", "linear" if ctx.opset >= 20 else "bilinear"))
    border = _BORDERS.get(ctx.string("padding_mode", "zeros"))
    align = bool(ctx.integer("align_corners", 0))
    spatial = len(x.shape) - 2
    if mode is None or border is None or spatial < 1:
        raise ctx.invalid(f"GridSample of {x.type} in that mode")
    if len(grid.shape) != len(x.shape) or grid.shape[0] != x.shape[0] or grid.shape[-1] != spatial:
        raise ctx.invalid(f"grid {grid.type} does not fit {x.type}")
    if mode == "cubic" and spatial > 3:
        raise ctx.unsupported(f"cubic interpolation in {spatial} dimensions")
    known, found = _extents_of_samples(ctx, x, grid)
    whole = replace(ctx, over_bounds=True) if known or found else ctx
    real = grid if grid.dtype is DType.F64 else whole.cast(grid, DType.F32)
    real = whole.emit("where", whole.emit("isnan", real), whole.scalar(-1, real), real)
    flat = whole.reshape(real, (x.shape[0], prod(grid.shape[1:-1]), spatial))
    backwards = whole.emit("slice", flat, starts=(0, 0, spatial - 1), steps=(1, 1, -1), sizes=flat.shape)
    extents = _as_numbers(whole, x, known, backwards.dtype)
    points = _in_elements(whole, backwards, extents, align)
    if known and mode == "cubic" and border != "zeros":
        x, points, border = _with_elements_around(whole, x, points, extents, border, align)
    elif known:
        points, border = _within(whole, points, extents, border, align)
        x = filled_beyond(whole, x, known)
    floating = x.dtype.is_float or mode == "nearest"
    values = _channels_last(whole, x if floating else whole.cast(x, DType.F32))
    y = whole.emit("sample", values, points, mode=mode, border=border, align_corners=align)
    y = _channels_first(whole, whole.reshape(y, (x.shape[0], *grid.shape[1:-1], x.shape[1])))
    return [ctx.with_extents(y if floating else whole.cast(y, x.dtype), found)]


def _extents_of_samples(ctx: NodeContext, x: Value, grid: Value) -> tuple[dict[int, Value], dict[int, Value]]:
    """The spatial dimensions of ``x`` whose extents a run tells, and those of the result."""
    images, points = ctx.extents(x), ctx.extents(grid)
    found = {axis: count for axis, count in images.items() if axis < 2}
    found |= {0 if axis == 0 else axis + 1: count for axis, count in points.items()}
    return {axis: count for axis, count in images.items() if axis > 1}, found


def _as_numbers(ctx: NodeContext, x: Value, known: Mapping[int, Value], dtype: DType) -> Value:
    """The spatial extents of ``x``, a number each."""
    if not known:
        return ctx.constant(np.array(x.shape[2:], dtype.numpy))
    counts = [
        ctx.cast(known[axis], dtype) if axis in known else ctx.constant(np.array(x.shape[axis], dtype.numpy))
        for axis in range(2, len(x.shape))
    ]
    return ctx.emit("concat", *(ctx.reshape(count, (1,)) for count in counts), axis=0)


def _within(
    ctx: NodeContext, points: Value, extents: Value, border: str, align: bool
) -> tuple[Value, str]:
    """Places among elements behind which there are zeros, by which the border is the same. Places that are mirrored at
    the outer borders of the elements are at most half an element outside, where their mirror images are those at the
    edge."""
    if border == "zeros":
        return points, border
    if border == "reflect":
        points = _mirrored(ctx, points, extents, align)
    return _clamped(ctx, points, extents, 0), "zeros"


_AROUND = 3
"""Elements on either side that cubic interpolation reads of places at most two elements outside."""


def _with_elements_around(
    ctx: NodeContext, x: Value, points: Value, extents: Value, border: str, align: bool
) -> tuple[Value, Value, str]:
    """An image with the elements of its border around it, and the places in that. Cubic interpolation takes each of its
    elements from the border. Of places further outside, what is repeated is the same two elements out, and what is
    mirrored is symmetric about the edge."""
    for number in range(len(x.shape) - 2):
        axis = 2 + number
        extent = ctx.emit("slice", extents, starts=(number,), steps=(1,), sizes=(1,))
        places = ctx.constant(np.arange(-_AROUND, x.shape[axis] + _AROUND + 1).astype(points.dtype.numpy))
        if border == "reflect":
            places = _mirrored(ctx, places, extent, align)
        x = ctx.emit("gather", x, ctx.cast(_clamped(ctx, places, extent, 0), DType.I64), axis=axis)
    points = _mirrored(ctx, points, extents, align) if border == "reflect" else _clamped(ctx, points, extents, 2)
    return x, ctx.emit("add", points, ctx.scalar(_AROUND, points)), "zeros"


def _clamped(ctx: NodeContext, points: Value, extents: Value, outside: int) -> Value:
    """Places at most so many elements outside."""
    last = ctx.emit("sub", extents, ctx.scalar(1 - outside, extents))
    return ctx.emit("max", ctx.emit("min", points, last), ctx.scalar(-outside, points))


def _mirrored(ctx: NodeContext, points: Value, extents: Value, align: bool) -> Value:
    """Places within the centers of the first and the last element with ``align``, else within their outer borders: the
    distance from the first, modulo there and back."""
    first = ctx.scalar(0 if align else -0.5, points)
    period = ctx.emit("mul", ctx.emit("sub", extents, ctx.scalar(int(align), points)), ctx.scalar(2, points))
    period = ctx.emit("max", period, ctx.scalar(1, points))
    there = ctx.emit("mod", ctx.emit("abs", ctx.emit("sub", points, first)), period, fmod=True)
    return ctx.emit("add", ctx.emit("min", there, ctx.emit("sub", period, there)), first)


def _in_elements(ctx: NodeContext, points: Value, extents: Value, align: bool) -> Value:
    """(v + 1) / 2 * (extent - 1), or ((v + 1) * extent - 1) / 2"""
    above = ctx.emit("add", points, ctx.scalar(1, points))
    if align:
        scale = ctx.emit("sub", extents, ctx.scalar(1, extents))
        return ctx.emit("mul", ctx.emit("mul", above, ctx.scalar(0.5, points)), scale)
    moved = ctx.emit("sub", ctx.emit("mul", above, extents), ctx.scalar(1, points))
    return ctx.emit("mul", moved, ctx.scalar(0.5, points))


def affine_grid(ctx: NodeContext) -> Sequence[Value]:
    """The positions that affine maps ``theta[n, d, d + 1]`` give the elements of d dimensions, the last one first.

    ONNX's function body squeezes the dimension of a batch of one away.
    """
    theta, size = ctx.input(0), ctx.static(1, "the size").reshape(-1)
    extents, spatial = tuple(int(extent) for extent in size[2:]), size.size - 2
    if spatial not in (2, 3) or min(extents) < 0 or theta.shape != (int(size[0]), spatial, spatial + 1):
        raise ctx.invalid(f"theta {theta.type} does not fit the size {size.tolist()}")
    ctx.guard_constant(prod(extents) * (spatial + 1))
    align = bool(ctx.integer("align_corners", 0))
    axes = np.meshgrid(*(_from_minus_one_to_one(extent, align) for extent in extents), indexing="ij")
    wide = ctx.cast(theta, DType.F32) if theta.dtype is DType.F16 else theta
    points = np.stack([*reversed(axes), np.ones(extents)], -1).reshape(-1, spatial + 1).astype(wide.dtype.numpy)
    y = ctx.emit("matmul", ctx.constant(points), ctx.emit("transpose", wide, perm=(0, 2, 1)))
    return [ctx.cast(ctx.reshape(y, (theta.shape[0], *extents, spatial)), theta.dtype)]


def _from_minus_one_to_one(extent: int, align: bool) -> np.ndarray:
    """The centers of ``extent`` elements; -1 and 1 are the outer centers with ``align``, else the outer borders."""
    if align:
        return np.linspace(-1, 1, extent) if extent != 1 else np.zeros(1)
    return (2 * np.arange(extent, dtype=np.float64) + 1) / extent - 1 if extent else np.zeros(0)


def roi_align(ctx: NodeContext) -> Sequence[Value]:
    """Before opset 16 regions are not moved by half an element."""
    x, rois, batch = (ctx.input(position) for position in range(3))
    how = ctx.string("coordinate_transformation_mode", "half_pixel") if ctx.opset >= 16 else "output_half_pixel"
    kind = ctx.string("mode", "avg")
    if how not in ("half_pixel", "output_half_pixel") or kind not in ("avg", "max"):
        raise ctx.invalid(f"mode {kind} with {how}")
    if len(x.shape) != 4:
        raise ctx.invalid(f"RoiAlign of {x.type}")
    ends = [ctx.extent_along(x, axis) for axis in (2, 3)] if ctx.extents(x) else []
    extents: list[Value] = []
    if any(end.number is None for end in ends):
        parts = [ctx.reshape(ctx.builder.counts.value(end, ctx.loc), (1,)) for end in ends]
        extents = [ctx.emit("concat", *parts, axis=0)]
    y = ctx.emit(
        "roi_align", _channels_last(ctx, x), rois, batch, *extents, height=ctx.integer("output_height", 1),
        width=ctx.integer("output_width", 1), samples=max(ctx.integer("sampling_ratio", 0), 0),
        scale=ctx.number("spatial_scale", 1.0), half_pixel=how == "half_pixel", kind=kind,
    )  # fmt: skip
    return [_channels_first(ctx, y)]


def max_roi_pool(ctx: NodeContext) -> Sequence[Value]:
    """The greatest elements of ``pooled_shape`` parts of each region, first along its rows, then along its columns.

    A region ``[batch, x1, y1, x2, y2]``, times ``spatial_scale`` and rounded, holds both its ends; parts overlap where
    its extents are no multiples of their number. What is left outside of the tensor is 0, as ONNX Runtime has it.
    """
    x, rois = ctx.input(0), ctx.input(1)
    pooled, scale = ctx.integers("pooled_shape"), ctx.number("spatial_scale", 1.0)
    if len(x.shape) != 4 or len(rois.shape) != 2 or rois.shape[1] != 5 or len(pooled) != 2 or min(pooled) < 1:
        raise ctx.invalid(f"MaxRoiPool of {x.type} with regions {rois.type} to {list(pooled)}")
    count, (_, channels, height, width) = rois.shape[0], x.shape
    ctx.guard_constant(max(prod(pooled), height, width))
    numbers = rois if rois.dtype is DType.F64 else ctx.cast(rois, DType.F32)

    def column(position: int) -> Value:
        return ctx.emit("slice", numbers, starts=(0, position), steps=(1, 1), sizes=(count, 1))

    maps = ctx.emit("gather", x, ctx.cast(ctx.reshape(column(0), (count,)), DType.I64), axis=0)
    across = _parts(ctx, column(1), column(3), scale, pooled[1], width)
    down = _parts(ctx, column(2), column(4), scale, pooled[0], height)
    rows = _greatest_of_parts(ctx, ctx.reshape(maps, (count, channels, height, 1, width)), across)
    turned = ctx.emit("transpose", rows, perm=(0, 1, 3, 2))
    y = _greatest_of_parts(ctx, ctx.reshape(turned, (count, channels, pooled[1], 1, height)), down)
    y = ctx.emit("transpose", y, perm=(0, 1, 3, 2))
    return [ctx.emit("where", ctx.emit("eq", y, ctx.scalar(-np.inf, y)), ctx.scalar(0, y), y)]


def _parts(ctx: NodeContext, first: Value, last: Value, scale: float, parts: int, extent: int) -> Value:
    """Which of ``extent`` places each of the parts of each region has: bool ``[regions, parts, extent]``."""

    def placed(corner: Value) -> Value:
        scaled = ctx.emit("mul", corner, ctx.scalar(scale, corner))
        up = ctx.emit("floor", ctx.emit("add", ctx.emit("abs", scaled), ctx.scalar(0.5, scaled)))
        return ctx.emit("mul", ctx.emit("sign", scaled), up)

    start = placed(first)
    size = ctx.emit("add", ctx.emit("sub", placed(last), start), ctx.scalar(1, start))
    step = ctx.emit("div", ctx.emit("max", size, ctx.scalar(1, size)), ctx.scalar(parts, size))
    number = np.arange(parts, dtype=step.dtype.numpy)
    begin = ctx.emit("floor", ctx.emit("mul", step, ctx.constant(number)))
    end = ctx.emit("ceil", ctx.emit("mul", step, ctx.constant(number + 1)))
    shape = (*begin.shape, 1)
    begin, end = (ctx.reshape(ctx.emit("add", edge, start), shape) for edge in (begin, end))
    place = ctx.constant(np.arange(extent, dtype=step.dtype.numpy))
    return ctx.emit("and", ctx.emit("ge", place, begin), ctx.emit("lt", place, end))


def _greatest_of_parts(ctx: NodeContext, x: Value, parts: Value) -> Value:
    """``x[regions, channels, rows, 1, places]`` and ``parts[regions, parts, places]`` -> ``[regions, channels, rows,
    parts]``; minus infinity where a part has no place."""
    mask = ctx.reshape(parts, (parts.shape[0], 1, 1, *parts.shape[1:]))
    inside = ctx.emit("where", mask, x, ctx.scalar(-np.inf, x))
    return ctx.emit("reduce", inside, kind="max", axes=(4,), keepdims=False)


def deform_conv(ctx: NodeContext) -> Sequence[Value]:
    """The elements under each tap, read between elements where its offset says, times mask and weights.

    Offsets and mask are for groups of channels, ``[n, groups * taps * 2 (or 1), oh, ow]``.
    """
    x, w, offset, bias, mask = ctx.input(0), ctx.input(1), ctx.input(2), ctx.optional(3), ctx.optional(4)
    if len(x.shape) != 4 or len(w.shape) != 4:
        raise ctx.unsupported(f"{x.type} with weights {w.type}; two spatial dimensions are supported")
    if ctx.integers("kernel_shape", w.shape[2:]) != w.shape[2:]:
        raise ctx.invalid(f"kernel_shape {ctx.integers('kernel_shape')} differs from that of the weights {w.type}")
    window = window_attributes(ctx, x.shape[2:], w.shape[2:])
    group, parts = ctx.integer("group", 1), ctx.integer("offset_group", 1)
    n, channels, oc, taps = x.shape[0], x.shape[1], w.shape[0], prod(w.shape[2:])
    counts = [
        (extent + window.pad[d] + window.pad[2 + d] - span) // step + 1
        for d, (extent, span, step) in enumerate(zip(x.shape[2:], window.reach, window.stride))
    ]
    fits = min(group, parts) > 0 and channels == w.shape[1] * group and not oc % group and not channels % parts
    if not fits or offset.shape != (n, parts * taps * 2, *counts):
        raise ctx.invalid(f"weights {w.type} and offsets {offset.type} do not fit {x.type}")
    if mask is not None and mask.shape != (n, parts * taps, *counts):
        raise ctx.invalid(f"mask {mask.type} does not fit {x.type}")
    columns = _columns(ctx, x, offset, parts, taps, counts, window)
    if mask is not None:
        columns = ctx.emit("mul", columns, _by_place(ctx, mask, (n * parts, taps, 1, *counts)))
    y = _product(ctx, columns, w, (n, prod(counts), parts, group))
    if bias is not None:
        y = ctx.emit("add", y, bias)
    return [_channels_first(ctx, ctx.reshape(y, (n, *counts, oc)))]


def _by_place(ctx: NodeContext, value: Value, shape: tuple[int, ...]) -> Value:
    """``[batch, taps, numbers, oh, ow]`` -> ``[batch, oh * ow, taps, numbers]``"""
    moved = ctx.emit("transpose", ctx.reshape(value, shape), perm=(0, 3, 4, 1, 2))
    return ctx.reshape(moved, (shape[0], shape[3] * shape[4], shape[1], shape[2]))


def _columns(
    ctx: NodeContext, x: Value, offset: Value, parts: int, taps: int, counts: Sequence[int], window: WindowAttributes
) -> Value:
    """The elements under each tap of each window, ``[n * parts, oh * ow, taps, channels / parts]``."""
    n, channels, height, width = x.shape
    real = offset if offset.dtype is DType.F64 else ctx.cast(offset, DType.F32)
    moved = _by_place(ctx, real, (n * parts, taps, 2, *counts))
    points = ctx.emit("add", moved, ctx.constant(_places(counts, window).astype(real.dtype.numpy)))
    points = ctx.reshape(points, (n * parts, prod(counts) * taps, 2))
    images = _channels_last(ctx, ctx.reshape(x, (n * parts, channels // parts, height, width)))
    y = ctx.emit("sample", images, points, mode="linear", border="zeros", align_corners=True)
    return ctx.reshape(y, (n * parts, prod(counts), taps, channels // parts))


def _places(counts: Sequence[int], window: WindowAttributes) -> np.ndarray:
    """Where the taps of each window are without offsets, ``[oh * ow, taps, 2]``."""
    starts = [np.arange(c) * s - p for c, s, p in zip(counts, window.stride, window.pad)]
    steps = [np.arange(k) * d for k, d in zip(window.kernel, window.dilation)]
    rows = np.stack(np.meshgrid(*starts, indexing="ij"), -1).reshape(-1, 1, 2)
    return np.asarray(rows + np.stack(np.meshgrid(*steps, indexing="ij"), -1).reshape(1, -1, 2))


def _product(ctx: NodeContext, columns: Value, w: Value, sizes: tuple[int, int, int, int]) -> Value:
    """Columns times weights, ``[n * oh * ow, oc]``; groups of output channels see their own input channels."""
    n, places, parts, group = sizes
    oc, inner, taps = w.shape[0], w.shape[1], columns.shape[2]
    kernel = ctx.emit("transpose", ctx.reshape(w, (group, oc // group, inner, taps)), perm=(0, 3, 2, 1))
    kernel = ctx.reshape(kernel, (group, taps * inner, oc // group))
    if parts > 1:
        apart = ctx.reshape(columns, (n, parts, places, taps, columns.shape[3]))
        columns = ctx.emit("transpose", apart, perm=(0, 2, 3, 1, 4))
    if group == 1:
        rows = ctx.reshape(columns, (n * places, taps * inner))
        return ctx.emit("matmul", rows, ctx.reshape(kernel, (taps * inner, oc)))
    apart = ctx.reshape(columns, (n * places, taps, group, inner))
    rows = ctx.reshape(ctx.emit("transpose", apart, perm=(2, 0, 1, 3)), (group, n * places, taps * inner))
    y = ctx.emit("transpose", ctx.emit("matmul", rows, kernel), perm=(1, 0, 2))
    return ctx.reshape(y, (n * places, oc))


RULES: Mapping[str, Rule] = {
    "AffineGrid": affine_grid,
    "DeformConv": deform_conv,
    "GridSample": grid_sample,
    "MaxRoiPool": max_roi_pool,
    "RoiAlign": roi_align,
}
