"""Extents as polynomials: what a model computes of the numbers of its shapes, and the values that hold it in a run.

The numbers that nothing is known of are *atoms*: the arguments that hold extents, what a run finds, and what follows of
these by a division or a comparison. Equal polynomials have one value, so that extents that are computed on different
ways are found to be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import lcm, prod
from typing import TYPE_CHECKING

import numpy as np

from ..ir.graph import Value
from .polynomials import Polynomial

if TYPE_CHECKING:
    from .folding import FoldingBuilder
    from .probe import Argument

State = tuple[
    "dict[Polynomial, Value]", "dict[tuple[str, Polynomial, Polynomial], Polynomial]",
    "dict[tuple[str, int], Polynomial]",
]  # fmt: skip
"""What is computed of extents: values, operations on two, and elements of lists."""

MAX_COMPARED = 4096
"""Numbers that an extent may be, for each of which two others are compared that follow from it."""

MAX_DIVISOR = 2**40
"""Quotients of quotients become one up to this."""


@dataclass
class _Atom:
    """``value`` holds it in a run; it is from ``least`` to ``most``. ``probed`` is what it is in the second import."""

    value: Value
    least: int
    most: int
    probed: int | None


class Counts:
    """The extents of a graph that is being built."""

    def __init__(self, builder: FoldingBuilder) -> None:
        self._builder = builder
        self._atoms: list[_Atom] = []
        self._known: dict[str, Polynomial] = {}
        """Of values, by name."""
        self._values: dict[Polynomial, Value] = {}
        self._holders: dict[str, Polynomial] = {}
        """What such values hold, by name."""
        self._operations: dict[tuple[str, Polynomial, Polynomial], Polynomial] = {}
        self._quotients: dict[int, tuple[Polynomial, int]] = {}
        """Of atoms that are quotients, rounded down: what is divided, and by what."""
        self._choices: dict[int, tuple[str, Polynomial, Polynomial]] = {}
        """Of atoms that are the lesser or the greater of two numbers: "min" or "max", and these."""
        self._spans: dict[Polynomial, tuple[int, int] | None] = {}
        """Of numbers with such atoms, the least and the greatest, where all that they may be were looked at."""
        self._compared: dict[Polynomial, bool] = {}
        """Of differences, whether they are at most 0 in every run."""
        self._remainders: dict[int, Polynomial] = {}
        """Of atoms that are remainders: the divisor, which they are below."""
        self._ranges: dict[int, int] = {}
        """The greatest number of atoms that are arguments, which both imports know."""
        self._orders: dict[Polynomial, tuple[Polynomial, ...]] = {}
        self.entries: dict[tuple[str, int], Polynomial] = {}
        """Of elements of lists that a run computes, by the name of the list and the place."""
        self.limited: dict[Polynomial, Polynomial] = {}
        """Of numbers that are limited to a bound of the user: what they are without it."""

    def atom(self, value: Value, most: int, least: int = 0, probed: int | None = None) -> Polynomial:
        """That of a value (i64 without dimensions) that is at most ``most``; a value has one."""
        found = self._known.get(value.name)
        if found is not None:
            return found
        self._atoms.append(_Atom(value, least, most, probed))
        made = Polynomial.of({(len(self._atoms) - 1,): 1})
        self._known[value.name] = made
        self._hold(made, value)
        return made

    def argument(self, argument: Argument, most: int) -> Polynomial:
        """That of an argument, which is at most ``most``. A multiple of a number is that number times an atom, so that
        parts of it are found to be whole: ``(32 * u - 1) // 2 + 1`` is ``16 * u``."""
        value, step = argument.value, argument.range.step
        if step == 1:
            made = self.atom(value, most, argument.range.least, argument.probed)
            self._ranges[made.terms[0][0][0]] = argument.range.most
            return made
        unit = self._emit("div", value, self._constant(step, value.name), value.name)
        atom = self.atom(unit, most // step, argument.range.least // step, argument.probed // step)
        self._ranges[atom.terms[0][0][0]] = argument.range.most // step
        made = atom * Polynomial.constant(step)
        self._known[value.name] = made
        self._hold(made, value)
        return made

    def of(self, value: Value) -> Polynomial | None:
        """What is known of a value."""
        array = self._builder.constants.get(value.name)
        if array is not None and array.size == 1 and value.name not in self._known:
            return Polynomial.constant(int(array.reshape(())))
        return self._known.get(value.name)

    def rename(self, names: Mapping[str, str]) -> None:
        """Values that are called otherwise now."""
        if not self._holders:
            return
        for old, new in names.items():
            held = self._holders.pop(old, None)
            if held is not None:
                self._holders[new] = held
                value = self._values.get(held)
                if value is not None and value.name == old:
                    self._values[held] = Value(new, value.type)
            known = self._known.pop(old, None)
            if known is not None:
                self._known[new] = known
                for atom in (self._atoms[each] for monomial, _ in known.terms for each in monomial):
                    if atom.value.name == old:
                        atom.value = Value(new, atom.value.type)

    def _hold(self, polynomial: Polynomial, value: Value) -> None:
        self._values[polynomial] = value
        self._holders[value.name] = polynomial

    # ---- numbers

    def span(self, polynomial: Polynomial) -> tuple[int, int]:
        """The least and the greatest number that a polynomial may be, or numbers below and above. With the lesser or
        greater of two numbers it is looked at for all that its only atom may be: ``n - min(n, 3)`` of ``n`` up to 4."""
        if any(atom in self._choices for atom in polynomial.atoms):
            if polynomial not in self._spans:
                found = self.tabulated(polynomial, most=MAX_COMPARED)
                self._spans[polynomial] = None if found is None else (int(found[0].min()), int(found[0].max()))
            exact = self._spans[polynomial]
            if exact is not None:
                return exact
        return self._limits(polynomial, lambda atom: self._atoms[atom].most)

    def _limits(self, polynomial: Polynomial, most: Callable[[int], int]) -> tuple[int, int]:
        """By the limits of each term, or where terms have different signs of ``x * q + r``, which are nearer."""
        low = high = 0
        for monomial, number in polynomial.terms:
            ends = number * prod(self._atoms[atom].least for atom in monomial), number * prod(map(most, monomial))
            low, high = low + min(ends), high + max(ends)
        if polynomial.degree < 2 or len({number > 0 for monomial, number in polynomial.terms if monomial}) < 2:
            return low, high
        x = max(polynomial.atoms, key=lambda atom: sum(atom in monomial for monomial, _ in polynomial.terms))
        inner = Polynomial.of({monomial: number for monomial, number in polynomial.terms if x in monomial})
        factor = inner.divided(Polynomial.of({(x,): 1}))
        assert factor is not None
        rest = self._limits(polynomial - inner, most)
        corners = [one * two for one in (self._atoms[x].least, most(x)) for two in self._limits(factor, most)]
        return max(low, min(corners) + rest[0]), min(high, max(corners) + rest[1])

    def greatest(self, polynomial: Polynomial) -> int:
        """The greatest number that it may be, or one above: the same in both imports where it follows from arguments by
        sums and products."""
        return self._limits(polynomial, lambda atom: self._ranges.get(atom, self._atoms[atom].most))[1]

    def tabulated(self, *polynomials: Polynomial, most: int) -> list[np.ndarray] | None:
        """What they are together, for every number that the only atom may be of which all follow by sums, products and
        quotients; ``None`` where there are several, or more than ``most`` numbers."""
        bases: set[int] = set()
        for each in polynomials:
            self._add_bases(each, bases)
        if len(bases) != 1:
            return None
        (base,) = bases
        atom = self._atoms[base]
        if atom.most - atom.least >= most:
            return None
        numbers = {base: np.arange(atom.least, atom.most + 1)}
        return [self._evaluated(each, numbers, len(numbers[base])) for each in polynomials]

    def most(self, polynomial: Polynomial) -> int:
        """The greatest number that it may be, or one above. In the import that another is compared with it is the
        number there: what is computed of constants, whose extents that import does not know, is right at its own."""
        found = self.probed(polynomial) if self._builder.compares else None
        return self.span(polynomial)[1] if found is None else found

    def _add_bases(self, polynomial: Polynomial, bases: set[int]) -> None:
        for atom in polynomial.atoms:
            if atom in self._quotients:
                self._add_bases(self._quotients[atom][0], bases)
            elif atom in self._choices:
                for each in self._choices[atom][1:]:
                    self._add_bases(each, bases)
            else:
                bases.add(atom)

    def _evaluated(self, polynomial: Polynomial, numbers: dict[int, np.ndarray], size: int) -> np.ndarray:
        total = np.zeros(size, np.int64)
        for monomial, factor in polynomial.terms:
            product = np.full(size, factor)
            for atom in monomial:
                if atom not in numbers:
                    numbers[atom] = self._atom_evaluated(atom, numbers, size)
                product = product * numbers[atom]
            total += product
        return total

    def _atom_evaluated(self, atom: int, numbers: dict[int, np.ndarray], size: int) -> np.ndarray:
        if atom in self._quotients:
            operand, divisor = self._quotients[atom]
            return self._evaluated(operand, numbers, size) // divisor
        op, one, other = self._choices[atom]
        both = (self._evaluated(each, numbers, size) for each in (one, other))
        return np.minimum(*both) if op == "min" else np.maximum(*both)

    def at_bounds(self, polynomial: Polynomial) -> int:
        """What it is where all extents are as large as can be."""
        return sum(number * prod(self._atoms[atom].most for atom in monomial) for monomial, number in polynomial.terms)

    def probed(self, polynomial: Polynomial) -> int | None:
        """What it is in the second import; ``None`` where a run finds it."""
        return self.partly_probed(polynomial).number

    def partly_probed(self, polynomial: Polynomial) -> Polynomial:
        """What it is in the second import, in terms of what a run finds."""
        total = Polynomial.constant(0)
        for monomial, number in polynomial.terms:
            found = []
            for atom in monomial:
                own = self._atoms[atom].probed
                if own is None:
                    found.append(atom)
                else:
                    number *= own
            total += Polynomial.of({tuple(found): number})
        return total

    def is_static(self, polynomial: Polynomial) -> bool:
        """Whether it depends on arguments alone, so that both imports know a number."""
        return self.probed(polynomial) is not None

    def factored(self, total: Polynomial, bounds: Sequence[int]) -> Iterator[list[Polynomial]]:
        """The ways to write one term as a product of as many as there are ``bounds``, each of which is at most that; of
        several terms, which are no product at first sight, the one that they were last made as."""
        if len(bounds) == 1:
            if self.at_bounds(total) == bounds[0]:
                yield [total]
            return
        if len(total.terms) != 1:
            order = list(self._orders.get(total, ()))
            if self.is_order(total, order) and [self.at_bounds(each) for each in order] == list(bounds):
                yield order
            return
        ((atoms, number),) = total.terms
        for size in range(len(atoms) + 1):
            for chosen in dict.fromkeys(combinations(atoms, size)):
                most = prod(self._atoms[atom].most for atom in chosen)
                factor = bounds[0] // most if most else 0
                if not factor or factor * most != bounds[0] or number % factor:
                    continue
                first = Polynomial.of({tuple(chosen): factor})
                rest = total.divided(first)
                if rest is not None:
                    yield from ([first, *others] for others in self.factored(rest, bounds[1:]))

    def note_order(self, total: Polynomial, factors: Sequence[Polynomial]) -> None:
        """Says of which extents a product is, from the outermost on."""
        self._orders[total] = tuple(factors)

    def is_order(self, total: Polynomial, factors: Sequence[Polynomial]) -> bool:
        """Whether an extent that depends on arguments alone was last made as this product. The second import, at other
        extents, tells whether it is."""
        return self.is_static(total) and self._orders.get(total) == tuple(factors)

    # ---- values

    def value(self, polynomial: Polynomial, loc: str) -> Value:
        """The value (i64 without dimensions) that holds it."""
        if polynomial not in self._values:
            made = self._computed(polynomial, loc)
            self._hold(polynomial, made)
            if made.name not in self._builder.constants:
                self._known[made.name] = polynomial
        return self._values[polynomial]

    def depth(self, *polynomials: Polynomial) -> int:
        """How deep in regions the deepest of their atoms is."""
        atoms = {atom for each in polynomials for monomial, _ in each.terms for atom in monomial}
        return max((self._builder.depth(self._atoms[atom].value) for atom in atoms), default=0)

    def state(self) -> State:
        """What there is, to go :meth:`back_to`."""
        return dict(self._values), dict(self._operations), dict(self.entries)

    def back_to(self, state: State) -> None:
        """Forgets the values that were computed since."""
        self._values, self._operations, self.entries = state

    def _computed(self, polynomial: Polynomial, loc: str) -> Value:
        with self._builder.at_depth(self.depth(polynomial)):
            return self._sum(polynomial, loc)

    def _sum(self, polynomial: Polynomial, loc: str) -> Value:
        parts: list[Value] = []
        for monomial, number in reversed(polynomial.terms):
            factors = [self._atoms[atom].value for atom in monomial]
            if number != 1 or not factors:
                factors.append(self._constant(number, loc))
            part = factors[0]
            for factor in factors[1:]:
                part = self._emit("mul", part, factor, loc)
            parts.append(part)
        total = parts[0] if parts else self._constant(0, loc)
        for part in parts[1:]:
            total = self._emit("add", total, part, loc)
        return total

    def operation(
        self, op: str, a: Polynomial, b: Polynomial, number: Callable[[int, int], int], loc: str
    ) -> Polynomial:
        """What follows of two others by ``op`` of the graph, which ``number`` does for numbers; it grows with ``a``."""
        if a.number is not None and b.number is not None:
            return Polynomial.constant(number(a.number, b.number))
        if (op, a, b) not in self._operations:
            with self._builder.at_depth(self.depth(a, b)):
                value = self._emit(op, self.value(a, loc), self.value(b, loc), loc)
            spans, seconds = self.span(a), self.span(b)
            corners = [number(one, two) for one in spans for two in seconds if op != "div" or two]
            probed = [self.probed(each) for each in (a, b)]
            other = None if probed[0] is None or probed[1] is None else number(probed[0], probed[1])
            found = self._operations[op, a, b] = self.atom(value, max(corners), min(corners), other)
            greatest = (self.span(a)[0], self.greatest(a)), (self.span(b)[0], self.greatest(b))
            most = max(number(one, two) for one in greatest[0] for two in greatest[1] if op != "div" or two)
            self._ranges.setdefault(found.terms[0][0][0], most)
        return self._operations[op, a, b]

    def least_of(self, a: Polynomial, b: Polynomial, loc: str) -> Polynomial:
        """The lesser of two numbers."""
        if self._is_at_most(a, b):
            return a
        return b if self._is_at_most(b, a) else self._chosen("min", a, b, min, loc)

    def greatest_of(self, a: Polynomial, b: Polynomial, loc: str) -> Polynomial:
        """The greater of two numbers."""
        if self._is_at_most(b, a):
            return a
        return b if self._is_at_most(a, b) else self._chosen("max", a, b, max, loc)

    def _chosen(
        self, op: str, a: Polynomial, b: Polynomial, number: Callable[[int, int], int], loc: str
    ) -> Polynomial:  # fmt: skip
        found = self.operation(op, a, b, number, loc)
        self._choices.update((atom, (op, a, b)) for atom in found.atoms)
        return found

    def difference(self, a: Polynomial, b: Polynomial, loc: str) -> Polynomial:
        """``a - b``, where a - max(x, y) is min(a - x, a - y), of which more is known: ``n - max(n - 4, 0)`` is at most
        4."""
        if b.degree == 1 and len(b.terms) == 1 and not b.atoms & a.atoms:
            op, x, y = self._choices.get(next(iter(b.atoms)), ("", b, b))
            if op == "max" and b.terms[0][1] == 1:
                return self.least_of(a - x, a - y, loc)
        return a - b

    def _is_at_most(self, a: Polynomial, b: Polynomial) -> bool:
        """Whether ``a`` is known to be no more than ``b``. Both imports find the same."""
        rest = a - b
        common = lcm(*{self._quotients[atom][1] for atom in rest.atoms if atom in self._quotients})
        scales = (1, common) if 1 < common <= MAX_DIVISOR else (1,)
        return any(self._is_below_one(rest, scale) for scale in scales) or self._is_never_positive(rest)

    def _is_below_one(self, rest: Polynomial, scale: int) -> bool:
        """Whether a difference is at most 0, as an integer is that is less than 1, by ``scale`` times what it is:
        ``n // d * d`` is at most n, and more than n - d; ``n % d`` is less than d."""
        rest = rest * Polynomial.constant(scale)
        for monomial, number in rest.terms:
            if len(monomial) != 1:
                continue
            if number > 0 and monomial[0] in self._remainders:
                less = self._remainders[monomial[0]] - Polynomial.constant(1)
                rest = rest + (less - Polynomial.of({monomial: 1})) * Polynomial.constant(number)
            if monomial[0] not in self._quotients:
                continue
            operand, divisor = self._quotients[monomial[0]]
            if number % divisor:
                continue
            factor = number // divisor
            over = Polynomial.constant(-factor * (divisor - 1) if factor < 0 else 0)
            rest = rest - Polynomial.of({monomial: number}) + operand * Polynomial.constant(factor) + over
        return max(self.span(rest)[1], self.greatest(rest)) < scale

    def _is_never_positive(self, rest: Polynomial) -> bool:
        """Whether a difference with the lesser or greater of two numbers is at most 0 whatever the only atom is of
        which all follow: ``max(5 - n, 0) + n - 5 - max(n - 5, 0)``, for example."""
        if not any(atom in self._choices for atom in rest.atoms):
            return False
        if rest not in self._compared:
            bases: set[int] = set()
            self._add_bases(rest, bases)
            base = min(bases, default=0)
            least, most = self._atoms[base].least, max(self._atoms[base].most, self._ranges.get(base, 0))
            known = len(bases) == 1 and most - least < MAX_COMPARED
            numbers = {base: np.arange(least, most + 1)} if known else {}
            self._compared[rest] = known and bool((self._evaluated(rest, numbers, most + 1 - least) <= 0).all())
        return self._compared[rest]

    def quotient(self, a: Polynomial, divisor: int, loc: str) -> Polynomial:
        """``a // divisor``, rounded down; ``a`` is not negative. It has one form, whatever steps it is computed in:

        (x // m + y) // d = (x + m * y) // (m * d), and (d * x + y) // d = x + y // d
        """
        exact = a.divided(Polynomial.constant(divisor))
        if exact is not None:
            return exact
        a, divisor = self._one_quotient(a, divisor)
        whole = Polynomial.of({monomial: number // divisor for monomial, number in a.terms
                               if number % divisor == 0 or not monomial})  # fmt: skip
        rest = a - whole * Polynomial.constant(divisor)
        if not whole.terms or self.span(rest)[0] < 0:
            whole, rest = Polynomial(), a
        if not rest.terms:
            return whole
        found = self.operation("div", rest, Polynomial.constant(divisor), lambda x, y: x // y, loc)
        for monomial, _ in found.terms:
            if monomial:
                self._quotients[monomial[0]] = rest, divisor
        return whole + found

    def remainder(self, a: Polynomial, b: Polynomial, loc: str) -> Polynomial | None:
        """``a % b``, which has the sign of ``b``; ``None`` where ``b`` may be 0 or negative."""
        least, most = self.span(b)
        if least < 1:
            return None
        if a.divided(b) is not None:
            return Polynomial()
        if b.number is not None:  # of 4 - n % 4, which is 4 - n + n // 4 * 4, the remainder by 4 is that of -n
            a = Polynomial.of({monomial: number for monomial, number in a.terms if number % b.number})
        low, high = self.span(a)
        if low >= 0 and high < least:
            return a
        if high < 0 and -low <= least:
            return a + b
        if b.number is not None and low >= 0:
            return a - self.quotient(a, b.number, loc) * b
        if b.number is not None and high <= 0:  # what is missing to a multiple
            return a + self.quotient(b - a - Polynomial.constant(1), b.number, loc) * b
        key = "mod", a, b
        if key not in self._operations:
            with self._builder.at_depth(self.depth(a, b)):
                operands = self.value(a, loc), self.value(b, loc)
                stems = [f"{loc}.extent"]
                (made,) = self._builder.emit_whole("mod", operands, {"fmod": False}, loc=loc, names=stems)
            probed = [self.probed(each) for each in (a, b)]
            other = None if probed[0] is None or probed[1] is None else probed[0] % probed[1]
            found = self._operations[key] = self.atom(made, most - 1, 0, other)
            self._remainders.update((monomial[0], b) for monomial, _ in found.terms)
        return self._operations[key]

    def _one_quotient(self, a: Polynomial, divisor: int) -> tuple[Polynomial, int]:
        """What is divided, and by what, where quotients in ``a`` that stand alone are taken apart."""
        for monomial, number in a.terms:
            if number == 1 and len(monomial) == 1 and monomial[0] in self._quotients:
                operand, own = self._quotients[monomial[0]]
                behind = a - Polynomial.of({monomial: 1})
                whole = operand + behind * Polynomial.constant(own)
                if own * divisor <= MAX_DIVISOR and self.span(whole)[1] <= MAX_DIVISOR:
                    return self._one_quotient(whole, own * divisor)
        return a, divisor

    def wrapped(self, place: Polynomial, extent: Polynomial, loc: str) -> Polynomial:
        """A place that counts from the end where it is negative."""
        low, high = self.span(place)
        if low >= 0:
            return place
        if high < 0:
            return place + extent
        key = "wrap", place, extent
        if key not in self._operations:
            with self._builder.at_depth(self.depth(place, extent)):
                value, behind = self.value(place, loc), self.value(place + extent, loc)
                below = self._emit("lt", value, self._constant(0, loc), loc)
                (made,) = self._builder.emit_whole("where", (below, behind, value), loc=loc, names=[f"{loc}.extent"])
            probed = self.probed(place)
            if probed is not None and probed < 0:
                probed = self.probed(place + extent)
            least = min(self.span(place + extent)[0], 0)
            self._operations[key] = self.atom(made, max(high, self.span(extent)[1]), least, probed)
        return self._operations[key]

    def _emit(self, op: str, a: Value, b: Value, loc: str) -> Value:
        return self._builder.emit_whole(op, (a, b), loc=loc, names=[f"{loc}.extent"])[0]

    def _constant(self, number: int, loc: str) -> Value:
        return self._builder.constant(np.asarray(number, np.int64), f"{loc}.extent")
