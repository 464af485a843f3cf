"""Walks through loop IR, rewrites it, and makes loops that fold where there is nothing to repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
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
    Fetch,
    For,
    If,
    Invoke,
    Let,
    Load,
    LoopKind,
    Pointer,
    Prefetch,
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


def loop_index(var: Var, extent: int) -> Expr:
    """``var`` as :func:`loop` with this ``extent`` counts it: 0 where it makes no loop."""
    return var if extent > 1 else INDEX(0)


def most_passages(extent: Expr) -> int | None:
    """The number of passages of a loop where its extent is a literal, or the least of one and something else: that many
    there are at most."""
    number = const_value(extent)
    if number is None and isinstance(extent, Binary) and extent.op == "min":
        return next((most for side in (extent.x, extent.y) if (most := most_passages(side)) is not None), None)
    return None if number is None else int(number)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions, in evaluation order."""
    if type(expr) is Const or type(expr) is Var:
        return ()
    if type(expr) is Binary:
        return expr.x, expr.y
    if type(expr) is Load and expr.active is None:
        return expr.index
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
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        yield node
        kind = type(node)
        if kind is Const or kind is Var:
            continue
        if kind is Binary:
            waiting += (node.y, node.x)  # type: ignore[attr-defined]  # the checks are as short as they can be
        elif kind is Load and node.active is None:  # type: ignore[attr-defined]
            waiting += node.index[::-1]  # type: ignore[attr-defined]
        else:
            waiting += children(node)[::-1]


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
    if isinstance(stmt, Prefetch):
        return stmt.pointer.index
    if isinstance(stmt, Fetch):
        return (stmt.row, *stmt.target.index)
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
        if isinstance(stmt, Prefetch):
            yield stmt.pointer.buffer
        if isinstance(stmt, Fetch):
            yield from (stmt.source, stmt.target.buffer)


def map_expr(expr: Expr, rule: Callable[[Expr], Expr | None]) -> Expr:
    """Rewrites bottom-up: ``rule`` sees each node with rewritten children and returns its replacement or ``None``."""
    return _Rewriter(rule).expr(expr)


def map_children(expr: Expr, go: Callable[[Expr], Expr]) -> Expr:
    """``expr`` with ``go`` of its direct sub-expressions; itself where they stay the same objects. Folds nothing."""
    if type(expr) is Const or type(expr) is Var:
        return expr
    if type(expr) is Binary:
        x, y = go(expr.x), go(expr.y)
        return expr if x is expr.x and y is expr.y else Binary(expr.op, x, y)
    if type(expr) is Load and expr.active is None:
        index = map_parts(expr.index, go)
        return expr if index is expr.index else Load(expr.buffer, index, expr.lanes)
    kind = type(expr)
    changes: dict[str, object] = {}
    for name in _operands(kind):  # type: ignore[arg-type]
        item = getattr(expr, name)
        if item is not None:
            new = map_parts(item, go) if type(item) is tuple else go(item)
            if new is not item:
                changes[name] = new
    if not changes:
        return expr
    names = _field_names(kind)  # type: ignore[arg-type]
    return kind(*[changes[name] if name in changes else getattr(expr, name) for name in names])


def map_parts(parts: tuple[Expr, ...], go: Callable[[Expr], Expr]) -> tuple[Expr, ...]:
    """``go`` of each; the same tuple where all stay the same objects."""
    new = tuple([go(part) for part in parts])
    return new if any(map(is_not, new, parts)) else parts


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
    """Rewrites every expression by ``expr_rule`` and then every statement, innermost first, by ``stmt_rule``. What no
    rule changes stays the same object."""
    return _Rewriter(expr_rule, stmt_rule).block(block)


class _Rewriter:
    """Rules at work. Local functions that call themselves would be cycles, which keep what the rules know until it is
    searched for: 7 % of the compilation of an int8 model for six CPUs."""

    __slots__ = ("expr_rule", "stmt_rule")

    def __init__(
        self, expr_rule: Callable[[Expr], Expr | None], stmt_rule: Callable[[Stmt], Block | None] = lambda stmt: None
    ) -> None:
        self.expr_rule, self.stmt_rule = expr_rule, stmt_rule

    def expr(self, node: Expr) -> Expr:
        if type(node) is Const or type(node) is Var:
            return self.expr_rule(node) or node
        changed = map_children(node, self.expr)
        if changed is not node:
            changed = rebuild(changed)
        return self.expr_rule(changed) or changed

    def block(self, inner: Block) -> Block:
        out: list[Stmt] = []
        for stmt in inner:
            new = map_stmt(stmt, self.expr, self.block)
            replacement = self.stmt_rule(new)
            if replacement is None:
                out.append(new)
            else:
                out.extend(replacement)
        same = len(out) == len(inner) and not any(map(is_not, out, inner))
        return inner if same else tuple(out)


def map_stmt(stmt: Stmt, go: Callable[[Expr], Expr], inside: Callable[[Block], Block]) -> Stmt:
    """``stmt`` with ``go`` of its expressions and ``inside`` of its blocks; itself where these stay the same."""
    if isinstance(stmt, Store):
        index, value = map_parts(stmt.index, go), go(stmt.value)
        active = None if stmt.active is None else go(stmt.active)
        same = index is stmt.index and value is stmt.value and active is stmt.active
        return stmt if same else Store(stmt.buffer, index, value, active)
    if isinstance(stmt, For):
        extent, body = go(stmt.extent), inside(stmt.body)
        return stmt if extent is stmt.extent and body is stmt.body else For(stmt.var, extent, body, stmt.kind)
    if isinstance(stmt, Let):
        value = go(stmt.value)
        return stmt if value is stmt.value else Let(stmt.var, value)
    if isinstance(stmt, If):
        cond, then, orelse = go(stmt.cond), inside(stmt.then), inside(stmt.orelse)
        same = cond is stmt.cond and then is stmt.then and orelse is stmt.orelse
        return stmt if same else If(cond, then, orelse)
    if isinstance(stmt, Invoke):
        pointers = tuple(Pointer(p.buffer, map_parts(p.index, go)) for p in stmt.pointers)
        return Invoke(stmt.block, pointers, tuple(_number(s, go) for s in stmt.scalars))
    if isinstance(stmt, Prefetch):
        index = map_parts(stmt.pointer.index, go)
        return stmt if index is stmt.pointer.index else Prefetch(Pointer(stmt.pointer.buffer, index))
    if isinstance(stmt, Fetch):
        row, index = go(stmt.row), map_parts(stmt.target.index, go)
        same = row is stmt.row and index is stmt.target.index
        return stmt if same else Fetch(stmt.source, row, Pointer(stmt.target.buffer, index))
    return stmt


def _number(scalar: int | Expr, go: Callable[[Expr], Expr]) -> int | Expr:
    """A scalar of an Invoke, as an int once it is constant."""
    if not isinstance(scalar, Expr):
        return scalar
    new = go(scalar)
    return int(new.value) if isinstance(new, Const) else new


def substitute(block: Block, bindings: dict[Var, Expr]) -> Block:
    """``block`` with variables replaced. The caller sees to it that no replaced name is bound again inside."""
    return map_block(block, lambda e: bindings.get(e) if type(e) is Var else None)


Place = tuple[Buffer, tuple[Expr, ...]]
"""A buffer and an index in it."""


def flat_index(buffer: Buffer, index: Sequence[Expr]) -> Expr:
    """The number of an element among all of a buffer."""
    flat: Expr = Const(0, INDEX)
    for part, stride in zip(index, buffer.strides, strict=True):
        flat = flat + part * stride
    return flat


def row_major(index: Sequence[Expr], shape: Sequence[int]) -> Expr:
    """The number of the element at ``index`` among all of a ``shape``, the last dimension counting fastest."""
    number: Expr = Const(0, INDEX)
    for part, extent in zip(index, shape, strict=True):
        number = number * extent + part
    return number


def most_lanes(lanes: int, active: Expr | None) -> int:
    """Elements that an access of vectors touches at most, of which so many are ``active``."""
    known = lanes if active is None else const_value(active)
    return known if isinstance(known, int) else lanes


def map_accesses(
    block: Block,
    rule: Callable[[Buffer, tuple[Expr, ...]], Place],
    others: Callable[[Expr], Expr | None] | None = None,
) -> Block:
    """``block`` with every buffer and index, of loads, stores and pointers, replaced by what ``rule`` gives for it, and
    expressions that are no loads by what ``others`` gives. Rows that are fetched have their number for an index."""

    def expr_rule(expr: Expr) -> Expr | None:
        if type(expr) is not Load:
            return None if others is None else others(expr)
        buffer, index = rule(expr.buffer, expr.index)
        same = buffer is expr.buffer and index is expr.index
        return None if same else Load(buffer, index, expr.lanes, expr.active)

    def stmt_rule(stmt: Stmt) -> Block | None:
        if isinstance(stmt, Store):
            buffer, index = rule(stmt.buffer, stmt.index)
            same = buffer is stmt.buffer and index is stmt.index
            return None if same else (Store(buffer, index, stmt.value, stmt.active),)
        if isinstance(stmt, Invoke):
            pointers = tuple(Pointer(*rule(p.buffer, p.index)) for p in stmt.pointers)
            return (Invoke(stmt.block, pointers, stmt.scalars),)
        if isinstance(stmt, Prefetch):
            return (Prefetch(Pointer(*rule(stmt.pointer.buffer, stmt.pointer.index))),)
        if isinstance(stmt, Fetch):
            source, (row,) = rule(stmt.source, (stmt.row,))
            return (Fetch(source, row, Pointer(*rule(stmt.target.buffer, stmt.target.index))),)
        return None

    return map_block(block, expr_rule, stmt_rule)
