"""Runs the memory accesses of a kernel, and nothing else, byte by byte: the evidence for tensors that overlap.

The kernel becomes a Python function with the same loops, in which a load of a tensor looks whether its bytes still
belong to it and a store makes bytes its own. It shares nothing with the analysis that the plan was made by.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from math import prod

from ..blocks import block_kernel
from ..errors import CcmlError, ErrorCode
from ..ir.bounds import Bounds
from ..ir.loops import (
    BOOL,
    INDEX,
    Access,
    Binary,
    Block,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Invoke,
    Kernel,
    Let,
    Load,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
)
from ..ir.loops_rewrite import stmt_exprs, walk_expr

MOST_ACCESSES = 1 << 20
"""Accesses that one replay may take: about a second."""

_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "floormod": "%", "and": "&", "or": "|",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip


def replay(kernel: Kernel, places: Mapping[str, tuple[int, int]], memory: bytearray) -> str | None:
    """What is wrong, if anything, when ``kernel`` runs with its parameters in ``memory``.

    ``places`` map parameters to their first byte and the mark of their tensor; ``memory`` holds the mark of the tensor
    that each byte belongs to. Of parameters that are only read, all bytes that are read must have their mark.
    """
    source = _Source(kernel, places)
    names: dict[str, object] = {}
    exec(compile(source.text, f"<replay of {kernel.name}>", "exec"), names)
    run = names["run"]
    assert callable(run)
    found = run(memory)
    return None if found is None else str(found)


@lru_cache(maxsize=256)
def replay_length(kernel: Kernel) -> float:
    """An upper bound on the accesses of parameters; infinite where there is none."""
    return _length(kernel.body, {buffer.name for buffer in kernel.params}, Bounds())


def _length(block: Block, names: Collection[str], bounds: Bounds) -> float:
    total: float = 0
    for stmt in block:
        total += len(_loads(stmt, names))
        if isinstance(stmt, Let):
            bounds = bounds.with_let(stmt.var, stmt.value)
        elif isinstance(stmt, Store):
            total += stmt.buffer.name in names
        elif isinstance(stmt, Invoke):
            total += len(stmt.pointers)
        elif isinstance(stmt, If):
            total += _length(stmt.then, names, bounds) + _length(stmt.orelse, names, bounds)
        elif isinstance(stmt, For):
            inner = _length(stmt.body, names, bounds.in_loop(stmt.var, stmt.extent))
            total += max(bounds.range(stmt.extent)[1], 0) * inner if inner else 0
    return total


def _loads(stmt: Stmt, names: Collection[str]) -> Sequence[Load]:
    parts = (part for expr in stmt_exprs(stmt) for part in walk_expr(expr))
    return [part for part in parts if isinstance(part, Load) and part.buffer.name in names]


class _Source:
    """The text of ``run(memory)``, which returns a complaint or None."""

    def __init__(self, kernel: Kernel, places: Mapping[str, tuple[int, int]]) -> None:
        self.kernel, self.places = kernel, places
        self.constant = {param.name for param in kernel.params if param.access is Access.READ}
        self.variables: dict[Var, str] = {}
        self.text = "\n".join(["def run(memory):", *self._block(kernel.body, " "), " return None", ""])

    def _block(self, block: Block, indent: str) -> list[str]:
        lines: list[str] = []
        for stmt in block:
            for load in _loads(stmt, self.places):
                lines += self._read(load.buffer, load.index, load.lanes, indent, load.active)
            lines += self._stmt(stmt, indent)
        return lines

    def _stmt(self, stmt: Stmt, indent: str) -> list[str]:
        if isinstance(stmt, Store):
            return self._write(stmt.buffer, stmt.index, stmt.value.type.lanes, indent, stmt.active)
        if isinstance(stmt, Invoke):
            return self._invoke(stmt, indent)
        if isinstance(stmt, Let):
            return self._let(stmt, indent)
        if isinstance(stmt, If):
            then, orelse = (self._block(part, indent + " ") for part in (stmt.then, stmt.orelse))
            cond = self._expr(stmt.cond)
            if cond is None:
                return [line[1:] for line in (*then, *orelse)]
            return _branch(f"{indent}if {cond}:", then) + _branch(f"{indent}if not ({cond}):", orelse)
        if isinstance(stmt, For):
            extent = self._expr(stmt.extent)
            if extent is None:
                raise CcmlError(ErrorCode.IR_INVALID, "a loop's extent is not known", loc=self.kernel.name)
            head = f"{indent}for {self._name(stmt.var)} in range({extent}):"
            return _branch(head, self._block(stmt.body, indent + " "))
        return []

    def _let(self, stmt: Let, indent: str) -> list[str]:
        value = self._expr(stmt.value) if stmt.var.type in (INDEX, BOOL) else None
        return [] if value is None else [f"{indent}{self._name(stmt.var)} = {value}"]

    def _invoke(self, stmt: Invoke, indent: str) -> list[str]:
        """All its writes may come before any of its reads."""
        lines: list[str] = []
        pairs = list(zip(block_kernel(stmt.block, stmt.numbers).params, stmt.pointers, strict=True))
        for reads in (False, True):
            for param, pointer in pairs:
                if reads == (param.access is Access.READ):
                    touch = self._read if reads else self._write
                    lines += touch(pointer.buffer, pointer.index, prod(param.shape), indent)
        return lines

    # ---- accesses

    def _read(
        self, buffer: Buffer, index: Sequence[Expr], elements: int, indent: str, active: Expr | None = None
    ) -> list[str]:
        if buffer.name not in self.places or buffer.name not in self.constant:
            return []
        first, size = self._bytes(buffer, index, elements, active)
        mark = self.places[buffer.name][1]
        return [
            f"{indent}a, n = {first}, {size}",
            f"{indent}if memory[a:a + n] != {bytes([mark])!r} * n:",
            f"{indent} return f'{{a}} is read as a part of {buffer.name}'",
        ]

    def _write(
        self, buffer: Buffer, index: Sequence[Expr], elements: int, indent: str, active: Expr | None = None
    ) -> list[str]:
        if buffer.name not in self.places:
            return []
        first, size = self._bytes(buffer, index, elements, active)
        mark = self.places[buffer.name][1]
        return [f"{indent}a, n = {first}, {size}", f"{indent}memory[a:a + n] = {bytes([mark])!r} * n"]

    def _bytes(self, buffer: Buffer, index: Sequence[Expr], elements: int, active: Expr | None) -> tuple[str, str]:
        """The first byte, and how many: from the first to the last place along dimensions whose index is not known, and
        of a masked access the lanes that are active. Where these are not known, all that lie in the buffer."""
        begin, item = self.places[buffer.name][0], buffer.dtype.size
        parts, more = [str(begin)], 0
        for expr, extent, stride in zip(index, buffer.shape, buffer.strides, strict=True):
            term = self._expr(expr)
            if term is None:
                more += (extent - 1) * stride
            else:
                parts.append(f"({term}) * {stride * item}")
        first, lanes = " + ".join(parts), str(elements)
        if active is not None:
            known = self._expr(active)
            room = f"({begin + prod(buffer.shape) * item} - ({first})) // {item}"
            lanes = f"min({elements}, {room})" if known is None else f"({known})"
        return first, str((elements + more) * item) if active is None else f"({lanes} + {more}) * {item}"

    # ---- expressions

    def _name(self, var: Var) -> str:
        return self.variables.setdefault(var, f"v{len(self.variables)}")

    def _expr(self, expr: Expr) -> str | None:
        """``None`` where the value depends on data."""
        if isinstance(expr, Const):
            return str(int(expr.value))
        if isinstance(expr, Var):
            return self.variables.get(expr)
        if isinstance(expr, Select):
            cond, x, y = (self._expr(part) for part in (expr.cond, expr.x, expr.y))
            return None if cond is None or x is None or y is None else f"({x} if {cond} else {y})"
        if isinstance(expr, Unary):
            inner = self._expr(expr.x)
            spelled = {"neg": "-", "not": "not "}.get(expr.op)
            return None if inner is None or spelled is None else f"({spelled}{inner})"
        if isinstance(expr, Binary) and expr.x.type in (INDEX, BOOL):
            x, y = self._expr(expr.x), self._expr(expr.y)
            if x is None or y is None:
                return None
            if expr.op in ("min", "max"):
                return f"{expr.op}({x}, {y})"
            return f"({x} {_OPERATORS[expr.op]} {y})" if expr.op in _OPERATORS else None
        return None


def _branch(head: str, body: list[str]) -> list[str]:
    return [head, *body] if body else []
