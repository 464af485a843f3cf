"""Block instructions of maxima: the greatest of the bytes of two or three lines, byte by byte, or of all bytes of one.

A maximum over a window is one over its rows, for a whole line of the result at once, and then one over its columns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..ir.build import maximum, store
from ..ir.loops import I8, I32, Access, Block, Expr, Kernel, Store, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, param, signed
from .instruction import THUMB, BlockInstruction, Cycles, linear, of_fours, of_vectors
from .tiles import tile_block

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


def _greatest_of(size: Number) -> Kernel:
    x, y = param("x", DType.I8, size, Access.READ), param("y", DType.I8, 1, Access.WRITE)

    def group(k: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
        return (), lambda acc, _, __: maximum(acc, signed(x, k))

    first = I32(-128)
    return Kernel("greatest_of", (x, y), tile_block((1, 1), (size,), lambda _, __: first, group,
                  lambda _, __, acc: (store(y[0], I8(acc)),)))


def _greatest_of_cycles(size: int, *_: int) -> float:
    """Words in fours, words, bytes."""
    return 33 + 20 * (size // 16) + 8.5 * (size % 16 // 4) + 7.5 * (size % 4)


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "greatest2", ("size",), partial(_greatest, 2), THUMB, ((37,),),
        cycles=Cycles(dsp=of_fours(27, 7.5, 42), mve=linear(18, 0.37)),
    ),
    BlockInstruction(
        "greatest3", ("size",), partial(_greatest, 3), THUMB, ((37,),),
        cycles=Cycles(dsp=of_fours(43, 10.5, 59), mve=linear(30, 0.62)),
    ),
    BlockInstruction(
        "greatest_of", ("size",), _greatest_of, THUMB, ((39,), (3,), (16,)),
        cycles=Cycles(dsp=_greatest_of_cycles, mve=of_vectors(20, 2)),
    ),
)
