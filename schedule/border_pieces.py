"""Loops cut where a condition on their variable changes, so that within a piece there is nothing left to test.

What is beyond a border, for example, is a choice for each element; between the borders it is none::

    for i:58                                            y[0] = 0.0
      y[i] = select(i >= 1 and i < 57,                  for i:56
                    x[max(min(i - 1, 55), 0)], 0.0)       y[i + 1] = x[i]
                                                        y[57] = 0.0
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from ..ir.bounds import Bounds, Linear
from ..ir.loops import BOOL, INDEX, Binary, Block, Const, Expr, For, Let, Select, Stmt, Var
from ..ir.loops_rewrite import loop, loop_index, map_expr, map_stmt, stmt_exprs, substitute, walk_expr, walk_stmts
from .names import Names, rename_bound

MOST_PIECES = 5
"""More of them are not worth their code: borders before and behind, at two distances each."""
_ORDERS = frozenset({"lt", "le", "gt", "ge"})


def border_pieces(stmt: For, least: int, names: Names) -> list[Block] | None:
    """The loop ``stmt`` in pieces, in their order; ``None`` where no condition on its variable changes, where it does
    so often, or where no piece has as many as ``least`` passages."""
    if not isinstance(stmt.extent, Const):
        return None
    extent = int(stmt.extent.value)
    inside = {cut for cut in _cuts(stmt, extent) if 0 < cut < extent}
    places = list(pairwise((0, *sorted(inside), extent)))
    if not 1 < len(places) <= MOST_PIECES or max(end - start for start, end in places) < least:
        return None
    pieces = [_piece(stmt, start, end - start, names) for start, end in places]
    return [part for piece in pieces for part in _again(piece, least, names)]


def _again(piece: Block, least: int, names: Names) -> list[Block]:
    """What was not linear may be, where a choice in it is made."""
    (stmt, *others) = piece
    found = border_pieces(stmt, least, names) if isinstance(stmt, For) and not others else None
    return [piece] if found is None else found


def without_idle_choices(block: Block, bounds: Bounds | None = None) -> Block:
    """``block``, where ``bounds`` hold, without minima, maxima and conditions on indices that have one outcome, and
    without names for constants."""
    known = Bounds() if bounds is None else bounds
    out, constants = list[Stmt](), dict[Var, Expr]()
    for old in block:
        (stmt,) = substitute((old,), constants) if constants else (old,)
        stmt = _without_idle_choices(stmt, known)
        if isinstance(stmt, Let) and isinstance(stmt.value, Const):
            constants[stmt.var] = stmt.value
        else:
            out.append(stmt)
    return tuple(out)


def _without_idle_choices(stmt: Stmt, bounds: Bounds) -> Stmt:
    inner = bounds.in_loop(stmt.var, stmt.extent) if isinstance(stmt, For) else bounds
    return map_stmt(
        stmt,
        lambda expr: map_expr(expr, lambda part: _decided(part, bounds)),
        lambda body: without_idle_choices(body, inner),
    )


def _piece(stmt: For, start: int, count: int, names: Names) -> Block:
    var = Var(names.fresh(stmt.var.name))
    body = substitute(rename_bound(stmt.body, names), {stmt.var: loop_index(var, count) + start})
    return without_idle_choices(loop(var, count, *body, kind=stmt.kind))


def _cuts(stmt: For, extent: int) -> Iterator[int]:
    """Where a condition on the variable of the loop, or the choice of a minimum or maximum, becomes another."""
    bounds = Bounds()
    for inner in walk_stmts(stmt.body):
        for expr in stmt_exprs(inner):
            for part in walk_expr(expr):
                if isinstance(part, Binary) and part.x.type == INDEX:
                    yield from _cuts_of(part, stmt.var, extent, bounds)


def _cuts_of(part: Binary, var: Var, extent: int, bounds: Bounds) -> Iterator[int]:
    """For ``min`` and ``max`` those of ``x <= y`` and ``x >= y``, in which the one of two equal numbers is taken that
    depends on the variable."""
    if part.op in ("floordiv", "floormod") and isinstance(part.y, Const):
        form, period = bounds.linear(part.x), int(part.y.value)
        if form.terms == {var: 1} and extent <= period * MOST_PIECES:
            yield from range(int(-form.const) % period, extent, period)
    if part.op not in _ORDERS and part.op not in ("min", "max"):
        return
    form = bounds.linear(part.x).plus(bounds.linear(part.y), -1)
    if set(form.terms) != {var}:
        return
    order = {"min": "le", "max": "ge"}.get(part.op, part.op)
    if part.op in ("min", "max") and var not in bounds.linear(part.x).terms:
        order = {"le": "lt", "ge": "gt"}[order]
    yield _turn(form, form.terms[var], order)


def _turn(form: Linear, factor: int | Fraction, order: str) -> int:
    """The first integer at which ``form``, of one variable, is ``order`` 0 if it was not below, or the reverse."""
    slope, rest = int(factor), int(form.const)
    if slope < 0:
        slope, rest = -slope, -rest
        order = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}[order]
    # slope * v + rest is below 0 up to the first v that is returned for "lt" and "ge", at most 0 for "le" and "gt".
    return -(rest // slope) if order in ("lt", "ge") else -rest // slope + 1


def _decided(part: Expr, bounds: Bounds) -> Expr | None:
    """What ``part`` is where only one of its two sides can be."""
    if isinstance(part, Select) and isinstance(part.cond, Const):
        return part.x if part.cond.value else part.y
    if not isinstance(part, Binary):
        return None
    if part.op in ("and", "or"):
        return _logical(part) if part.type == BOOL else None
    if part.op in ("floordiv", "floormod"):
        return _quotient(part, bounds)
    if part.x.type != INDEX or (part.op not in _ORDERS and part.op not in ("min", "max")):
        return None
    low, high = bounds.span(bounds.linear(part.x).plus(bounds.linear(part.y), -1))
    if part.op in ("min", "max"):
        smaller, larger = (part.x, part.y) if part.op == "min" else (part.y, part.x)
        return smaller if high <= 0 else larger if low >= 0 else None
    true, false = _ALWAYS[part.op](low, high)
    return Const(int(true), BOOL) if true or false else None


_ALWAYS = {
    "lt": lambda low, high: (high < 0, low >= 0),
    "le": lambda low, high: (high <= 0, low > 0),
    "gt": lambda low, high: (low > 0, high <= 0),
    "ge": lambda low, high: (low >= 0, high < 0),
}
"""Whether ``low <= x - y <= high`` shows that the order holds, and that it does not."""


def _quotient(part: Binary, bounds: Bounds) -> Expr | None:
    """``floordiv`` or ``floormod`` by a constant where the quotient is always the same."""
    if not isinstance(part.y, Const):
        return None
    period = int(part.y.value)
    low, high = (value // period for value in bounds.range(part.x))
    if low != high:
        return None
    return INDEX(int(low)) if part.op == "floordiv" else part.x - low * period


def _logical(part: Binary) -> Expr | None:
    """``and`` or ``or`` of conditions with a side that is known."""
    for known, other in ((part.x, part.y), (part.y, part.x)):
        if isinstance(known, Const):
            return other if bool(known.value) == (part.op == "and") else known
    return None
