"""Polynomials with whole coefficients: what a model computes of the numbers of its shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import CcmlError, ErrorCode
from ..record import record

Monomial = tuple[int, ...]
"""Numbers of atoms, in order; the empty one is 1."""

MAX_TERMS = 64
"""Of a polynomial: products of sums have as many terms as the factors have together, multiplied."""
MAX_DEGREE = 12
"""Factors of a monomial."""


@record
class Polynomial:
    """The sum of monomials with their coefficients, none of which is 0."""

    terms: tuple[tuple[Monomial, int], ...] = ()

    @staticmethod
    def of(terms: Mapping[Monomial, int]) -> Polynomial:
        return Polynomial(tuple(sorted((monomial, number) for monomial, number in terms.items() if number)))

    @staticmethod
    def constant(number: int) -> Polynomial:
        return Polynomial.of({(): number})

    @property
    def atoms(self) -> frozenset[int]:
        """The numbers of a run that it is a sum of products of."""
        return frozenset(atom for monomial, _ in self.terms for atom in monomial)

    @property
    def number(self) -> int | None:
        """What it is where that is a constant."""
        if any(monomial for monomial, _ in self.terms):
            return None
        return sum(number for _, number in self.terms)

    def __add__(self, other: Polynomial) -> Polynomial:
        found = dict(self.terms)
        for monomial, number in other.terms:
            found[monomial] = found.get(monomial, 0) + number
        return Polynomial.of(found)

    def __mul__(self, other: Polynomial) -> Polynomial:
        """Raises ``CcmlError`` for more than a model can mean: a damaged one could choose any size."""
        if not self.is_short_times(other):
            reason = "what the model computes of extents of ranged dimensions has too many terms"
            raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, hint="fix some dimensions with --dim NAME=N")
        found: dict[Monomial, int] = {}
        for one, a in self.terms:
            for two, b in other.terms:
                monomial = tuple(sorted((*one, *two)))
                found[monomial] = found.get(monomial, 0) + a * b
        return Polynomial.of(found)

    @property
    def degree(self) -> int:
        """Of the longest monomial."""
        return max((len(monomial) for monomial, _ in self.terms), default=0)

    def is_short_times(self, other: Polynomial) -> bool:
        """Whether the product with another is within the limits."""
        terms, degree = len(self.terms) * len(other.terms), self.degree + other.degree
        return terms <= MAX_TERMS and degree <= MAX_DEGREE

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + other * Polynomial.constant(-1)

    def divided(self, other: Polynomial) -> Polynomial | None:
        """The quotient where that leaves no rest: long division by the leading terms."""
        if not other.terms:
            return None
        rest, found = self, Polynomial()
        (atoms, divisor) = max(other.terms, key=_order)
        while rest.terms:
            (leading, number) = max(rest.terms, key=_order)
            left = list(leading)
            for atom in atoms:
                if atom not in left:
                    return None
                left.remove(atom)
            if number % divisor:
                return None
            part = Polynomial.of({tuple(left): number // divisor})
            found, rest = found + part, rest - part * other
        return found


def _order(term: tuple[Monomial, int]) -> tuple[int, Monomial]:
    """By degree, then by atoms: an order that multiplication keeps."""
    return len(term[0]), term[0]


def lists_of(known: Sequence[Sequence[Polynomial] | None]) -> list[Sequence[Polynomial]] | None:
    """The lists, where all are known."""
    found = [each for each in known if each is not None]
    return found if len(found) == len(known) else None
