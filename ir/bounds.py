"""Bounds of ``index`` expressions: what the verifier proves accesses in range with.

An expression is brought to a :class:`Linear` form over *atoms*: loop variables, and sub-expressions that are not
linear. Its upper bound is found by replacing one atom after another by something at least as large, those of the
innermost loop first because extents may depend on outer variables:

- ``min``/``max``/``select`` branch, with the rest of the form on each side, so that ``j*16 + min(16, n - j*16)``
  cancels to ``n``;
- ``floordiv(x, k)`` is between ``(x - k + 1) / k`` and ``x / k``, and within the quotients of the bounds of ``x``;
  where it is one of two numbers, both are tried. ``floormod(x, k)`` is ``x - k * floordiv(x, k)``, but of a choice just
  something from 0 to ``k - 1``;
- conditions of enclosing Ifs are *facts* ``f >= 0``; adding a positive multiple of a fact can only raise the form.
  At most ``FACTS_COMBINED`` facts come together in one bound, which also ends the search;
- what is loaded from memory or not understood is unbounded; equal loads are taken to give equal values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field, replace
from fractions import Fraction

from ..record import record
from .loops import BOOL, INDEX, Binary, Const, Expr, Select, Unary, Var
from .loops_rewrite import walk_expr

Number = int | Fraction | float
FACTS_COMBINED = 2
_NEGATED = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}


@record
class Linear:
    """``sum(factor * atom) + const`` with exact factors; no factor is zero."""

    terms: dict[Expr, int | Fraction] = field(default_factory=dict)
    const: int | Fraction = 0

    def plus(self, other: Linear, factor: int | Fraction = 1) -> Linear:
        """``self + factor * other``."""
        terms = dict(self.terms)
        for atom, value in other.terms.items():
            total = terms.get(atom, 0) + factor * value
            if total:
                terms[atom] = total
            else:
                terms.pop(atom, None)
        return Linear(terms, self.const + factor * other.const)

    def shifted(self, amount: int | Fraction) -> Linear:
        return Linear(self.terms, self.const + amount)

    def without(self, atom: Expr) -> Linear:
        return Linear({a: f for a, f in self.terms.items() if a != atom}, self.const)


@record
class Bounds:
    """What is known at one point of a kernel: enclosing loops (outermost first), Lets, and facts that hold.

    Facts that contradict each other show a point that is never reached (``dead``), as unrolled borders have.
    """

    last: dict[Var, Linear] = field(default_factory=dict)
    lets: dict[Var, Linear] = field(default_factory=dict)
    ranks: dict[Var, tuple[int, int]] = field(default_factory=dict)
    conditions: dict[Var, Expr] = field(default_factory=dict)
    facts: tuple[Linear, ...] = ()
    dead: bool = False

    # ------------------------------------------------------------ walking into a kernel

    def in_loop(self, var: Var, extent: Expr) -> Bounds:
        """Inside ``for var:extent``."""
        last = self.linear(extent).shifted(-1)
        ranks = {**self.ranks, var: (len(self.last), 0)}
        return replace(self._with_facts((last,)), last={**self.last, var: last}, ranks=ranks)

    def with_let(self, var: Var, value: Expr) -> Bounds:
        """After ``let var = value``."""
        if var.type == INDEX:
            depth, height, _ = self._rank(value)
            ranks = {**self.ranks, var: (depth, height + 1)}
            return replace(self, lets={**self.lets, var: self.linear(value)}, ranks=ranks)
        if var.type == BOOL:
            return replace(self, conditions={**self.conditions, var: value})
        return self

    def assuming(self, cond: Expr, holds: bool = True) -> Bounds:
        """Where ``cond`` is known to hold, or not to hold."""
        return self._with_facts(tuple(self._facts_of(cond, holds)))

    def _with_facts(self, new: tuple[Linear, ...]) -> Bounds:
        dead = self.dead or any(self._upper(fact, self.facts, FACTS_COMBINED) < 0 for fact in new)
        return replace(self, facts=(*self.facts, *(fact for fact in new if fact.terms)), dead=dead)

    # ------------------------------------------------------------ questions

    def range(self, *summands: Expr) -> tuple[int | float, int | float]:
        """Least and greatest value of the sum of ``summands``; ``-inf``/``inf`` where there is no bound.

        Where the point is dead there is no value: ``inf`` is the least and ``-inf`` the greatest.
        """
        form = self.linear(summands[0]) if summands else Linear()
        for expr in summands[1:]:
            form = form.plus(self.linear(expr))
        return self.span(form)

    def span(self, form: Linear) -> tuple[int | float, int | float]:
        """Least and greatest value of a linear form, as :meth:`range` has them."""
        if self.dead:
            return math.inf, -math.inf
        if not form.terms:
            return int(form.const), int(form.const)
        return self._range(form, FACTS_COMBINED)

    def interval(self, expr: Expr) -> tuple[int, int] | None:
        """Bounds of an expression of loop variables with constant extents and constants, each occurrence by itself: at
        once, and never narrower than :meth:`range`. ``None`` for others."""
        if isinstance(expr, Const):
            return int(expr.value), int(expr.value)
        if isinstance(expr, Var):
            last = self.last.get(expr)
            return None if last is None or last.terms or last.const < 0 else (0, int(last.const))
        if not isinstance(expr, Binary):
            return None
        x, y = self.interval(expr.x), self.interval(expr.y)
        return None if x is None or y is None else arithmetic(expr.op, x, y)

    def linear(self, expr: Expr) -> Linear:
        """The linear form of an ``index`` expression."""
        if isinstance(expr, Const):
            return Linear({}, int(expr.value))
        if isinstance(expr, Var) and expr in self.lets:
            return self.lets[expr]
        if isinstance(expr, Unary) and expr.op == "neg":
            return Linear().plus(self.linear(expr.x), -1)
        if isinstance(expr, Binary):
            form = self._linear_binary(expr)
            if form is not None:
                return form
        return Linear({expr: 1})

    def _linear_binary(self, expr: Binary) -> Linear | None:
        """``None`` where ``expr`` is an atom."""
        if expr.op not in ("add", "sub", "mul", "floormod", "floordiv"):
            return None
        x, y = self.linear(expr.x), self.linear(expr.y)
        if expr.op in ("add", "sub"):
            return x.plus(y, 1 if expr.op == "add" else -1)
        if expr.op == "mul" and not y.terms:
            return Linear().plus(x, y.const)
        if expr.op == "mul" and not x.terms:
            return Linear().plus(y, x.const)
        if expr.op == "floormod" and not y.terms and y.const > 0 and not any(map(_is_choice, x.terms)):
            return x.plus(Linear({Binary("floordiv", expr.x, expr.y): 1}), -y.const)
        return None

    # ------------------------------------------------------------ facts

    def _facts_of(self, cond: Expr, holds: bool) -> Iterator[Linear]:
        """Linear forms that are >= 0 where ``cond`` is ``holds``."""
        if isinstance(cond, Var) and cond in self.conditions:
            yield from self._facts_of(self.conditions[cond], holds)
        elif isinstance(cond, Const):
            if bool(cond.value) != holds:
                yield Linear({}, -1)
        elif isinstance(cond, Unary) and cond.op == "not":
            yield from self._facts_of(cond.x, not holds)
        elif isinstance(cond, Binary) and cond.op == ("and" if holds else "or"):
            yield from self._facts_of(cond.x, holds)
            yield from self._facts_of(cond.y, holds)
        elif isinstance(cond, Binary) and cond.op in _NEGATED and cond.x.type == INDEX:
            op = cond.op if holds else _NEGATED[cond.op]
            difference = self.linear(cond.x).plus(self.linear(cond.y), -1)
            if op in ("ge", "gt", "eq"):
                yield difference.shifted(-1 if op == "gt" else 0)
            if op in ("le", "lt", "eq"):
                yield Linear().plus(difference, -1).shifted(-1 if op == "lt" else 0)

    # ------------------------------------------------------------ upper bounds

    def _range(self, form: Linear, combine: int) -> tuple[int | float, int | float]:
        low, high = -self._upper(Linear().plus(form, -1), self.facts, combine), self._upper(form, self.facts, combine)
        return _integral(low, math.ceil), _integral(high, math.floor)

    def _upper(self, form: Linear, facts: tuple[Linear, ...], combine: int) -> Number:
        """An upper bound of ``form`` from at most ``combine`` facts, ``inf`` if there is none."""
        for atom, factor in form.terms.items():
            if _is_choice(atom):
                return self._upper_of_choice(form.without(atom), factor, atom, facts, combine)
        best = self._upper_by_elimination(form, combine)
        if combine <= 0:
            return best
        for position, fact in enumerate(facts):
            others = facts[:position] + facts[position + 1 :]
            for multiple in {-form.terms.get(atom, 0) / Fraction(value) for atom, value in fact.terms.items()}:
                if multiple > 0:
                    best = min(best, self._upper(form.plus(fact, multiple), others, combine - 1))
        return best

    def _upper_of_choice(
        self, rest: Linear, factor: int | Fraction, atom: Expr, facts: tuple[Linear, ...], combine: int
    ) -> Number:
        if isinstance(atom, Select):
            known, refuted = (tuple(self._facts_of(atom.cond, holds)) for holds in (True, False))
            return max(
                self._upper(rest.plus(self.linear(atom.x), factor), facts + known, combine),
                self._upper(rest.plus(self.linear(atom.y), factor), facts + refuted, combine),
            )
        assert isinstance(atom, Binary)
        sides = [self._upper(rest.plus(self.linear(side), factor), facts, combine) for side in (atom.x, atom.y)]
        return min(sides) if (atom.op == "min") == (factor > 0) else max(sides)

    def _upper_by_elimination(self, form: Linear, combine: int) -> Number:
        """``form`` holds no choices; replaces one atom and goes on."""
        if not form.terms:
            return form.const
        atom = max(form.terms, key=self._rank)
        factor, rest = form.terms[atom], form.without(atom)
        if isinstance(atom, Var) and atom in self.last:
            return self._upper(rest.plus(self.last[atom], factor) if factor > 0 else rest, (), combine)
        if isinstance(atom, Binary) and atom.op == "floordiv":
            divisor = self.linear(atom.y)
            if not divisor.terms and divisor.const > 0:
                return self._upper_of_quotient(rest, factor, self.linear(atom.x), int(divisor.const), combine)
        low, high = self._range_of_atom(atom, combine)
        limit = high if factor > 0 else low
        return math.inf if isinstance(limit, float) else self._upper(rest.shifted(factor * limit), (), combine)

    def _rank(self, expr: Expr) -> tuple[int, int, int]:
        """Atoms are replaced from the highest rank down: first those of inner loops, then those that are made of Lets
        (of Lets), then larger expressions. So an atom goes before those that its own bounds are made of."""
        parts = list(walk_expr(expr))
        known = [self.ranks[part] for part in parts if isinstance(part, Var) and part in self.ranks]
        return max((depth for depth, _ in known), default=-1), max((h for _, h in known), default=0), len(parts)

    def _upper_of_quotient(
        self, rest: Linear, factor: int | Fraction, x: Linear, divisor: int, combine: int
    ) -> Number:
        dividend = x if factor > 0 else x.shifted(1 - divisor)
        related = self._upper(rest.plus(dividend, Fraction(factor) / divisor), (), combine)
        low, high = self._range(x, combine - 1)
        limit = high if factor > 0 else low
        if not isinstance(limit, float):
            related = min(related, self._upper(rest.shifted(factor * (limit // divisor)), (), combine))
        if combine and not isinstance(low, float) and not isinstance(high, float):
            last = high // divisor
            if low // divisor == last - 1:
                related = min(related, self._upper_of_two(rest, factor, x, last * divisor, divisor))
        return related

    def _upper_of_two(self, rest: Linear, factor: int | Fraction, x: Linear, border: int, divisor: int) -> Number:
        """Where the quotient is one of two numbers: ``x`` is below the ``border`` between them, or not."""
        below, above = Linear({}, border - 1).plus(x, -1), x.shifted(-border)
        quotient = border // divisor
        return max(
            self._upper(rest.shifted(factor * (quotient - 1)), (below,), 1),
            self._upper(rest.shifted(factor * quotient), (above,), 1),
        )

    def _range_of_atom(self, atom: Expr, combine: int) -> tuple[int | float, int | float]:
        """The range of a product, or of the remainder of a choice; anything else is unbounded."""
        if isinstance(atom, Binary) and atom.op == "floormod":
            divisor = self.linear(atom.y)
            return (-math.inf, math.inf) if divisor.terms else (0, int(divisor.const) - 1)
        if not isinstance(atom, Binary) or atom.op != "mul":
            return -math.inf, math.inf
        x, y = (self._range(self.linear(side), combine - 1) for side in (atom.x, atom.y))
        corners = [a * b if a and b else 0 for a in x for b in y]
        return min(corners), max(corners)


def arithmetic(op: str, x: tuple[int, int], y: tuple[int, int]) -> tuple[int, int] | None:
    """The interval of a sum, a difference or a product of numbers of two intervals; ``None`` for other operators."""
    if op == "add":
        return x[0] + y[0], x[1] + y[1]
    if op == "sub":
        return x[0] - y[1], x[1] - y[0]
    if op != "mul":
        return None
    corners = (x[0] * y[0], x[0] * y[1], x[1] * y[0], x[1] * y[1])
    return min(corners), max(corners)


def _is_choice(atom: Expr) -> bool:
    return isinstance(atom, Select) or (isinstance(atom, Binary) and atom.op in ("min", "max"))


def _integral(value: Number, rounding) -> int | float:  # type: ignore[no-untyped-def]
    """The bound of an integer: rounded, unless infinite."""
    return value if isinstance(value, float) else rounding(value)
