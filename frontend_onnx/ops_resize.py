"""Rules of Resize and Upsample: one axis after the other, by gathers at constant positions and weighted sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

import numpy as np

from ..ir.graph import Value
from .context import NodeContext, Rule
from .counted_resize import Resized, resize_along, resized_by_quotients, resized_extents
from .interpolation import Interpolation, Taps, taps
from .runtime_resize import cast_back, check_mode, resize_anywhere

# With more taps, one matrix product is less work to express (and to run) than that many gathers.
_MAX_GATHERS = 4


def upsample(ctx: NodeContext) -> Sequence[Value]:
    """What was later called asymmetric, with the floor as the nearest element."""
    x = ctx.input(0)
    if not ctx.has("scales") and ctx.runtime(1):
        return [_asymmetric_anywhere(ctx)]
    return [_by_quotients(ctx) or _asymmetric(ctx, x, ctx.numbers("scales") if ctx.has("scales") else _scales(ctx))]


def _scales(ctx: NodeContext) -> tuple[float, ...]:
    return _floats(ctx, 1, "scales")


def _by_quotients(ctx: NodeContext) -> Value | None:
    """By scales that are computed of extents; ``None`` for others."""
    x, scales = ctx.input(0), ctx.optional(1)
    if scales is None or not ctx.builder.numbers.depends(scales):
        return None
    resized = resized_by_quotients(ctx, x, range(len(x.shape)), scales)
    return None if resized is None else _counted(ctx, x, _old_form(ctx.string("mode", "nearest")), resized)


def _asymmetric(ctx: NodeContext, x: Value, scales: tuple[float, ...]) -> Value:
    if len(scales) != len(x.shape) or any(scale <= 0 for scale in scales):
        raise ctx.invalid(f"scales {scales} do not fit {x.type}")
    mode = ctx.string("mode", "nearest")
    if mode == "nearest" and any(scale < 1 and (1 / scale) % 1 for scale in scales):
        raise ctx.unsupported(f"nearest with scales {scales}, which opset {ctx.opset} does not define")
    how = _old_form(mode)
    resized = resized_extents(ctx, x, range(len(scales)), scales, None)
    if resized:
        return _counted(ctx, x, how, resized)
    sizes = _scaled_sizes(x.shape, scales)
    return _resized(ctx, x, how, sizes, scales, ((0.0, 1.0),) * len(scales))


def _old_form(mode: str) -> Interpolation:
    return Interpolation({"bilinear": "linear"}.get(mode, mode), "asymmetric", "floor")


def _asymmetric_anywhere(ctx: NodeContext) -> Value:
    """By scales that are computed at run time."""
    return resize_anywhere(ctx, _old_form(ctx.string("mode", "nearest")), range(len(ctx.input(0).shape)), 1)


def resize(ctx: NodeContext) -> Sequence[Value]:
    x = ctx.input(0)
    if ctx.opset < 11 and ctx.runtime(1):
        return [_asymmetric_anywhere(ctx)]
    if ctx.opset < 11:
        return [_by_quotients(ctx) or _asymmetric(ctx, x, _scales(ctx))]
    how = Interpolation(
        ctx.string("mode", "nearest"), ctx.string("coordinate_transformation_mode", "half_pixel"),
        ctx.string("nearest_mode", "round_prefer_floor"), ctx.number("cubic_coeff_a", -0.75),
        bool(ctx.integer("exclude_outside", 0)), bool(ctx.integer("antialias", 0)),
    )  # fmt: skip
    rank = len(x.shape)
    axes = ctx.axes(ctx.integers("axes", tuple(range(rank))), rank)
    resized = _resized_extents(ctx, x, axes)
    if resized:
        return [_counted(ctx, x, how, resized)]
    if ctx.runtime(2, 3) or (how.coordinates == "tf_crop_and_resize" and ctx.runtime(1)):
        return [resize_anywhere(ctx, how, axes, 2)]
    sizes, scales = _sizes_and_scales(ctx, x, axes)
    rois = [(0.0, 1.0)] * rank
    if how.coordinates == "tf_crop_and_resize":
        roi = _floats(ctx, 1, "roi")
        if len(roi) != 2 * len(axes):
            raise ctx.invalid(f"roi {roi} does not fit axes {axes}")
        for number, axis in enumerate(axes):
            rois[axis] = (roi[number], roi[number + len(axes)])
    return [_resized(ctx, x, how, sizes, scales, rois)]


def _resized_extents(ctx: NodeContext, x: Value, axes: tuple[int, ...]) -> Mapping[int, Resized]:
    """What dimensions are resized to where extents depend on a run."""
    given = None if ctx.optional(2) is None else ctx.known(ctx.input(2))
    if ctx.optional(2) is not None and ctx.builder.numbers.depends(ctx.input(2)):
        by_quotients = resized_by_quotients(ctx, x, axes, ctx.input(2))
        if by_quotients is not None:
            return by_quotients
    _check_fixed(ctx, 2, "scales")
    scales = None if given is None or not given.size else [float(entry) for entry in given.reshape(-1)]
    sizes = ctx.optional(3)
    if scales is None and (sizes is None or sizes.type.size != len(axes)):
        return {}
    if scales is not None and (sizes is not None or len(scales) != len(axes) or min(scales) <= 0):
        return {}
    if scales is None and ctx.string("keep_aspect_ratio_policy", "stretch") != "stretch":
        return {}
    return resized_extents(ctx, x, axes, scales, sizes)


def _counted(ctx: NodeContext, x: Value, how: Interpolation, resized: Mapping[int, Resized]) -> Value:
    """``x`` resized along dimensions whose extents depend on a run, and along others."""
    check_mode(ctx, x, how)
    dtype, x = x.dtype, ctx.cast(x, how.working_type(x.dtype))
    counted = {
        axis: to
        for axis, to in resized.items()
        if to.count.number is None or ctx.extent_along(x, axis).number is None
    }
    sizes, scales = list(x.shape), [1.0] * len(x.shape)
    for axis, to in resized.items():
        if axis not in counted and to.count.number is not None:
            sizes[axis] = to.count.number
            scales[axis] = sizes[axis] / x.shape[axis] if to.scale is None else to.scale
    y = resize_along(ctx, x, counted, how)
    for axis in counted:
        sizes[axis] = y.shape[axis]
    return cast_back(ctx, _resized(ctx, y, how, sizes, scales, ((0.0, 1.0),) * len(sizes)), dtype)


def _check_fixed(ctx: NodeContext, position: int, what: str) -> None:
    """Refuses constants that are computed of extents: quotients as floats, of which a size can not be told."""
    if ctx.builder.numbers.depends(ctx.optional(position)):
        raise ctx.unsupported(
            f"{what} computed of extents that are only known in a run",
            hint="fix the dimension with --dim, or export with operator set 11 or newer, where sizes are given",
        )


def _floats(ctx: NodeContext, position: int, what: str) -> tuple[float, ...]:
    _check_fixed(ctx, position, what)
    numbers = tuple(float(entry) for entry in ctx.static(position, what).reshape(-1))
    if not all(map(isfinite, numbers)):
        raise ctx.invalid(f"{what} {numbers}")
    return numbers


def _scaled_sizes(shape: Sequence[int], scales: Sequence[float]) -> tuple[int, ...]:
    """floor(extent * scale), the product in float32 as ONNX's shape inference and runtimes take it."""
    with np.errstate(over="ignore"):
        products = [np.floor(np.float32(extent) * np.float32(scale)) for extent, scale in zip(shape, scales)]
    return tuple(int(min(float(product), 2.0**62)) for product in products)


def _sizes_and_scales(ctx: NodeContext, x: Value, axes: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Output extents and scales of all dimensions, whichever of the two the node gives."""
    sizes, scales = list(x.shape), [1.0] * len(x.shape)
    given = _floats(ctx, 2, "scales") if ctx.optional(2) is not None else ()
    wanted = ctx.parameter("sizes", 3) if ctx.optional(3) is not None else None
    if (given and wanted) or len(given or wanted or ()) != len(axes) or min(given or wanted or (1,)) <= 0:
        raise ctx.invalid(f"scales {given} and sizes {wanted} do not fit {len(axes)} axes; one of them has to")
    if given:
        if ctx.string("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize":
            raise ctx.unsupported("tf_crop_and_resize with scales", hint="give sizes")
        for axis, scale in zip(axes, given):
            scales[axis] = scale
        return _scaled_sizes(x.shape, scales), tuple(scales)
    policy = ctx.string("keep_aspect_ratio_policy", "stretch")
    ratios = [size / x.shape[axis] for axis, size in zip(axes, wanted or ())]
    if policy not in ("stretch", "not_larger", "not_smaller"):
        raise ctx.invalid(f"keep_aspect_ratio_policy is {policy}")
    if policy != "stretch":
        ratios = [min(ratios) if policy == "not_larger" else max(ratios)] * len(axes)
        wanted = tuple(int(ratio * x.shape[axis] + 0.5) for axis, ratio in zip(axes, ratios))
    for axis, size, ratio in zip(axes, wanted or (), ratios):
        sizes[axis], scales[axis] = size, ratio
    return tuple(sizes), tuple(scales)


def _resized(
    ctx: NodeContext, x: Value, how: Interpolation, sizes: Sequence[int], scales: Sequence[float],
    rois: Sequence[tuple[float, float]],
) -> Value:  # fmt: skip
    check_mode(ctx, x, how)
    dtype, x = x.dtype, ctx.cast(x, how.working_type(x.dtype))
    for axis, (size, scale, roi) in enumerate(zip(sizes, scales, rois)):
        extent = x.shape[axis]
        if size == extent and scale == 1.0 and roi == (0.0, 1.0):
            continue
        side = int(np.ceil(2 / min(scale, 1.0))) if how.antialias else 2
        ctx.guard_constant(max(size, 1) * 2 * side + (extent * size if 2 * side > _MAX_GATHERS else 0))
        try:
            found = taps(how, extent, size, scale, roi)
        except ValueError as problem:  # a mode that does not exist
            raise ctx.invalid(str(problem)) from problem
        x = _along_axis(ctx, x, axis, found)
    return cast_back(ctx, x, dtype)


def _along_axis(ctx: NodeContext, x: Value, axis: int, found: Taps) -> Value:
    count, width = found.indices.shape
    rank = len(x.shape)
    if width == 1:
        y = ctx.emit("gather", x, ctx.constant(found.indices[:, 0]), axis=axis)
    elif width <= _MAX_GATHERS:
        column = (count, *[1] * (rank - axis - 1))
        parts = []
        for tap in range(width):
            weights = ctx.constant(found.weights[:, tap].astype(x.dtype.numpy).reshape(column))
            taken = ctx.emit("gather", x, ctx.constant(found.indices[:, tap]), axis=axis)
            parts.append(ctx.emit("mul", taken, weights))
        y = parts[0]
        for part in parts[1:]:
            y = ctx.emit("add", y, part)
    else:
        matrix = np.zeros((x.shape[axis], count))
        np.add.at(matrix, (found.indices, np.arange(count)[:, None]), found.weights)
        perm = (*(d for d in range(rank) if d != axis), axis)
        rows = ctx.reshape(ctx.emit("transpose", x, perm=perm), (x.type.size // x.shape[axis], x.shape[axis]))
        product = ctx.emit("matmul", rows, ctx.constant(matrix.astype(x.dtype.numpy)))
        moved = ctx.reshape(product, (*(x.shape[d] for d in perm[:-1]), count))
        y = ctx.emit("transpose", moved, perm=tuple(perm.index(d) for d in range(rank)))
    if not found.outside.any():
        return y
    inside = ctx.constant(~found.outside.reshape(count, *[1] * (rank - axis - 1)))
    return ctx.emit("where", inside, y, ctx.scalar(ctx.number("extrapolation_value", 0.0), y))


RULES: Mapping[str, Rule] = {"Resize": resize, "Upsample": upsample}
