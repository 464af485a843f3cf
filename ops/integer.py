"""Operators of integer inference: types and meaning.

Their results are quantized tensors: ``y_scale`` and ``zero_point`` say what they stand for, ``lo`` and ``hi`` bound
them (the limits of the type, or tighter where a relu or clip was folded in). Every kernel must give these bits.
"""

from __future__ import annotations

import numpy as np

from ..ir.types import DType, QuantParams, TensorType
from .attributes import element_type, integer, number
from .infer import broadcast_shapes, check_axes, check_dtype, operand
from .opdef import Arrays, Attrs, Types
from .pointwise import present_arrays

BYTES = frozenset({DType.I8, DType.U8})
NARROW = frozenset({DType.I8, DType.U8, DType.I16})
"""What integer contractions multiply; they accumulate in i32."""


def quantized(shape: tuple[int, ...], to: DType, attrs: Attrs) -> tuple[TensorType, ...]:
    """The type of a result with the quantization that ``attrs`` give it."""
    quant = QuantParams((number(attrs, "y_scale"),), (integer(attrs, "zero_point"),))
    return (TensorType(to, shape, quant),)


def product_dtype(x: TensorType, w: TensorType) -> DType:
    """What sums of products are: i32 for integers of 8 and 16 bits, f32 for bfloat16, otherwise the operands' common
    type."""
    if x.dtype in NARROW and w.dtype in NARROW:
        return DType.I32
    check_dtype(w, x)
    return DType.F32 if x.dtype is DType.BF16 else x.dtype


def zero_point(attrs: Attrs, name: str = "zero_point") -> int:
    """What is subtracted from an integer operand; 0 where nothing is said."""
    return integer(attrs, name) if name in attrs else 0


def sum_shift(attrs: Attrs) -> int:
    """How many bits a contraction of integers drops of its sums, which need more than 32 bits; 0: none."""
    return integer(attrs, "shift") if "shift" in attrs else 0


def least(dtype: np.dtype) -> int:
    """The least value of a type: index 0 of tables over all its values."""
    return int(np.iinfo(dtype).min)


def _check_bytes(x: TensorType) -> None:
    if x.dtype not in BYTES:
        raise ValueError(f"the operand is {x}, not i8 or u8")


def _clamped(steps: np.ndarray, attrs: Attrs) -> np.ndarray:
    return np.clip(steps, integer(attrs, "lo"), integer(attrs, "hi")).astype(element_type(attrs, "to").numpy)


# ---------------------------------------------------------------- requantize


def infer_requantize(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    acc, scale, to = operand(types, 0), operand(types, 1), element_type(attrs, "to")
    if acc.dtype is not DType.I32 or scale.dtype is not DType.F32 or to not in NARROW:
        raise ValueError(f"requantizes i32 by f32 to i8, u8 or i16, not {acc} by {scale} to {to.value}")
    return quantized(broadcast_shapes(acc.shape, scale.shape), to, attrs)


def evaluate_requantize(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """clamp(zero_point + round_half_even(float32(acc) * scale), lo, hi), in IEEE binary32."""
    acc, scale = present_arrays(arrays)
    steps = np.rint(acc.astype(np.float32) * scale).astype(np.float64)
    return (_clamped(steps + integer(attrs, "zero_point"), attrs),)


def infer_requantize_fixed(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    acc, factor, shift = operand(types, 0), operand(types, 1), operand(types, 2)
    if {acc.dtype, factor.dtype, shift.dtype} != {DType.I32}:
        raise ValueError(f"requantizes i32 by i32 factors and shifts, not {acc} by {factor} and {shift}")
    shape = broadcast_shapes(acc.shape, factor.shape, shift.shape)
    return quantized(shape, element_type(attrs, "to"), attrs)


def evaluate_requantize_fixed(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """clamp(zero_point + steps, lo, hi), where steps are ``(acc * factor + 2^(31 + shift)) >> (32 + shift)`` in 64 bits
    for shift > 0, and otherwise round_half_even(f32(acc) * (factor * 2^shift))."""
    acc, factor, shift = (array.astype(np.int64) for array in present_arrays(arrays))
    right = np.maximum(shift, 1)
    exact = acc * factor + (np.int64(1) << 31 + right) >> 32 + right
    scale = np.ldexp(factor.astype(np.float32), np.minimum(shift, 0).astype(np.int32))
    steps = np.where(shift > 0, exact, np.rint(acc.astype(np.float32) * scale).astype(np.float64))
    return (_clamped(steps + integer(attrs, "zero_point"), attrs),)


# ---------------------------------------------------------------- lookup


def infer_lookup(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    """A table of integers gives a quantized tensor, one of floats a plain one."""
    x, table = operand(types, 0), operand(types, 1)
    _check_bytes(x)
    if table.shape != (256,):
        raise ValueError(f"the table is {table}; it needs 256 elements")
    return quantized(x.shape, table.dtype, attrs) if table.dtype.is_integer else (TensorType(table.dtype, x.shape),)


def evaluate_lookup(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """table[x - least value of x]"""
    x, table = present_arrays(arrays)
    return (table[x.astype(np.int64) - least(x.dtype)],)


# ---------------------------------------------------------------- rescale


def infer_rescale(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x1, x2 = operand(types, 0), operand(types, 1)
    if x1.dtype not in NARROW or x2.dtype not in NARROW:
        raise ValueError(f"the operands are {x1} and {x2}, not i8, u8 or i16")
    return quantized(broadcast_shapes(x1.shape, x2.shape), element_type(attrs, "to"), attrs)


def evaluate_rescale(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """clamp((x1 * m1 + x2 * m2 + bias) >> shift, lo, hi); of bytes every step is an i32, with 16 bits an i64."""
    x1, x2 = (array.astype(np.int64) for array in present_arrays(arrays))
    total = x1 * integer(attrs, "m1") + x2 * integer(attrs, "m2")
    return (_clamped(total + integer(attrs, "bias") >> integer(attrs, "shift"), attrs),)


def evaluate_rescale_product(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """clamp(((x1 - z1) * (x2 - z2) * m + bias) >> shift, lo, hi); ``upper``: of that by m the upper word"""
    x1, x2 = (array.astype(np.int64) for array in present_arrays(arrays))
    total = (x1 - integer(attrs, "z1")) * (x2 - integer(attrs, "z2")) * integer(attrs, "m")
    total = total >> 32 if attrs.get("upper") else total
    return (_clamped(total + integer(attrs, "bias") >> integer(attrs, "shift"), attrs),)


WIDE_BITS = 28
"""An i32 that ``rescale_channels`` takes is at most 2 to this power, or as much below 0."""


def infer_rescale_channels(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, factor, bias = (operand(types, position) for position in range(3))
    if x.dtype not in (*NARROW, DType.I32):
        raise ValueError(f"the operand is {x}, not i8, u8, i16 or i32")
    if factor.dtype is not DType.I32 or bias.dtype is not DType.I32:
        raise ValueError(f"factor {factor} and bias {bias} are not i32")
    return quantized(broadcast_shapes(x.shape, factor.shape, bias.shape), element_type(attrs, "to"), attrs)


def evaluate_rescale_channels(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """clamp((x * factor + bias) >> shift, lo, hi); of an i32 the upper word of the product."""
    is_wide = arrays[0] is not None and arrays[0].dtype == np.int32
    x, factor, bias = (array.astype(np.int64) for array in present_arrays(arrays))
    product = x * factor >> 32 if is_wide else x * factor
    return (_clamped(product + bias >> integer(attrs, "shift"), attrs),)


def infer_rescale_sum(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, factor, bias = (operand(types, position) for position in range(3))
    if {x.dtype, factor.dtype, bias.dtype} != {DType.I32}:
        raise ValueError(f"{x}, {factor} and {bias} are not all i32")
    return quantized(broadcast_shapes(x.shape, factor.shape, bias.shape), element_type(attrs, "to"), attrs)


def evaluate_rescale_sum(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """clamp((x * factor + bias) >> shift, lo, hi), where every step is an i32."""
    x, factor, bias = present_arrays(arrays)
    with np.errstate(over="ignore"):
        total = (x * factor + bias).astype(np.int64)
    return (_clamped(total >> integer(attrs, "shift"), attrs),)


# ---------------------------------------------------------------- softmax


def infer_int_softmax(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, table = operand(types, 0), operand(types, 1)
    _check_bytes(x)
    check_axes((integer(attrs, "axis"),), x)
    if table.dtype is not DType.I32 or table.shape != (256,):
        raise ValueError(f"the table is {table}, not i32[256]")
    return quantized(x.shape, element_type(attrs, "to"), attrs)


SOFTMAX_UNIT_BITS = 24
"""Of ``unit`` of ``int_softmax``: the other bits of a word are the digits by which a kernel divides."""


def evaluate_int_softmax(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """table[max(x) - x] / unit + zero_point, rounded to nearest and clamped to the type.

    ``table[d]`` is proportional to e^(-d * scale of x); its sum along the axis fits u32. ``unit`` is that sum times
    ``step`` / 2^32, rounded: ``step`` is the scale of the result in steps of 2^-32. Divided is by multiplication::

        reciprocal = floor(2^(32 + shift) / unit)
        quotient   = (upper word of table[...] * reciprocal) + (zero_point << shift) + 2^(shift - 1) - 1 >> shift

    ``shift`` is such that the reciprocal, of at most 31 bits, has nearly as many for the least sum that there is.
    """
    x, table = present_arrays(arrays)
    axis, shift = integer(attrs, "axis"), integer(attrs, "shift")
    wide = x.astype(np.int64)
    terms = table.astype(np.int64)[wide.max(axis=axis, keepdims=True) - wide]
    total = terms.sum(axis=axis, keepdims=True).astype(np.uint64)
    unit = (total * np.uint64(integer(attrs, "step")) + np.uint64(1 << 31) >> np.uint64(32)).astype(np.int64)
    reciprocal = (np.int64(1) << 32 + shift) // unit
    steps = (terms * reciprocal >> 32) + softmax_rounding(attrs) >> shift
    to = element_type(attrs, "to").numpy
    return (np.clip(steps, least(to), np.iinfo(to).max).astype(to),)


def softmax_division(shift: int) -> tuple[int, int]:
    """How kernels find the reciprocal of ``int_softmax`` by division of words: the first dividend, and how often what
    is left is divided again, for as many bits as a word has beyond those of ``unit``."""
    digit = 32 - SOFTMAX_UNIT_BITS
    steps = -(-(shift + 1) // digit)
    return 1 << 32 + shift - steps * digit, steps


def softmax_rounding(attrs: Attrs) -> int:
    """What ``int_softmax`` adds before it shifts: the zero point and just less than a half."""
    shift = integer(attrs, "shift")
    return (integer(attrs, "zero_point") << shift) + (1 << shift - 1) - 1
