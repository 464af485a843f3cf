"""The form of a kernel: what it looks like without the names that it binds, with or without its numbers.

Two kernels with the same form, numbers included, are the same up to names. Kernels whose forms differ in numbers alone
are a family (``family.py``).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields

from ...ir.loops import Alloc, Binary, Block, Buffer, Const, Expr, For, If, Invoke, Kernel, Let, Load, Space, Store, Var
from ...ir.loops_rewrite import children
from ...ir.specialize import scalar_of

DIVISIONS = ("floordiv", "floormod", "div", "mod")
"""Their divisors decide what code is made of them: these numbers are a part of the form."""

Form = tuple[Hashable, ...]


def form(kernel: Kernel, *, numbers: bool) -> Form:
    """The form of a ``kernel`` without scalars.

    Without ``numbers``, parameters have neither shapes nor as many indices as dimensions, and of a literal that a
    scalar can stand for there is the type alone.
    """
    writer = _Writer(kernel, numbers)
    writer.block(kernel.body)
    return tuple(writer.tokens)


class _Writer:
    """Lists what a kernel consists of, parents first; names are numbered as they are bound."""

    def __init__(self, kernel: Kernel, numbers: bool) -> None:
        self.tokens: list[Hashable] = []
        self.names: dict[str, int] = {}
        self.params = frozenset(param.name for param in kernel.params)
        self.numbers = numbers
        for param in kernel.params:
            self._bind(param.name)
            self.tokens.append((param.type, param.access, param.align, param.shape if numbers else None))

    def _bind(self, name: str) -> None:
        self.names[name] = len(self.names)

    def block(self, block: Block) -> None:
        self.tokens.append(len(block))
        for stmt in block:
            self.tokens.append(type(stmt).__name__)
            match stmt:
                case For():
                    self.tokens.append(stmt.kind)
                    self._expr(stmt.extent)
                    self._bind(stmt.var.name)
                    self.block(stmt.body)
                case If():
                    self._expr(stmt.cond)
                    self.block(stmt.then)
                    self.block(stmt.orelse)
                case Let():
                    self._expr(stmt.value)
                    self._bind(stmt.var.name)
                case Alloc():
                    self._bind(stmt.buffer.name)
                    self.tokens.append((stmt.buffer.type, stmt.buffer.shape, stmt.buffer.space, stmt.buffer.align))
                case Store():
                    self._place(stmt.buffer, stmt.index)
                    self._expr(stmt.value)
                    self._active(stmt.active)
                case Invoke():
                    self.tokens += (stmt.block, stmt.scalars if self.numbers else len(stmt.scalars))
                    for pointer in stmt.pointers:
                        self._place(pointer.buffer, pointer.index)

    def _place(self, buffer: Buffer, index: tuple[Expr, ...]) -> None:
        """An access; of a parameter, one index is to be made, in which literals are one number."""
        self.tokens.append(self.names[buffer.name])
        if buffer.space is Space.REG:
            self._exact(*index)
        elif self.numbers or buffer.name not in self.params:
            for part in index:
                self._expr(part)
        else:
            varying = [part for part in index if type(part) is not Const]
            self.tokens.append(len(varying))
            for part in varying:
                self._expr(part)

    def _active(self, active: Expr | None) -> None:
        self.tokens.append(active is None)
        if active is not None:
            self._exact(active)

    def _exact(self, *exprs: Expr) -> None:
        """Expressions whose numbers belong to the form."""
        numbers, self.numbers = self.numbers, True
        for expr in exprs:
            self._expr(expr)
        self.numbers = numbers

    def _expr(self, expr: Expr) -> None:
        self.tokens.append(type(expr).__name__)
        match expr:
            case Var():
                self.tokens.append(self.names[expr.name])
            case Binary():
                self.tokens.append(expr.op)
                self._expr(expr.x)
                if expr.op in DIVISIONS:
                    self._exact(expr.y)
                else:
                    self._expr(expr.y)
            case Const():
                free = not self.numbers and scalar_of(expr) is not None
                self.tokens += (expr.type, None if free else repr(expr.value))
            case Load():
                self.tokens.append(expr.lanes)
                self._place(expr.buffer, expr.index)
                self._active(expr.active)
            case _:
                inner = children(expr)
                self.tokens.append(tuple(value for value in _values(expr) if isinstance(value, Hashable)))
                self.tokens.append(len(inner))
                for child in inner:
                    self._expr(child)


def _values(expr: Expr) -> list[object]:
    """What an expression holds besides expressions: operators, types, numbers of lanes."""
    found = (getattr(expr, spec.name) for spec in fields(expr))  # type: ignore[arg-type]
    return [value for value in found if not isinstance(value, (Expr, tuple))]
