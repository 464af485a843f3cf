"""Requantization of sums of few bytes by a product that fits 32 bits.

``clamp((acc * factor + bias) >> shift, lo, hi)``

equals the definition (:func:`ccml.ops.fixed_point.defined`) where that has been checked for every accumulator that can
occur. ``bias`` holds the zero point and what rounds; for a given factor and shift those that serve are an interval:

    max over results > lo of (result << shift) - acc * factor
        <= bias <= min over results < hi of ((result + 1) << shift) - 1 - acc * factor
"""

from __future__ import annotations

import numpy as np

from ..record import record
from .fixed_point import defined

MOST_ACCUMULATORS = 1 << 16
"""All of them are tried."""
MOST_PRODUCTS = 1 << 17
"""Those of two bytes without their zero points."""
SHIFTS = range(6, 25)
_LIMIT = 2**31 - 1


@record
class ShortScaling:
    """A factor and a bias for each scale, and the shift that they share."""

    factors: np.ndarray
    biases: np.ndarray
    shift: int


def short_scaling(
    scales: np.ndarray, acc_lo: int, acc_hi: int, zero_point: int, lo: int, hi: int
) -> ShortScaling | None:
    """The form for accumulators from ``acc_lo`` to ``acc_hi`` with the least shift; ``None`` where there is none, as
    where results are halves that go to even, or where there are more than :data:`MOST_ACCUMULATORS`."""
    if acc_hi - acc_lo >= MOST_ACCUMULATORS or lo >= hi or not np.all(scales > 0):
        return None
    acc = np.arange(acc_lo, acc_hi + 1, dtype=np.int64)
    wanted = [defined(acc, scale, zero_point, lo, hi) for scale in scales.reshape(-1)]
    for shift in SHIFTS:
        found = [
            _settled(acc, results, float(scale), shift, lo, hi)
            for scale, results in zip(scales.reshape(-1), wanted, strict=True)
        ]
        known = [pair for pair in found if pair is not None]
        if len(known) == len(found):
            factors, biases = (np.array(column, np.int32).reshape(scales.shape) for column in zip(*known))
            return ShortScaling(factors, biases, shift)
    return None


def upper_factor(scale: np.float32, acc_lo: int, acc_hi: int, zero_point: int, lo: int, hi: int) -> int | None:
    """A multiple m of four for which

        ``clamp((upper word of (acc * m) + 2 * zero_point + 1) >> 1, lo, hi)``

    equals the definition for accumulators from ``acc_lo`` to ``acc_hi``; ``None`` where there is none, or for more than
    :data:`MOST_PRODUCTS` of them. As m has up to 31 bits, only halves that go to even have no such form."""
    if acc_hi - acc_lo >= MOST_PRODUCTS or lo >= hi or not 0 < scale < 0.25:
        return None
    acc = np.arange(acc_lo, acc_hi + 1, dtype=np.int64)
    wanted = defined(acc, scale, zero_point, lo, hi)
    nearest = round(float(scale) * 2.0**31)
    for quarter in (nearest, nearest + 1, nearest - 1):
        steps = (acc * (4 * quarter) >> 32) + (2 * zero_point + 1) >> 1
        if 4 * quarter <= _LIMIT and np.array_equal(np.clip(steps, lo, hi), wanted):
            return 4 * quarter
    return None


def _settled(
    acc: np.ndarray, results: np.ndarray, scale: float, shift: int, lo: int, hi: int
) -> tuple[int, int] | None:
    """Factor and bias of one scale."""
    nearest = round(scale * 2.0**shift)
    for factor in (nearest, nearest + 1, nearest - 1):
        products = acc * factor
        raised, dropped = results > lo, results < hi
        least = ((results << shift) - products)[raised].max(initial=-_LIMIT)
        greatest = ((results + 1 << shift) - 1 - products)[dropped].min(initial=_LIMIT)
        bias = int(least + greatest) // 2
        if least <= greatest and int(np.abs(products).max()) + abs(bias) <= _LIMIT:
            return factor, bias
    return None
