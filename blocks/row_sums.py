"""Block instructions of sums of bytes: of a row and of its squares, for normalization, and of the channels of rows."""

from __future__ import annotations

from ..ir.build import store
from ..ir.loops import I32, Access, Alloc, Block, Buffer, Kernel, Let, Space, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, param, signed
from .helium import channel_sums
from .instruction import DSP, THUMB, BlockInstruction, Cycles, of_vectors


def _byte_sums(size: Number) -> Kernel:
    """Of at most 2^16 bytes, so that both sums fit 32 bits: that of squares without a sign."""
    x, sums = param("x", DType.I8, size, Access.READ), param("sums", DType.I32, 2, Access.WRITE, 4)
    total, squares = (Buffer(name, I32, (1,), Space.REG) for name in ("total", "squares"))
    i, value = Var("i"), Var("value", I32)
    body: Block = (
        Alloc(total),
        Alloc(squares),
        store(total[0], 0),
        store(squares[0], 0),
        *loop(
            i,
            size,
            Let(value, signed(x, i)),
            store(total[0], total[0] + value),
            store(squares[0], squares[0] + value * value),
        ),
        store(sums[0], total[0]),
        store(sums[1], squares[0]),
    )
    return Kernel("byte_sums", (x, sums), body)


def _cycles(size: int, *_: int) -> float:
    """Words in fours, words, bytes."""
    return 38 + 36 * (size // 16) + 12 * (size % 16 // 4) + 7 * (size % 4)


CHANNELS = 8
"""That are summed up at a time."""
MOST_ROWS = 256
"""Whose sums are halfwords."""


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "byte_sums", ("size",), _byte_sums, THUMB, ((39,), (3,)), cycles=Cycles(dsp=_cycles, mve=of_vectors(22, 4))
    ),
    BlockInstruction(
        "channel_sums", ("rows", "channels", "start"), channel_sums, DSP, ((5, 16, -9), (256, 8, 3)),
        cycles=Cycles(dsp=lambda rows, channels, _: 30 + channels // CHANNELS * (36 + 12 * rows)),
    ),
)
