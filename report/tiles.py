"""How the loops of a kernel are blocked, in words."""

from __future__ import annotations

from math import prod

from ..ir.loops import Alloc, Invoke, Kernel, Space
from ..ir.loops_rewrite import walk_stmts


def tiles(kernel: Kernel) -> list[str]:
    """The names of the block instructions of ``kernel`` that touch memory, then its tiles of registers with type and
    shape, each once and in the order of the code. Single registers are no tiles."""
    found: dict[str, None] = {}
    registers: dict[str, None] = {}
    for stmt in walk_stmts(kernel.body):
        if isinstance(stmt, Invoke) and stmt.pointers:
            found[stmt.block] = None
        elif isinstance(stmt, Alloc) and stmt.buffer.space is Space.REG and prod(stmt.buffer.shape) > 1:
            registers[f"{stmt.buffer.type}{list(stmt.buffer.shape)}"] = None
    return [*found, *registers]
