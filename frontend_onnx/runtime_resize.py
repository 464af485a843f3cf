"""Resize with scales, sizes or regions that are computed at run time: positions and weights are computed as well.

The output's shape is the declared one; the formulas are those of ``interpolation.py``, in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext
from .interpolation import Interpolation
from .runtime_movement import gather_at

MAX_TAPS = 64


def resize_anywhere(ctx: NodeContext, how: Interpolation, axes: Sequence[int], scales_at: int) -> Value:
    """Resizes ``axes`` to the declared shape; ``scales_at`` is the position of the scales."""
    x = ctx.input(0)
    shape = ctx.declared_shape("the size", (1, 2, 3))
    rank = len(x.shape)
    if len(shape) != rank or any(shape[d] != x.shape[d] for d in range(rank) if d not in axes):
        raise ctx.invalid(f"{x.type} cannot be resized to the declared shape {list(shape)}")
    check_mode(ctx, x, how)
    if 0 in shape:
        return ctx.constant(np.empty(shape, x.dtype.numpy))
    dtype, x = x.dtype, ctx.cast(x, how.working_type(x.dtype))
    crop = how.coordinates == "tf_crop_and_resize"
    scales, least = _scales(ctx, shape, axes, scales_at)
    rois = _entries(ctx, 1, 2 * len(axes), "roi") if crop else []
    columns: dict[int, Value] = {}
    outside: Value | None = None
    for number, axis in enumerate(axes):
        extent, count = x.shape[axis], shape[axis]
        known = ctx.array(scales[number])
        same = extent == count and (extent == 1 or (known is not None and float(known) == 1.0))
        if same and not crop:
            continue
        region = (rois[number], rois[number + len(axes)]) if crop else None
        scale = ctx.cast(scales[number], how.position_type)
        place = ctx.cast(_coordinates(ctx, how.coordinates, extent, count, scale, region), DType.F64)
        if crop:
            low = ctx.emit("lt", place, ctx.scalar(0, place))
            beyond = ctx.emit("or", low, ctx.emit("gt", place, ctx.scalar(extent - 1, place)))
            beyond = ctx.reshape(beyond, (count, *[1] * (rank - axis - 1)))
            outside = beyond if outside is None else ctx.emit("or", outside, beyond)
        if how.mode == "nearest":
            columns[axis] = index_within(ctx, rounded(ctx, place, how.nearest_mode), ctx.scalar(extent, place))
        else:
            squeeze = (scales[number], least[number]) if how.antialias else None
            x = interpolated(ctx, x, axis, how, place, ctx.scalar(extent, place), squeeze)
    x = gather_at(ctx, x, shape, columns)
    if outside is not None:
        x = ctx.emit("where", outside, ctx.scalar(ctx.number("extrapolation_value", 0.0), x), x)
    return cast_back(ctx, x, dtype)


WITHIN_ERRORS = {DType.F32: 2.0**-20, DType.F64: 2.0**-40}
"""By how much the sum of weights may be less than 1, and more."""


def cast_back(ctx: NodeContext, x: Value, dtype: DType) -> Value:
    """What was weighted, in its own type again. ONNX cuts off what integers have no places for; what only rounding
    errors keep from the next integer counts as that: between equal elements there is nothing else."""
    if dtype.is_integer and x.dtype.is_float:
        x = ctx.emit("mul", x, ctx.scalar(1 + WITHIN_ERRORS[x.dtype], x))
    return ctx.cast(x, dtype)


def check_mode(ctx: NodeContext, x: Value, how: Interpolation) -> None:
    """Refuses a mode that does not exist, or that ``x`` has no numbers for."""
    if how.mode not in ("nearest", "linear", "cubic"):
        raise ctx.invalid(f"mode is {how.mode}")
    weighted = how.mode == "linear" and not how.antialias and x.dtype.is_integer and x.dtype.bits <= 32
    if how.mode != "nearest" and not x.dtype.is_float and not weighted:
        raise ctx.unsupported(f"{how.mode} interpolation of {x.type}", hint="cast to float before and back after")


def _entries(ctx: NodeContext, position: int, count: int, what: str) -> list[Value]:
    """The elements of an operand as float64 scalars."""
    given = ctx.input(position)
    if given.type.size != count:
        raise ctx.invalid(f"{what} has {given.type.size} elements, not {count}")
    wide = ctx.cast(ctx.reshape(given, (count,)), DType.F64)
    return [ctx.reshape(ctx.emit("slice", wide, starts=(n,), steps=(1,), sizes=(1,)), ()) for n in range(count)]


def _scales(
    ctx: NodeContext, shape: Sequence[int], axes: Sequence[int], scales_at: int
) -> tuple[list[Value], list[float]]:
    """Scales of ``axes``, and what they are at least."""
    x, given, sizes = ctx.input(0), ctx.optional(scales_at), ctx.optional(3)
    if given is not None and given.type.size:
        return _entries(ctx, scales_at, len(axes), "scales"), [shape[axis] / x.shape[axis] for axis in axes]
    if sizes is None or 0 in x.shape:
        raise ctx.invalid(f"Resize of {x.type} has neither scales nor sizes")
    wanted = _entries(ctx, 3, len(axes), "sizes")
    ratios = [ctx.emit("div", size, ctx.scalar(x.shape[axis], size)) for size, axis in zip(wanted, axes)]
    policy = ctx.string("keep_aspect_ratio_policy", "stretch")
    if policy not in ("stretch", "not_larger", "not_smaller"):
        raise ctx.invalid(f"keep_aspect_ratio_policy is {policy}")
    if policy != "stretch":
        op = "min" if policy == "not_larger" else "max"
        ratios = [reduce(lambda a, b: ctx.emit(op, a, b), ratios)] * len(axes)
    return ratios, [(shape[axis] - 0.5) / x.shape[axis] for axis in axes]


def _coordinates(
    ctx: NodeContext, mode: str, extent: int, count: int, scale: Value, roi: tuple[Value, Value] | None
) -> Value:
    """Where each output lies among the inputs, as :func:`interpolation.coordinates` says."""
    if roi is None:
        return places(ctx, mode, ctx.scalar(extent, scale), ctx.scalar(count, scale), scale, count)

    def times(a: Value, number: float) -> Value:
        return ctx.emit("mul", a, ctx.scalar(number, a))

    start, end = roi
    if count == 1:
        return ctx.reshape(times(ctx.emit("add", start, end), (extent - 1) / 2), (1,))
    span = times(ctx.emit("sub", end, start), (extent - 1) / (count - 1))
    y = ctx.constant(np.arange(count, dtype=np.float64))
    return ctx.emit("add", times(start, extent - 1), ctx.emit("mul", y, span))


def places(ctx: NodeContext, mode: str, extent: Value, count: Value, scale: Value, most: int) -> Value:
    """Where each of ``count`` elements, ``most`` at most, lies among ``extent``; all are of one type of floats. Without
    a region of interest, as :func:`interpolation.coordinates` says."""
    y, one = ctx.constant(np.arange(most, dtype=extent.dtype.numpy)), ctx.scalar(1, extent)
    half = ctx.scalar(0.5, extent)
    if mode == "asymmetric":
        return ctx.emit("div", y, scale)
    if mode == "align_corners":
        steps = ctx.emit("max", ctx.emit("sub", count, one), one)
        return ctx.emit("div", ctx.emit("mul", y, ctx.emit("sub", extent, one)), steps)
    place = ctx.emit("sub", ctx.emit("div", ctx.emit("add", y, half), scale), half)
    if mode == "half_pixel":
        return place
    if mode == "pytorch_half_pixel":
        return ctx.emit("where", ctx.emit("gt", count, one), place, ctx.scalar(0, place))
    if mode == "half_pixel_symmetric":
        part = ctx.emit("sub", one, ctx.emit("div", ctx.emit("div", count, extent), scale))
        return ctx.emit("add", place, ctx.emit("mul", ctx.emit("mul", extent, half), part))
    raise ctx.invalid(f"coordinate_transformation_mode is {mode}")


def rounded(ctx: NodeContext, place: Value, mode: str) -> Value:
    """The nearest elements, as whole numbers in float64."""
    if mode not in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        raise ctx.invalid(f"nearest_mode is {mode}")
    shift = {"round_prefer_floor": -0.5, "round_prefer_ceil": 0.5}.get(mode)
    moved = place if shift is None else ctx.emit("add", place, ctx.scalar(shift, place))
    return ctx.emit("ceil" if mode in ("round_prefer_floor", "ceil") else "floor", moved)


def index_within(ctx: NodeContext, place: Value, extent: Value) -> Value:
    """Whole numbers as positions within the extent, which is float64 as well; what is no number becomes one of them."""
    known = ctx.array(extent)
    if known is None:
        zero = ctx.scalar(0, place)
        last = ctx.emit("max", ctx.emit("sub", extent, ctx.scalar(1, extent)), zero)
        return ctx.cast(ctx.emit("min", ctx.emit("max", place, zero), last), DType.I32)
    narrow = ctx.cast(ctx.emit("clip", place, lo=-1.0, hi=float(known)), DType.I32)
    return ctx.emit("clip", narrow, lo=0, hi=int(known) - 1)


def interpolated(
    ctx: NodeContext, x: Value, axis: int, how: Interpolation, place: Value, extent: Value,
    squeeze: tuple[Value, float] | None = None,
) -> Value:  # fmt: skip
    """The weighted sum of the elements around each place; with ``antialias`` there are as many as the scale and what it
    is at least say, in ``squeeze``."""
    rank, count = len(x.shape), place.shape[0]
    first = int(np.floor(-(2 if how.mode == "cubic" else 1) / (min(squeeze[1], 1.0) if squeeze else 1.0))) + 1
    width = 2 - 2 * first
    if width > MAX_TAPS:
        raise ctx.unsupported(f"scales computed at run time that weigh {width} elements", hint="make them constant")
    column = ctx.reshape(place, (count, 1))
    index = ctx.emit("add", ctx.emit("floor", column), ctx.constant(np.arange(first, 2.0 - first)))
    distance = ctx.emit("abs", ctx.emit("sub", index, column))
    if squeeze:
        distance = ctx.emit("mul", distance, ctx.emit("min", squeeze[0], ctx.scalar(1, squeeze[0])))
    weights = _cubic(ctx, distance, how.cubic_a) if how.mode == "cubic" else _linear(ctx, distance)
    zero = ctx.scalar(0, weights)
    if how.exclude_outside:
        low = ctx.emit("lt", index, zero)
        weights = ctx.emit("where", ctx.emit("or", low, ctx.emit("ge", index, extent)), zero, weights)
    total = ctx.emit("reduce", weights, kind="sum", axes=(1,), keepdims=True)
    total = ctx.emit("where", ctx.emit("eq", total, zero), ctx.scalar(1, total), total)
    weights = ctx.cast(ctx.emit("div", weights, total), x.dtype)
    taken = ctx.emit("gather", x, index_within(ctx, index, extent), axis=axis)
    product = ctx.emit("mul", taken, ctx.reshape(weights, (count, width, *[1] * (rank - axis - 1))))
    return ctx.emit("reduce", product, kind="sum", axes=(axis + 1,), keepdims=False)


def _linear(ctx: NodeContext, distance: Value) -> Value:
    return ctx.emit("clip", ctx.emit("sub", ctx.scalar(1, distance), distance), lo=0.0, hi=1.0)


def _cubic(ctx: NodeContext, distance: Value, a: float) -> Value:
    """Keys (1981), equation 4, as Horner's scheme."""

    def polynomial(*factors: float) -> Value:
        result = ctx.scalar(factors[0], distance)
        for factor in factors[1:]:
            result = ctx.emit("add", ctx.emit("mul", result, distance), ctx.scalar(factor, distance))
        return result

    near, far = polynomial(a + 2, -(a + 3), 0.0, 1.0), polynomial(a, -5 * a, 8 * a, -4 * a)
    far = ctx.emit("where", ctx.emit("lt", distance, ctx.scalar(2, distance)), far, ctx.scalar(0, distance))
    return ctx.emit("where", ctx.emit("le", distance, ctx.scalar(1, distance)), near, far)
