"""Rules of QuantizeLinear, DequantizeLinear and the QOperator forms, which are dequantize -> operator -> quantize."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import overload

import numpy as np
import onnx

from ..ir.graph import Value
from ..ir.types import DType
from ..ops.narrow import NARROW_FLOATS, computed
from .context import NodeContext, Rule
from .ops_contraction import emit_conv, emit_matmul
from .tensors import dtype_of

_PRECISIONS: Mapping[int, DType] = {
    onnx.TensorProto.FLOAT: DType.F32, onnx.TensorProto.FLOAT16: DType.F16, onnx.TensorProto.BFLOAT16: DType.BF16,
}  # fmt: skip


def quantize_linear(ctx: NodeContext) -> Sequence[Value]:
    """The result has the zero point's element type, or ``output_dtype``, or uint8. ``saturate`` is of 8-bit floats.

    Since operator set 23 the division is in ``precision``, or in the scale's type.
    """
    precision = ctx.integer("precision", 0)
    if precision and precision not in _PRECISIONS:
        raise ctx.unsupported(f"precision {precision}; the division is in float32, float16 or bfloat16")
    zero_point = ctx.optional(2)
    to = zero_point.dtype if zero_point is not None else DType.U8
    if zero_point is None and ctx.integer("output_dtype", 0):
        to = dtype_of(ctx.integer("output_dtype"), ctx.loc)
    x, scale, axis = ctx.input(0), ctx.input(1), ctx.integer("axis", 1)
    half = _PRECISIONS.get(precision, scale.dtype if ctx.opset >= 23 else DType.F32)
    if half in (DType.F16, DType.BF16):
        quotient = _quotient(ctx, ctx.cast(x, half), ctx.cast(_spread(ctx, scale, x, axis), half))
        return [_rounded(ctx, quotient, _spread(ctx, zero_point, x, axis), to)]
    return [quantize(ctx, x, scale, zero_point, to, axis)]


def _quotient(ctx: NodeContext, x: Value, scale: Value) -> Value:
    """x / scale in their common type; that of two bfloat16 is rounded to it by way of float32, which gives the same."""
    if x.dtype is not DType.BF16:
        return ctx.emit("div", x, scale)
    return ctx.cast(ctx.emit("div", ctx.cast(x, DType.F32), ctx.cast(scale, DType.F32)), DType.BF16)


def dequantize_linear(ctx: NodeContext) -> Sequence[Value]:
    """The result has the scale's element type, or ``output_dtype``."""
    scale = ctx.input(1)
    to = dtype_of(ctx.integer("output_dtype"), ctx.loc) if ctx.integer("output_dtype", 0) else scale.dtype
    return [ctx.cast(dequantize(ctx, ctx.input(0), scale, ctx.optional(2), ctx.integer("axis", 1)), to)]


def quantize(ctx: NodeContext, x: Value, scale: Value, zero_point: Value | None, to: DType, axis: int) -> Value:
    """Constant parameters become attributes; others, and those of floats, are computed with."""
    x = ctx.cast(x, DType.F32)
    zero_point = None if zero_point is None else ctx.cast(zero_point, computed(to))
    parameters = None if to in NARROW_FLOATS else _constant_parameters(ctx, x, scale, zero_point, axis)
    if parameters is not None:
        stored = ctx.emit("quantize", x, **parameters, to=to.stored)  # type: ignore[arg-type]
        least, greatest = _limits(to)
        return ctx.cast(ctx.emit("clip", stored, lo=least, hi=greatest), to) if to.is_narrow else stored
    quotient = ctx.emit("div", x, _spread(ctx, scale, x, axis))
    return _rounded(ctx, quotient, _spread(ctx, zero_point, x, axis), to)


def _rounded(ctx: NodeContext, quotient: Value, zero_point: Value | None, to: DType) -> Value:
    """clip(round(quotient) + zero_point), in float32; to a float type the sum is rounded by the cast."""
    steps = ctx.cast(quotient, DType.F32)
    if to not in NARROW_FLOATS:
        steps = ctx.emit("round", steps)
    if zero_point is not None:
        steps = ctx.emit("add", steps, zero_point)
    if to in NARROW_FLOATS:
        return ctx.emit("cast", steps, to=to, saturate=bool(ctx.integer("saturate", 1)))
    least, greatest = _limits(to)
    if to.is_signed:  # what is no number becomes the least integer, as by ``quantize``; its cast would be 0
        floor = ctx.scalar(least, steps)
        steps = ctx.emit("where", ctx.emit("ge", steps, floor), steps, floor)
    return ctx.cast(ctx.emit("clip", steps, lo=float(least), hi=float(greatest)), to)


def _limits(dtype: DType) -> tuple[int, int]:
    """The least and the greatest integer of a type, narrow ones included."""
    return (-(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1) if dtype.is_signed else (0, (1 << dtype.bits) - 1)


def dequantize(ctx: NodeContext, x: Value, scale: Value, zero_point: Value | None, axis: int) -> Value:
    """Elements of a narrow type are widened first; floats are multiplied by their scale as they are."""
    if x.dtype.is_float or x.dtype is DType.BOOL or (zero_point is not None and zero_point.dtype is not x.dtype):
        zero = "" if zero_point is None else f" with the zero point {zero_point.type}"
        raise ctx.invalid(f"{ctx.op_type} of {x.type}{zero}")
    wide = computed(x.dtype)
    x, zero_point = ctx.cast(x, wide), None if zero_point is None else ctx.cast(zero_point, wide)
    parameters = None if wide.is_float else _constant_parameters(ctx, x, scale, zero_point, axis)
    if parameters is not None:
        return ctx.emit("dequantize", x, **parameters)  # type: ignore[arg-type]
    if len(scale.shape) > 1 and scale.type.size > 1 and not wide.is_float:
        return _dequantize_blocks(ctx, x, scale, zero_point, axis)
    factor, offset, real = _spread(ctx, scale, x, axis), _spread(ctx, zero_point, x, axis), ctx.cast(x, DType.F32)
    return ctx.emit("mul", real if offset is None else ctx.emit("sub", real, offset), factor)


def _dequantize_blocks(ctx: NodeContext, x: Value, scale: Value, zero_point: Value | None, axis: int) -> Value:
    axis, block = ctx.axis(axis, len(x.shape)), ctx.integer("block_size", 0)
    extents = tuple(-(-extent // max(block, 1)) if d == axis else extent for d, extent in enumerate(x.shape))
    if block < 1 or scale.shape != extents or (zero_point is not None and zero_point.shape != extents):
        zero = "" if zero_point is None else f" and {zero_point.type}"
        raise ctx.invalid(f"blocks of {block} with parameters {scale.type}{zero} do not fit {x.type}")
    return ctx.emit("dequantize_blocks", x, ctx.cast(scale, DType.F32), zero_point, axis=axis, block=block)


def _constant_parameters(
    ctx: NodeContext, x: Value, scale: Value, zero_point: Value | None, axis: int
) -> dict[str, object] | None:
    """scale, zero_point and axis as attributes, or ``None`` where they are not constant, in blocks or no grid."""
    if ctx.builder.numbers.may_depend(scale):
        return None
    scales, zeros = ctx.array(scale), ctx.array(zero_point)
    known = scales is not None and (zero_point is None or zeros is not None)
    if scales is None or not known or len(scale.shape) > 1 or ctx.integer("block_size", 0):
        return None
    if zeros is not None and zeros.size != scales.size:
        raise ctx.invalid(f"the scale has the shape {scales.shape}, the zero point {zeros.shape}")
    if zeros is not None and zeros.dtype.kind not in "iu":
        raise ctx.invalid(f"the zero point is {zeros.dtype}, not an integer")
    if not (np.isfinite(scales) & (scales > 0)).all():
        return None  # as where a quantizer met a mask of infinities: defined, but no grid of numbers
    flat = tuple(float(entry) for entry in scales.astype(np.float32).reshape(-1))
    zero = (0,) * len(flat) if zeros is None else tuple(int(entry) for entry in zeros.reshape(-1))
    return {"scale": flat, "zero_point": zero, "axis": 0 if len(flat) == 1 else ctx.axis(axis, len(x.shape))}


@overload
def _spread(ctx: NodeContext, value: Value, x: Value, axis: int) -> Value: ...
@overload
def _spread(ctx: NodeContext, value: None, x: Value, axis: int) -> None: ...
@overload
def _spread(ctx: NodeContext, value: Value | None, x: Value, axis: int) -> Value | None: ...
def _spread(ctx: NodeContext, value: Value | None, x: Value, axis: int) -> Value | None:
    """Parameters in float32, shaped to broadcast against ``x``: one number, one along the axis, or blocks."""
    if value is None:
        return None
    real = ctx.cast(value, DType.F32)
    if value.type.size == 1 and len(value.shape) <= 1:
        return ctx.reshape(real, ())
    axis = ctx.axis(axis, len(x.shape))
    block = ctx.integer("block_size", 0)
    if len(value.shape) == 1 and not block:
        return ctx.reshape(real, (value.shape[0], *[1] * (len(x.shape) - axis - 1)))
    if len(value.shape) != len(x.shape) or block < 1 or -(-x.shape[axis] // block) != value.shape[axis]:
        raise ctx.invalid(f"blocks of {block} with parameters {value.type} do not fit {x.type}")
    repeated = np.minimum(np.arange(x.shape[axis], dtype=np.int64) // block, value.shape[axis] - 1)
    return ctx.emit("gather", real, ctx.constant(repeated), axis=axis)


def dynamic_quantize_linear(ctx: NodeContext) -> Sequence[Value]:
    """To uint8, by a scale and zero point from the least and greatest element and 0.

    The range of nothing but zeros has no steps; its scale is 1, as ONNX Runtime has it.
    """
    x = ctx.input(0)
    zero = ctx.scalar(0, x)
    axes = tuple(range(len(x.shape)))
    least, greatest = (
        ctx.emit(op, ctx.emit("reduce", x, kind=op, axes=axes, keepdims=False), zero) for op in ("min", "max")
    )
    steps = ctx.emit("div", ctx.emit("sub", greatest, least), ctx.scalar(255, x))
    scale = ctx.emit("where", ctx.emit("eq", steps, zero), ctx.scalar(1, x), steps)
    offset = ctx.emit("clip", ctx.emit("neg", ctx.emit("div", least, scale)), lo=0.0, hi=255.0)
    zero_point = ctx.cast(ctx.emit("round", offset), DType.U8)
    return [quantize(ctx, x, scale, zero_point, DType.U8, 0), scale, zero_point]


def qlinear_conv(ctx: NodeContext) -> Sequence[Value]:
    """x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias? (int32 in steps of x_scale * w_scale)"""
    x_scale, w_scale, y_zero, bias = ctx.input(1), ctx.input(4), ctx.input(7), ctx.optional(8)
    x = dequantize(ctx, ctx.input(0), x_scale, ctx.input(2), 1)
    w = dequantize(ctx, ctx.input(3), w_scale, ctx.input(5), 0)
    if bias is not None:
        bias = dequantize(ctx, bias, ctx.emit("mul", ctx.reshape(x_scale, ()), w_scale), None, 0)
    return [quantize(ctx, emit_conv(ctx, x, w, bias), ctx.input(6), y_zero, y_zero.dtype, 1)]


def qlinear_matmul(ctx: NodeContext) -> Sequence[Value]:
    """a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero; parameters of a one or one a row, of b one a column."""
    y_zero = ctx.input(7)
    a = dequantize(ctx, ctx.input(0), ctx.input(1), ctx.input(2), -2)
    b = dequantize(ctx, ctx.input(3), ctx.input(4), ctx.input(5), -1)
    return [quantize(ctx, emit_matmul(ctx, a, b), ctx.input(6), y_zero, y_zero.dtype, -2)]


RULES: Mapping[str, Rule] = {
    "DequantizeLinear": dequantize_linear,
    "DynamicQuantizeLinear": dynamic_quantize_linear,
    "QLinearConv": qlinear_conv,
    "QLinearMatMul": qlinear_matmul,
    "QuantizeLinear": quantize_linear,
}
