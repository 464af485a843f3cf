"""Block instructions of pooling: the greatest of the bytes of two or three lines, byte by byte.

A maximum over a window is one over its rows, for a whole line of the result at once, and then one over its columns.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.loops import Access, Binary, Block, Expr, Kernel, Load, Store, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import param
from .instruction import THUMB, BlockInstruction

LANES = 16
"""Bytes that the meaning compares together."""
MOST_LINES = 3


def _greatest(lines: int) -> Callable[..., Kernel]:
    def meaning(size: int) -> Kernel:
        sources = [param(f"x{line}", DType.I8, size, Access.READ) for line in range(lines)]
        y, i = param("y", DType.I8, size, Access.WRITE), Var("i")

        def results(at: Expr, lanes: int) -> Block:
            value: Expr = Load(sources[0], (at,), lanes)
            for source in sources[1:]:
                value = Binary("max", value, Load(source, (at,), lanes))
            return (Store(y, (at,), value),)

        whole, rest = Var("v"), size // LANES * LANES
        body = loop(whole, size // LANES, *results(whole * LANES, LANES))
        return Kernel(f"greatest{lines}", (*sources, y), (*body, *loop(i, size - rest, *results(i + as_expr(rest), 1))))

    return meaning


ROWS: tuple[BlockInstruction, ...] = tuple(
    BlockInstruction(f"greatest{lines}", ("size",), _greatest(lines), THUMB, ((37,),))
    for lines in range(2, MOST_LINES + 1)
)
