"""Block instructions of depthwise 3x3 convolutions: four channels of one or two rows of outputs at a time.

*Staged columns*: for each column of the input (borders included) and each of four channels two words of signed
halfwords, ``(row 0, row 1)`` and ``(row 2, row 3)``. A dual multiply-accumulate takes two rows of one channel; two rows
of outputs at stride 1 need these four rows, and one row of outputs needs the first three.

*Weights*: for each of the four channels a bias and a word of bytes ``(w0, w1, w1, w2)`` for each column of the kernel,
from top to bottom, so that ``widen_even`` and ``widen_odd`` make the pairs (w0, w1) and (w1, w2) of it. The float32
scales of the four channels follow.

*Accumulators* replace staged columns: output ``j`` of a channel stands where its column ``j`` was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ..ir.loops import (
    F32,
    I32,
    Access,
    Binary,
    Bitcast,
    Block,
    Buffer,
    Call,
    Const,
    Expr,
    Kernel,
    Let,
    Load,
    Store,
    Var,
    as_expr,
)
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import param, requantized, requantized_fixed
from .instruction import DSP_FPU, BlockInstruction

LANES = 4
"""Channels that are computed together."""
COLUMN = 2 * LANES
"""Words of a staged column."""
WEIGHTS = 4 * LANES
"""Words of weights and biases of four channels; as many scales as channels follow."""
STREAM = WEIGHTS + LANES
KERNEL = 3

_LOW, _HIGH = Const(0xFFFF, I32), Const(-0x10000, I32)


def stage(groups: int, columns: int, step: int, left: int, right: int, zero_point: int) -> Kernel:
    """Four rows of ``groups`` times four channels, one group behind the other: ``columns`` columns that are ``step``
    bytes apart; beside them the zero point."""
    width = (columns - 1) * step + LANES * groups
    rows = tuple(param(f"x{r}", DType.I8, width, Access.READ) for r in range(4))
    y = param("y", DType.I32, groups * (left + columns + right) * COLUMN, Access.WRITE, 8)
    both = Const((zero_point << 16) + (zero_point & 0xFFFF), I32)
    group, before, after, column = Var("group"), Var("before"), Var("after"), Var("column")
    start = group * ((left + columns + right) * COLUMN)
    body: Block = ()
    words: dict[int, Expr] = {}
    for half in range(2):
        pair = [Var(f"{row.name}_word", I32) for row in rows[2 * half : 2 * half + 2]]
        for buffer, word in zip(rows[2 * half : 2 * half + 2], pair, strict=True):
            body += (Let(word, Bitcast(I32, Load(buffer, (column * step + group * LANES,), LANES))),)
        for first, join in enumerate((bottoms, tops)):
            joined = Var(f"joined{half}_{first}", I32)
            body += (Let(joined, join(*pair)),)
            for odd, row in enumerate(("widen_even", "widen_odd")):
                words[LANES * first + 2 * odd + half] = Call(row, (joined,), I32)
    found = [Var(f"found{number}", I32) for number in range(COLUMN)]
    body += tuple(Let(name, words[number]) for number, name in enumerate(found))
    body += _column(y, start + column * COLUMN + left * COLUMN, found)
    border = [both] * COLUMN
    block = (
        *loop(before, left, *_column(y, start + before * COLUMN, border)),
        *loop(column, columns, *body),
        *loop(after, right, *_column(y, start + after * COLUMN + (left + columns) * COLUMN, border)),
    )
    return Kernel("depthwise_stage", (*rows, y), loop(group, groups, *block))


def _column(y: Buffer, at: Expr, words: Sequence[Expr]) -> Block:
    return tuple(Store(y, (at + number,), word) for number, word in enumerate(words))


def bottoms(first: Expr, second: Expr) -> Expr:
    """The low halfwords of both, the first in the low half."""
    return Binary("or", Binary("and", first, _LOW), Binary("shl", second, Const(16, I32)))


def tops(first: Expr, second: Expr) -> Expr:
    """The high halfwords of both."""
    low = Binary("and", Binary("shr", first, Const(16, I32)), _LOW)
    return Binary("or", low, Binary("and", second, _HIGH))


def fill(columns: int, half: int, zero_point: int) -> Kernel:
    """The zero point for one row of all columns: in the low or high ``half`` of every second word."""
    y = param("y", DType.I32, (columns - 1) * COLUMN + COLUMN - 1, Access.READ_WRITE, 4)
    column = Var("column")
    kept = _LOW if half else _HIGH
    value = Const(zero_point << 16 if half else zero_point & 0xFFFF, I32)
    stores = []
    for lane in range(LANES):
        at = (column * COLUMN + 2 * lane,)
        stores.append(Store(y, at, Binary("or", Binary("and", Load(y, at), kept), value)))
    return Kernel("depthwise_fill", (y,), loop(column, columns, *stores))


def pair(outputs: int) -> Kernel:
    """The accumulators of two rows of outputs, stride 1: of the upper row and of the lower row."""
    w, x, lane, loads, weights = _operands(outputs + KERNEL - 1)

    def some(column: Expr, count: int, stem: str) -> Block:
        at = column * COLUMN + lane * 2
        out, sums = pair_sums(x, at, loads[0], weights, count, stem)
        for number, rows in enumerate(sums):
            out += tuple(Store(x, (at + (number * COLUMN + row),), value) for row, value in enumerate(rows))
        return out

    body = (*channel(w, lane * (KERNEL + 1), loads, weights), *by_twos(outputs, some))
    return Kernel("depthwise_pair", (w, x), loop(lane, LANES, *body))


def by_twos(outputs: int, some: Callable[[Expr, int, str], Block]) -> Block:
    """``some(column, count, stem)`` for two columns of outputs at a time, and for one where it is left."""
    together = min(outputs, 2)
    step, last = Var("step"), outputs - outputs % together
    block = loop(step, outputs // together, *some(step * together, together, ""))
    return block + (some(as_expr(last), 1, "_last") if outputs % together else ())


def pair_sums(
    x: Buffer, at: Expr, bias: Expr, weights: Sequence[tuple[Var, Var]], count: int, stem: str
) -> tuple[Block, list[list[Expr]]]:
    """The sums of ``count`` outputs of both rows, whose first column is at word ``at``; column of the kernel by column,
    so that neighbours share weights."""
    sums: list[list[Expr]] = [[bias, bias] for _ in range(count)]
    out, columns = _columns(x, at, count + KERNEL - 1, stem)
    for k, (w01, w12) in enumerate(weights):
        for number in range(count):
            (upper, lower), (rows01, rows23) = sums[number], columns[number + k]
            names = (Var(f"upper{number}_{k}{stem}", I32), Var(f"lower{number}_{k}{stem}", I32))
            more = Call("low_by_high", (dot(upper, rows01, w01), rows23, w12), I32)
            less = dot(Call("high_by_low", (lower, rows01, w01), I32), rows23, w12)
            out += (Let(names[0], more), Let(names[1], less))
            sums[number] = [*names]
    return out, sums


def stride2(outputs: int) -> Kernel:
    """The accumulators of one row of outputs, stride 2."""
    w, x, lane, loads, weights = _operands((outputs - 1) * 2 + KERNEL)
    column = Var("column")
    lets, columns = _columns(x, column * (2 * COLUMN) + lane * 2, KERNEL)
    acc: Expr = loads[0]
    for (rows01, rows23), (w01, w12) in zip(columns, weights, strict=True):
        acc = Call("low_by_high", (dot(acc, rows01, w01), rows23, w12), I32)
    found = Var("acc", I32)
    body = (*lets, Let(found, acc), Store(x, (column * COLUMN + lane * 2,), found))
    block = loop(lane, LANES, *channel(w, lane * (KERNEL + 1), loads, weights), *loop(column, outputs, *body))
    return Kernel("depthwise_stride2", (w, x), block)


def _operands(columns: int) -> tuple[Buffer, Buffer, Var, list[Var], list[tuple[Var, Var]]]:
    """Weights, staged columns, the lane, and names for the bias and the weights of a lane."""
    w = param("w", DType.I32, WEIGHTS, Access.READ, 4)
    x = param("x", DType.I32, columns * COLUMN, Access.READ_WRITE, 8)
    weights = [(Var(f"w01_{k}", I32), Var(f"w12_{k}", I32)) for k in range(KERNEL)]
    return w, x, Var("lane"), [Var("bias", I32)], weights


def channel(w: Buffer, at: Expr, bias: list[Var], weights: list[tuple[Var, Var]]) -> Block:
    """The bias and the weights of the channel whose words begin at ``at``."""
    out: Block = (Let(bias[0], Load(w, (at,))),)
    for k, (w01, w12) in enumerate(weights):
        word = Var(f"word_{k}", I32)
        out += (
            Let(word, Load(w, (at + (k + 1),))),
            Let(w01, Call("widen_even", (word,), I32)),
            Let(w12, Call("widen_odd", (word,), I32)),
        )
    return out


def _columns(x: Buffer, at: Expr, count: int, stem: str = "") -> tuple[Block, list[tuple[Var, Var]]]:
    """Staged columns from word ``at`` on."""
    out: Block = ()
    found = []
    for k in range(count):
        rows = (Var(f"rows01_{k}{stem}", I32), Var(f"rows23_{k}{stem}", I32))
        out += tuple(Let(row, Load(x, (at + (k * COLUMN + half),))) for half, row in enumerate(rows))
        found.append(rows)
    return out, found


def dot(acc: Expr, x: Expr, w: Expr) -> Expr:
    return Call("dot2_i16i16", (acc, x, w), I32)


def finish(rows: int, outputs: int, step: int, zero_point: int, shift: int = 0) -> Kernel:
    """Requantizes the accumulators of one or two rows into pixels that are ``step`` bytes apart. Where both rows of
    outputs are at the same place, the upper row counts. With a ``shift`` there are factors in place of scales."""
    scales = param("scales", DType.I32, LANES, Access.READ, 4)
    x = param("x", DType.I32, outputs * COLUMN, Access.READ, 8)
    y = tuple(param(f"y{row}", DType.I8, (outputs - 1) * step + LANES, Access.WRITE) for row in range(rows))
    column = Var("column")
    named = [Var(f"scale{lane}", I32) for lane in range(LANES)]
    lets = tuple(Let(name, Load(scales, (as_expr(lane),))) for lane, name in enumerate(named))
    stores = []
    for row in reversed(range(rows)):
        for lane, scale in enumerate(named):
            acc = Load(x, (column * COLUMN + (2 * lane + row),))
            value = requantized(acc, Bitcast(F32, scale), zero_point)
            if shift:
                value = requantized_fixed(acc, scale, zero_point, shift)
            stores.append(Store(y[row], (column * step + lane,), value))
    return Kernel("depthwise_finish", (scales, x, *y), (*lets, *loop(column, outputs, *stores)))


_FLOAT = ("outputs", "step", "zero_point")
_FIXED = (*_FLOAT, "shift")
ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "depthwise_stage", ("groups", "columns", "step", "left", "right", "zero_point"), stage,
        DSP_FPU, ((2, 5, 8, 1, 1, -3),),
    ),
    BlockInstruction("depthwise_fill", ("columns", "half", "zero_point"), fill, DSP_FPU, ((4, 1, -3),)),
    BlockInstruction("depthwise_pair", ("outputs",), pair, DSP_FPU, ((5,),)),
    BlockInstruction("depthwise_stride2", ("outputs",), stride2, DSP_FPU, ((3,),)),
    BlockInstruction("depthwise_finish_pair", _FLOAT, partial(finish, 2), DSP_FPU, ((4, 8, -3),)),
    BlockInstruction("depthwise_finish_row", _FLOAT, partial(finish, 1), DSP_FPU, ((3, 8, 5),)),
    BlockInstruction("depthwise_fixed_pair", _FIXED, partial(finish, 2), DSP_FPU, ((4, 8, -3, 9),)),
    BlockInstruction("depthwise_fixed_row", _FIXED, partial(finish, 1), DSP_FPU, ((3, 8, 5, 1),)),
)
