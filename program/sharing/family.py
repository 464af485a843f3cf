"""Kernels of one family: the same but for numbers, which become scalars of one kernel for all.

A kernel is *generalized*: its parameters get one dimension, and every number in it becomes a scalar of its own. Kernels
with the same general form are a family. Their *common* kernel has scalars only for numbers that differ, one for all
places where the members have the same values, and multiples of others are computed from these:

    for o:16, quad:4                                           for o:rows, quad:quads
      invoke f(&x[0, o*2, quad*8, 0], &p[0, 0], 4, 32)   ->      invoke f(&x[o*2*step+quad*8*n], &p[0], groups, n)

Numbers that the form of the code depends on stay: divisors, indices of registers, numbers of active lanes, and scalars
by which a block instruction chooses its code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...ir.loops import (
    INDEX,
    Binary,
    Block,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Invoke,
    Kernel,
    Let,
    Load,
    Pointer,
    Prefetch,
    Space,
    Stmt,
    Store,
    Var,
)
from ...ir.loops_rewrite import flat_index, map_accesses, map_block, map_children
from ...ir.specialize import folded_literal, literal_of, scalar_of
from ...record import record
from .form import DIVISIONS

_STEM = "scalar"
_LARGEST = 1024
"""Of factors: beyond, two numbers are taken to have nothing to do with each other."""


@record
class General:
    """A kernel with a scalar for every number, and these numbers; :func:`~.form.form` tells families."""

    kernel: Kernel
    numbers: tuple[int, ...]
    sizes: tuple[int, ...]

    @staticmethod
    def of(kernel: Kernel) -> General:
        flat = {param: replace(param, shape=(0,)) for param in kernel.params}
        generalizer = _Generalizer()
        body = generalizer.block(map_accesses(kernel.body, lambda b, index: _flat(flat, b, index)))
        scalars = tuple(Var(f"{_STEM}{number}") for number in range(len(generalizer.numbers)))
        general = replace(kernel, params=tuple(flat.values()), body=body, scalars=scalars)
        sizes = tuple(_product(param.shape) for param in kernel.params)
        return General(general, tuple(generalizer.numbers), sizes)


def _product(shape: Sequence[int]) -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total


def _flat(flat: dict[Buffer, Buffer], buffer: Buffer, index: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
    """The access of a parameter with one index, in which no number is folded into another."""
    if buffer not in flat:
        return buffer, index
    terms: Expr | None = None
    rest = 0
    for part, stride in zip(index, buffer.strides, strict=True):
        if isinstance(part, Const):
            rest += int(part.value) * stride
            continue
        term = Binary("mul", part, Const(stride, INDEX))
        terms = term if terms is None else Binary("add", terms, term)
    constant = Const(rest, INDEX)
    return flat[buffer], (constant if terms is None else Binary("add", terms, constant),)


class _Generalizer:
    """Puts scalars in the place of numbers, in the order in which they occur."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def _scalar(self, number: int) -> Var:
        self.numbers.append(number)
        return Var(f"{_STEM}{len(self.numbers) - 1}")

    def block(self, block: Block) -> Block:
        return tuple(self._stmt(stmt) for stmt in block)

    def _stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, For):
            return replace(stmt, extent=self._expr(stmt.extent), body=self.block(stmt.body))
        if isinstance(stmt, If):
            return If(self._expr(stmt.cond), self.block(stmt.then), self.block(stmt.orelse))
        if isinstance(stmt, Let):
            return replace(stmt, value=self._expr(stmt.value))
        if isinstance(stmt, Store):
            return replace(stmt, index=self._index(stmt.buffer, stmt.index), value=self._expr(stmt.value))
        if isinstance(stmt, Invoke):
            pointers = tuple(Pointer(p.buffer, self._index(p.buffer, p.index)) for p in stmt.pointers)
            return replace(stmt, pointers=pointers, scalars=self._scalars(stmt))
        if isinstance(stmt, Prefetch):
            return Prefetch(Pointer(stmt.pointer.buffer, self._index(stmt.pointer.buffer, stmt.pointer.index)))
        return stmt

    def _scalars(self, stmt: Invoke) -> tuple[int | Expr, ...]:
        return tuple(self._scalar(number) for number in stmt.numbers)

    def _index(self, buffer: Buffer, index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return index if buffer.space is Space.REG else tuple(self._expr(part) for part in index)

    def _expr(self, expr: Expr) -> Expr:
        if isinstance(expr, Const):
            number = scalar_of(expr)
            return expr if number is None else literal_of(self._scalar(number), expr)
        if isinstance(expr, Load):
            return replace(expr, index=self._index(expr.buffer, expr.index))
        if isinstance(expr, Binary) and expr.op in DIVISIONS:
            return replace(expr, x=self._expr(expr.x))
        return map_children(expr, self._expr)


def flattened(kernel: Kernel) -> Kernel:
    """``kernel`` with parameters of one dimension."""
    flat = {param: replace(param, shape=(_product(param.shape),)) for param in kernel.params}

    def place(buffer: Buffer, index: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        if buffer not in flat:
            return buffer, index
        return flat[buffer], (flat_index(buffer, index),)

    return replace(kernel, params=tuple(flat.values()), body=map_accesses(kernel.body, place))


# ---------------------------------------------------------------- the common kernel


@record
class Common:
    """One kernel for all members of a family, and for each member the values of its scalars."""

    kernel: Kernel
    values: tuple[tuple[int, ...], ...]


def common(family: Sequence[General]) -> Common:
    """``family`` has one form."""
    first = family[0].kernel
    columns = list(zip(*(member.numbers for member in family), strict=True))
    bases: dict[tuple[int, ...], Var] = {}
    found: dict[tuple[int, ...], Expr] = {}
    for column in sorted(set(columns), key=lambda column: (max(map(abs, column)), column)):
        known = _computed(column, bases)
        if known is None:
            known = bases[column] = Var(f"{_STEM}{len(bases)}")
        found[column] = known
    bindings: dict[Expr, Expr] = {old: found[column] for old, column in zip(first.scalars, columns, strict=True)}
    least = [min(sizes) for sizes in zip(*(member.sizes for member in family), strict=True)]
    sized = {param: replace(param, shape=(size,)) for param, size in zip(first.params, least, strict=True)}
    body = map_accesses(_bound(first.body, bindings), lambda buffer, index: (sized.get(buffer, buffer), index))
    kernel = replace(first, params=tuple(sized.values()), body=body, scalars=tuple(bases.values()))
    return Common(kernel, tuple(zip(*bases, strict=True)) if bases else ((),) * len(family))


def _bound(body: Block, bindings: dict[Expr, Expr]) -> Block:
    return map_block(body, lambda e: bindings.get(e) if isinstance(e, Var) else folded_literal(e))


def _computed(column: tuple[int, ...], bases: dict[tuple[int, ...], Var]) -> Expr | None:
    """``column`` as a number or as the least multiple of a base, if it is one."""
    if len(set(column)) == 1:
        return Const(column[0], INDEX)
    fits = [(factor, var) for base, var in bases.items() if (factor := _factor(base, column))]
    if not fits:
        return None
    factor, var = min(fits, key=lambda fit: fit[0])
    return var * factor


def _factor(base: tuple[int, ...], column: tuple[int, ...]) -> int:
    """The whole number with ``column = base * factor`` in all places; 0 where there is none."""
    place = next(n for n, value in enumerate(base) if value)
    factor = column[place] // base[place]
    fits = all(value == of * factor for of, value in zip(base, column, strict=True))
    return factor if fits and 0 < factor <= _LARGEST else 0
