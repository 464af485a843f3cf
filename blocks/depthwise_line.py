"""Block instruction of depthwise convolutions with three taps along a line on cores with DSP: bytes to bytes, one
channel of the whole line at a time, without staging.

A word has two neighbours of one channel as halfwords; with the word behind it, a pair of outputs takes four
multiplications. Beyond the ends of the line the zero point is put in place of an element.

*Weights*: for each channel a bias, a word of bytes ``(w0, w1, w1, w2)``, and the factor of the requantization (by the
rounded upper word), as those of ``blocks/depthwise.py`` with one column.
"""

from __future__ import annotations

from ..ir.build import ge, lt, maximum, minimum, select, store
from ..ir.loops import I32, Access, Call, Expr, Kernel, Let, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, halves, high_half, param, requantized_rounded, signed
from .depthwise import dot
from .instruction import DSP_FPU, BlockInstruction, Cycles, of_groups

TAPS = 3
CHANNEL = 3
"""Words of the stream for each channel."""
LEAST = 4
"""Elements of a line."""


def _line(
    channels: Number, columns: Number, step: Number, left: Number, right: Number, zero: Number, zero_point: Number
) -> Kernel:
    """``channels`` of a line of ``columns`` elements that are ``step`` bytes apart, as the outputs are, of which there
    are fewer by the taps but one, and more by ``left`` and ``right``: the elements of value ``zero`` beyond the ends,
    at most one each."""
    outputs = columns + left + right - (TAPS - 1)
    w = param("w", DType.I32, channels * CHANNEL, Access.READ, 4)
    x = param("x", DType.I8, (columns - 1) * step + channels, Access.READ)
    y = param("y", DType.I8, (outputs - 1) * step + channels, Access.WRITE)
    channel, output, word, acc = Var("channel"), Var("output"), Var("word", I32), Var("acc", I32)

    def element(tap: int) -> Expr:
        at = output + tap - left
        inside = ge(at, 0) & lt(at, columns)
        found = signed(x, maximum(minimum(at, columns - 1), 0) * step + channel)
        return select(inside, found, I32(zero))

    w01, w12 = (Call(name, (word,), I32) for name in ("widen_even", "widen_odd"))
    first = channel * CHANNEL
    total = dot(w[first], halves(element(0), element(1)), w01) + element(2) * high_half(w12)
    result = store(y[output * step + channel], requantized_rounded(acc, w[first + 2], zero_point))
    body = loop(channel, channels, Let(word, w[first + 1]), *loop(output, outputs, Let(acc, total), result))
    return Kernel("depthwise_line", (w, x, y), body)


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "depthwise_line", ("channels", "columns", "step", "left", "right", "zero", "zero_point"), _line, DSP_FPU,
        ((2, 9, 3, 0, 0, -3, 5), (3, 6, 3, 1, 0, -3, 5), (1, 8, 4, 1, 1, 7, -128), (2, 7, 2, 1, 1, -128, 0),
         (1, 4, 2, 0, 1, 3, 3), (1, 5, 1, 0, 1, 3, 3)),
        cycles=Cycles(dsp=of_groups(80, 53, 9.4)),
    ),
)  # fmt: skip
