"""Expansion of ``unroll`` loops, and unrolling of loops over bytes.

Before::                              After::

    unroll i:2                            acc[0] = x[0] * w
      acc[i] = x[i] * w                   acc[1] = x[1] * w
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..ir.loops import (
    INDEX,
    Alloc,
    Binary,
    Block,
    Call,
    Const,
    Expr,
    For,
    If,
    Invoke,
    Let,
    Load,
    LoopKind,
    Space,
    Splat,
    Stmt,
    Store,
    Unary,
    Var,
)
from ..ir.loops_rewrite import loop, stmt_exprs, substitute, walk_expr, walk_stmts
from ..ir.types import DType
from .affine import coefficient
from .names import Names, rename_bound

TOGETHER = 4
"""Iterations of a loop over bytes that are written out: as many bytes as a word has."""
OUT_OF_LINE = frozenset({"scale_round"})
"""What is a call that takes most of an iteration."""
LONG = 6
"""Values that a long body computes."""
FEWEST = 2 * TOGETHER
"""Loops of fewer iterations stay as they are."""
FEWEST_LONG = 64
"""The same where the body is long and the loop runs once: it would save hardly any time."""


def roll_long(block: Block) -> Block:
    """The outermost loops, which run once, are not for compilers to write out where their bodies are long, or fill
    little memory: that takes flash, and wins hardly any time."""
    return tuple(
        replace(stmt, kind=LoopKind.ROLLED)
        if isinstance(stmt, For) and (_is_long(stmt.body) or _is_short_fill(stmt))
        else stmt
        for stmt in block
    )


def _is_short_fill(stmt: For) -> bool:
    """Whether a loop stores constants, and soon ends."""
    if not isinstance(stmt.extent, Const) or int(stmt.extent.value) >= FEWEST_LONG:
        return False
    return all(isinstance(inner, Store) and isinstance(inner.value, Const) for inner in stmt.body)


def _is_long(block: Block) -> bool:
    """Whether a block without loops computes at least :data:`LONG` values."""
    statements = list(walk_stmts(block))
    if any(isinstance(stmt, For) for stmt in statements):
        return False
    parts = (part for stmt in statements for expr in stmt_exprs(stmt) for part in walk_expr(expr))
    return sum(part.type != INDEX and isinstance(part, (Binary, Call, Unary)) for part in parts) >= LONG


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
        known = {stmt.var: INDEX(iteration)}
        body = rename_bound(stmt.body, names, known) if binds else substitute(stmt.body, known)
        out.extend(expand_unrolled(body, names))
    return tuple(out)


def unroll_bytes(block: Block, names: Names, *, once: bool = False) -> Block:
    """Innermost loops that touch bytes in memory with :data:`TOGETHER` iterations at a time, which share the arithmetic
    of addresses and the branch::

        for i:10                              for i:2
          y[i] = x[i] + 1                       y[i*4] = x[i*4] + 1
                                                ... y[i*4+3] = x[i*4+3] + 1
                                      ->      for i:2
                                                y[i+8] = x[i+8] + 1

    Where the block runs ``once``, long loops have to run for long.
    """
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, If):
            sides = (unroll_bytes(side, names, once=once) for side in (stmt.then, stmt.orelse))
            out.append(If(stmt.cond, *sides))
        elif isinstance(stmt, For) and _is_innermost(stmt, once) and _touches_bytes(stmt.body):
            out.extend(_unrolled(stmt, names))
        elif isinstance(stmt, For):
            out.append(For(stmt.var, stmt.extent, unroll_bytes(stmt.body, names), stmt.kind))
        else:
            out.append(stmt)
    return tuple(out)


def unroll_short(block: Block, names: Names) -> Block:
    """Innermost loops that store elements or vectors made by hardly any operation with :data:`TOGETHER` iterations at a
    time: there counting takes as long as the rest. Those of few iterations are written out, and the loop around them is
    the innermost one then::

        for w:8, c:2                          for w:2
          y[w, c] = x[c, w]                     y[w*4, 0] = x[0, w*4]
                                      ->        y[w*4, 1] = x[1, w*4]
                                                ... y[w*4+3, 1] = x[1, w*4+3]
    """
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, If):
            out.append(If(stmt.cond, unroll_short(stmt.then, names), unroll_short(stmt.orelse, names)))
        elif isinstance(stmt, For):
            inner = For(stmt.var, stmt.extent, unroll_short(stmt.body, names), stmt.kind)
            out.extend(_shortened(inner, names) if _is_short(inner) else (inner,))
        else:
            out.append(stmt)
    return tuple(out)


def _is_short(stmt: For) -> bool:
    """Whether the loop is one for :func:`unroll_short`."""
    stores = [each for each in stmt.body if isinstance(each, Store) and each.active is None]
    if len(stores) != len(stmt.body) or len(stores) > TOGETHER or stmt.kind is not LoopKind.SERIAL:
        return False
    return not _is_copy(stmt) and all(_is_simple(each.value) for each in stores)


def _is_simple(value: Expr) -> bool:
    """Whether it takes no more than an operation on what is loaded."""
    parts = [part for part in walk_expr(value) if part.type.dtype is not DType.INDEX]
    kinds = (Load, Const, Splat, Var, Binary)
    return all(isinstance(part, kinds) for part in parts) and sum(isinstance(part, Binary) for part in parts) <= 1


def _shortened(stmt: For, names: Names) -> Block:
    extent = int(stmt.extent.value) if isinstance(stmt.extent, Const) else 0
    if 0 < extent <= TOGETHER:
        return expand_unrolled((For(stmt.var, stmt.extent, stmt.body, LoopKind.UNROLL),), names)
    return _unrolled(stmt, names) if extent >= FEWEST else (stmt,)


def _is_innermost(stmt: For, once: bool) -> bool:
    fewest = FEWEST_LONG if once and _is_long(stmt.body) else FEWEST
    if not isinstance(stmt.extent, Const) or int(stmt.extent.value) < fewest:
        return False
    if _is_copy(stmt):
        return False
    calls = any(isinstance(part, Call) and part.function in OUT_OF_LINE for part in _parts(stmt.body))
    return not calls and not any(isinstance(inner, (For, Invoke)) for inner in walk_stmts(stmt.body))


def _is_copy(stmt: For) -> bool:
    """Whether neighbours become neighbours, which compilers copy by words."""
    store = stmt.body[0] if len(stmt.body) == 1 else None
    if not isinstance(store, Store) or not isinstance(store.value, Load):
        return False
    return all(bool(access.index) and coefficient(access.index[-1], stmt.var) == 1 for access in (store, store.value))


def _touches_bytes(block: Block) -> bool:
    stored = [stmt.buffer for stmt in walk_stmts(block) if isinstance(stmt, Store)]
    used = (*stored, *(part.buffer for part in _parts(block) if isinstance(part, Load)))
    return any(buffer.space is Space.GLOBAL and buffer.dtype.size == 1 for buffer in used)


def _parts(block: Block) -> Iterator[Expr]:
    return (part for stmt in walk_stmts(block) for expr in stmt_exprs(stmt) for part in walk_expr(expr))


def _unrolled(stmt: For, names: Names) -> Block:
    assert isinstance(stmt.extent, Const)
    extent = int(stmt.extent.value)
    together, rest = Var(names.fresh(stmt.var.name)), Var(names.fresh(stmt.var.name))
    body: Block = ()
    for step in range(TOGETHER):
        body += rename_bound(stmt.body, names, {stmt.var: together * TOGETHER + step})
    tail = rename_bound(stmt.body, names, {stmt.var: rest + extent // TOGETHER * TOGETHER})
    return (
        *loop(together, extent // TOGETHER, *body, kind=stmt.kind),
        *(loop(rest, extent % TOGETHER, *tail, kind=stmt.kind) if extent % TOGETHER else ()),
    )
