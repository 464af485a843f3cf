"""Block instructions of depthwise 3x3 convolutions that go from staged columns to bytes in one pass.

For one or more groups of four channels. At stride 1, columns are staged as for the blocks with accumulators
(``depthwise.py``), at stride 2 three rows as pairs of columns (``depthwise_rows.py``). The *stream* has five words for
each channel: the bias, three words of weights, and the factor of the requantization. At stride 2 the weights
``w[row, column]`` are the bytes (00, 01, 10, 11), (20, 02, 21, 12), and 22 as a word.
The result is the *rounded upper word* of the sum times the factor, plus the zero point: no shift behind it.
"""

from __future__ import annotations

from ..ir.loops import I32, Access, Binary, Block, Call, Const, Expr, Kernel, Let, Load, Store, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import param, requantized_rounded
from .depthwise import COLUMN, KERNEL, LANES, by_twos, channel, dot, pair_sums
from .depthwise_rows import PAIR
from .instruction import DSP_FPU, BlockInstruction

CHANNEL = KERNEL + 2
"""Words of the stream for each channel."""


def bytes_pair(groups: int, outputs: int, step: int, zero_point: int) -> Kernel:
    """Two rows of outputs, stride 1, whose pixels are ``step`` bytes apart. Where both rows of outputs are at the same
    place, the upper row counts."""
    width = outputs + KERNEL - 1
    w = param("w", DType.I32, groups * LANES * CHANNEL, Access.READ, 4)
    x = param("x", DType.I32, groups * width * COLUMN, Access.READ, 8)
    y = tuple(param(f"y{row}", DType.I8, (outputs - 1) * step + LANES * groups, Access.WRITE) for row in range(2))
    group, lane, bias, factor = Var("group"), Var("lane"), Var("bias", I32), Var("factor", I32)
    weights = [(Var(f"w01_{k}", I32), Var(f"w12_{k}", I32)) for k in range(KERNEL)]
    first = (group * LANES + lane) * CHANNEL

    def some(column: Expr, count: int, stem: str) -> Block:
        at = group * (width * COLUMN) + column * COLUMN + lane * 2
        out, sums = pair_sums(x, at, bias, weights, count, stem)
        for number, rows in enumerate(sums):
            for row, value in reversed(list(enumerate(rows))):
                place = (column * step + number * step + group * LANES + lane,)
                out += (Store(y[row], place, requantized_rounded(value, factor, zero_point)),)
        return out

    body = (*channel(w, first, [bias], weights), Let(factor, Load(w, (first + (KERNEL + 1),))))
    block = loop(lane, LANES, *body, *by_twos(outputs, some))
    return Kernel("depthwise_bytes_pair", (w, x, *y), loop(group, groups, *block))


def bytes_stride2(groups: int, outputs: int, step: int, zero_point: int) -> Kernel:
    """One row of outputs, stride 2, whose pixels are ``step`` bytes apart."""
    w = param("w", DType.I32, groups * LANES * CHANNEL, Access.READ, 4)
    x = param("x", DType.I32, groups * (outputs + 1) * PAIR, Access.READ, 4)
    y = param("y", DType.I8, (outputs - 1) * step + LANES * groups, Access.WRITE)
    group, lane, column, bias, factor = Var("group"), Var("lane"), Var("column"), Var("bias", I32), Var("factor", I32)
    at = (group * LANES + lane) * CHANNEL
    words = [Var(f"word{k}", I32) for k in range(KERNEL)]
    taps = [Var(f"taps{k}", I32) for k in range(KERNEL + 1)]
    lets: Block = (
        Let(bias, Load(w, (at,))),
        *(Let(word, Load(w, (at + (1 + k),))) for k, word in enumerate(words)),
        Let(factor, Load(w, (at + (1 + KERNEL),))),
        *(Let(tap, Call(("widen_even", "widen_odd")[k % 2], (words[k // 2],), I32)) for k, tap in enumerate(taps)),
        Let(last := Var("last", I32), Binary("shl", words[2], Const(16, I32))),
    )
    place = group * ((outputs + 1) * PAIR) + column * PAIR + lane
    acc: Expr = bias
    for k, tap in enumerate(taps):
        acc = dot(acc, Load(x, (place + k * LANES,)), tap)
    acc = Call("low_by_high", (acc, Load(x, (place + (PAIR + 2 * LANES),)), last), I32)
    named = Var("acc", I32)
    store = Store(y, (column * step + group * LANES + lane,), requantized_rounded(named, factor, zero_point))
    block = loop(lane, LANES, *lets, *loop(column, outputs, Let(named, acc), store))
    return Kernel("depthwise_bytes_stride2", (w, x, y), loop(group, groups, *block))


_SCALARS = ("groups", "outputs", "step", "zero_point")
ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction("depthwise_bytes_pair", _SCALARS, bytes_pair, DSP_FPU, ((2, 5, 8, -3),)),
    BlockInstruction("depthwise_bytes_stride2", _SCALARS, bytes_stride2, DSP_FPU, ((2, 3, 8, 5),)),
)
