"""TensorFlow Lite's integer arithmetic, written down from its definition: gemmlowp's fixed-point multiplication, and
the reference kernels of quantized operators by it.

A real factor is a multiplier of 31 bits and a power of two. The product is rounded twice: once to 32 bits and once by
the shift, halves away from zero both times. What ccml computes is rounded once, halves to even: the results differ by
one step at most.
"""

from __future__ import annotations

import math

import numpy as np

LIMITS = {np.dtype(np.int8): (-128, 127), np.dtype(np.uint8): (0, 255), np.dtype(np.int16): (-32768, 32767)}


SAME, VALID = 0, 1
"""How windows are padded, as files number it."""
NO_PADS = ((0, 0), (0, 0))


def f32(number: float) -> float:
    """The nearest number of single precision."""
    return float(np.float32(number))


def quantize_multiplier(real: float) -> tuple[int, int]:
    """(multiplier, shift) with real = multiplier / 2**31 * 2**shift"""
    if real == 0:
        return 0, 0
    mantissa, shift = math.frexp(real)
    fixed = math.floor(mantissa * (1 << 31) + 0.5)
    if fixed == 1 << 31:
        fixed, shift = fixed // 2, shift + 1
    return fixed, shift


def doubling_high_multiply(a: np.ndarray, b: int | np.ndarray) -> np.ndarray:
    """The high 32 bits of 2 * a * b, rounded halves away from zero."""
    product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
    nudged = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    return np.where(nudged >= 0, nudged >> 31, -((-nudged) >> 31))


def rounding_shift_right(x: np.ndarray, exponent: int) -> np.ndarray:
    """x / 2**exponent, rounded halves away from zero."""
    mask = (1 << exponent) - 1
    return (x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0))


def multiply(x: np.ndarray, real: float) -> np.ndarray:
    """MultiplyByQuantizedMultiplier of an int32 accumulator."""
    multiplier, shift = quantize_multiplier(real)
    shifted = np.asarray(x, np.int64) << max(shift, 0)
    return rounding_shift_right(doubling_high_multiply(shifted, multiplier), max(-shift, 0))


def multiply_wide(x: np.ndarray, real: float) -> np.ndarray:
    """MultiplyByQuantizedMultiplier of an int64 accumulator, by a multiplier of 16 bits."""
    multiplier, shift = quantize_multiplier(real)
    reduced = (multiplier + (1 << 15)) >> 16 if multiplier < 0x7FFF0000 else 0x7FFF
    total = 15 - shift
    return (np.asarray(x, np.int64) * reduced + (1 << (total - 1))) >> total


def clamped(x: np.ndarray, dtype: type, activation: tuple[float, float] | None, scale: float, zero: int) -> np.ndarray:
    """With the output's zero point, within its type and the bounds of the fused activation."""
    low, high = LIMITS[np.dtype(dtype)]
    if activation is not None:
        low = max(low, zero + round(activation[0] / scale) if activation[0] > -np.inf else low)
        high = min(high, zero + round(activation[1] / scale) if activation[1] < np.inf else high)
    return np.clip(x + zero, low, high).astype(dtype)


def patches(
    x: np.ndarray,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    pads: tuple[tuple[int, int], ...],
    dilation: tuple[int, int] = (1, 1),
) -> np.ndarray:
    """[n, h, w, c] -> [n, oh, ow, kh, kw, c], with zeros around."""
    x = np.pad(x, ((0, 0), *pads, (0, 0)))
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    oh, ow = ((extent - r) // s + 1 for extent, r, s in zip(x.shape[1:3], reach, stride))
    rows = [
        [
            x[
                :,
                i * stride[0] : i * stride[0] + reach[0] : dilation[0],
                j * stride[1] : j * stride[1] + reach[1] : dilation[1],
            ]
            for j in range(ow)
        ]
        for i in range(oh)
    ]
    return np.stack([np.stack(row, axis=1) for row in rows], axis=1)


def same_pads(
    extents: tuple[int, int], kernel: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int] = (1, 1)
) -> tuple[tuple[int, int], ...]:
    pads = []
    for extent, k, s, d in zip(extents, kernel, stride, dilation):
        total = max((math.ceil(extent / s) - 1) * s + (k - 1) * d + 1 - extent, 0)
        pads.append((total // 2, total - total // 2))
    return tuple(pads)


def requantized(acc: np.ndarray, factors: np.ndarray, wide: bool) -> np.ndarray:
    """Accumulators [..., channels] times a real factor for each channel."""
    one = multiply_wide if wide else multiply
    factors = np.broadcast_to(np.asarray(factors, np.float64).reshape(-1), acc.shape[-1:])
    return np.stack([one(acc[..., c], float(factors[c])) for c in range(acc.shape[-1])], axis=-1)


def added(x: np.ndarray, y: np.ndarray, sx: float, zx: int, sy: float, zy: int, so: float, sign: int) -> np.ndarray:
    """ADD (sign 1) and SUB (-1): both operands are brought to the scale of the larger one, with 20 more bits, or 15 for
    int16."""
    more = 15 if x.dtype == np.int16 else 20
    twice = 2 * max(sx, sy)
    lhs = multiply((x.astype(np.int64) - zx) << more, sx / twice)
    rhs = multiply((y.astype(np.int64) - zy) << more, sy / twice)
    return multiply(lhs + sign * rhs, twice / ((1 << more) * so))


def mean_of_window(windows: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """AVERAGE_POOL_2D of [..., kh, kw, c]: sums divided by their number, halves away from zero."""
    total, count = windows.sum(axis=(-3, -2)), counted.sum(axis=(-3, -2))
    return np.where(total > 0, (total + count // 2) // count, -((-total + count // 2) // count))


def softmax_int8(x: np.ndarray, scale: float, beta: float) -> np.ndarray:
    """SOFTMAX of int8 along the last axis, with gemmlowp's formats: differences with 5 integer bits, exponentials in
    Q0.31, their sum with 12 integer bits. The exponential itself, a polynomial there, is rounded from float64 here."""
    factor = min(beta * scale * (1 << 26), (1 << 31) - 1.0)
    multiplier, shift = quantize_multiplier(factor)
    diff = x.astype(np.int64) - x.max(axis=-1, keepdims=True)
    least = -math.floor(((1 << 5) - 1) * (1 << 26) / (1 << shift))
    rescaled = doubling_high_multiply(diff << shift, multiplier)
    exponential = np.minimum(np.rint(np.exp(rescaled / 2.0**26) * 2.0**31), 2**31 - 1).astype(np.int64)
    counted = diff >= least
    total = np.where(counted, rounding_shift_right(exponential, 12), 0).sum(axis=-1, keepdims=True)
    inverse = np.rint(2.0**50 / total).astype(np.int64)  # 1 / sum, of a sum with 19 fraction bits, in Q0.31
    real = np.where(counted, exponential * inverse, 0)
    return (np.floor(real / 2.0**54 + 0.5) - 128).clip(-128, 127).astype(np.int8)
