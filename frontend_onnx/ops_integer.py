"""Rules of ConvInteger and MatMulInteger: contractions of 8-bit integers into i32.

Constant zero points become attributes of the contraction, or are subtracted from a constant operand. One that is
computed, as DynamicQuantizeLinear does, is taken out of the sum: sum((x - z) * w) = sum(x * w) - z * sum(w). Where
neither is possible the operands are centred in i32 first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from ..ops.integer import NARROW
from ..record import record
from .context import NodeContext, Rule
from .ops_contraction import emit_conv, emit_matmul
from .padding import window_attributes


@record
class _Factor:
    """An operand of 8 or 16 bits. ``computed`` is a zero point of the whole tensor that is known at run time only."""

    value: Value
    zero_point: int = 0
    computed: Value | None = None


def conv_integer(ctx: NodeContext) -> Sequence[Value]:
    x, w, x_zero, w_zero = ctx.input(0), ctx.input(1), ctx.optional(2), ctx.optional(3)
    channels = (w.shape[0], *[1] * (len(w.shape) - 1))
    lhs, rhs = _factor(ctx, x, x_zero), _factor(ctx, w, w_zero, channels)
    weights = None if rhs is None else ctx.array(rhs.value)
    if lhs is None or rhs is None or rhs.zero_point or rhs.computed is not None:
        return [_wide_conv(ctx)]
    if lhs.computed is None:
        return [emit_conv(ctx, lhs.value, rhs.value, None, zero_point=lhs.zero_point)]
    if weights is None or any(window_attributes(ctx, x.shape[2:], w.shape[2:]).pad):
        return [_wide_conv(ctx)]
    sums = weights.astype(np.int64).sum(axis=tuple(range(1, weights.ndim))).reshape(channels[: len(x.shape) - 1])
    return [_without(ctx, emit_conv(ctx, lhs.value, rhs.value, None), lhs.computed, sums)]


def _wide_conv(ctx: NodeContext) -> Value:
    w = ctx.input(1)
    channels = (w.shape[0], *[1] * (len(w.shape) - 1))
    x = _centred(ctx, ctx.input(0), ctx.optional(2), ())
    return emit_conv(ctx, x, _centred(ctx, w, ctx.optional(3), channels), None)


def matmul_integer(ctx: NodeContext) -> Sequence[Value]:
    """The zero point of A is one number or one a row, that of B one or one a column."""
    a, b, a_zero, b_zero = ctx.input(0), ctx.input(1), ctx.optional(2), ctx.optional(3)
    rows = (*a_zero.shape, 1) if a_zero is not None and len(a_zero.shape) == 1 else getattr(a_zero, "shape", ())
    columns = b_zero.shape if b_zero is not None else ()
    lhs, rhs = _factor(ctx, a, a_zero, rows), _factor(ctx, b, b_zero, columns)
    weights = None if rhs is None else ctx.array(rhs.value)
    if lhs is not None and rhs is not None and rhs.computed is None:
        if lhs.computed is None:
            zero_points = {"zero_point": lhs.zero_point, "rhs_zero_point": rhs.zero_point}
            return [emit_matmul(ctx, lhs.value, rhs.value, **zero_points)]
        if weights is not None and weights.ndim == 2 and len(a.shape) > 1:
            sums = weights.astype(np.int64).sum(axis=0)
            return [_without(ctx, emit_matmul(ctx, lhs.value, rhs.value), lhs.computed, sums)]
    return [emit_matmul(ctx, _centred(ctx, a, a_zero, rows), _centred(ctx, b, b_zero, columns))]


def _factor(ctx: NodeContext, x: Value, zero_point: Value | None, shape: Sequence[int] = ()) -> _Factor | None:
    """``None`` where the operand has to be centred in i32. ``shape`` is how a zero point with an axis broadcasts."""
    zeros, array = _known(ctx, zero_point), _known(ctx, x)
    if zero_point is None or (zeros is not None and not np.any(zeros)):
        return _Factor(x)
    if zeros is not None and zeros.size not in (1, prod(shape)):
        raise ctx.invalid(f"a zero point {zero_point.type} of {x.type}")
    if zeros is not None and array is not None:
        return _narrowed(ctx, array.astype(np.int64) - zeros.reshape(shape if zeros.size > 1 else ()))
    if zero_point.type.size > 1:
        return None
    if zeros is not None:
        return _Factor(x, int(zeros.reshape(())))
    return _Factor(x, 0, zero_point)


def _known(ctx: NodeContext, value: Value | None) -> np.ndarray | None:
    """A constant; ``None`` for one that may depend on extents, which a run computes as it would any other."""
    return None if ctx.builder.numbers.may_depend(value) else ctx.array(value)


def _narrowed(ctx: NodeContext, array: np.ndarray) -> _Factor | None:
    """A constant without its zero point: a difference of bytes has 9 bits at most."""
    dtype = DType.I8 if array.min(initial=0) >= -128 and array.max(initial=0) <= 127 else DType.I16
    assert dtype in NARROW
    return _Factor(ctx.constant(array.astype(dtype.numpy)))


def _without(ctx: NodeContext, acc: Value, zero_point: Value, sums: np.ndarray) -> Value:
    """acc - zero_point * sums, which are those of stored weights: no import finds others."""
    zero = ctx.reshape(ctx.cast(zero_point, DType.I32), ())
    stored = replace(ctx, over_bounds=ctx.builder.ranged).constant(sums.astype(np.int32))
    return ctx.emit("sub", acc, ctx.emit("mul", stored, zero))


def _centred(ctx: NodeContext, x: Value, zero_point: Value | None, shape: Sequence[int]) -> Value:
    """x - zero_point in int32."""
    wide = ctx.cast(x, DType.I32)
    if zero_point is None:
        return wide
    zero = ctx.cast(zero_point, DType.I32)
    return ctx.emit("sub", wide, ctx.reshape(zero, shape if zero.type.size > 1 else ()))


RULES: Mapping[str, Rule] = {
    "ConvInteger": conv_integer,
    "MatMulInteger": matmul_integer,
}
