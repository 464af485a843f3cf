"""The fractions that float32 numbers are rounded from."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np


def common_denominator(numbers: np.ndarray, most: int) -> int | None:
    """The least common denominator of the simplest fractions whose float32 ``numbers`` are.

    ``None`` where it is above ``most``. ``n / d`` is not farther from a number than half a unit in its last place.
    """
    found = 1
    for number in np.unique(np.abs(numbers.astype(np.float32))):
        found = lcm(found, simplest_fraction(number).denominator)
        if found > most:
            return None
    shares = np.rint(numbers * found) / found
    return found if np.array_equal(shares.astype(np.float32), numbers.astype(np.float32)) else None


def simplest_fraction(number: np.float32) -> Fraction:
    """The fraction of the least denominator among those that are rounded to ``number``, which is finite and not
    negative."""
    if number == 0:
        return Fraction(0)
    value = Fraction(float(number))
    below, above = (Fraction(float(np.nextafter(number, np.float32(way)))) for way in (0, np.inf))
    return _between((value + below) / 2, (value + above) / 2)


def _between(low: Fraction, high: Fraction) -> Fraction:
    """The simplest fraction strictly between two positive ones, by their continued fractions (Graham, Knuth, Patashnik,
    Concrete Mathematics, 4.5: the first of the Stern-Brocot tree)."""
    whole = low.numerator // low.denominator
    if whole + 1 < high:
        return Fraction(whole + 1)
    rest, other = low - whole, high - whole
    if rest == 0:  # between 0 and at most 1
        return whole + Fraction(1, int(1 / other) + 1)
    return whole + 1 / _between(1 / other, 1 / rest)
