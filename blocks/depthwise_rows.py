"""Block instructions of depthwise convolutions on cores with DSP, from rows staged as pairs of neighbouring columns.

*Staged rows*: for each group of four channels, for each pair of columns (borders included), four words of signed
halfwords: the pair of each channel. So a dual multiply-accumulate takes two columns of a channel, whatever the rows of
the kernel are. For 3x3 of stride 2 a pair of columns has twelve words: of four channels the first column of rows 0 and
1, then the second, and then both columns of row 2.

*Windows* of any kernel take one staged row for each of its rows. Outputs are computed in pairs: the first begins at an
even column, the second at the odd one behind it. So the stream has for each channel its bias, and for each row and each
pair of columns under a pair of outputs the bytes ``(w[2t], w[2t - 1], w[2t + 1], w[2t])``, zero beyond the kernel:
``widen_even`` are the weights of the first output, ``widen_odd`` those of the second. Behind them follows, for bytes,
the factor of the requantization (by the rounded upper word).
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.build import ge, lt, maximum, minimum, select, store
from ..ir.loops import I32, Access, Block, Buffer, Call, Expr, If, Kernel, Let, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, both, halves, param, requantized_rounded, signed, when
from .instruction import DSP_FPU, BlockInstruction, Cycles, of_groups
from .tiles import tile_block

LANES = 4
"""Channels that are computed together."""
PAIR = 3 * LANES
"""Words of a pair of columns for 3x3 of stride 2."""
TOGETHER = 8
"""Outputs of a window at a time; half of that where no more are left."""
COLUMN = 2 * LANES
"""Words from the accumulators of an output to those of the next."""


def pairs_of(columns: Number) -> Number:
    """Pairs that so many columns make."""
    return (columns + 1) // 2


def whole(outputs: int) -> int:
    """Outputs of windows that are computed; what is more than ``outputs`` is not wanted."""
    half = TOGETHER // 2
    return -(-outputs // half) * half


def pairs_under(outputs: int, words: int) -> int:
    """Pairs of columns that are staged for a row of outputs, whose windows have ``words`` pairs."""
    return whole(outputs) // 2 + words - 1


def _pairs_under(outputs: Number, words: Number) -> Number:
    return (outputs + 3) // 4 * 2 + words - 1


# ---------------------------------------------------------------- staging


def _column(x: Buffer, at: Expr, columns: Number, left: Number, step: Number, channel: Expr, zero: Number) -> Expr:
    """A channel of column ``at``, of which ``left`` are beyond the border in front of ``columns``."""
    inner = at - left
    place = maximum(minimum(inner, as_expr(columns) - 1), 0)
    inside = ge(inner, 0) & lt(inner, columns)
    return select(inside, signed(x, place * step + channel), I32(zero))


def _stage_row(
    groups: Number, columns: Number, step: Number, left: Number, right: Number, zero_point: Number
) -> Kernel:
    """One row of ``groups`` times four channels: ``columns`` columns that are ``step`` bytes apart; beside them the
    zero point."""
    x = param("x", DType.I8, (columns - 1) * step + groups * LANES, Access.READ)
    pairs = pairs_of(left + columns + right)
    y = param("y", DType.I32, groups * pairs * LANES, Access.WRITE, 4)
    group, pair, lane = Var("group"), Var("pair"), Var("lane")
    ends = [
        _column(x, pair * 2 + n, columns, left, step, group * LANES + lane, zero_point) for n in range(2)
    ]
    stored = store(y[(group * pairs + pair) * LANES + lane], halves(*ends))
    return Kernel("stage_row", (x, y), loop(group, groups, *loop(pair, pairs, *loop(lane, LANES, stored))))


def _stage_stride2(
    groups: Number, columns: Number, step: Number, left: Number, right: Number, zero_point: Number
) -> Kernel:
    """Three rows for stride 2; an even number of columns together with those beside."""
    x = [param(f"x{row}", DType.I8, (columns - 1) * step + groups * LANES, Access.READ) for row in range(3)]
    pairs = pairs_of(left + columns + right)
    y = param("y", DType.I32, groups * pairs * PAIR, Access.WRITE, 4)
    group, pair, lane = Var("group"), Var("pair"), Var("lane")
    seen = [
        [_column(row, pair * 2 + n, columns, left, step, group * LANES + lane, zero_point) for row in x]
        for n in range(2)
    ]
    words = (halves(seen[0][0], seen[0][1]), halves(seen[1][0], seen[1][1]), halves(seen[0][2], seen[1][2]))
    at = (group * pairs + pair) * PAIR + lane
    stores = (store(y[at + n * LANES], word) for n, word in enumerate(words))
    return Kernel("stage_stride2", (*x, y), loop(group, groups, *loop(pair, pairs, *loop(lane, LANES, *stores))))


def _fill_stride2(pairs: Number, row: Number, zero_point: Number) -> Kernel:
    """The zero point for one ``row`` of all pairs of columns of stride 2."""
    y, pair, word = param("y", DType.I32, pairs * PAIR, Access.READ_WRITE, 4), Var("pair"), Var("word")
    at = pair * PAIR + word
    mask = 0xFFFF << I32(row * 16) if isinstance(row, Expr) else I32((0xFFFF, -0x10000, 0)[row])
    old = y[at] & (mask ^ -1)
    zeros = both(zero_point)
    half, whole_word = store(y[at], old | (zeros & mask)), store(y[at + 2 * LANES], zeros)
    body = when("eq", row, 2, loop(word, LANES, whole_word), loop(word, 2 * LANES, half))
    return Kernel("fill_stride2", (y,), loop(pair, pairs, *body))


# ---------------------------------------------------------------- windows


def _windows(
    w: Buffer, x: Buffer, first: Expr, extents: tuple[Number, Number, Number, Number], group: Number | Expr, lane: Expr,
    finish: Callable[[Expr, Expr], Block],
) -> Block:  # fmt: skip
    """All outputs of a channel, whose words begin at ``first``; ``extents`` are groups, outputs, rows and words."""
    groups, outputs, rows, words = extents
    pairs, pair = _pairs_under(outputs, words), Var("pair")

    def products(row: Var, word: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
        four, both_ = Var("four", I32), Var("columns", I32)
        place = ((row * groups + group) * pairs + pair + word) * LANES + lane
        lets = (Let(four, w[first + row * words + word + 1]), Let(both_, x[place]))

        def product(acc: Expr, c: int, p: int) -> Expr:
            return Call("dot2_i16i16", (acc, both_, Call(("widen_even", "widen_odd")[p], (four,), I32)), I32)

        return lets, product

    tile = tile_block(
        (1, 2), (rows, words), lambda c, p: w[first], products, lambda c, p, acc: finish(pair * 2 + p, acc)
    )
    return loop(pair, (outputs + 1) // 2, *tile)


def _window_bytes(
    groups: Number, outputs: Number, rows: Number, words: Number, step: Number, zero_point: Number
) -> Kernel:
    """``groups`` times four channels of pixels that are ``step`` bytes apart."""
    channel = rows * words + 2
    w = param("w", DType.I32, groups * LANES * channel, Access.READ, 4)
    x = param("x", DType.I32, rows * groups * _pairs_under(outputs, words) * LANES, Access.READ, 4)
    y = param("y", DType.I8, (outputs - 1) * step + groups * LANES, Access.WRITE)
    group, lane = Var("group"), Var("lane")
    first = (group * LANES + lane) * channel

    def finish(column: Expr, acc: Expr) -> Block:
        result = requantized_rounded(acc, w[first + (channel - 1)], zero_point)
        stored = store(y[column * step + group * LANES + lane], result)
        return (If(lt(column, outputs), (stored,)),)

    body = _windows(w, x, first, (groups, outputs, rows, words), group, lane, finish)
    return Kernel("window_bytes", (w, x, y), loop(group, groups, *loop(lane, LANES, *body)))


def _window_sums(outputs: Number, rows: Number, words: Number) -> Kernel:
    """The accumulators of four channels, those of an output in place of a column. The number of outputs is a
    :func:`whole` one."""
    channel = rows * words + 1
    w = param("w", DType.I32, channel * LANES, Access.READ, 4)
    x = param("x", DType.I32, rows * _pairs_under(outputs, words) * LANES, Access.READ, 4)
    y, lane = param("y", DType.I32, outputs * COLUMN, Access.WRITE, 4), Var("lane")

    def finish(column: Expr, acc: Expr) -> Block:
        return (store(y[column * COLUMN + lane * 2], acc),)

    body = _windows(w, x, lane * channel, (1, outputs, rows, words), 0, lane, finish)
    return Kernel("window_sums", (w, x, y), loop(lane, LANES, *body))


_STAGE = ("groups", "columns", "step", "left", "right", "zero_point")
_WINDOW = ("groups", "outputs", "rows", "words", "step", "zero_point")
ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "depthwise_stage_row", _STAGE, _stage_row, DSP_FPU, ((2, 5, 8, 1, 2, -3), (1, 4, 4, 0, 0, 3)),
        cycles=Cycles(dsp=of_groups(40, 51, 9)),
    ),
    BlockInstruction(
        "depthwise_stage_stride2", _STAGE, _stage_stride2, DSP_FPU, ((2, 5, 8, 3, 2, -3),),
        cycles=Cycles(dsp=of_groups(88, 86, 22.8)),
    ),
    BlockInstruction(
        "depthwise_fill_stride2", ("pairs", "row", "zero_point"), _fill_stride2, DSP_FPU, ((3, 1, -3), (2, 2, 5))
    ),
    BlockInstruction(
        "depthwise_window_bytes", _WINDOW, _window_bytes, DSP_FPU, ((2, 15, 2, 3, 8, -3),),
        cycles=Cycles(
            dsp=lambda groups, outputs, rows, words, *_: groups * (487 + outputs * (21.4 + 12.6 * rows * words))
        ),
    ),
    BlockInstruction(
        "depthwise_window_sums", ("outputs", "rows", "words"), _window_sums, DSP_FPU, ((12, 2, 3),),
        cycles=Cycles(dsp=lambda outputs, rows, words: 408 + outputs * (8.5 + 13 * rows * words)),
    ),
)
