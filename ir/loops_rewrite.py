"""Walks through loop IR, rewrites it, and makes loops that fold where there is nothing to repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace

from .loops import (
    INDEX,
    INDEX_FOLDS,
    Binary,
    Block,
    Const,
    Expr,
    ExprLike,
    For,
    If,
    Invoke,
    Let,
    LoopKind,
    Pointer,
    Stmt,
    Store,
    Var,
    as_expr,
    const_value,
    fold_index,
)


def loop(var: Var, extent: ExprLike, *body: Stmt, kind: LoopKind = LoopKind.SERIAL) -> Block:
    """A loop as a block: nothing for extent 0, the body itself (variable replaced by 0) for extent 1."""
    bound = as_expr(extent)
    if const_value(bound) == 0:
        return ()
    if const_value(bound) == 1:
        return substitute(body, {var: Const(0, INDEX)})
    return (For(var, bound, tuple(body), kind),)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions, in evaluation order."""
    found: list[Expr] = []
    for spec in fields(expr):  # type: ignore[arg-type]
        item = getattr(expr, spec.name)
        if isinstance(item, Expr):
            found.append(item)
        elif isinstance(item, tuple):
            found.extend(part for part in item if isinstance(part, Expr))
    return tuple(found)


def walk_expr(expr: Expr) -> Iterator[Expr]:
    """``expr`` and everything below it, parents first."""
    yield expr
    for child in children(expr):
        yield from walk_expr(child)


def stmt_exprs(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that stand directly in ``stmt`` (not those of nested statements)."""
    if isinstance(stmt, For):
        return (stmt.extent,)
    if isinstance(stmt, If):
        return (stmt.cond,)
    if isinstance(stmt, Let):
        return (stmt.value,)
    if isinstance(stmt, Store):
        return (*stmt.index, stmt.value, *((stmt.active,) if stmt.active is not None else ()))
    if isinstance(stmt, Invoke):
        return tuple(part for pointer in stmt.pointers for part in pointer.index)
    return ()


def walk_stmts(block: Block) -> Iterator[Stmt]:
    """Every statement of ``block``, parents first."""
    for stmt in block:
        yield stmt
        if isinstance(stmt, For):
            yield from walk_stmts(stmt.body)
        elif isinstance(stmt, If):
            yield from walk_stmts(stmt.then)
            yield from walk_stmts(stmt.orelse)


def map_expr(expr: Expr, rule: Callable[[Expr], Expr | None]) -> Expr:
    """Rewrites bottom-up: ``rule`` sees each node with rewritten children and returns its replacement or ``None``."""
    changes: dict[str, object] = {}
    for spec in fields(expr):  # type: ignore[arg-type]
        item = getattr(expr, spec.name)
        if isinstance(item, Expr):
            new = map_expr(item, rule)
            if new is not item:
                changes[spec.name] = new
        elif isinstance(item, tuple) and any(isinstance(part, Expr) for part in item):
            parts = tuple(map_expr(part, rule) for part in item)
            if any(a is not b for a, b in zip(parts, item)):
                changes[spec.name] = parts
    if changes:
        expr = rebuild(replace(expr, **changes))  # type: ignore[type-var]
    return rule(expr) or expr


def rebuild(expr: Expr) -> Expr:
    """Folds ``index`` arithmetic that became constant."""
    if isinstance(expr, Binary) and expr.x.type == INDEX and expr.op in INDEX_FOLDS:
        return fold_index(expr.op, expr.x, expr.y)
    return expr


def map_block(
    block: Block,
    expr_rule: Callable[[Expr], Expr | None],
    stmt_rule: Callable[[Stmt], Block | None] = lambda stmt: None,
) -> Block:
    """Rewrites every expression by ``expr_rule`` and then every statement, innermost first, by ``stmt_rule``."""
    out: list[Stmt] = []
    for stmt in block:
        new = _map_stmt(stmt, expr_rule, stmt_rule)
        replacement = stmt_rule(new)
        out.extend((new,) if replacement is None else replacement)
    return tuple(out)


def _map_stmt(
    stmt: Stmt, expr_rule: Callable[[Expr], Expr | None], stmt_rule: Callable[[Stmt], Block | None]
) -> Stmt:
    def go(expr: Expr) -> Expr:
        return map_expr(expr, expr_rule)

    if isinstance(stmt, For):
        return replace(stmt, extent=go(stmt.extent), body=map_block(stmt.body, expr_rule, stmt_rule))
    if isinstance(stmt, If):
        then = map_block(stmt.then, expr_rule, stmt_rule)
        return If(go(stmt.cond), then, map_block(stmt.orelse, expr_rule, stmt_rule))
    if isinstance(stmt, Let):
        return replace(stmt, value=go(stmt.value))
    if isinstance(stmt, Store):
        active = None if stmt.active is None else go(stmt.active)
        return Store(stmt.buffer, tuple(go(i) for i in stmt.index), go(stmt.value), active)
    if isinstance(stmt, Invoke):
        return replace(stmt, pointers=tuple(Pointer(p.buffer, tuple(go(i) for i in p.index)) for p in stmt.pointers))
    return stmt


def substitute(block: Block, bindings: dict[Var, Expr]) -> Block:
    """``block`` with variables replaced. The caller sees to it that no replaced name is bound again inside."""
    return map_block(block, lambda e: bindings.get(e) if isinstance(e, Var) else None)
