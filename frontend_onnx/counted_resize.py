"""Resize and Upsample along dimensions whose extents depend on a run.

How many elements there are, where each lies among those of the operand and what these weigh is computed by the run, in
float64 as ``interpolation.py`` has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from ..record import record
from .context import NodeContext
from .interpolation import Interpolation
from .polynomials import Polynomial
from .runtime_resize import index_within, interpolated, places, rounded

MAX_COMPARED = 1 << 16
"""Extents for which the product with a scale is looked at."""


@record
class Resized:
    """What a dimension is resized to, and by which scale where that is not the ratio of both extents, which is in
    float32 where the model divides them (``quotient``)."""

    count: Polynomial
    scale: float | None
    quotient: bool = False


def resized_extents(
    ctx: NodeContext, x: Value, axes: Sequence[int], scales: Sequence[float] | None, sizes: Value | None
) -> dict[int, Resized]:
    """The dimensions that are resized, where the extents of any depend on a run, before or behind; else none."""
    wanted = None if scales is not None or sizes is None else ctx.builder.numbers.of(sizes)
    extents = [ctx.extent_along(x, axis) for axis in axes]
    found: dict[int, Resized] = {}
    for axis, extent, size in zip(axes, extents, wanted or ()):
        if size != extent:
            found[axis] = Resized(size, None)
    if all(each.number is not None for each in (*extents, *(to.count for to in found.values()))):
        return {}
    for axis, extent, scale in zip(axes, extents, scales or ()):
        if scale != 1:
            found[axis] = Resized(_scaled(ctx, extent, scale), scale)
    return found


def resized_by_quotients(ctx: NodeContext, x: Value, axes: Sequence[int], scales: Value) -> dict[int, Resized] | None:
    """What dimensions are resized to by ``scales`` that are quotients of extents, as exporters wrote ``size=`` before
    operator set 11: floor(extent * (size / extent)), which has to be the size for each extent. ``None`` for others."""
    quotients = ctx.builder.numbers.quotients(scales)
    if quotients is None or len(quotients) != len(axes):
        return None
    found: dict[int, Resized] = {}
    for axis, (size, divisor) in zip(axes, quotients):
        extent = ctx.extent_along(x, axis)
        if size == divisor:
            continue
        if divisor.number is not None and size.number is not None:
            scale = size.number / divisor.number
            found[axis] = Resized(_scaled(ctx, extent, scale), scale)
        elif divisor == extent and _is_kept(ctx, size, extent):
            found[axis] = Resized(size, None, quotient=True)
        else:
            return None
    return found


def _is_kept(ctx: NodeContext, size: Polynomial, extent: Polynomial) -> bool:
    """Whether the product with the quotient, both in float32, is the size again, rounded down, whatever the extents."""
    found = ctx.builder.counts.tabulated(size, extent, most=MAX_COMPARED)
    if found is None or found[1].min() < 1:
        return False
    sizes, extents = (each.astype(np.float32) for each in found)
    return bool((np.floor(extents * (sizes / extents)) == sizes).all())


def _scaled(ctx: NodeContext, extent: Polynomial, scale: float) -> Polynomial:
    """floor(extent * scale), the product in float32: a quotient that is the same for each extent."""
    counts = ctx.builder.counts
    least, most = counts.span(extent)
    if most - least > MAX_COMPARED:
        raise ctx.unsupported(f"a scale of {least} to {most} elements", hint="narrow the range")
    each = np.arange(max(least, 0), most + 1)
    products = np.floor(each.astype(np.float32) * np.float32(scale)).astype(np.int64)
    exact = Fraction(float(np.float32(scale)))
    for ratio in (exact, exact.limit_denominator(1000)):
        if all(int(n) * ratio.numerator // ratio.denominator == m for n, m in zip(each, products)):
            return counts.quotient(extent * Polynomial.constant(ratio.numerator), ratio.denominator, ctx.loc)
    raise ctx.unsupported(f"a scale of {scale:g} along a dimension whose extent is only known in a run")


def _ratio(ctx: NodeContext, new: Value, old: Value, rounded: bool) -> Value:
    single = DType.F32 if rounded else old.dtype
    return ctx.cast(ctx.emit("div", ctx.cast(new, single), ctx.cast(old, single)), old.dtype)


def resize_along(ctx: NodeContext, x: Value, axes: Mapping[int, Resized], how: Interpolation) -> Value:
    """``x`` resized along ``axes``, one after the other."""
    if how.antialias or how.coordinates == "tf_crop_and_resize":
        raise ctx.unsupported(
            "antialias and tf_crop_and_resize need extents that are known", hint="fix the dimension with --dim"
        )
    whole, counts, extents = replace(ctx, over_bounds=True), ctx.builder.counts, dict(ctx.extents(x))
    if ctx.array(x) is not None and any(to.count.number is None for to in axes.values()):
        extents = dict(ctx.builder.extents_of(x, ctx.loc))  # which are not asked for where all operands are constants
    for axis, to in axes.items():
        before = ctx.extent_along(x, axis) if axis not in extents else ctx.builder.polynomial(extents[axis])
        size = counts.limited.get(to.count, to.count)
        old, new = (whole.cast(counts.value(each, ctx.loc), how.position_type) for each in (before, size))
        scale = whole.scalar(to.scale, old) if to.scale is not None else _ratio(whole, new, old, to.quotient)
        found = places(whole, how.coordinates, old, new, scale, max(counts.span(to.count)[1], 0))
        found, old = (whole.cast(each, DType.F64) for each in (found, old))
        if how.mode == "nearest":
            index = index_within(whole, rounded(whole, found, how.nearest_mode), old)
            x = whole.emit("gather", x, index, axis=axis)
        else:
            x = interpolated(whole, x, axis, how, found, old)
        extents.pop(axis, None)
        if to.count.number is None:
            extents[axis] = counts.value(to.count, ctx.loc)
    return ctx.with_extents(x, extents)
