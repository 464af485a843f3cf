"""Requantization without floating point, with the bits of the float definition.

The definition is ``clamp(zero_point + round_half_even(float32(acc) * scale), lo, hi)`` in IEEE binary32. There are two
ways to compute it in integers:

- :func:`exact_multiplier` finds a 32-bit multiplier for which one widening multiplication gives the same for every
  accumulator that can occur, or says that there is none;
- :func:`float_multiply_round` follows binary32 step by step, and always gives the same.

Both forms rise with the accumulator, so they are equal if they step to every result at the same accumulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_ONE = np.uint64(1)
_I32 = 2**31 - 1
_SAFE = 2**62
"""What is added to and compared in 64 bits stays below."""
_SHIFTS = (*((0, post) for post in range(24)), *((pre, 0) for pre in range(1, 31)))
"""(pre_shift, post_shift), cheapest first: scales are small; those from 1/2 on need to shift the accumulator."""

@dataclass(frozen=True)
class FixedPoint:
    """``clamp(zero_point + (((acc << pre_shift) * multiplier + 2^(31 + post_shift)) >> (32 + post_shift)), lo, hi)``

    The shifted accumulator is an i32, the product an i64, and ``multiplier`` less than 2^31. Without ``post_shift`` the
    result is the rounded upper word of the product. With it, no more than the upper word h (not rounded) is needed:
    ``zero_point + ((h + 2^(post_shift - 1)) >> post_shift)``.
    """

    pre_shift: int
    multiplier: int
    post_shift: int = 0

    def apply(self, acc: np.ndarray, zero_point: int, lo: int, hi: int) -> np.ndarray:
        product = (acc.astype(np.int64) << self.pre_shift) * self.multiplier
        steps = product + (1 << 31 + self.post_shift) >> 32 + self.post_shift
        return np.clip(zero_point + steps, lo, hi)


def defined(acc: np.ndarray, scale: np.ndarray | np.float32, zero_point: int, lo: int, hi: int) -> np.ndarray:
    """The definition."""
    steps = np.rint(acc.astype(np.float32) * np.asarray(scale, np.float32)).astype(np.float64)
    return np.clip(steps + zero_point, lo, hi).astype(np.int64)


# ---------------------------------------------------------------- one multiplication


def exact_multiplier(
    scale: np.float32, acc_lo: int, acc_hi: int, zero_point: int, lo: int, hi: int
) -> FixedPoint | None:
    """A fixed-point form that equals the definition for every accumulator from ``acc_lo`` to ``acc_hi``."""
    (found,) = exact_multipliers(np.array([scale], np.float32), [(acc_lo, acc_hi)], zero_point, lo, hi)
    return found


def exact_multipliers(
    scales: np.ndarray, bounds: Sequence[tuple[int, int]], zero_point: int, lo: int, hi: int
) -> list[FixedPoint | None]:
    """The same for many channels, each with its own scale and accumulator bounds."""
    acc_lo, acc_hi = (np.array(column, np.int64) for column in zip(*bounds))
    steps = thresholds(scales, acc_lo, acc_hi, zero_point, lo, hi)
    results = np.arange(lo + 1, hi + 1, dtype=np.int64)
    return [
        _settle(float(scale), row, results - zero_point, low, high)
        for scale, row, (low, high) in zip(scales, steps, bounds, strict=True)
    ]


def common_multipliers(
    scales: np.ndarray,
    bounds: Sequence[tuple[int, int]],
    zero_point: int,
    lo: int,
    hi: int,
    pre_shift: int,
    post_shifts: Sequence[int],
) -> tuple[np.ndarray, int] | None:
    """Multipliers of many channels for the first of ``post_shifts`` for which all have one, and that."""
    acc_lo, acc_hi = (np.array(column, np.int64) for column in zip(*bounds))
    steps = thresholds(scales, acc_lo, acc_hi, zero_point, lo, hi)
    wanted = np.arange(lo + 1, hi + 1, dtype=np.int64) - zero_point
    for post_shift in post_shifts:
        nominal = scales.astype(np.float64) * 2.0 ** (32 + post_shift - pre_shift)
        if np.any(nominal >= _I32):
            continue
        ranges = [_multipliers(row, wanted, bound, pre_shift, post_shift) for row, bound in zip(steps, bounds)]
        if all(least <= greatest for least, greatest in ranges):
            least, greatest = np.array(ranges, np.float64).T
            return np.clip(np.rint(nominal), least, greatest).astype(np.int32), post_shift
    return None


def have_multipliers(
    scales: np.ndarray,
    bounds: Sequence[tuple[int, int]],
    zero_point: int,
    lo: int,
    hi: int,
    pre_shift: int,
    post_shift: int,
) -> np.ndarray:
    """Which channels have a multiplier for these shifts, for accumulators within ``bounds``; all where some channel's
    would not fit its 31 bits, so that others have to be taken for all."""
    nominal = scales.astype(np.float64) * 2.0 ** (32 + post_shift - pre_shift)
    if np.any(nominal >= _I32):
        return np.full(scales.shape, True)
    acc_lo, acc_hi = (np.array(column, np.int64) for column in zip(*bounds))
    steps = thresholds(scales, acc_lo, acc_hi, zero_point, lo, hi)
    wanted = np.arange(lo + 1, hi + 1, dtype=np.int64) - zero_point
    ranges = (_multipliers(row, wanted, bound, pre_shift, post_shift) for row, bound in zip(steps, bounds))
    return np.array([least <= greatest for least, greatest in ranges])


def thresholds(
    scales: np.ndarray, acc_lo: np.ndarray, acc_hi: np.ndarray, zero_point: int, lo: int, hi: int
) -> np.ndarray:
    """For each scale and each result from ``lo + 1`` to ``hi``, the least accumulator that gives it or more.

    ``acc_lo`` where all do, ``acc_hi + 1`` where none does. By bisection, for all at once.
    """
    results = np.arange(lo + 1, hi + 1, dtype=np.int64)
    low = np.broadcast_to(acc_lo[:, np.newaxis], (len(scales), len(results))).copy()
    high = np.broadcast_to(acc_hi[:, np.newaxis] + 1, low.shape).copy()
    while np.any(low < high):
        middle = (low + high) >> 1
        enough = defined(middle, scales[:, np.newaxis], zero_point, lo, hi) >= results
        low, high = np.where(enough | (low >= high), low, middle + 1), np.where(enough, middle, high)
    return low


def _settle(scale: float, steps: np.ndarray, wanted: np.ndarray, acc_lo: int, acc_hi: int) -> FixedPoint | None:
    """The first shifts with a multiplier that steps where the definition does."""
    largest, furthest = max(abs(acc_lo), abs(acc_hi)), int(np.max(np.abs(wanted), initial=1)) + 1
    for pre_shift, post_shift in _SHIFTS:
        nominal = scale * 2.0 ** (32 + post_shift - pre_shift)
        fits = largest << pre_shift <= _I32 and nominal < _I32 and furthest << 32 + post_shift <= _SAFE
        if not fits:
            continue
        least, greatest = _multipliers(steps, wanted, (acc_lo, acc_hi), pre_shift, post_shift)
        if least <= greatest:
            return FixedPoint(pre_shift, min(max(round(nominal), least), greatest), post_shift)
    return None


def _multipliers(
    steps: np.ndarray, wanted: np.ndarray, bounds: tuple[int, int], pre_shift: int, post_shift: int
) -> tuple[int, int]:
    """Least and greatest multiplier m with, for every result y and its least accumulator t,

    t * m + half >= y * one   and   (t - 1) * m + half < y * one,   one = 2 * half = 2^(32 + post_shift),

    t and t - 1 shifted, and within the bounds of the accumulator.
    """
    bound = (wanted << 32 + post_shift) - (1 << 31 + post_shift)
    reached, missed = steps <= bounds[1], steps > bounds[0]
    least, greatest = _solve(steps[reached] << pre_shift, bound[reached])
    # s * m <= b - 1 is -s * m >= 1 - b.
    more, fewer = _solve(-(steps[missed] - 1 << pre_shift), 1 - bound[missed])
    return max(least, more, 0), min(greatest, fewer, _I32)


def _solve(factor: np.ndarray, bound: np.ndarray) -> tuple[int, int]:
    """The m between -2^62 and 2^62 with factor * m >= bound for all elements; an empty range where there is none."""
    if np.any((factor == 0) & (bound > 0)):
        return _SAFE, -_SAFE
    rising, falling = factor > 0, factor < 0
    least = -(-bound[rising] // factor[rising])
    greatest = bound[falling] // factor[falling]
    return int(least.max(initial=-_SAFE)), int(greatest.min(initial=_SAFE))


# ---------------------------------------------------------------- binary32 in integers


def float_parts(scale: np.float32) -> tuple[int, int]:
    """A positive float32 as ``mantissa * 2^exponent``; the mantissa has 24 bits, or fewer where it is subnormal."""
    bits = int(np.float32(scale).view(np.uint32))
    biased, fraction = bits >> 23, bits & 0x7FFFFF
    return (fraction | 1 << 23, biased - 150) if biased else (fraction, -149)


def float_multiply_round(acc: np.ndarray, mantissa: int, exponent: int) -> np.ndarray:
    """``round_half_even(float32(acc) * mantissa * 2^exponent)`` as i32, saturated: binary32 in integer arithmetic.

    The specification of the runtime's routine. It rounds three times, halves to even, as binary32 does: the accumulator
    to 24 bits, the product of two 24-bit numbers to 24 bits, and that to a whole number. Results below the normal range
    of binary32 are rounded elsewhere here, but they become 0 all the same.
    """
    value, power = _to_24_bits(np.abs(acc.astype(np.int64)).astype(np.uint64))
    product, shift = _to_24_bits(value * np.uint64(mantissa))
    power = power + shift + exponent
    right = np.minimum(np.maximum(-power, 0), 40).astype(np.uint64)
    left = np.minimum(np.maximum(power, 0), 31).astype(np.uint64)
    magnitude = np.minimum(_round_off(product, right) << left, np.uint64(2**31)).astype(np.int64)
    return np.clip(np.where(acc < 0, -magnitude, magnitude), -(2**31), 2**31 - 1).astype(np.int32)


def _to_24_bits(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``x`` of at most 49 bits as value * 2^shift with the value of at most 24 bits (or 2^24), halves to even."""
    bits = np.frexp(x.astype(np.float64))[1].astype(np.int64)
    shift = np.maximum(bits - 24, 0)
    return _round_off(x, shift.astype(np.uint64)), shift


def _round_off(x: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """x / 2^shift, halves to even."""
    quotient = x >> shift
    twice = x - (quotient << shift) << _ONE
    unit = _ONE << shift
    return quotient + ((twice > unit) | ((twice == unit) & (quotient & _ONE == _ONE))).astype(np.uint64)
