"""Expansion of ``unroll`` loops.

Before::                              After::

    unroll i:2                            acc[0] = x[0] * w
      acc[i] = x[i] * w                   acc[1] = x[1] * w
"""

from __future__ import annotations

from ..ir.loops import INDEX, Alloc, Block, Const, For, If, Let, LoopKind, Stmt
from ..ir.loops_rewrite import substitute
from .names import Names, rename_bound


def expand_unrolled(block: Block, names: Names) -> Block:
    """Replaces every ``unroll`` loop by its iterations. Raises :class:`ValueError` where an extent is not constant."""
    out: list[Stmt] = []
    for stmt in block:
        out.extend(_expand(stmt, names))
    return tuple(out)


def _expand(stmt: Stmt, names: Names) -> Block:
    if isinstance(stmt, If):
        return (If(stmt.cond, expand_unrolled(stmt.then, names), expand_unrolled(stmt.orelse, names)),)
    if not isinstance(stmt, For):
        return (stmt,)
    if stmt.kind is not LoopKind.UNROLL:
        return (For(stmt.var, stmt.extent, expand_unrolled(stmt.body, names), stmt.kind),)
    if not isinstance(stmt.extent, Const):
        raise ValueError(f"unroll {stmt.var.name}: the extent is not constant")
    binds = any(isinstance(inner, (Let, Alloc, For)) for inner in stmt.body)
    out: list[Stmt] = []
    for iteration in range(int(stmt.extent.value)):
        body = substitute(stmt.body, {stmt.var: Const(iteration, INDEX)})
        if binds:
            body = rename_bound(body, names)
        out.extend(expand_unrolled(body, names))
    return tuple(out)
