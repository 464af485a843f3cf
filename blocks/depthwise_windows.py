"""Block instructions of depthwise convolutions with any kernel on cores with DSP: windows of up to sixteen channels.

*Staged windows*: input rows are copied, borders included, so that for each column there is a *cell* of sixteen bytes,
four groups of four channels, for each row of the kernel. A column has its cells side by side, in the order of rows, so
the taps of a window are neighbouring cells, whatever kernel, stride and dilation are; the next window begins as many
cells further on as the columns between them have.

*Stream of weights*, for each group of four channels: four biases; for each pair of taps four words (the halfwords of
both taps) of a channel each; for the last tap two words, of channels 0 and 2 and of channels 1 and 3; and, for bytes,
the four factors of the requantization (by the rounded upper word). Of an even number of taps the last is zero.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.build import store
from ..ir.loops import I32, Access, Block, Buffer, Call, Expr, Kernel, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, clamped, halves, high_half, low_half, param, requantized_rounded, signed
from .instruction import DSP_FPU, BlockInstruction, Cycles
from .tiles import tile_block

LANES = 4
"""Channels that are computed together."""
GROUPS = 4
"""Of so many channels in a cell, at most."""
CELL = GROUPS * LANES
"""Bytes of a cell."""
NINE_TAPS = 4
"""Pairs of nine taps, which have a block of their own: 3x3 is the usual kernel."""
FAR = 1 << 16
"""Distances in bytes that ``depthwise_window_bytes_9`` does not take."""
COLUMN = 2 * LANES
"""Words from the accumulators of an output to those of the next."""


def pairs_of(taps: int) -> int:
    """Pairs of taps in the stream of weights; one more tap follows."""
    return max(taps // 2, 1)


def group_words(pairs: Number, factors: bool) -> Number:
    """Words of the stream for four channels."""
    return pairs * LANES + (LANES + 2 + LANES * factors)


# ---------------------------------------------------------------- staging


def _stage_row(
    groups: Number, columns: Number, step: Number, left: Number, right: Number, apart: Number, zero_point: Number
) -> Kernel:
    """One row of ``groups`` times four channels: ``columns`` columns that are ``step`` bytes apart to cells that are
    ``apart`` bytes apart; beside them cells of the zero point."""
    size = (columns - 1) * step + groups * LANES
    x = param("x", DType.I8, max(size, 1) if isinstance(size, int) else size, Access.READ)
    y = param("y", DType.I8, (left + columns + right - 1) * apart + CELL, Access.WRITE, 4)
    column, byte = Var("column"), Var("byte")

    def border(column: Var, first: Number, count: Number) -> Block:
        place = (first + column) * apart
        return loop(column, count, *loop(byte, CELL, store(y[place + byte], clamped(I32(zero_point)))))

    copied = store(y[(left + column) * apart + byte], x[column * step + byte])
    body = (
        *border(Var("before"), 0, left),
        *loop(column, columns, *loop(byte, groups * LANES, copied)),
        *border(Var("after"), left + columns, right),
    )
    return Kernel("stage_row", (x, y), body)


# ---------------------------------------------------------------- windows


def _windows(
    w: Buffer, x: Buffer, first: Expr, cell: Expr, pairs: Number, finish: Callable[[int, Expr], Block]
) -> Block:
    """Four channels of an output: the words of weights begin at ``first``, the bytes of the window at ``cell``."""

    def taps(pair: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
        def product(acc: Expr, lane: int, _: int) -> Expr:
            ends = (signed(x, cell + pair * (2 * CELL) + (lane + end * CELL)) for end in range(2))
            return Call("dot2_i16i16", (acc, halves(*ends), w[first + pair * LANES + (LANES + lane)]), I32)

        return (), product

    def last(lane: int, acc: Expr) -> Block:
        word = w[first + pairs * LANES + (LANES + lane % 2)]
        weight = high_half(word) if lane // 2 else low_half(word)
        return finish(lane, acc + signed(x, cell + pairs * (2 * CELL) + lane) * weight)

    return tile_block(
        (LANES, 1), (pairs,), lambda lane, _: w[first + lane], taps, lambda lane, _, acc: last(lane, acc)
    )


def _operands(outputs: Number, pairs: Number, advance: Number, groups: Number, factors: bool) -> tuple[Buffer, Buffer]:
    """The parameters for weights and for cells, of which windows are ``advance`` bytes apart."""
    w = param("w", DType.I32, groups * group_words(pairs, factors), Access.READ, 4)
    bytes_ = (outputs - 1) * advance + pairs * (2 * CELL) + groups * LANES
    return w, param("x", DType.I8, bytes_, Access.READ, 4)


def _window_bytes(
    groups: Number, outputs: Number, pairs: Number, advance: Number, step: Number, zero_point: Number, apart: Number = 1
) -> Kernel:
    """``groups`` times four channels, ``apart`` bytes apart, of ``outputs`` pixels that are ``step`` bytes apart."""
    w, x = _operands(outputs, pairs, advance, groups, True)
    y = param("y", DType.I8, (outputs - 1) * step + (groups * LANES - 1) * apart + 1, Access.WRITE)
    group, output = Var("group"), Var("output")
    first = group * group_words(pairs, True)
    factors = first + group_words(pairs, False)

    def finish(lane: int, acc: Expr) -> Block:
        result = requantized_rounded(acc, w[factors + lane], zero_point)
        return (store(y[output * step + (group * LANES + lane) * apart], result),)

    body = _windows(w, x, first, output * advance + group * LANES, pairs, finish)
    return Kernel("window_bytes", (w, x, y), loop(group, groups, *loop(output, outputs, *body)))


def _window_bytes_9(groups: Number, outputs: Number, advance: Number, step: Number, zero_point: Number) -> Kernel:
    """The same for four pairs of taps and one more; ``advance`` and ``step`` are below :data:`FAR`."""
    return _window_bytes(groups, outputs, NINE_TAPS, advance, step, zero_point)


def _window_sums(outputs: Number, pairs: Number, advance: Number) -> Kernel:
    """The accumulators of four channels."""
    w, x = _operands(outputs, pairs, advance, 1, False)
    y, output = param("y", DType.I32, outputs * COLUMN, Access.WRITE, 4), Var("output")

    def finish(lane: int, acc: Expr) -> Block:
        return (store(y[output * COLUMN + lane * 2], acc),)

    body = _windows(w, x, as_expr(0), output * advance, pairs, finish)
    return Kernel("window_sums", (w, x, y), loop(output, outputs, *body))


_STAGE = ("cell_groups", "columns", "step", "left", "right", "apart", "zero_point")
_WINDOW = ("groups", "outputs", "pairs", "advance", "step", "zero_point")


def _fours(pairs: int) -> int:
    return (pairs + 3) // 4


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "depthwise_stage_row", _STAGE, _stage_row, DSP_FPU,
        ((1, 4, 19, 0, 1, 48, -3), (2, 3, 19, 1, 2, 48, -3), (3, 2, 19, 2, 0, 48, -3), (4, 3, 19, 1, 0, 48, -3),
         (4, 3, 32, 0, 1, 32, -128), (2, 0, 8, 3, 0, 16, 127)),
        cycles=Cycles(
            dsp=lambda groups, columns, _, left, right, *__:
                77 + columns * min(6.7 + 2.6 * groups, 14.3) + 9 * (left + right)
        ),
    ),
    BlockInstruction(
        "depthwise_window_bytes", _WINDOW, _window_bytes, DSP_FPU, ((2, 5, 4, 96, 8, -3), (1, 3, 7, 32, 6, 5)),
        cycles=Cycles(
            dsp=lambda groups, outputs, pairs, *_:
                91 + groups * (25 + outputs * (51.5 + 18.1 * pairs + 4.6 * _fours(pairs)))
        ),
    ),
    BlockInstruction(
        "depthwise_window_bytes_9", ("groups", "outputs", "advance", "step", "zero_point"), _window_bytes_9, DSP_FPU,
        ((2, 5, 96, 8, -3), (1, 3, 32, 6, 5)),
        cycles=Cycles(dsp=lambda groups, outputs, *_: 60 + groups * (24 + 114 * outputs)),
    ),
    BlockInstruction(
        "depthwise_window_bytes_apart", (*_WINDOW, "apart"), _window_bytes, DSP_FPU,
        ((2, 5, 4, 96, 16, -3, 2), (1, 3, 7, 32, 12, 5, 3)),
        cycles=Cycles(
            dsp=lambda groups, outputs, pairs, *_:
                91 + groups * (25 + outputs * (53 + 18.1 * pairs + 4.6 * _fours(pairs)))
        ),
    ),
    BlockInstruction(
        "depthwise_window_sums", ("outputs", "pairs", "advance"), _window_sums, DSP_FPU, ((3, 2, 80), (4, 5, 48)),
        cycles=Cycles(dsp=lambda outputs, pairs, _: 68 + outputs * (36 + 18 * pairs + 5.1 * _fours(pairs))),
    ),
)  # fmt: skip
