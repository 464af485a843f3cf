"""Floats that a model computes of the numbers of its shapes: scales that are quotients of extents, limits of ranges.

They are followed where they are exact: quotients of polynomials by powers of two, whose numerators the float has bits
for. All else is arithmetic of floats, of which no size can be told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import reduce

import numpy as np

from ..ir.types import DType
from ..record import record
from .counts import Counts
from .polynomials import Polynomial

SIGNIFICANT_BITS = {DType.F16: 11, DType.BF16: 8, DType.F32: 24, DType.F64: 53}
MAX_DENOMINATOR = 2**12


@record
class Ratio:
    """``numerator / denominator``, the latter a power of two."""

    numerator: Polynomial
    denominator: int = 1

    @property
    def whole(self) -> Polynomial | None:
        """The polynomial that it is, if it is one."""
        return self.numerator if self.denominator == 1 else None

    @property
    def is_constant(self) -> bool:
        return self.numerator.number is not None


Ratios = tuple[Ratio, ...]


def ratios_of(array: np.ndarray) -> Ratios | None:
    """The numbers of a constant; ``None`` where one has many binary places."""
    found = []
    for number in array.reshape(-1):
        if not np.isfinite(number):
            return None
        exact = Fraction(float(number))
        if exact.denominator > MAX_DENOMINATOR or abs(exact.numerator) > 2**53:
            return None
        found.append(Ratio(Polynomial.constant(exact.numerator), exact.denominator))
    return tuple(found)


def combined(counts: Counts, op: str, known: Sequence[Ratios], dtype: DType, loc: str) -> Ratios | None:
    """What pointwise ``op`` makes of lists, or of lists and single numbers; ``None`` where that is not exact."""
    size = max(map(len, known), default=0)
    if any(len(each) not in (1, size) for each in known):
        return None
    found: list[Ratio] = []
    for place in range(size):
        entries = [each[place if len(each) == size else 0] for each in known]
        made = _made(counts, op, entries, loc)
        if made is None or not _is_exact(counts, made, dtype):
            return None
        found.append(made)
    return tuple(found)


def floors(counts: Counts, entries: Ratios | None, loc: str) -> tuple[Polynomial, ...] | None:
    """The entries rounded down; ``None`` where they are not known, or one may be negative."""
    found = [_floor(counts, each, loc) for each in entries or ()]
    numbers = tuple(each for each in found if each is not None)
    return numbers if entries is not None and len(numbers) == len(found) else None


def _is_exact(counts: Counts, ratio: Ratio, dtype: DType) -> bool:
    bits = SIGNIFICANT_BITS.get(dtype, 0)
    number = ratio.whole.number if ratio.whole is not None else None
    if number is not None and abs(number) > 2**bits:
        return float(np.asarray(number, dtype.numpy)) == number
    return ratio.denominator <= MAX_DENOMINATOR and max(map(abs, counts.span(ratio.numerator))) <= 2**bits


def _made(counts: Counts, op: str, entries: Sequence[Ratio], loc: str) -> Ratio | None:
    if op in _PAIRED and len(entries) == 2:
        return _PAIRED[op](*entries)
    if op in ("min", "max") and all(entry.denominator == 1 for entry in entries):
        chosen = counts.least_of if op == "min" else counts.greatest_of
        return Ratio(reduce(lambda a, b: chosen(a, b, loc), [entry.numerator for entry in entries]))
    if op in ("floor", "ceil", "cast") and len(entries) == 1:
        if op == "cast" or entries[0].denominator == 1:
            return entries[0]
        (entry,) = entries
        if op == "ceil":
            entry = Ratio(entry.numerator + Polynomial.constant(entry.denominator - 1), entry.denominator)
        whole = _floor(counts, entry, loc)
        return None if whole is None else Ratio(whole)
    return None


def _floor(counts: Counts, ratio: Ratio, loc: str) -> Polynomial | None:
    if ratio.denominator == 1:
        return ratio.numerator
    if counts.span(ratio.numerator)[0] < 0:
        return None
    return counts.quotient(ratio.numerator, ratio.denominator, loc)


def _reduced(numerator: Polynomial, denominator: int) -> Ratio:
    while denominator > 1:
        half = numerator.divided(Polynomial.constant(2))
        if half is None:
            break
        numerator, denominator = half, denominator // 2
    return Ratio(numerator, denominator)


def _sum(a: Ratio, b: Ratio) -> Ratio:
    left, right = (Polynomial.constant(each.denominator) for each in (a, b))
    return _reduced(a.numerator * right + b.numerator * left, a.denominator * b.denominator)


def _product(a: Ratio, b: Ratio) -> Ratio | None:
    if not a.numerator.is_short_times(b.numerator):
        return None
    return _reduced(a.numerator * b.numerator, a.denominator * b.denominator)


def _quotient(a: Ratio, b: Ratio) -> Ratio | None:
    """Exact where one is a multiple of the other: by a polynomial, or by a power of two."""
    above = a.numerator * Polynomial.constant(b.denominator)
    below = b.numerator * Polynomial.constant(a.denominator)
    if not below.terms:
        return None
    exact = above.divided(below)
    if exact is not None:
        return Ratio(exact)
    inverse = below.divided(above) if above.terms else None
    number = below.number if inverse is None else inverse.number
    if number is None or number < 1 or number & (number - 1):
        return None
    return _reduced(above, number) if inverse is None else Ratio(Polynomial.constant(1), number)


_PAIRED: Mapping[str, Callable[[Ratio, Ratio], Ratio | None]] = {
    "add": _sum,
    "sub": lambda a, b: _sum(a, Ratio(b.numerator * Polynomial.constant(-1), b.denominator)),
    "mul": _product,
    "div": _quotient,
}
