"""Block instructions that stage rows of depthwise convolutions as pairs of neighbouring columns.

*Staged rows*: for each group of four channels, for each pair of columns (borders included), four words of signed
halfwords: the pair of each channel. So a dual multiply-accumulate takes two columns of a channel, whatever the rows of
the kernel are. For 3x3 of stride 2 a pair of columns has twelve words: of four channels the first column of rows 0 and
1, then the second, and then both columns of row 2.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.loops import (
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
from .common import param
from .depthwise import LANES, bottoms, tops
from .instruction import DSP_FPU, BlockInstruction

PAIR = 3 * LANES
"""Words of a pair of columns for 3x3 of stride 2."""


def pairs_of(columns: int) -> int:
    """Pairs that so many columns make."""
    return (columns + 1) // 2


def stage_row(groups: int, columns: int, step: int, left: int, right: int, zero_point: int) -> Kernel:
    """One row of ``groups`` times four channels: ``columns`` columns that are ``step`` bytes apart; beside them the
    zero point."""
    x = param("x", DType.I8, (columns - 1) * step + LANES * groups, Access.READ)
    pairs = pairs_of(left + columns + right)
    y = param("y", DType.I32, groups * pairs * LANES, Access.WRITE, 4)
    group = Var("group")

    def staged(pair: Expr, first: Expr | None, second: Expr | None, stem: str) -> Block:
        low, high = (_four(x, column, group, step, zero_point) for column in (first, second))
        return _joined(y, group * (pairs * LANES) + pair * LANES, low, high, stem)

    return Kernel("depthwise_stage_row", (x, y), loop(group, groups, *_pairs(columns, left, right, staged)))


def stage_stride2(groups: int, columns: int, step: int, left: int, right: int, zero_point: int) -> Kernel:
    """The same of three rows, for stride 2; an even number of columns together with those beside."""
    x = tuple(param(f"x{row}", DType.I8, (columns - 1) * step + LANES * groups, Access.READ) for row in range(3))
    pairs = pairs_of(left + columns + right)
    y = param("y", DType.I32, groups * pairs * PAIR, Access.WRITE, 4)
    group = Var("group")

    def staged(pair: Expr, first: Expr | None, second: Expr | None, stem: str) -> Block:
        at = group * (pairs * PAIR) + pair * PAIR
        found = [[_four(row, column, group, step, zero_point) for row in x] for column in (first, second)]
        out: Block = ()
        for number, column in enumerate(found):
            out += _joined(y, at + number * LANES, column[0], column[1], f"{number}{stem}")
        return out + _joined(y, at + 2 * LANES, found[0][2], found[1][2], f"2{stem}")

    return Kernel("depthwise_stage_stride2", (*x, y), loop(group, groups, *_pairs(columns, left, right, staged)))


def fill_stride2(pairs: int, row: int, zero_point: int) -> Kernel:
    """The zero point for one ``row`` of all pairs of columns of stride 2."""
    first, count, kept = (0, 2 * LANES, (-0x10000, 0xFFFF)[row]) if row < 2 else (2 * LANES, LANES, 0)
    y = param("y", DType.I32, pairs * PAIR, Access.READ_WRITE, 4)
    pair, word = Var("pair"), Var("word")
    at = (pair * PAIR + word + first,)
    filled = Const(((zero_point << 16) + (zero_point & 0xFFFF)) & ~kept, I32)
    store = Store(y, at, Binary("or", Binary("and", Load(y, at), Const(kept, I32)), filled))
    return Kernel("depthwise_fill_stride2", (y,), loop(pair, pairs, *loop(word, count, store)))


def _four(x: Buffer, column: Expr | None, group: Expr, step: int, zero_point: int) -> Expr:
    """Four channels of a column, or of the border."""
    if column is None:
        return Const(int.from_bytes(bytes([zero_point & 0xFF] * 4), "little", signed=True), I32)
    return Bitcast(I32, Load(x, (column * step + group * LANES,), LANES))


def _joined(y: Buffer, at: Expr, first: Expr, second: Expr, stem: str) -> Block:
    """Four words from ``at`` on: the channels of ``first`` in their low halves, of ``second`` in their high halves."""
    words = (Var(f"first{stem}", I32), Var(f"second{stem}", I32))
    halves = (Var(f"low{stem}", I32), Var(f"high{stem}", I32))
    lets = (Let(words[0], first), Let(words[1], second), Let(halves[0], bottoms(*words)), Let(halves[1], tops(*words)))
    widened = [Call(row, (half,), I32) for half in halves for row in ("widen_even", "widen_odd")]
    return (*lets, *(Store(y, (at + lane,), word) for lane, word in enumerate(widened)))


def _pairs(
    columns: int, left: int, right: int, staged: Callable[[Expr, Expr | None, Expr | None, str], Block]
) -> Block:
    """``staged(pair, first, second, stem)`` for all pairs of columns; ``None`` is a column of the border."""
    before, between, after = Var("before"), Var("between"), Var("after")
    odd, done = left % 2, pairs_of(left)
    inside, ends = (columns - odd) // 2, (columns - odd) % 2
    out: Block = loop(before, left // 2, *staged(before, None, None, "_before"))
    if odd:
        out += staged(as_expr(left // 2), None, as_expr(0), "_odd")
    out += loop(between, inside, *staged(between + done, between * 2 + odd, between * 2 + (odd + 1), ""))
    done += inside
    if ends:
        out += staged(as_expr(done), as_expr(columns - 1), None, "_even")
        done += 1
    return out + loop(after, pairs_of(left + columns + right) - done, *staged(after + done, None, None, "_after"))


_SCALARS = ("groups", "columns", "step", "left", "right", "zero_point")
ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction("depthwise_stage_row", _SCALARS, stage_row, DSP_FPU, ((2, 5, 8, 1, 2, -3),)),
    BlockInstruction("depthwise_stage_stride2", _SCALARS, stage_stride2, DSP_FPU, ((2, 5, 8, 3, 2, -3),)),
    BlockInstruction("depthwise_fill_stride2", ("pairs", "row", "zero_point"), fill_stride2, DSP_FPU, ((3, 1, -3),)),
)
