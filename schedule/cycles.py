"""Predicted cycles of loops, by which the schedule chooses among ways to compute the same.

Block instructions take what their rows say, or what their meaning does where compilers make the code. All else is
a rough estimate: a cycle for each operation and store, two for a load. A loop takes what its middle iteration does, as
often as it runs, for that is an inner pixel, at no border.
"""

from __future__ import annotations

from functools import lru_cache

from ..blocks import BLOCKS, block_kernel
from ..ir.fold_conditions import fold_conditions
from ..ir.loops import Block, Const, Expr, For, If, Invoke, Load, LoopKind, Stmt, Store, Var, as_expr, const_value
from ..ir.loops_rewrite import stmt_exprs, substitute, walk_expr
from ..targets.target import Cpu

_ITERATION = 3
"""Cycles for counting, comparing and jumping back."""


def predicted_cycles(block: Block, cpu: Cpu) -> float:
    """Of an If that depends on more than loops, the side that takes more."""
    return _cycles(block, cpu.extensions)


def _cycles(block: Block, extensions: frozenset[str]) -> float:
    return sum(_of_statement(stmt, extensions) for stmt in block)


def _of_statement(stmt: Stmt, extensions: frozenset[str]) -> float:
    if isinstance(stmt, Invoke):
        return _of_block(stmt.block, stmt.numbers, extensions)
    own = isinstance(stmt, Store) + sum(_of_expression(part) for e in stmt_exprs(stmt) for part in walk_expr(e))
    if isinstance(stmt, For):
        extent = int(const_value(stmt.extent) or 1)
        middle = fold_conditions(substitute(stmt.body, {stmt.var: as_expr(extent // 2)}))
        again = 0 if stmt.kind is LoopKind.UNROLL else _ITERATION
        return own + extent * (again + _cycles(middle, extensions))
    if isinstance(stmt, If):
        return own + max(_cycles(side, extensions) for side in (stmt.then, stmt.orelse))
    return own


def _of_expression(part: Expr) -> int:
    return 0 if isinstance(part, (Const, Var)) else 2 if isinstance(part, Load) else 1


@lru_cache(maxsize=1024)
def _of_block(name: str, numbers: tuple[int, ...], extensions: frozenset[str]) -> float:
    if not BLOCKS[name].weighed:
        return 0
    formula = BLOCKS[name].cycles.on(extensions)
    return _cycles(block_kernel(name, numbers).body, extensions) if formula is None else formula(*numbers)
