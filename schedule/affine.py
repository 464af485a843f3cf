"""Affine analysis of ``index`` expressions."""

from __future__ import annotations

from ..ir.loops import Binary, Const, Expr, Var
from ..ir.loops_rewrite import walk_expr


def occurs(var: Var, expr: Expr) -> bool:
    """Whether ``var`` stands anywhere in ``expr``."""
    return any(isinstance(part, Var) and part == var for part in walk_expr(expr))


def coefficient(expr: Expr, var: Var) -> int | None:
    """How much ``expr`` grows when ``var`` grows by one, or ``None`` where that is not a constant."""
    if isinstance(expr, Var):
        return int(expr == var)
    if isinstance(expr, Const):
        return 0
    if not occurs(var, expr):
        return 0
    if isinstance(expr, Binary):
        lhs, rhs = coefficient(expr.x, var), coefficient(expr.y, var)
        if lhs is None or rhs is None:
            return None
        if expr.op == "add":
            return lhs + rhs
        if expr.op == "sub":
            return lhs - rhs
        if expr.op == "mul" and isinstance(expr.y, Const):
            return lhs * int(expr.y.value)
        if expr.op == "mul" and isinstance(expr.x, Const):
            return rhs * int(expr.x.value)
    return None
