"""Block instructions of pooling: the greatest of the bytes of two or three lines, byte by byte.

A maximum over a window is one over its rows, for a whole line of the result at once, and then one over its columns.
"""

from __future__ import annotations

from functools import partial

from ..ir.build import maximum, store
from ..ir.loops import Access, Block, Expr, Kernel, Store, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, param
from .instruction import THUMB, BlockInstruction, Cycles, linear, of_fours

TOGETHER = 4
"""Bytes that the meaning compares together."""
MOST_LINES = 3


def _greatest(lines: int, size: Number) -> Kernel:
    sources = [param(f"x{line}", DType.I8, size, Access.READ) for line in range(lines)]
    y, whole = param("y", DType.I8, size, Access.WRITE), size // TOGETHER

    def result(at: Expr) -> Store:
        value: Expr = sources[0][at]
        for source in sources[1:]:
            value = maximum(value, source[at])
        return store(y[at], value)

    four, i = Var("four"), Var("i")
    body: Block = loop(four, whole, *(result(four * TOGETHER + n) for n in range(TOGETHER)))
    done = whole * TOGETHER
    return Kernel(f"greatest{lines}", (*sources, y), (*body, *loop(i, size - done, result(i + done))))


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "greatest2", ("size",), partial(_greatest, 2), THUMB, ((37,),),
        cycles=Cycles(dsp=of_fours(27, 7.5, 42), mve=linear(18, 0.37)),
    ),
    BlockInstruction(
        "greatest3", ("size",), partial(_greatest, 3), THUMB, ((37,),),
        cycles=Cycles(dsp=of_fours(43, 10.5, 59), mve=linear(30, 0.62)),
    ),
)
