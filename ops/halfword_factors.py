"""Requantization of a layer with factors of 15 bits and one shift for all channels.

``clamp(zero_point + ((acc * factor + 2^(shift - 1)) >> shift), lo, hi)``

Two factors share a word, and the upper word of ``acc * (factor << 16)`` is that of the 48 bits of ``acc * factor``,
which cores with DSP instructions and cores without a long multiplication make of halfwords. It is a form of
``fixed_point.FixedPoint`` with the multiplier ``factor << 16``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FACTOR_BITS = 15
"""Signed halfwords."""
SHIFTS = range(17, 25)
"""With the least, the upper 32 of 48 bits are shifted once more, so that they need no rounding. With the greatest, what
is shifted of 256 times the sums is at most 15 bits, which leaves room for results beyond the limits of a byte."""


def common_shift(largest: float) -> int | None:
    """The greatest shift with which the factors up to that of scale ``largest`` fit; ``None`` where none does."""
    if not largest < 1:
        return None
    fits = [shift for shift in SHIFTS if round(largest * 2.0**shift) < 1 << FACTOR_BITS]
    return fits[-1] if fits else None


def halfword_factors(
    scales: np.ndarray, bounds: Sequence[tuple[int, int]], zero_point: int, lo: int, hi: int
) -> tuple[np.ndarray, int] | None:
    """Factors as i16 and their shift, if they equal the definition for all accumulators within their channel's
    bounds."""
    shift = common_shift(float(scales.max()))
    if shift is None:
        return None
    factors = np.rint(scales.astype(np.float64) * 2.0**shift).astype(np.int64)
    if not np.all(are_exact(scales, factors, shift, bounds, zero_point, lo, hi)):
        return None
    return factors.astype(np.int16), shift


def are_exact(
    scales: np.ndarray,
    factors: np.ndarray,
    shift: int,
    bounds: np.ndarray | Sequence[tuple[int, int]],
    zero_point: int,
    lo: int,
    hi: int,
    every: int = 1,
) -> np.ndarray:
    """Which factors equal the definition for all accumulators within their channel's bounds.

    Both rise with the accumulator. So it is enough that for every result the definition reaches it at the least
    accumulator for which the product does, and not before. With ``every`` some results only are looked at: those that
    fail there need no closer look.
    """
    low, high = (column[:, np.newaxis] for column in np.asarray(bounds, np.float64).reshape(-1, 2).T)
    results = np.arange(lo + 1, hi + 1, every, dtype=np.int64)
    wanted = ((results - zero_point << shift) - (1 << shift - 1)).astype(np.float64)
    # Quotients of numbers below 2^33 by some below 2^15 that are not whole are further from whole ones than rounding
    # moves them, so that float64 gives the quotients of integers.
    first = np.clip(np.ceil(wanted / np.maximum(factors, 1)[:, np.newaxis]), low, high + 1)
    columns, steps = scales.astype(np.float32)[:, np.newaxis], (results - zero_point).astype(np.float32)

    def reached(acc: np.ndarray) -> np.ndarray:
        """Whether the definition gives the result or more, which its clamp does not change."""
        return np.rint(acc.astype(np.float32) * columns) >= steps

    reaches, before = reached(np.minimum(first, high)), reached(np.maximum(first - 1, low))
    same = ((first > high) | reaches) & ((first <= low) | ~before)
    return same.all(axis=1) & (factors > 0)
