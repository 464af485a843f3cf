"""Searches integer arithmetic that gives exactly the wanted bytes for every operand.

``codes`` are the bytes that the float definition gives, for all operands. They are wanted as

    clamp((f + bias) >> shift, lo, hi),   f = a * m1 + b * m2,  or  p * m,  or  a * factor

with ``lo`` and ``hi`` their least and greatest. For given multipliers and shift the biases that serve are an interval:

    max over codes > lo of (code << shift) - f   <=   bias   <=   min over codes < hi of ((code + 1) << shift) - 1 - f

Sums that hit halves, as scales that are powers of two make them do, are wanted as round_half_even((f + bias) / 2^shift)
instead; there, code - 1/2 and code + 1/2 belong to an even code, and not to an odd one.

The length of the interval is concave in the multipliers, so a step-wise ascent from the real solution finds one that is
not empty, if there is one near. What is found has been checked for every operand: the interval is that check. Of the
operands with one code, ``f`` is least and greatest in corners of their convex hull, so that these are all that is
looked at, some thousand of 65536.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from ...record import record

LIMIT = 2**31 - 1
"""Magnitude of intermediate values: they are i32."""
FLOAT_LIMIT = 2**24
"""Up to here, i32 are float32 as well."""
_SHIFTS = range(4, 24)
_STEPS = 100
_STEPS_FROM_ZERO = 2
"""Where all multipliers are rounded to 0: the sum hardly depends on the operands, and larger shifts say it better."""


@record
class Scaling:
    """``clamp((sum of multipliers * terms + bias) >> shift, lo, hi)``"""

    multipliers: tuple[int, ...]
    bias: int
    shift: int
    lo: int
    hi: int


def find_sum(codes: np.ndarray, reals: np.ndarray, lhs: np.ndarray, rhs: np.ndarray) -> Scaling | None:
    """``codes[i, j]`` of the integers ``lhs[i]`` and ``rhs[j]``; ``reals`` are the codes before they were rounded.

    Small shifts are tried first, so that multipliers have 16 bits where such serve.
    """
    a, b = np.broadcast_arrays(lhs[:, np.newaxis], rhs[np.newaxis, :])
    return _find(_Wanted.of(codes), reals.ravel(), [a.ravel(), b.ravel()], _SHIFTS)


def find_even_sum(codes: np.ndarray, reals: np.ndarray, lhs: np.ndarray, rhs: np.ndarray) -> Scaling | None:
    """The same with halves to even; all sums are exact in float32. ``codes`` are without their zero point."""
    a, b = np.broadcast_arrays(lhs[:, np.newaxis], rhs[np.newaxis, :])
    wanted = replace(_Wanted.of(codes), to_even=True)
    return _find(wanted, reals.ravel(), [a.ravel(), b.ravel()], range(1, 16))


def find_product(codes: np.ndarray, reals: np.ndarray, lhs: np.ndarray, rhs: np.ndarray) -> Scaling | None:
    """``codes[i, j]`` of ``lhs[i] * rhs[j]``, both without their zero points."""
    return _find(_Wanted.of(codes), reals.ravel(), [np.outer(lhs, rhs).ravel()], _SHIFTS)


def find_scalings(codes: np.ndarray, reals: np.ndarray, x: np.ndarray) -> list[Scaling] | None:
    """One for each row of ``codes[channel, i]``, functions of ``x[i]``; all with one shift and the same bounds."""
    whole = _Wanted.of(codes)
    for shift in _SHIFTS:
        found = []
        for row, real in zip(codes, reals, strict=True):
            scaling = _find(replace(whole, codes=row.astype(np.int64)), real, [x], (shift,))
            if scaling is None:
                break
            found.append(scaling)
        else:
            return found
    return None


@record
class _Wanted:
    """The codes, flat, and what they are clamped to."""

    codes: np.ndarray
    lo: int
    hi: int
    to_even: bool = False

    def sums(self, shift: int) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest sum that gives each code."""
        start = self.codes << shift
        if self.to_even:
            half, odd = 1 << shift - 1, self.codes & 1
            return start - half + odd, start + half - odd
        return start, start + (1 << shift) - 1

    @staticmethod
    def of(codes: np.ndarray) -> _Wanted:
        return _Wanted(codes.ravel().astype(np.int64), int(codes.min()), int(codes.max()))


def _find(wanted: _Wanted, reals: np.ndarray, terms: Sequence[np.ndarray], shifts: Iterable[int]) -> Scaling | None:
    columns = [term.astype(np.int64) for term in terms]
    slopes = _slopes(wanted, reals, columns)
    if slopes is None:
        return None
    kept = corners(wanted.codes, columns)
    wanted, columns = replace(wanted, codes=wanted.codes[kept]), [column[kept] for column in columns]
    for shift in shifts:
        start = [round(float(slope) * 2**shift) for slope in slopes]
        if not _fits(wanted, columns, start, shift):
            return None
        found = _ascend(_Biases(wanted, columns, shift), start)
        if found is not None and _fits(wanted, columns, found.multipliers, shift):
            return found
    return None


def _slopes(target: _Wanted, reals: np.ndarray, terms: Sequence[np.ndarray]) -> np.ndarray | None:
    """The real multipliers, from a fit over what is not saturated; ``None`` where that is not linear."""
    inside = (target.codes > target.lo) & (target.codes < target.hi)
    if not np.any(inside):
        inside = np.ones(target.codes.shape, bool)
    columns = np.stack([*(term[inside] for term in terms), np.ones(np.count_nonzero(inside))], axis=1).astype(float)
    wanted = reals[inside].astype(float)
    solution = np.linalg.lstsq(columns, wanted, rcond=None)[0]
    return solution[:-1] if np.max(np.abs(columns @ solution - wanted)) < 0.5 else None


def corners(codes: np.ndarray, terms: Sequence[np.ndarray]) -> np.ndarray:
    """The places of those elements of one or two ``terms`` that are corners of the convex hull of all with the same
    code: nowhere else is a linear function of the terms less or greater."""
    order = np.lexsort((*reversed(terms), codes))
    ends = _ends(codes[order]) if len(terms) == 1 else _ends(codes[order], terms[0][order])
    below, above = (order[end] for end in ends)
    if len(terms) == 2:
        points = np.stack([codes, *terms])
        below, above = _convex(points, below, 1), _convex(points, above, -1)
    return np.unique(np.concatenate((below, above)))


def _ends(*keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first and the last place of each run of elements that are the same in all ``keys``."""
    changes = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return np.flatnonzero(np.r_[True, changes]), np.flatnonzero(np.r_[changes, True])


def _convex(points: np.ndarray, chain: np.ndarray, sign: int) -> np.ndarray:
    """What is left of ``chain``, places of points (code, x, y) in the order of code and x, without those that are not
    below (``sign`` 1) or above (-1) the line between their neighbours of the same code."""
    while True:
        code, x, y = points[:, chain]
        inner = code[:-2] == code[2:]
        across, up = x[2:] - x[:-2], y[2:] - y[:-2]
        side = sign * (across * (y[1:-1] - y[:-2]) - up * (x[1:-1] - x[:-2]))
        kept = np.r_[True, ~(inner & (side >= 0)), True][: len(chain)]
        if kept.all():
            return chain
        chain = chain[kept]


def _fits(wanted: _Wanted, terms: Sequence[np.ndarray], multipliers: Sequence[int], shift: int) -> bool:
    """Whether every partial sum is an i32, whatever the order."""
    largest = sum(abs(m) * int(np.max(np.abs(term))) for m, term in zip(multipliers, terms))
    limit = FLOAT_LIMIT if wanted.to_even else LIMIT
    return 2 * largest + (max(abs(wanted.lo), abs(wanted.hi)) + 1 << shift) <= limit


class _Biases:
    """The biases that serve, for one shift."""

    def __init__(self, wanted: _Wanted, terms: Sequence[np.ndarray], shift: int) -> None:
        self.lo, self.hi, self.shift = wanted.lo, wanted.hi, shift
        raised, dropped = wanted.codes > self.lo, wanted.codes < self.hi
        least, greatest = wanted.sums(shift)
        self._raised = [least[raised], *(term[raised] for term in terms)]
        self._dropped = [greatest[dropped], *(term[dropped] for term in terms)]

    def interval(self, multipliers: Sequence[int]) -> tuple[int, int]:
        """Least and greatest; there is none where the greatest is less."""
        least = _difference(self._raised, multipliers).max(initial=-LIMIT)
        return int(least), int(_difference(self._dropped, multipliers).min(initial=LIMIT))


def _difference(columns: Sequence[np.ndarray], multipliers: Sequence[int]) -> np.ndarray:
    bound, *terms = columns
    for m, term in zip(multipliers, terms):
        bound = bound - m * term
    return bound


def _ascend(biases: _Biases, start: Sequence[int]) -> Scaling | None:
    """Steps to the neighbour whose interval is longest, until one is not empty or no step helps."""
    steps = [step for step in product((-1, 0, 1), repeat=len(start)) if any(step)]
    multipliers = tuple(start)
    least, greatest = biases.interval(multipliers)
    for _ in range(_STEPS if any(start) else _STEPS_FROM_ZERO):
        if greatest >= least:
            return Scaling(multipliers, (least + greatest) // 2, biases.shift, biases.lo, biases.hi)
        around = {
            neighbour: biases.interval(neighbour)
            for neighbour in (tuple(m + d for m, d in zip(multipliers, step)) for step in steps)
        }
        best = max(around, key=lambda neighbour: around[neighbour][1] - around[neighbour][0])
        if around[best][1] - around[best][0] <= greatest - least:
            return None
        multipliers, (least, greatest) = best, around[best]
    return None
