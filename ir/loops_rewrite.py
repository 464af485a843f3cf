"""Walks through loop IR, rewrites it, and makes loops that fold where there is nothing to repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import cache
from operator import is_not

from .loops import (
    INDEX,
    INDEX_FOLDS,
    Binary,
    Block,
    Buffer,
    Const,
    Expr,
    ExprLike,
    For,
    If,
    Invoke,
    Let,
    Load,
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
    """A loop as a block: nothing for extent 0 or an empty body, the body (variable replaced by 0) for extent 1."""
    bound = as_expr(extent)
    if const_value(bound) == 0 or not body:
        return ()
    if const_value(bound) == 1:
        return substitute(body, {var: Const(0, INDEX)})
    return (For(var, bound, tuple(body), kind),)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions, in evaluation order."""
    found: list[Expr] = []
    for name in _operands(type(expr)):  # type: ignore[arg-type]  # classes are hashable
        item = getattr(expr, name)
        if type(item) is tuple:
            found += item
        elif item is not None:
            found.append(item)
    return tuple(found)


@cache
def _operands(kind: type) -> tuple[str, ...]:
    """The fields of a class of expressions that hold an expression, several, or perhaps one."""
    return tuple(spec.name for spec in fields(kind) if spec.type in ("Expr", "tuple[Expr, ...]", "Expr | None"))


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(spec.name for spec in fields(kind))


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
        numbers = tuple(scalar for scalar in stmt.scalars if isinstance(scalar, Expr))
        return (*(part for pointer in stmt.pointers for part in pointer.index), *numbers)
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


def stmt_loads(stmt: Stmt) -> list[Load]:
    """The loads that stand directly in ``stmt``."""
    return [part for expr in stmt_exprs(stmt) for part in walk_expr(expr) if isinstance(part, Load)]


def used_buffers(block: Block) -> Iterator[Buffer]:
    """The buffers of all accesses, some of them more than once."""
    for stmt in walk_stmts(block):
        yield from (load.buffer for load in stmt_loads(stmt))
        if isinstance(stmt, Store):
            yield stmt.buffer
        if isinstance(stmt, Invoke):
            yield from (pointer.buffer for pointer in stmt.pointers)


def map_expr(expr: Expr, rule: Callable[[Expr], Expr | None]) -> Expr:
    """Rewrites bottom-up: ``rule`` sees each node with rewritten children and returns its replacement or ``None``."""
    changed = map_children(expr, lambda child: map_expr(child, rule))
    if changed is not expr:
        expr = rebuild(changed)
    return rule(expr) or expr


def map_children(expr: Expr, go: Callable[[Expr], Expr]) -> Expr:
    """``expr`` with ``go`` of its direct sub-expressions; itself where they stay the same objects. Folds nothing."""
    kind = type(expr)
    changes: dict[str, object] = {}
    for name in _operands(kind):  # type: ignore[arg-type]  # classes are hashable
        item = getattr(expr, name)
        if type(item) is tuple:
            parts = tuple([go(part) for part in item])
            if any(map(is_not, parts, item)):
                changes[name] = parts
        elif item is not None:
            new = go(item)
            if new is not item:
                changes[name] = new
    if not changes:
        return expr
    names = _field_names(kind)  # type: ignore[arg-type]
    return kind(*[changes[name] if name in changes else getattr(expr, name) for name in names])


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
        pointers = tuple(Pointer(p.buffer, tuple(go(i) for i in p.index)) for p in stmt.pointers)
        return replace(stmt, pointers=pointers, scalars=tuple(_number(s, go) for s in stmt.scalars))
    return stmt


def _number(scalar: int | Expr, go: Callable[[Expr], Expr]) -> int | Expr:
    """A scalar of an Invoke, as an int once it is constant."""
    if not isinstance(scalar, Expr):
        return scalar
    new = go(scalar)
    return int(new.value) if isinstance(new, Const) else new


def substitute(block: Block, bindings: dict[Var, Expr]) -> Block:
    """``block`` with variables replaced. The caller sees to it that no replaced name is bound again inside."""
    return map_block(block, lambda e: bindings.get(e) if isinstance(e, Var) else None)


Place = tuple[Buffer, tuple[Expr, ...]]
"""A buffer and an index in it."""


def map_accesses(block: Block, rule: Callable[[Buffer, tuple[Expr, ...]], Place]) -> Block:
    """``block`` with every buffer and index, of loads, stores and pointers, replaced by what ``rule`` gives for it."""

    def expr_rule(expr: Expr) -> Expr | None:
        if type(expr) is not Load:
            return None
        buffer, index = rule(expr.buffer, expr.index)
        return Load(buffer, index, expr.lanes, expr.active)

    def stmt_rule(stmt: Stmt) -> Block | None:
        if isinstance(stmt, Store):
            buffer, index = rule(stmt.buffer, stmt.index)
            return (replace(stmt, buffer=buffer, index=index),)
        if isinstance(stmt, Invoke):
            return (replace(stmt, pointers=tuple(Pointer(*rule(p.buffer, p.index)) for p in stmt.pointers)),)
        return None

    return map_block(block, expr_rule, stmt_rule)
