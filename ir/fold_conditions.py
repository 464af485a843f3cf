"""Conditions whose value is known, as what they decide."""

from __future__ import annotations

import operator
from typing import TypeGuard

from .loops import BOOL, Binary, Block, Const, Expr, For, If, Select, Stmt, Unary
from .loops_rewrite import map_block
from .types import DType

_COMPARED = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def fold_conditions(block: Block) -> Block:
    """``block`` without comparisons of constant indices, and without the statements that never run.

    >>> if 7 >= 0 and i < n: A      ->  if i < n: A
    >>> if 7 <= 6: A else: B        ->  B
    """
    return map_block(block, _folded, _alive)


def _folded(expr: Expr) -> Expr | None:
    if _compares_indices(expr) and isinstance(expr.x, Const) and isinstance(expr.y, Const):
        return Const(_COMPARED[expr.op](expr.x.value, expr.y.value), BOOL)
    if isinstance(expr, Binary) and expr.op in ("and", "or") and expr.type == BOOL:
        for known, other in ((expr.x, expr.y), (expr.y, expr.x)):
            if isinstance(known, Const):
                return other if bool(known.value) == (expr.op == "and") else known
    if isinstance(expr, Unary) and expr.op == "not" and expr.type == BOOL and isinstance(expr.x, Const):
        return Const(not expr.x.value, BOOL)
    if isinstance(expr, Select) and isinstance(expr.cond, Const) and expr.cond.type == BOOL:
        return expr.x if expr.cond.value else expr.y
    return None


def _compares_indices(expr: Expr) -> TypeGuard[Binary]:
    return isinstance(expr, Binary) and expr.op in _COMPARED and expr.x.type.dtype is DType.INDEX


def _alive(stmt: Stmt) -> Block | None:
    if isinstance(stmt, If) and isinstance(stmt.cond, Const):
        return stmt.then if stmt.cond.value else stmt.orelse
    if (isinstance(stmt, For) and not stmt.body) or (isinstance(stmt, If) and not stmt.then and not stmt.orelse):
        return ()
    return None
