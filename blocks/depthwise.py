"""Block instructions of depthwise 3x3 convolutions of stride 1 on cores with DSP: four channels of two rows of outputs.

*Staged columns*: for each column of the input (borders included) and each of four channels two words of signed
halfwords, ``(row 0, row 1)`` and ``(row 2, row 3)``. A dual multiply-accumulate takes two rows of one channel.

*Weights*: for each of the four channels a bias and a word of bytes ``(w0, w1, w1, w2)`` for each column of the kernel,
from top to bottom, so that ``widen_even`` and ``widen_odd`` make the pairs (w0, w1) and (w1, w2) of it. The factors of
the four channels follow, or for rows that go to bytes in one pass each channel's own behind its words.

*Accumulators* replace staged columns: output ``j`` of a channel stands where its column ``j`` was. Those that become
bytes in one pass do so by the rounded upper word of a product (``requantized_rounded``). Channels of these may be some
bytes ``apart``, where others lie between that are computed from the same columns.
"""

from __future__ import annotations

from functools import partial

from ..ir.build import store
from ..ir.loops import I32, Access, Block, Buffer, Call, Expr, Kernel, Let, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import (
    Number,
    both,
    halves,
    high_half,
    low_half,
    param,
    requantized,
    requantized_fixed,
    requantized_rounded,
    signed,
)
from .instruction import DSP, DSP_FPU, BlockInstruction, Cycles, linear, of_groups
from .tiles import as_scale

LANES = 4
"""Channels that are computed together."""
COLUMN = 2 * LANES
"""Words of a staged column."""
KERNEL = 3
WEIGHTS = (KERNEL + 1) * LANES
"""Words of weights and biases of four channels; as many factors as channels follow."""
CHANNEL = KERNEL + 2
"""Words of the stream for each channel in one pass."""


# ---------------------------------------------------------------- staging


def _stage(groups: Number, columns: Number, step: Number, left: Number, right: Number, zero_point: Number) -> Kernel:
    """Four rows of ``groups`` times four channels, one group behind the other: ``columns`` columns that are ``step``
    bytes apart; beside them the zero point."""
    rows = [param(f"x{r}", DType.I8, (columns - 1) * step + groups * LANES, Access.READ) for r in range(4)]
    width = left + columns + right
    y = param("y", DType.I32, groups * width * COLUMN, Access.WRITE, 8)
    group, column, lane = Var("group"), Var("column"), Var("lane")

    def border(word: Var, first: Number, count: Number) -> Block:
        at = (group * width + first) * COLUMN
        return loop(word, count * COLUMN, store(y[at + word], both(zero_point)))

    at = (group * width + column + left) * COLUMN + lane * 2
    bytes_ = [signed(row, column * step + group * LANES + lane) for row in rows]
    stores = (store(y[at + half], halves(*bytes_[2 * half : 2 * half + 2])) for half in range(2))
    inside = loop(column, columns, *loop(lane, LANES, *stores))
    body = (*border(Var("before"), 0, left), *inside, *border(Var("after"), left + columns, right))
    return Kernel("depthwise_stage", (*rows, y), loop(group, groups, *body))


def _fill(columns: Number, half: Number, zero_point: Number) -> Kernel:
    """The zero point for one row of all columns: in the low or high ``half`` of every second word."""
    y = param("y", DType.I32, (columns - 1) * COLUMN + COLUMN - 1, Access.READ_WRITE, 4)
    pair = Var("pair")
    fill = with_half(y[pair * 2], half, zero_point)
    return Kernel("depthwise_fill", (y,), loop(pair, columns * LANES, store(y[pair * 2], fill)))


def with_half(word: Expr, half: Number, value: Number) -> Expr:
    """A word with one of its halves replaced."""
    mask = 0xFFFF << I32(half * 16)
    put = (I32(value) << I32(half * 16)) & mask
    return (word & (mask ^ -1)) | put


# ---------------------------------------------------------------- sums


def weights_of_channel(w: Buffer, at: Expr) -> tuple[Block, list[tuple[Expr, Expr]]]:
    """The pairs of weights of the columns of the kernel, for the channel whose words begin at ``at``."""
    words = [Var(f"word{k}", I32) for k in range(KERNEL)]
    lets = tuple(Let(word, w[at + (k + 1)]) for k, word in enumerate(words))
    return lets, [(Call("widen_even", (word,), I32), Call("widen_odd", (word,), I32)) for word in words]


def dot(acc: Expr, x: Expr, w: Expr) -> Expr:
    return Call("dot2_i16i16", (acc, x, w), I32)


def _product(acc: Expr, x: Expr, w: Expr) -> Expr:
    return acc + x * w


def _upper(acc: Expr, x: Buffer, at: Expr, weights: list[tuple[Expr, Expr]]) -> Expr:
    """The sum over three rows from the upper one on; the first column is at word ``at``."""
    for k, (w01, w12) in enumerate(weights):
        rows01, rows23 = (x[at + (k * COLUMN + half)] for half in range(2))
        acc = _product(dot(acc, rows01, w01), low_half(rows23), high_half(w12))
    return acc


def _lower(acc: Expr, x: Buffer, at: Expr, weights: list[tuple[Expr, Expr]]) -> Expr:
    """The sum over three rows from the second one on."""
    for k, (w01, w12) in enumerate(weights):
        rows01, rows23 = (x[at + (k * COLUMN + half)] for half in range(2))
        acc = dot(_product(acc, high_half(rows01), low_half(w01)), rows23, w12)
    return acc


def _sums(outputs: Number) -> Kernel:
    """The accumulators of two rows of outputs."""
    w = param("w", DType.I32, WEIGHTS, Access.READ, 4)
    x = param("x", DType.I32, (outputs + (KERNEL - 1)) * COLUMN, Access.READ_WRITE, 8)
    lane, column, names = Var("lane"), Var("column"), [Var("upper", I32), Var("lower", I32)]
    lets, weights = weights_of_channel(w, lane * (KERNEL + 1))
    source, bias = column * COLUMN + lane * 2, w[lane * (KERNEL + 1)]
    sums = (Let(name, way(bias, x, source, weights)) for name, way in zip(names, (_upper, _lower)))
    stores = (store(x[source + row], name) for row, name in enumerate(names))
    return Kernel("depthwise_sums", (w, x), loop(lane, LANES, *lets, *loop(column, outputs, *sums, *stores)))


def _finish(
    rows: int, fixed: bool, outputs: Number, step: Number, zero_point: Number, shift: Number = 0
) -> Kernel:
    """Requantizes the accumulators of one or two rows into pixels that are ``step`` bytes apart, by float32 scales or
    by factors. Where both rows of outputs are at the same place, the upper row counts."""
    scales = param("scales", DType.I32, LANES, Access.READ, 4)
    x = param("x", DType.I32, outputs * COLUMN, Access.READ, 8)
    y = [param(f"y{row}", DType.I8, (outputs - 1) * step + LANES, Access.WRITE) for row in range(rows)]
    column, lane, factor = Var("column"), Var("lane"), scales[Var("lane")]
    stores = []
    for row in reversed(range(rows)):
        acc = x[column * COLUMN + lane * 2 + row]
        value = requantized(acc, as_scale(factor), zero_point)
        if fixed:
            value = requantized_fixed(acc, factor, zero_point, shift)
        stores.append(store(y[row][column * step + lane], value))
    return Kernel("depthwise_finish", (scales, x, *y), loop(column, outputs, *loop(lane, LANES, *stores)))


# ---------------------------------------------------------------- bytes


def _bytes_pair(groups: Number, outputs: Number, step: Number, apart: Number, zero_point: Number) -> Kernel:
    """Two rows of outputs, stride 1, whose pixels are ``step`` bytes apart, and channels ``apart`` bytes. Where both
    rows of outputs are at the same place, the upper row counts."""
    width = outputs + (KERNEL - 1)
    w = param("w", DType.I32, groups * (LANES * CHANNEL), Access.READ, 4)
    x = param("x", DType.I32, groups * width * COLUMN, Access.READ, 8)
    size = (outputs - 1) * step + (groups * LANES - 1) * apart + 1
    y = [param(f"y{row}", DType.I8, size, Access.WRITE) for row in range(2)]
    group, lane, column = Var("group"), Var("lane"), Var("column")
    first = (group * LANES + lane) * CHANNEL
    lets, weights = weights_of_channel(w, first)
    source, place = (group * width + column) * COLUMN + lane * 2, column * step + (group * LANES + lane) * apart
    bias, factor = w[first], w[first + (KERNEL + 1)]
    sums = [Let(Var("lower", I32), _lower(bias, x, source, weights))]
    sums.append(Let(Var("upper", I32), _upper(bias, x, source, weights)))
    stores = [
        store(out[place], requantized_rounded(let.var, factor, zero_point))
        for out, let in zip((y[1], y[0]), sums, strict=True)
    ]
    body = loop(lane, LANES, *lets, *loop(column, outputs, *sums, *stores))
    return Kernel("depthwise_bytes_two_rows", (w, x, *y), loop(group, groups, *body))


_STAGE = ("groups", "columns", "step", "left", "right", "zero_point")
_FLOAT, _BYTES = ("outputs", "step", "zero_point"), ("groups", "outputs", "step", "apart", "zero_point")
_FIXED = (*_FLOAT, "shift")
ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "depthwise_stage", _STAGE, _stage, DSP_FPU, ((2, 5, 8, 1, 1, -3),),
        cycles=Cycles(dsp=of_groups(78, 53, 29.5)),
    ),
    BlockInstruction(
        "depthwise_fill", ("columns", "half", "zero_point"), _fill, DSP, ((4, 1, -3),),
        cycles=Cycles(dsp=linear(12, 8)),
    ),
    BlockInstruction(
        "depthwise_two_rows", ("outputs",), _sums, DSP_FPU, ((5,),),
        cycles=Cycles(dsp=linear(196, 82.7)),
    ),
    BlockInstruction(
        "depthwise_finish_two_rows", _FLOAT, partial(_finish, 2, False), DSP_FPU, ((4, 8, -3),),
        cycles=Cycles(dsp=linear(99, 76)),
    ),
    BlockInstruction(
        "depthwise_finish_row", _FLOAT, partial(_finish, 1, False), DSP_FPU, ((3, 8, 5),),
        cycles=Cycles(dsp=linear(76, 45)),
    ),
    BlockInstruction(
        "depthwise_fixed_two_rows", _FIXED, partial(_finish, 2, True), DSP_FPU, ((4, 8, -3, 9),),
        cycles=Cycles(dsp=linear(70, 55)),
    ),
    BlockInstruction(
        "depthwise_fixed_row", _FIXED, partial(_finish, 1, True), DSP_FPU, ((3, 8, 5, 1),),
        cycles=Cycles(dsp=linear(66, 24)),
    ),
    BlockInstruction(
        "depthwise_bytes_two_rows", _BYTES, _bytes_pair, DSP_FPU, ((2, 5, 8, 1, -3), (1, 4, 9, 2, 7)),
        cycles=Cycles(dsp=of_groups(76, 234, 129)),
    ),
)
