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
from functools import lru_cache

import numpy as np

from ..record import record

_ONE = np.uint64(1)
_I32 = 2**31 - 1
_SAFE = 2**62
"""What is added to and compared in 64 bits stays below."""
_SHIFTS = (*((0, post) for post in range(24)), *((pre, 0) for pre in range(1, 31)))
"""(pre_shift, post_shift), cheapest first: scales are small; those from 1/2 on need to shift the accumulator."""

_TOGETHER = 64
"""Channels that are looked at together: where one has no multiplier, those behind them need not be looked at."""


@record
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
    """The same for many channels, each with its own scale and accumulator bounds: for each the first shifts with a
    multiplier that steps where the definition does."""
    steps = _Steps.of(scales, bounds, zero_point, lo, hi)
    nominal = scales.astype(np.float64)
    largest, furthest = np.max(np.abs(steps.bounds), axis=1), int(np.max(np.abs(steps.wanted), initial=1)) + 1
    found: list[FixedPoint | None] = [None] * len(scales)
    left = np.arange(len(scales))
    for pre_shift, post_shift in _SHIFTS:
        if not left.size:
            break
        factors = nominal[left] * 2.0 ** (32 + post_shift - pre_shift)
        fits = (largest[left] <= _I32 >> pre_shift) & (factors < _I32) & (furthest << 32 + post_shift <= _SAFE)
        tried = left[fits]
        if not tried.size:
            continue
        least, greatest = steps.multipliers(tried, pre_shift, post_shift)
        chosen = np.clip(np.rint(factors[fits]), least, greatest).astype(np.int64)
        for channel, multiplier in zip(tried[least <= greatest], chosen[least <= greatest]):
            found[channel] = FixedPoint(pre_shift, int(multiplier), post_shift)
        left = np.setdiff1d(left, tried[least <= greatest])
    return found


def common_multipliers(
    scales: np.ndarray,
    bounds: Sequence[tuple[int, int]],
    zero_point: int,
    lo: int,
    hi: int,
    pre_shift: int,
    post_shifts: Sequence[int],
) -> tuple[np.ndarray, int] | None:
    """Multipliers of many channels for the first of ``post_shifts`` for which all have one, and that. They are found
    once for each layer, however many of its forms are tried; nobody may change them."""
    channels = np.asarray(scales, np.float32).tobytes(), np.array(bounds, np.int64).tobytes()
    return _common_multipliers(channels, (zero_point, lo, hi), pre_shift, tuple(post_shifts))


@lru_cache(maxsize=1024)
def _common_multipliers(
    channels: tuple[bytes, bytes], results: tuple[int, int, int], pre_shift: int, post_shifts: tuple[int, ...]
) -> tuple[np.ndarray, int] | None:
    """The same for the bytes of scales and bounds, and what is said about results."""
    scales, bounds = (np.frombuffer(part, dtype) for part, dtype in zip(channels, (np.float32, np.int64), strict=True))
    steps = _Steps.of(scales, bounds, *results)
    for post_shift in post_shifts:
        nominal = scales.astype(np.float64) * 2.0 ** (32 + post_shift - pre_shift)
        if np.any(nominal >= _I32):
            continue
        ranges = []
        for first in range(0, max(len(scales), 1), _TOGETHER):
            part = np.arange(first, min(first + _TOGETHER, len(scales)))
            ranges.append(steps.multipliers(part, pre_shift, post_shift))
            if np.any(ranges[-1][0] > ranges[-1][1]):
                break
        else:
            least, greatest = np.concatenate(ranges, axis=1)
            found = np.clip(np.rint(nominal), least, greatest).astype(np.int32)
            found.flags.writeable = False
            return found, post_shift
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
    steps = _Steps.of(scales, bounds, zero_point, lo, hi)
    least, greatest = steps.multipliers(np.arange(len(scales)), pre_shift, post_shift)
    return least <= greatest


def thresholds(
    scales: np.ndarray, acc_lo: np.ndarray, acc_hi: np.ndarray, zero_point: int, lo: int, hi: int
) -> np.ndarray:
    """For each scale and each result from ``lo + 1`` to ``hi``, the least accumulator that gives it or more.

    ``acc_lo`` where all do, ``acc_hi + 1`` where none does. By bisection, for all at once, of the few accumulators
    about the quotient where the definition can step: it rounds twice, by at most 2^-24 of the number each time.
    """
    wanted = (np.arange(lo + 1, hi + 1, dtype=np.int64) - zero_point).astype(np.float64)
    factors = np.asarray(scales, np.float32)[:, np.newaxis]
    least, beyond = acc_lo[:, np.newaxis], acc_hi[:, np.newaxis] + 1

    def enough(acc: np.ndarray) -> np.ndarray:
        return np.rint(acc.astype(np.float32) * factors) >= wanted

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotient = np.clip(np.nan_to_num((wanted - 0.5) / factors.astype(np.float64)), -(2.0**40), 2.0**40)
        slack = 2 + np.abs(quotient) * 2.0**-22
        low = np.clip(np.floor(quotient - slack).astype(np.int64), least, beyond)
        high = np.clip(np.ceil(quotient + slack).astype(np.int64), least, beyond)
        while np.any(low < high):
            middle = (low + high) >> 1
            reached = enough(middle)
            low, high = np.where(reached | (low >= high), low, middle + 1), np.where(reached, middle, high)
    return low


@record
class _Steps:
    """Where the definition steps: ``at[channel, k]`` is the least accumulator that gives ``wanted[k]``, the results
    without the zero point, or more, within ``bounds[channel]``."""

    at: np.ndarray
    wanted: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(
        cls, scales: np.ndarray, bounds: Sequence[tuple[int, int]] | np.ndarray, zero_point: int, lo: int, hi: int
    ) -> _Steps:
        limits = np.array(bounds, np.int64).reshape(-1, 2)
        at = thresholds(scales, limits[:, 0], limits[:, 1], zero_point, lo, hi)
        return cls(at, np.arange(lo + 1, hi + 1, dtype=np.int64) - zero_point, limits)

    def multipliers(self, channels: np.ndarray, pre_shift: int, post_shift: int) -> tuple[np.ndarray, np.ndarray]:
        """For each of ``channels`` the least and the greatest multiplier m with, for every result y and its step t,

        t * m + half >= y * one   and   (t - 1) * m + half < y * one,   one = 2 * half = 2^(32 + post_shift),

        t and t - 1 shifted, and within the bounds of the accumulator.
        """
        at, (acc_lo, acc_hi) = self.at[channels], self.bounds[channels].T[:, :, np.newaxis]
        bound = (self.wanted << 32 + post_shift) - (1 << 31 + post_shift)
        least, greatest = _solve(at << pre_shift, bound, at <= acc_hi)
        # s * m <= b - 1 is -s * m >= 1 - b.
        more, fewer = _solve(-(at - 1 << pre_shift), 1 - bound, at > acc_lo)
        return np.maximum(np.maximum(least, more), 0), np.minimum(np.minimum(greatest, fewer), _I32)


def _solve(factor: np.ndarray, bound: np.ndarray, holds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each row the m between -2^62 and 2^62 with factor * m >= bound for all elements of the row that ``holds``; an
    empty range where there is none."""
    rising, falling = holds & (factor > 0), holds & (factor < 0)
    # Rounded up, b / f is -(-b // f): a single division, the slowest step of all, gives either side what it needs.
    quotient = np.where(rising, -bound, bound) // np.where(factor == 0, 1, factor)
    least = np.max(-quotient, axis=1, where=rising, initial=-_SAFE)
    greatest = np.min(quotient, axis=1, where=falling, initial=_SAFE)
    never = np.any(holds & (factor == 0) & (bound > 0), axis=1)
    return np.where(never, _SAFE, least), np.where(never, -_SAFE, greatest)


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
