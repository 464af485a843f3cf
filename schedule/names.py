"""Names inside one kernel, and canonical renaming of a whole kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..ir.loops import (
    Alloc,
    Block,
    Buffer,
    Expr,
    Fetch,
    For,
    If,
    Invoke,
    Kernel,
    Let,
    Load,
    Pointer,
    Prefetch,
    Stmt,
    Store,
    Var,
)
from ..ir.loops_rewrite import map_expr, walk_stmts


class Names:
    """Hands out variable and buffer names, each once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._count: dict[str, int] = dict.fromkeys(taken, 1)

    @staticmethod
    def of(kernel: Kernel) -> Names:
        """Names that ``kernel`` does not bind yet."""
        bound = {param.name for param in kernel.params}
        for stmt in walk_stmts(kernel.body):
            if isinstance(stmt, (For, Let)):
                bound.add(stmt.var.name)
            elif isinstance(stmt, Alloc):
                bound.add(stmt.buffer.name)
        return Names(bound)

    def taken(self) -> tuple[tuple[str, int], ...]:
        """What was handed out so far: names with equal ones go on alike."""
        return tuple(self._count.items())

    def continue_from(self, taken: tuple[tuple[str, int], ...]) -> None:
        """Goes on where others did that had ``taken`` so much."""
        self._count = dict(taken)

    def fresh(self, stem: str) -> str:
        """``stem``, then ``stem_1``, ``stem_2``, ..."""
        count = self._count.get(stem, 0)
        self._count[stem] = count + 1
        if count == 0:
            return stem
        return self.fresh(f"{stem}_{count}")


def rename_bound(block: Block, names: Names, known: Mapping[Var, Expr] | None = None) -> Block:
    """``block`` with fresh names for everything it binds: a copy that can stand beside the original. Variables of which
    the value is ``known`` are replaced by it; they are bound outside."""
    return _Renamer(names, known or {}).block(block)


class _Renamer:
    def __init__(self, names: Names, known: Mapping[Var, Expr]) -> None:
        self.names = names
        self.vars: dict[Var, Expr] = dict(known)
        self.buffers: dict[Buffer, Buffer] = {}

    def expr(self, expr: Expr) -> Expr:
        return map_expr(expr, self._rule)

    def _rule(self, expr: Expr) -> Expr | None:
        kind = type(expr)
        if kind is Var:
            return self.vars.get(expr)  # type: ignore[call-overload]
        if kind is Load and self.buffers:
            assert isinstance(expr, Load)
            new = self.buffers.get(expr.buffer)
            return None if new is None else Load(new, expr.index, expr.lanes, expr.active)
        return None

    def var(self, var: Var) -> Var:
        new = Var(self.names.fresh(var.name), var.type)
        self.vars[var] = new
        return new

    def block(self, block: Block) -> Block:
        return tuple(self.stmt(stmt) for stmt in block)

    def stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, For):
            extent = self.expr(stmt.extent)
            return For(self.var(stmt.var), extent, self.block(stmt.body), stmt.kind)
        if isinstance(stmt, If):
            return If(self.expr(stmt.cond), self.block(stmt.then), self.block(stmt.orelse))
        if isinstance(stmt, Let):
            value = self.expr(stmt.value)
            return Let(self.var(stmt.var), value)
        if isinstance(stmt, Alloc):
            new = replace(stmt.buffer, name=self.names.fresh(stmt.buffer.name))
            self.buffers[stmt.buffer] = new
            return Alloc(new)
        if isinstance(stmt, Store):
            return Store(
                self.buffers.get(stmt.buffer, stmt.buffer),
                tuple(self.expr(i) for i in stmt.index),
                self.expr(stmt.value),
                None if stmt.active is None else self.expr(stmt.active),
            )
        if isinstance(stmt, Invoke):
            return replace(stmt, pointers=tuple(self.pointer(pointer) for pointer in stmt.pointers))
        if isinstance(stmt, Prefetch):
            return Prefetch(self.pointer(stmt.pointer))
        if isinstance(stmt, Fetch):
            return Fetch(self.buffers.get(stmt.source, stmt.source), self.expr(stmt.row), self.pointer(stmt.target))
        raise TypeError(stmt)

    def pointer(self, pointer: Pointer) -> Pointer:
        return Pointer(self.buffers.get(pointer.buffer, pointer.buffer), tuple(self.expr(i) for i in pointer.index))
