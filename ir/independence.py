"""A proof that passages of loops do not meet in memory, so that they may run at the same time.

For each parameter that the loops write there has to be, for each of them, a dimension in which passages are apart: in
every access, the index there is ``stride * variable + rest``, and all rests lie within fewer than ``stride`` elements
of each other. Variables of loops around the one in question are the same in both of two passages that are compared::

    parallel a:4                      y[a*8 + i, b]    a: dimension 0, stride 8, rests 0..7
      parallel b:16                                    b: dimension 1, stride 1, rest 0
        for i:8
          y[a*8 + i, b] = ...

Where conditions leave a variable a single value, as in the last block of rows, an index need not depend on it; where
they say which indices a passage has (``row >= a*8`` and ``row < a*8 + 8``), it may be anything. What is a multiple of
some number within which all the rest lies does not matter: ``b*64`` where the rest is within 0..63. Block instructions
may read parameters that nothing in the loops writes, and write what is allocated there.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from itertools import chain

from ..record import record
from .bounds import Bounds, Linear
from .instructions import NO_BLOCKS, BlockTable
from .loops import Access, Alloc, Block, Buffer, Expr, For, If, Invoke, Let, Space, Stmt, Store, Var
from .loops_rewrite import most_lanes, stmt_loads, walk_expr

_NUMBERS = 8
"""That are tried as what indices are multiples of, but for a remainder, at most."""


@record
class _Access:
    """``lanes`` elements of a parameter from ``index`` on, where ``bounds`` holds."""

    index: tuple[Expr, ...]
    lanes: int
    bounds: Bounds


def are_independent(loops: Sequence[For], blocks: BlockTable = NO_BLOCKS) -> bool:
    """Whether all passages of ``loops``, each of which holds nothing but the next, provably write what no other passage
    writes or reads. Memory of the caller's behind different parameters has to be apart. ``blocks`` tell what block
    instructions access."""
    return separating_dimensions(loops, blocks) is not None


def separating_dimensions(loops: Sequence[For], blocks: BlockTable = NO_BLOCKS) -> tuple[int, ...] | None:
    """For each of ``loops`` the dimension of what they write in which their passages are apart, the outermost one of
    all parameters; ``None`` where they are not :func:`are_independent`."""
    bounds = Bounds()
    for loop in loops:
        bounds = bounds.in_loop(loop.var, loop.extent)
    collector = _Collector(blocks, frozenset(loop.var for loop in loops))
    if not collector.block(loops[-1].body, bounds) or collector.written & collector.read_by_blocks:
        return None
    found = []
    for number, loop in enumerate(loops):
        around = [other.var for other in loops[:number]]
        dimensions = [_dimension(collector.accesses[name], loop.var, around) for name in sorted(collector.written)]
        if any(dimension is None for dimension in dimensions):
            return None
        found.append(min((dimension for dimension in dimensions if dimension is not None), default=0))
    return tuple(found)


class _Collector:
    """Finds the accesses of parameters, and the parameters that are written."""

    def __init__(self, blocks: BlockTable, variables: Collection[Var]) -> None:
        """``variables`` are those of the loops in question."""
        self.blocks = blocks
        self.variables = variables
        self.accesses: dict[str, list[_Access]] = {}
        self.written: set[str] = set()
        self.read_by_blocks: set[str] = set()
        self.local: set[str] = set()

    def block(self, block: Block, bounds: Bounds) -> bool:
        """Whether everything in a block is understood."""
        for stmt in block:
            self._reads(stmt, bounds)
            match stmt:
                case For(var, extent, body):
                    if var in self.variables or not self.block(body, bounds.in_loop(var, extent)):
                        return False
                case If(cond, then, orelse):
                    if not self.block(then, bounds.assuming(cond)):
                        return False
                    if not self.block(orelse, bounds.assuming(cond, False)):
                        return False
                case Let(var, value):
                    bounds = bounds.with_let(var, value)
                case Alloc(buffer):
                    self.local.add(buffer.name)
                case Store(buffer, index, value, active):
                    if buffer.space is Space.GLOBAL:
                        self.written.add(buffer.name)
                        self._access(buffer, index, most_lanes(value.type.lanes, active), bounds)
                    elif buffer.name not in self.local:
                        return False
                case Invoke():
                    if not self._invoke(stmt):
                        return False
        return True

    def _invoke(self, stmt: Invoke) -> bool:
        """Whether a block instruction writes nothing but what is allocated in the loops."""
        if stmt.block not in self.blocks or not stmt.known:
            return False
        params = self.blocks[stmt.block].kernel(stmt.numbers).params
        for param, pointer in zip(params, stmt.pointers, strict=True):
            if param.access is not Access.READ and pointer.buffer.name not in self.local:
                return False
            if pointer.buffer.space is Space.GLOBAL:
                self.read_by_blocks.add(pointer.buffer.name)
        return True

    def _reads(self, stmt: Stmt, bounds: Bounds) -> None:
        for part in stmt_loads(stmt):
            if part.buffer.space is Space.GLOBAL:
                self._access(part.buffer, part.index, most_lanes(part.lanes, part.active), bounds)

    def _access(self, buffer: Buffer, index: tuple[Expr, ...], lanes: int, bounds: Bounds) -> None:
        if not bounds.dead:
            self.accesses.setdefault(buffer.name, []).append(_Access(index, lanes, bounds))


def _dimension(accesses: Sequence[_Access], var: Var, around: Sequence[Var]) -> int | None:
    """The first dimension in which passages of the loop of ``var`` are apart, variables ``around`` being the same."""
    dimensions = range(len(accesses[0].index) if accesses else 0)
    return next((dim for dim in dimensions if _apart_in(accesses, dim, var, around)), None)


def _apart_in(accesses: Sequence[_Access], dim: int, var: Var, around: Sequence[Var]) -> bool:
    forms = [access.bounds.linear(access.index[dim]) for access in accesses]
    steps = {form.terms[var] for form in forms if var in form.terms}
    wanted = [*steps] if len(steps) == 1 else []
    wanted += sorted(_told(forms[0], accesses[0].bounds, var) - steps)
    return any(
        _apart_by(step, accesses, left, dim, var, around)
        for left in chain([forms], _remainders(accesses, forms, dim, var))
        for step in wanted
    )


def _remainders(accesses: Sequence[_Access], forms: Sequence[Linear], dim: int, var: Var) -> Iterator[list[Linear]]:
    """``forms`` without their multiples of a number within which all of what is left lies: where that differs, the
    indices do."""
    first = min(Fraction(form.const) for form in forms)
    own = max(abs(Fraction(form.terms.get(var, 0))) for form in forms)
    numbers = {Fraction(form.const) - first for form in forms}
    numbers |= {abs(Fraction(factor)) for form in forms for factor in form.terms.values()}
    for number in sorted(number for number in numbers if number > own)[:_NUMBERS]:
        left = [
            Linear({atom: factor for atom, factor in form.terms.items() if factor % number}, form.const % number)
            for form in forms
        ]
        least, greatest = _hull(accesses, left, dim)
        if greatest - least < number:
            yield left


def _hull(accesses: Sequence[_Access], forms: Sequence[Linear], dim: int) -> tuple[int | float, int | float]:
    """The least and the greatest value of ``forms``, those of all lanes in the last dimension."""
    least, greatest = math.inf, -math.inf
    for access, form in zip(accesses, forms, strict=True):
        low, high = access.bounds.span(form)
        last = access.lanes - 1 if dim == len(access.index) - 1 else 0
        least, greatest = min(least, low), max(greatest, high + last)
    return least, greatest


def _apart_by(
    step: int | Fraction,
    accesses: Sequence[_Access],
    forms: Sequence[Linear],
    dim: int,
    var: Var,
    around: Sequence[Var],
) -> bool:
    """Whether all indices, whose linear ``forms`` are these, are ``step * var`` and something of fewer values."""
    rests: list[Linear] = []
    if len({tuple(form.terms.get(other, 0) for other in around) for form in forms}) > 1:
        return False
    for access, form in zip(accesses, forms, strict=True):
        rest = form.plus(Linear({var: step}), -1)
        if var not in form.terms:
            rest = _pinned(form, var, step, access.bounds) or rest
        for other in around:
            rest = rest.without(other)
        if any(part in around for atom in rest.terms for part in walk_expr(atom)):
            return False
        rests.append(rest)
    least, greatest = _hull(accesses, rests, dim)
    return greatest - least < (step if step > 0 else -step)


def _told(form: Linear, bounds: Bounds, var: Var) -> set[int | Fraction]:
    """The strides of an index that facts tell of something in it, such as ``row - var * 8 >= 0`` of ``row * 2``."""
    strides: set[int | Fraction] = {
        form.terms.get(var, 0) - factor * fact.terms[var] / Fraction(fact.terms[atom])
        for atom, factor in form.terms.items()
        for fact in bounds.facts
        if atom != var and atom in fact.terms and var in fact.terms
    }
    return strides - {0}


def _pinned(form: Linear, var: Var, step: int | Fraction, bounds: Bounds) -> Linear | None:
    """What an index without ``var`` is besides ``step * var``, where that has a single value."""
    low, high = bounds.span(Linear({var: 1}))
    return form.shifted(-step * int(low)) if low == high and not math.isinf(low) else None
