"""Loops that go down the rows of a matrix, column by column: some vectors of a row at a time, as far as a line of the
cache and its neighbours reach, in the place of one of each row.

    for j:64                                     for j:16
      acc = 0                                      acc0, acc1, acc2, acc3 = 0
      for r:256: acc += x[r, j*16 : 16]    ->      for r:256: acc0 += x[r, j*64 : 16], ..., acc3 += x[r, j*64+48 : 16]
      y[j*16 : 16] = acc                           y[j*64 : 16] = acc0, ..., y[j*64+48 : 16] = acc3
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.loops import Block, Const, For, If, Let, Load, Stmt, Store
from ..ir.loops_rewrite import stmt_exprs, substitute, walk_expr, walk_stmts
from .affine import occurs

TOGETHER = 4
"""Vectors of a row."""
LEAST_ROWS = 16
"""With fewer, what is beside the loop over rows counts."""
MOST_STATEMENTS = 4
"""In the loop over rows, so that registers suffice."""


def goes_down_rows(loop: For) -> bool:
    """Whether the iterations of ``loop`` are little more than a loop over rows, of each of which they read a place."""
    inner = [stmt for stmt in walk_stmts(loop.body) if isinstance(stmt, (For, If))]
    if len(inner) != 1 or not isinstance(inner[0], For) or inner[0] not in loop.body:
        return False
    rows = inner[0]
    if not (isinstance(rows.extent, Const) and int(rows.extent.value) >= LEAST_ROWS):
        return False
    if len(rows.body) > MOST_STATEMENTS or not all(isinstance(stmt, (Let, Store)) for stmt in rows.body):
        return False
    parts = (part for stmt in rows.body for expr in stmt_exprs(stmt) for part in walk_expr(expr))
    moving = [part for part in parts if isinstance(part, Load) and any(occurs(loop.var, i) for i in part.index)]
    return bool(moving) and all(any(occurs(rows.var, i) for i in load.index[:-1]) for load in moving)


def jammed(bodies: Sequence[Block]) -> Block:
    """Blocks of the same form as one: their statements in turn, and of their loops one, over what is in all of them."""
    out: list[Stmt] = []
    for same in zip(*bodies, strict=True):
        first, *others = same
        if isinstance(first, For):
            loops = [other for other in others if isinstance(other, For)]
            inside = [first.body, *(substitute(other.body, {other.var: first.var}) for other in loops)]
            out.append(For(first.var, first.extent, jammed(inside), first.kind))
        else:
            out.extend(same)
    return tuple(out)
