"""Rough figures of kernels: how large their code is, and how many operations they run. Only their relations matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from ...blocks import BLOCKS, block_kernel
from ...ir.loops import INDEX, INDEX_FOLDS, Binary, Block, Const, Expr, For, If, Invoke, Kernel, Stmt, Store, Var
from ...ir.loops_rewrite import stmt_exprs, walk_expr, walk_stmts

_UNKNOWN_EXTENT = 8
"""Iterations of a loop whose extent depends on more than scalars."""


def code_size(kernel: Kernel) -> int:
    """Expressions and statements: about the instructions of the code."""
    return sum(1 + _nodes(stmt) for stmt in walk_stmts(kernel.body))


def _nodes(stmt: Stmt) -> int:
    nodes = sum(1 for expr in stmt_exprs(stmt) for part in walk_expr(expr) if not isinstance(part, (Const, Var)))
    return nodes + (len(stmt.pointers) + len(stmt.scalars) if isinstance(stmt, Invoke) else 0)


def operations(kernel: Kernel) -> int:
    """What a kernel without scalars computes, its addresses not included."""
    return _executed(kernel.body, {}, _work)


def uses(kernel: Kernel, calls: Iterable[tuple[int, ...]]) -> list[int]:
    """How often a kernel looks at its scalars, with the values of each call: what numbers in the code would have saved.
    Every iteration of a loop with such an extent counts, as it could have been unrolled."""
    scalars = frozenset(kernel.scalars)
    occurring = {
        id(stmt): sum(type(part) is Var and part in scalars for e in stmt_exprs(stmt) for part in walk_expr(e))
        for stmt in walk_stmts(kernel.body)
    }

    def of_call(given: tuple[int, ...]) -> int:
        values = dict(zip(kernel.scalars, given, strict=True))

        def cost(stmt: Stmt) -> int:
            found = occurring[id(stmt)]
            if found and isinstance(stmt, For):
                found += _value(stmt.extent, values) or 0
            return found

        return _executed(kernel.body, values, cost)

    return [of_call(given) for given in calls]


def _executed(block: Block, values: Mapping[Var, int], cost: Callable[[Stmt], int]) -> int:
    """The sum of costs, each as often as its statement runs; of an If the side that costs more."""
    total = 0
    for stmt in block:
        total += cost(stmt)
        if isinstance(stmt, For):
            extent = _value(stmt.extent, values)
            total += (_UNKNOWN_EXTENT if extent is None else extent) * _executed(stmt.body, values, cost)
        elif isinstance(stmt, If):
            total += max(_executed(side, values, cost) for side in (stmt.then, stmt.orelse))
    return total


def _work(stmt: Stmt) -> int:
    if isinstance(stmt, Invoke):
        return _block_operations(stmt.block, stmt.numbers)
    parts = (part for expr in stmt_exprs(stmt) for part in walk_expr(expr))
    return isinstance(stmt, Store) + sum(1 for part in parts if _computes(part))


def _computes(expr: Expr) -> bool:
    return expr.type != INDEX and not isinstance(expr, (Const, Var))


@lru_cache(maxsize=1024)
def _block_operations(name: str, scalars: tuple[int, ...]) -> int:
    """Of a block: half as many again as its cycles where they are known."""
    cycles = BLOCKS[name].own_cycles(scalars)
    return operations(block_kernel(name, scalars)) if cycles is None else int(1.5 * cycles)


def _value(expr: Expr, values: Mapping[Var, int]) -> int | None:
    """``None`` where it depends on more than ``values``."""
    if isinstance(expr, Const):
        return int(expr.value)
    if isinstance(expr, Var):
        return values.get(expr)
    if isinstance(expr, Binary) and expr.op in INDEX_FOLDS:
        x, y = _value(expr.x, values), _value(expr.y, values)
        return None if x is None or y is None else INDEX_FOLDS[expr.op](x, y)
    return None
