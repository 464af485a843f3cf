"""Block instructions of depthwise 3x3 convolutions that go from staged columns to bytes in one pass.

Columns are staged as for the blocks with accumulators (``depthwise.py``), for one or more groups of four channels.
The *stream* has five words for each channel: the bias, three words of weights, and the factor of the requantization.
The result is the *rounded upper word* of the sum times the factor, plus the zero point: no shift behind it.
"""

from __future__ import annotations

from ..loops import I32, Access, Block, Expr, Kernel, Let, Load, Store, Var
from ..loops_rewrite import loop
from ..types import DType
from .common import Row, param, requantized_rounded
from .depthwise import COLUMN, KERNEL, LANES, by_twos, channel, pair_sums

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


ROWS: tuple[Row, ...] = (("depthwise_bytes_pair", ("groups", "outputs", "step", "zero_point"), bytes_pair),)
