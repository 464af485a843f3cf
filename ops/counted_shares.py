"""Rows of weights that are counts times a multiplier.

The leaves of a forest hold shares of classes: c of the n samples that came to a leaf. A row of such integers is
``c[k] * m >> shift`` with one multiplier m for the row, which takes a byte or two for each entry and four for the row,
where weights of 32 bits take four for each.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..record import record

WORD = 2**32
MOST_SAMPLES = 1024
MOST_SHIFT = 8


@record
class Counted:
    """``count[rows, k]`` and ``multiplier[rows]``; products are below 2^32."""

    count: np.ndarray
    multiplier: np.ndarray
    shift: int

    def rows(self) -> np.ndarray:
        return (self.count * self.multiplier[:, None]) >> self.shift


def shift_for(greatest: int) -> int:
    """As many bits as multipliers have behind the point where weights are at most ``greatest``."""
    return max(0, min(MOST_SHIFT, 31 - greatest.bit_length()))


def counted_shares(rows: np.ndarray, trees: int, step: float) -> Counted | None:
    """Integers in steps of ``step`` for weights ``rows[rows, k]`` that are float32 of c / n / ``trees``, with an error
    of at most one and c / 2^(1 + shift); ``None`` where not all are such shares with n up to 1024."""
    shift = shift_for(int(rows.max(initial=0) / step) + 1)
    wanted = rows.astype(np.float32)

    def multipliers(chosen: np.ndarray, count: np.ndarray, n: int) -> np.ndarray:
        right = np.isclose(count / n / trees, wanted[chosen], rtol=2.0**-23, atol=0).all(axis=1)
        return np.where(right, round(2**shift / (step * n * trees)), -1)

    return _counted(rows.astype(np.float64) * trees, multipliers, shift)


def factored(rows: np.ndarray) -> Counted | None:
    """The counts and multipliers that give integers ``rows[rows, k]`` exactly, or ``None``."""
    wanted = rows.astype(np.int64)
    if wanted.min(initial=0) < 0:
        return None
    shift = shift_for(int(wanted.max(initial=0)))

    def multipliers(chosen: np.ndarray, count: np.ndarray, n: int) -> np.ndarray:
        values, counts = wanted[chosen], np.maximum(count, 1)
        least = np.where(count > 0, -(-(values << shift) // counts), 0).max(axis=1)
        most = np.where(count > 0, (((values + 1) << shift) - 1) // counts, WORD - 1).min(axis=1)
        right = (least <= most) & ((count > 0) == (values > 0)).all(axis=1)
        return np.where(right, least, -1)

    total = wanted.sum(axis=1, keepdims=True)
    found = _counted(wanted / np.maximum(total, 1), multipliers, shift)
    return found if found is not None and np.array_equal(found.rows(), wanted) else None


def _counted(
    shares: np.ndarray, multipliers: Callable[[np.ndarray, np.ndarray, int], np.ndarray], shift: int
) -> Counted | None:
    """Tries the numbers of samples in ascending order; ``multipliers`` says which rows have one, else -1."""
    count, multiplier = np.zeros(shares.shape, np.int64), np.full(len(shares), -1, np.int64)
    left = np.arange(len(shares))
    for n in range(1, MOST_SAMPLES + 1):
        if not len(left):
            return Counted(count, multiplier, shift)
        near = np.rint(shares[left] * n)
        chosen = left[(np.abs(shares[left] * n - near) < n * 2.0**-18).all(axis=1)]
        if not len(chosen):
            continue
        counts = np.rint(shares[chosen] * n).astype(np.int64)
        found = multipliers(chosen, counts, n)
        fits = (found >= 0) & (counts.max(axis=1) * found < WORD)
        count[chosen[fits]], multiplier[chosen[fits]] = counts[fits], found[fits]
        left = np.setdiff1d(left, chosen[fits], assume_unique=True)
    return None if len(left) else Counted(count, multiplier, shift)
