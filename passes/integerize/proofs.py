"""Searches integer arithmetic that gives exactly the wanted bytes for every operand.

``codes`` are the bytes that the float definition gives, for all operands. They are wanted as

    clamp((f + bias) >> shift, lo, hi),   f = a * m1 + b * m2,  or  p * m,  or  a * factor

with ``lo`` and ``hi`` their least and greatest. For given multipliers and shift the biases that serve are an interval:

    max over codes > lo of (code << shift) - f   <=   bias   <=   min over codes < hi of ((code + 1) << shift) - 1 - f

Its length is concave in the multipliers, so a step-wise ascent from the real solution finds an interval that is not
empty, if there is one near. What is found has been checked for every operand: the interval is that check.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

LIMIT = 2**31 - 1
"""Magnitude of intermediate values: they are i32."""
INT16 = 2**15 - 1
_SHIFTS = range(4, 24)
_STEPS = 200


@dataclass(frozen=True)
class Scaling:
    """``clamp((sum of multipliers * terms + bias) >> shift, lo, hi)``"""

    multipliers: tuple[int, ...]
    bias: int
    shift: int
    lo: int
    hi: int


def find_sum(codes: np.ndarray, lhs: np.ndarray, rhs: np.ndarray) -> Scaling | None:
    """``codes[i, j]`` of ``lhs[i]`` and ``rhs[j]``; multipliers of 16 bits where such serve."""
    a, b = np.broadcast_arrays(lhs[:, np.newaxis], rhs[np.newaxis, :])
    return _find(codes.ravel(), [a.ravel(), b.ravel()])


def find_product(codes: np.ndarray, lhs: np.ndarray, rhs: np.ndarray) -> Scaling | None:
    """``codes[i, j]`` of ``lhs[i] * rhs[j]``, both without their zero points."""
    return _find(codes.ravel(), [np.outer(lhs, rhs).ravel()])


def _find(codes: np.ndarray, terms: Sequence[np.ndarray]) -> Scaling | None:
    slopes = _slopes(codes, terms)
    if slopes is None:
        return None
    columns = [term.astype(np.int64) for term in terms]
    for shift in _SHIFTS:
        multipliers = [round(float(slope) * 2**shift) for slope in slopes]
        if not _fits(codes, columns, multipliers, shift):
            return None
        found = _ascend(_Interval(codes.astype(np.int64), columns, shift), multipliers)
        if found is not None and _fits(codes, columns, found.multipliers, shift):
            return found
    return None


def _slopes(codes: np.ndarray, terms: Sequence[np.ndarray]) -> np.ndarray | None:
    """The real multipliers, from a linear fit over what is not saturated; ``None`` where that is not linear."""
    inside = (codes > codes.min()) & (codes < codes.max())
    if np.count_nonzero(inside) < 2 * len(terms) + 2:
        inside = np.ones(codes.shape, bool)
    columns = np.stack([*(term[inside] for term in terms), np.ones(np.count_nonzero(inside))], axis=1).astype(float)
    solution, *_ = np.linalg.lstsq(columns, codes[inside].astype(float), rcond=None)
    if np.max(np.abs(columns @ solution - codes[inside])) > 1.5:
        return None
    return solution[:-1]


def _fits(codes: np.ndarray, terms: Sequence[np.ndarray], multipliers: Sequence[int], shift: int) -> bool:
    """Whether every partial sum is an i32, whatever the order."""
    largest = sum(abs(m) * int(np.max(np.abs(term))) for m, term in zip(multipliers, terms))
    return 2 * largest + ((int(np.max(np.abs(codes))) + 1) << shift) <= LIMIT


@dataclass(frozen=True)
class _Interval:
    """The biases that serve, for one shift."""

    codes: np.ndarray
    terms: Sequence[np.ndarray]
    shift: int

    def of(self, multipliers: Sequence[int]) -> tuple[int, int]:
        """Least and greatest; the interval is empty where the greatest is less."""
        f = sum((m * term for m, term in zip(multipliers, self.terms)), np.zeros(self.codes.shape, np.int64))
        raised, dropped = self.codes > self.codes.min(), self.codes < self.codes.max()
        least = ((self.codes << self.shift) - f)[raised].max(initial=-LIMIT)
        greatest = (((self.codes + 1) << self.shift) - 1 - f)[dropped].min(initial=LIMIT)
        return int(least), int(greatest)


def _ascend(interval: _Interval, start: Sequence[int]) -> Scaling | None:
    """Steps to the neighbour whose interval is longest, until one is not empty or no step helps."""
    multipliers = tuple(start)
    least, greatest = interval.of(multipliers)
    for _ in range(_STEPS):
        if greatest >= least:
            codes = interval.codes
            bias = (least + greatest) // 2
            return Scaling(multipliers, bias, interval.shift, int(codes.min()), int(codes.max()))
        steps = [step for step in product((-1, 0, 1), repeat=len(multipliers)) if any(step)]
        around = [tuple(m + d for m, d in zip(multipliers, step)) for step in steps]
        ends = [interval.of(neighbour) for neighbour in around]
        best = max(range(len(around)), key=lambda i: ends[i][1] - ends[i][0])
        if ends[best][1] - ends[best][0] <= greatest - least:
            return None
        multipliers, (least, greatest) = around[best], ends[best]
    return None
