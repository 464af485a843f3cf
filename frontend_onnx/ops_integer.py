"""Rules of ConvInteger and MatMulInteger: contractions of 8-bit integers into i32.

Constant zero points become attributes of the contraction, or are subtracted from a constant operand. One that is
computed, as DynamicQuantizeLinear does, is taken out of the sum: sum((x - z) * w) = sum(x * w) - z * sum(w), and so is
what weights have too much for a byte when their zero point is subtracted: sum(x * (w + a)) = sum(x * w) + a * sum(x).
Where none of it is possible the operands are centred in i32 first.
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
    """An operand of 8 or 16 bits. ``computed`` is a zero point of the whole tensor that is known at run time only;
    ``more`` is what constant weights are more than ``value``, one number or one for each result of a sum."""

    value: Value
    zero_point: int = 0
    computed: Value | None = None
    more: np.ndarray | None = None


def conv_integer(ctx: NodeContext) -> Sequence[Value]:
    x, w, x_zero, w_zero = ctx.input(0), ctx.input(1), ctx.optional(2), ctx.optional(3)
    channels = (w.shape[0], *[1] * (len(w.shape) - 1))
    lhs, rhs = _factor(ctx, x, x_zero), _weights(ctx, w, w_zero, channels)
    if lhs is None or rhs is None or rhs.zero_point or rhs.computed is not None:
        return [_wide_conv(ctx, channels)]
    weights, window = ctx.array(rhs.value), window_attributes(ctx, x.shape[2:], w.shape[2:])
    bordered = lhs.computed is not None and any(window.pad)
    if (ctx.extents(x) and (bordered or rhs.more is not None)) or (lhs.computed is not None and weights is None):
        return [_wide_conv(ctx, channels)]
    if lhs.computed is None:
        acc = emit_conv(ctx, lhs.value, rhs.value, None, zero_point=lhs.zero_point)
    else:
        assert weights is not None
        whole = _padded(ctx, x, lhs.computed, window.pad) if bordered else x
        acc = emit_conv(ctx, whole, rhs.value, None, pad=(0,) * len(window.pad))
        sums = weights.astype(np.int64).sum(axis=tuple(range(1, weights.ndim)))
        acc = _without(ctx, acc, lhs.computed, sums.reshape(channels[:-1]))
    return [acc if rhs.more is None else _more_conv(ctx, acc, rhs.more)]


def _padded(ctx: NodeContext, x: Value, zero_point: Value, pad: Sequence[int]) -> Value:
    """``x`` with a border of its zero point, of so many elements in front of each spatial dimension and behind it."""
    ends = [(0, 0), (0, 0), *zip(pad[: len(pad) // 2], pad[len(pad) // 2 :])]
    before, after = tuple(first for first, _ in ends), tuple(last for _, last in ends)
    bordered = ctx.emit("pad", x, before=before, after=after, mode="constant", value=0)
    inside = ctx.constant(np.pad(np.ones((1, 1, *x.shape[2:]), np.bool_), ends))
    return ctx.emit("where", inside, bordered, ctx.reshape(zero_point, ()))


def _more_conv(ctx: NodeContext, acc: Value, more: np.ndarray) -> Value:
    """acc + more * the sum of all that a window holds, centred."""
    x, group = ctx.input(0), ctx.integer("group", 1)
    batch, channels, *extents = x.shape
    apart = ctx.reshape(_centred(ctx, x, ctx.optional(2), ()), (batch, group, channels // group, *extents))
    sums = ctx.emit("reduce", apart, kind="sum", axes=(2,), keepdims=False)
    ones = ctx.constant(np.ones((group, 1, *ctx.input(1).shape[2:]), np.int32))
    total = emit_conv(ctx, sums, ones, None)
    spatial = total.shape[2:]
    factors = np.broadcast_to(more.reshape(-1), (acc.shape[1],)).reshape(group, -1, *[1] * len(spatial))
    total = ctx.reshape(total, (batch, group, 1, *spatial))
    return ctx.emit("add", acc, ctx.reshape(ctx.emit("mul", total, _stored(ctx, factors)), acc.shape))


def _wide_conv(ctx: NodeContext, channels: Sequence[int]) -> Value:
    """Of operands in 32 bits. ``channels`` is how a zero point of the weights broadcasts that is one for each."""
    x, w = _centred(ctx, ctx.input(0), ctx.optional(2), ()), _centred(ctx, ctx.input(1), ctx.optional(3), channels)
    return emit_conv(ctx, x, w, None)


def matmul_integer(ctx: NodeContext) -> Sequence[Value]:
    """The zero point of A is one number or one a row, that of B one or one a column."""
    a, b, a_zero, b_zero = ctx.input(0), ctx.input(1), ctx.optional(2), ctx.optional(3)
    rows = (*a_zero.shape, 1) if a_zero is not None and len(a_zero.shape) == 1 else getattr(a_zero, "shape", ())
    columns = b_zero.shape if b_zero is not None else ()
    matrices = len(a.shape) > 1 and len(b.shape) == 2
    lhs = _factor(ctx, a, a_zero, rows)
    rhs = _weights(ctx, b, b_zero, columns) if matrices else _factor(ctx, b, b_zero, columns)
    weights = None if rhs is None else ctx.array(rhs.value)
    apart = lhs is not None and lhs.computed is not None
    if lhs is None or rhs is None or rhs.computed is not None or (apart and not (matrices and weights is not None)):
        return [emit_matmul(ctx, _centred(ctx, a, a_zero, rows), _centred(ctx, b, b_zero, columns))]
    if lhs.computed is None:
        zero_points = {"zero_point": lhs.zero_point, "rhs_zero_point": rhs.zero_point}
        acc = emit_matmul(ctx, lhs.value, rhs.value, **zero_points)
    else:
        assert weights is not None
        acc = emit_matmul(ctx, lhs.value, rhs.value)
        acc = _without(ctx, acc, lhs.computed, weights.astype(np.int64).sum(axis=0))
    if rhs.more is None:
        return [acc]
    centred = _centred(ctx, a, a_zero, rows)
    total = ctx.emit("reduce", centred, kind="sum", axes=(len(a.shape) - 1,), keepdims=True)
    return [ctx.emit("add", acc, ctx.emit("mul", total, _stored(ctx, rhs.more)))]


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


def _weights(ctx: NodeContext, w: Value, zero_point: Value | None, shape: Sequence[int]) -> _Factor | None:
    """As :func:`_factor`, but constants are signed bytes whatever their zero points are."""
    found, array = _factor(ctx, w, zero_point, shape), _known(ctx, w)
    if found is None or found.value.dtype is DType.I8 or array is None or found.computed is not None:
        return found
    zeros = np.zeros((), np.int64) if zero_point is None else _known(ctx, zero_point)
    if array.dtype not in (np.int8, np.uint8) or zeros is None:
        return found
    offset = 0 if array.dtype == np.int8 else 128
    stored = ctx.constant((array.astype(np.int16) - offset).astype(np.int8))
    return _Factor(stored, more=offset - zeros.astype(np.int64))


def _known(ctx: NodeContext, value: Value | None) -> np.ndarray | None:
    """A constant; ``None`` for one that may depend on extents, which a run computes as it would any other."""
    return None if ctx.builder.numbers.may_depend(value) else ctx.array(value)


def _narrowed(ctx: NodeContext, array: np.ndarray) -> _Factor | None:
    """A constant without its zero point: a difference of bytes has 9 bits at most."""
    dtype = DType.I8 if array.min(initial=0) >= -128 and array.max(initial=0) <= 127 else DType.I16
    assert dtype in NARROW
    return _Factor(ctx.constant(array.astype(dtype.numpy)))


def _without(ctx: NodeContext, acc: Value, zero_point: Value, sums: np.ndarray) -> Value:
    """acc - zero_point * sums, which are those of stored weights."""
    zero = ctx.reshape(ctx.cast(zero_point, DType.I32), ())
    return ctx.emit("sub", acc, ctx.emit("mul", _stored(ctx, sums), zero))


def _stored(ctx: NodeContext, numbers: np.ndarray) -> Value:
    """Numbers that follow from stored weights: no import finds others."""
    return replace(ctx, over_bounds=ctx.builder.ranged).constant(numbers.astype(np.int32))


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
