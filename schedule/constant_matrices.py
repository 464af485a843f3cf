"""Code for products of small constant matrices with values: few operations, from the matrix alone.

Two rewrites find what rows and columns share, both butterflies of fast transforms::

    columns j, k with |m_j| = |m_k|:    s = x_j + x_k, d = x_j - x_k     take the place of both
    rows i, k with |m_i| = |m_k|:       y_i = e + o, y_k = e - o         e, o: columns of equal and of other sign
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache

import numpy as np

from ..ir.loops import Block, Call, Const, Expr, Let, Stmt, Var
from ..record import record
from .names import Names

Place = Callable[[int, int], Expr]
Use = Callable[[int, int, Expr], Block]


class ConstantMatrix:
    """Multiplies values by ``matrix`` [rows, columns]; ``fused``: with fused multiply-adds. For integers it is whole,
    and their sums wrap around."""

    def __init__(self, matrix: np.ndarray, fused: bool) -> None:
        self.matrix, self.fused = np.asarray(matrix, np.float64), fused

    def part(self, rows: Sequence[int]) -> ConstantMatrix:
        """Some rows of the product."""
        return ConstantMatrix(self.matrix[list(rows)], self.fused)

    def needed(self) -> list[int]:
        """The columns that are not zero."""
        return [int(column) for column in np.flatnonzero(np.abs(self.matrix).sum(axis=0))]

    def product(self, values: dict[int, Expr], names: Names, out: list[Stmt]) -> list[Expr]:
        """The rows of ``matrix @ values``; ``values`` has those that are needed. Intermediate results are named in
        ``out``."""
        return _Code(names, out, self.fused).rows(self._plan, values)

    @cached_property
    def _plan(self) -> _Plan:
        return _plan(self.matrix.shape, self.matrix.tobytes())

    def both_sides(self, rows: Sequence[int], at: Place, use: Use, names: Names) -> Block:
        """``use(row, column, value)`` for the elements of some rows of ``M X M^T``; ``at(row, column)`` are those of
        ``X``."""
        out: list[Stmt] = []
        first = self.part(rows)
        products = []
        for column in self.needed():
            values = {row: named("x", at(row, column), names, out) for row in first.needed()}
            products.append(first.product(values, names, out))
        for number, row in enumerate(rows):
            half = dict(zip(self.needed(), (product[number] for product in products), strict=True))
            for column, value in enumerate(self.product(half, names, out)):
                out.extend(use(row, column, value))
        return tuple(out)

    def groups(self, most: int) -> list[list[int]]:
        """The rows in groups of at most ``most``, so that few values exist at a time; those that need the same columns
        stay together."""
        support = {row: tuple(np.flatnonzero(line)) for row, line in enumerate(self.matrix)}
        alike = [[row for row in support if support[row] == need] for need in dict.fromkeys(support.values())]
        parts = [rows[i : i + most] for rows in sorted(alike, key=len, reverse=True) for i in range(0, len(rows), most)]
        groups: list[list[int]] = []
        for part in parts:
            if groups and len(groups[-1]) + len(part) <= most:
                groups[-1] += part
            else:
                groups.append(part)
        return groups


def named(stem: str, value: Expr, names: Names, out: list[Stmt]) -> Expr:
    """``value`` under a name."""
    if isinstance(value, (Var, Const)):
        return value
    var = Var(names.fresh(stem), value.type)
    out.append(Let(var, value))
    return var


Terms = tuple[tuple[int, float], ...]
"""The columns of a row that are not zero, each with its factor; what has the factor 1 first."""


@record
class _Sum:
    """A row for itself."""

    row: int
    terms: Terms


@record
class _Halves:
    """A pair of rows: ``even + factor * odd`` and ``even - factor * odd``."""

    rows: tuple[int, int]
    even: Terms
    factor: float
    odd: Terms


@record
class _Plan:
    """What is to be computed for a matrix, from the matrix alone: ``pairs`` of columns in whose place are their sum and
    their difference, and then the rows."""

    pairs: tuple[tuple[int, int], ...]
    rows: tuple[_Sum | _Halves, ...]


@lru_cache(maxsize=256)
def _plan(shape: tuple[int, ...], content: bytes) -> _Plan:
    """The plan for a matrix of doubles, which kernels of several layers, and for several CPUs, have in common."""
    paired, pairs = _paired_columns(np.frombuffer(content).reshape(shape))
    return _Plan(pairs, tuple(_rows(paired)))


def _paired_columns(matrix: np.ndarray) -> tuple[np.ndarray, tuple[tuple[int, int], ...]]:
    """The matrix with sums and differences in the place of columns that differ in signs only, and these columns."""
    matrix, pairs = matrix.copy(), []
    for j in range(matrix.shape[1]):
        for k in range(j + 1, matrix.shape[1]):
            equal, opposite = (matrix[:, j] == sign * matrix[:, k] for sign in (1, -1))
            filled = matrix[:, j] != 0
            if np.all(equal | opposite) and (equal & filled).any() and (opposite & filled).any():
                pairs.append((j, k))
                matrix[:, k] = np.where(equal, 0, matrix[:, j])
                matrix[:, j] = np.where(equal, matrix[:, j], 0)
                break
    return matrix, tuple(pairs)


def _rows(matrix: np.ndarray) -> Iterator[_Sum | _Halves]:
    """Each row; pairs of rows that differ in signs share both of their halves."""
    found: set[int] = set()
    for i, row in enumerate(matrix):
        for k in range(i + 1, len(matrix)):
            even, odd = (row + matrix[k]) / 2, (row - matrix[k]) / 2
            if i not in found and k not in found and not np.any(even * odd) and even.any() and odd.any():
                factor = _common_factor(odd)
                found |= {i, k}
                yield _Halves((i, k), _terms(even), factor, _terms(odd / factor))
        if i not in found:
            found.add(i)
            yield _Sum(i, _terms(row))


def _common_factor(row: np.ndarray) -> float:
    """Its first coefficient, but 1 where that would make fractions of whole numbers."""
    first = float(row[np.flatnonzero(row)[0]])
    return 1.0 if _is_whole(row) and not _is_whole(row / first) else first


def _is_whole(row: np.ndarray) -> bool:
    return bool(np.all(row == np.rint(row)))


def _terms(row: np.ndarray) -> Terms:
    columns = sorted((int(c) for c in np.flatnonzero(row)), key=lambda c: (row[c] != 1, row[c] != -1))
    return tuple((column, float(row[column])) for column in columns)


class _Code:
    def __init__(self, names: Names, out: list[Stmt], fused: bool) -> None:
        self.names, self.out, self.fused = names, out, fused

    def rows(self, plan: _Plan, values: dict[int, Expr]) -> list[Expr]:
        """Each row times the values."""
        values = dict(values)
        for j, k in plan.pairs:
            x, y = values[j], values[k]
            values[j], values[k] = self.named(x + y), self.named(x - y)
        found: dict[int, Expr] = {}
        for part in plan.rows:
            if isinstance(part, _Sum):
                found[part.row] = self.named(self.sum(part.terms, values))
            else:
                first, second = part.rows
                found[first], found[second] = self.halves(part, values)
        return [found[row] for row in sorted(found)]

    def halves(self, pair: _Halves, values: dict[int, Expr]) -> tuple[Expr, Expr]:
        """``even + odd`` and ``even - odd``; the half that has a factor takes it on in the last step."""
        e = self.named(self.sum(pair.even, values))
        o = self.named(self.sum(pair.odd, values))
        return self.named(self.plus(e, pair.factor, o)), self.named(self.plus(e, -pair.factor, o))

    def sum(self, terms: Terms, values: dict[int, Expr]) -> Expr:
        """A row times the values."""
        if not terms:
            return next(iter(values.values())).type(0)
        (first, factor), *others = terms
        total = values[first] if factor == 1 else values[first] * _constant(factor, values[first])
        for column, factor in others:
            total = self.plus(total, factor, values[column])
        return total

    def plus(self, total: Expr, factor: float, x: Expr) -> Expr:
        """``total + factor * x``."""
        if abs(factor) == 1:
            return total + x if factor == 1 else total - x
        constant = _constant(factor, x)
        return Call("fma", (x, constant, total), x.type) if self.fused else total + x * constant

    def named(self, value: Expr) -> Expr:
        return named("t", value, self.names, self.out)


def _constant(factor: float, x: Expr) -> Expr:
    """As an element of the type of ``x``."""
    return x.type(float(factor) if x.type.dtype.is_float else int(factor))
