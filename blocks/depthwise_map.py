"""Block instructions of depthwise 3x3 convolutions of stride 1 on cores with DSP, of four channels over all rows.

*Staged pairs*: for each pair of rows of the input, each column (borders included) and each of four channels a word of
signed halfwords, ``(row 2n, row 2n + 1)``, counted from the first row under the first row of outputs. Two rows of
outputs take two neighbouring pairs, so that each row is staged once.

*Weights* are those of rows that go to bytes in one pass (``blocks/depthwise.py``).
"""

from __future__ import annotations

from ..ir.build import store
from ..ir.loops import I32, Access, Block, Expr, Kernel, Let, Stmt, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, halves, high_half, low_half, param, requantized_rounded, signed, when
from .depthwise import CHANNEL, KERNEL, LANES, dot, weights_of_channel
from .instruction import DSP, DSP_FPU, BlockInstruction, Cycles


def _stage_pairs(
    pairs: Number, columns: Number, step0: Number, step1: Number, apart: Number, width: Number
) -> Kernel:
    """``columns`` columns of ``pairs`` pairs of rows, one pair ``apart`` bytes behind the other; columns of the upper
    row are ``step0`` bytes apart, of the lower one ``step1``. Pairs of ``y`` have ``width`` columns."""
    steps = (step0, step1)
    x = [
        param(f"x{n}", DType.I8, (pairs - 1) * apart + (columns - 1) * step + LANES, Access.READ)
        for n, step in enumerate(steps)
    ]
    y = param("y", DType.I32, ((pairs - 1) * width + columns) * LANES, Access.WRITE, 4)
    pair, column, lane = Var("pair"), Var("column"), Var("lane")
    values = [signed(each, pair * apart + column * step + lane) for each, step in zip(x, steps)]
    body = store(y[(pair * width + column) * LANES + lane], halves(*values))
    return Kernel("stage_pairs", (*x, y), loop(pair, pairs, *loop(column, columns, *loop(lane, LANES, body))))


def _map(rows: Number, columns: Number, row: Number, step: Number, zero_point: Number) -> Kernel:
    """At least two ``rows`` of outputs, which are ``row`` bytes apart, pixels ``step`` bytes."""
    width = columns + (KERNEL - 1)
    w = param("w", DType.I32, LANES * CHANNEL, Access.READ, 4)
    x = param("x", DType.I32, ((rows + 1) // 2 + 1) * width * LANES, Access.READ, 4)
    y = param("y", DType.I8, (rows - 1) * row + (columns - 1) * step + LANES, Access.WRITE)
    lane, column, pair = Var("lane"), Var("column"), Var("pair")
    first = lane * CHANNEL
    lets, weights = weights_of_channel(w, first)
    bias, factor = w[first], w[first + (KERNEL + 1)]

    def word(at: Expr | Number, k: int) -> Expr:
        return x[(at * width + (column + k)) * LANES + lane]

    def upper(at: Expr | Number, name: str = "upper") -> Stmt:
        acc: Expr = bias
        for k, (w01, w12) in enumerate(weights):
            acc = dot(acc, word(at, k), w01) + low_half(word(at + 1, k)) * high_half(w12)
        return Let(Var(name, I32), acc)

    def lower(at: Expr | Number) -> Stmt:
        acc: Expr = bias
        for k, (w01, w12) in enumerate(weights):
            acc = dot(acc + high_half(word(at, k)) * low_half(w01), word(at + 1, k), w12)
        return Let(Var("lower", I32), acc)

    def stored(let: Stmt, at: Expr | Number) -> Block:
        assert isinstance(let, Let)
        place = y[at * row + column * step + lane]
        return (let, store(place, requantized_rounded(let.var, factor, zero_point)))

    both = loop(pair, rows // 2, *stored(upper(pair), pair * 2), *stored(lower(pair), pair * 2 + 1))
    last = when("ne", rows % 2, 0, stored(upper(rows // 2, "last"), rows - 1))
    return Kernel("map", (w, x, y), loop(lane, LANES, *lets, *loop(column, columns, *both, *last)))


def _map_cycles(rows: int, columns: int, *_: int) -> float:
    """Two rows by two columns at a time."""
    steps = -(-rows // 2)
    return 65 + LANES * (58 + columns // 2 * (37 + 62 * steps) + columns % 2 * (35 + 42 * steps))


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "depthwise_stage_pairs", ("pairs", "columns", "step0", "step1", "apart", "width"), _stage_pairs, DSP,
        ((3, 5, 8, 8, 40, 7), (1, 4, 0, 4, 16, 6), (2, 3, 6, 0, 18, 3)),
        cycles=Cycles(dsp=lambda pairs, columns, *_: 48 + pairs * (10 + 20 * columns)), in_parts=True,
    ),
    BlockInstruction(
        "depthwise_map", ("rows", "columns", "row", "step", "zero_point"), _map, DSP_FPU,
        ((5, 5, 40, 8, -3), (2, 2, 8, 4, 5), (4, 3, 36, 12, 0), (3, 4, 40, 9, 100)),
        cycles=Cycles(dsp=_map_cycles), in_parts=True, rows_together=True,
    ),
)
