"""``int_normalize``: layer and RMS normalization of integers to integers; its type, its meaning, its constants.

Of a row of N stored integers x with the scale s, let d = x - x_zero_point, S = sum(d), Q = sum(d^2). Then

    (s d - mean) / sqrt(variance + epsilon)      =  (N d - S) / sqrt(V + E),  V = N Q - S^2,  E = epsilon (N / s)^2
    s d / sqrt(mean square + epsilon)            =  sqrt(N) d / sqrt(V + E),  V = Q,          E = epsilon N / s^2

S, Q and V are exact. The reciprocal root of V + E, in fixed point, makes a multiplier of 22 bits and a shift for the
row; an element takes one multiplication, one addition and one shift. All of it is integer arithmetic: every machine
gives the same bits.
"""

from __future__ import annotations

import math

import numpy as np

from ..ir.types import DType, TensorType
from .attributes import element_type, integer, ints
from .infer import check_axes, operand
from .integer import BYTES, NARROW, quantized
from .opdef import Arrays, Attrs, Types
from .pointwise import present_arrays

START = (round(2.13 * 2**30), round(1.215 * 2**30))
"""2.13 - 1.215 a is 1 / sqrt(a) for 1/4 <= a <= 1 with a relative error below 0.09."""
STEPS = 3
"""Of Newton's method: the error becomes 1.5 times its square, below 2^-24 in the end."""
MULTIPLIER_BITS = 22
"""At most; one less is as often as not."""
MULTIPLIER_SHIFT = 41
"""What a factor of 32 bits times a root of 31 bits is shifted by to have :data:`MULTIPLIER_BITS`."""
LARGEST_SHIFT = 30
MOST_DOUBLED = 31 - MULTIPLIER_BITS
"""How often a multiplier is doubled where its shift would be less than 1: in rows that differ by a few steps alone, so
that an element's product fits i32 all the same."""
NORMALIZING = (32, 16, 8, 4, 2)
"""Shifts that together bring the leading one of 64 bits to one of the two upper bits; even, so that roots shift."""


def infer_int_normalize(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, axes = operand(types, 0), ints(attrs, "axes")
    check_axes(axes, x)
    if x.dtype not in NARROW or element_type(attrs, "to") not in (*NARROW, DType.I32):
        raise ValueError(f"the operand is {x}, not i8, u8 or i16")
    if not 1 <= row_length(x.shape, axes) <= longest_row(x):
        raise ValueError(f"rows over the axes {axes} of {x} are too long")
    return quantized(x.shape, element_type(attrs, "to"), attrs)


def row_length(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod(shape[axis] for axis in axes)


def longest_row(x: TensorType) -> int:
    """For which the sums of a row are exact in 32 bits (squares of 16 bits: in 64)."""
    return 1 << 16 if x.dtype in BYTES else 1 << 14


def mean_bits(count: int) -> int:
    """Bits of the fraction of a mean of ``count`` elements: a remainder so shifted is a u32."""
    return min(31, 32 - (count - 1).bit_length())


def evaluate_int_normalize(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """clamp(((d - mean) m + 2^(shift - 1)) >> shift) + zero_point, with the multiplier and the shift of the row. An i32
    is not clamped: it is at most the root of the row's length."""
    (x,) = present_arrays(arrays)
    axes = ints(attrs, "axes")
    count = row_length(x.shape, axes)
    d = x.astype(np.int64) - integer(attrs, "x_zero_point")
    total = d.sum(axis=axes, keepdims=True) if attrs["mean"] else np.zeros((1,) * x.ndim, np.int64)
    squares = np.square(d).sum(axis=axes, keepdims=True)
    spread = squares * count - total * total if attrs["mean"] else squares
    m, shift = _multiplier(spread.astype(np.uint64), attrs)
    bits = mean_bits(count)
    fraction = (total % count << bits) // count
    half = np.int64(1) << shift - 1
    bias = half - total // count * m - (fraction * m >> bits)
    steps = (d * m + bias >> shift) + integer(attrs, "zero_point")
    to = element_type(attrs, "to")
    if to is DType.I32:
        return (steps.astype(np.int32),)
    return (np.clip(steps, integer(attrs, "lo"), integer(attrs, "hi")).astype(to.numpy),)


def _multiplier(spread: np.ndarray, attrs: Attrs) -> tuple[np.ndarray, np.ndarray]:
    """m and shift with m / 2^shift = factor / sqrt(spread + epsilon), as the attributes scale them."""
    u = np.uint64
    t = (spread << u(integer(attrs, "fraction"))) + u(integer(attrs, "epsilon"))
    shift = np.full(t.shape, integer(attrs, "shift"), np.int64)
    for count in NORMALIZING:
        small = t < u(1 << 64 - count)
        t, shift = np.where(small, t << u(count), t), shift - np.where(small, count // 2, 0)
    a = t >> u(32)
    y = u(START[0]) - (a * u(START[1]) >> u(32))
    for _ in range(STEPS):
        y = y * (u(3 << 30) - ((y * y >> u(30)) * a >> u(32))) >> u(31)
    m = (y * u(integer(attrs, "factor")) >> u(MULTIPLIER_SHIFT)).astype(np.int64)
    m = m << np.clip(1 - shift, 0, MOST_DOUBLED)
    return m >> np.clip(shift - LARGEST_SHIFT, 0, 31), np.clip(shift, 1, LARGEST_SHIFT)


def normalization_constants(
    x: TensorType, axes: tuple[int, ...], mean: bool, scale: float, epsilon: float, y_scale: float
) -> dict[str, int] | None:
    """``fraction``, ``epsilon``, ``factor`` and ``shift`` for rows of ``x`` in steps of ``scale`` and results in steps
    of ``y_scale``; ``None`` where 64 bits are too few."""
    count = row_length(x.shape, axes)
    if not 1 <= count <= longest_row(x) or not epsilon >= 0:
        return None
    span = 1 << 8 * x.dtype.size
    greatest = (count * span) ** 2 if mean else count * span**2
    offset = epsilon * (count / scale) ** 2 if mean else epsilon * count / scale**2
    room = 62 - math.ceil(math.log2(greatest + offset)) if math.isfinite(offset) else -1
    factor, exponent = math.frexp((count if mean else math.sqrt(count)) / y_scale)
    if room < 0 or not math.isfinite(factor) or math.sqrt(count) / y_scale >= 2**30:
        return None
    fraction = min(room // 2 * 2, 60)
    return {
        "fraction": fraction,
        "epsilon": max(1, round(offset * 2**fraction)),
        "factor": min(round(factor * 2**32), 2**32 - 1),
        "shift": 53 - exponent - fraction // 2,
    }
