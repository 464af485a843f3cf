"""Block instructions of cores with Helium: depthwise convolution of bytes, all taps of an output in one instruction.

Rows of the input are *interleaved*: the bytes of up to four rows at one column and channel make a word. The words of up
to four columns under a window, gathered, are sixteen k of an output, and the weights of the channel in the same order
(taps [column, row], zeros where there are fewer than four) its other operand. Of a kernel with at most three rows the
weights of the output one row below are the same, one byte further up in each word. Larger kernels take several such
steps.

The stream of weights is that of ``blocks/helium.py`` for tiles of four channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ..ir.build import store
from ..ir.loops import INDEX, Access, Block, Buffer, Expr, Kernel, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, byte_of, param, signed, when
from .helium import GEMM_4X2, channel_tiles, finished, pad
from .instruction import MVE, BlockInstruction, Cycles, Formula, linear
from .tiles import tile_block

WORD = 4
"""Rows that are interleaved, and columns that are gathered."""
INTERLEAVED = 16
"""Words that are written at once: the last ones may be undefined."""
TILE = GEMM_4X2.tile


def _interleave(size: Number, outside: Number, fill: Number) -> Kernel:
    """Word ``i`` of ``y`` has byte ``i`` of the rows ``x0`` to ``x3``, or ``fill`` for row n where bit n of ``outside``
    is set."""

    def beyond(n: int) -> Number:
        return outside // (1 << n) % 2

    rows = [param(f"x{n}", DType.I8, 0 if beyond(n) == 1 else size, Access.READ) for n in range(WORD)]
    y, i = param("y", DType.I8, pad(size, INTERLEAVED) * WORD, Access.WRITE, 4), Var("i")
    body: Block = ()
    for n, row in enumerate(rows):
        place = (i * WORD + n,)
        body += when("ne", beyond(n), 0, (store(y[place], y.type(fill)),), (store(y[place], row[i]),))
    return Kernel("interleave", (*rows, y), loop(i, size, *body))


def _repeat(size: Number, times: Number) -> Kernel:
    """Each byte ``times`` times, as the channels of an output that see the same channel of the input."""
    x = param("x", DType.I8, size, Access.READ)
    y, i, n = param("y", DType.I8, size * times, Access.WRITE), Var("i"), Var("n")
    return Kernel("repeat", (x, y), loop(i, size, *loop(n, times, store(y[i * times + n], x[i]))))


Places = Callable[[Expr], Expr]
"""Where a word of a window is, by its number among the words of weights of a channel, from the first one on."""


def _depthwise(
    steps: Number, words: Number, place_of: Places, outputs: int, pixels: Number, pixel_step: Number, channels: Number,
    reach: Number, zero_point: Number, lo: Number, fixed: bool, more: Sequence[Buffer] = (), alike: int = 1,
    apart: Number | None = None,
) -> Kernel:  # fmt: skip
    """A row of the output, or with two ``outputs`` also the one below; windows of ``words`` reach as far as ``reach``.
    ``more`` parameters are behind the weights; so many channels ``alike`` see the same words. Results of pixels are
    ``apart``, or else neighbours."""
    apart = channels if apart is None else apart
    w = param("w", DType.I32, GEMM_4X2.size(pad(channels, TILE), steps), Access.READ, 4)
    seen = (pixels - 1) * pixel_step + reach + pad(channels, TILE) // alike
    x = param("x", DType.I8, seen * WORD, Access.READ, 4)
    made = (pixels - 1) * apart + channels
    y = [param(f"y{n}" if outputs > 1 else "y", DType.I8, made, Access.WRITE) for n in range(outputs)]
    pixel = Var("pixel")

    def block(t: Expr, active: Number, stem: str) -> Block:
        at = t * GEMM_4X2.size(TILE, steps)

        def group(number: Var, n: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
            def product(acc: Expr, c: int, p: int) -> Expr:
                weight: Expr = w[_weight(at, number, c)]
                if p:
                    weight = weight << 8
                value = signed(x, (pixel * pixel_step + (t * TILE + c) // alike + place_of(number)) * WORD + n)
                return acc + value * byte_of(weight, n)

            return (), product

        def finish(c: int, p: int, acc: Expr) -> Block:
            result = finished(acc, w[GEMM_4X2.factor(at, steps, c)], zero_point, lo, fixed)
            return when("lt", c, active, (store(y[p][pixel * apart + t * TILE + c], result),))

        return tile_block((TILE, outputs), (words, WORD), lambda c, p: w[at + c], group, finish, stem)

    return Kernel("depthwise", (w, *more, x, *y), loop(pixel, pixels, *channel_tiles(channels, TILE, block)))


def _weight(at: Expr, number: Expr, c: int) -> Expr:
    """Where word ``number`` of the weights of a channel stands."""
    return GEMM_4X2.weight(at, number // GEMM_4X2.words, c, number % GEMM_4X2.words)


def _rows(
    outputs: int, fixed: bool, pixels: Number, pixel_step: Number, tap_step: Number, taps: Number, channels: Number,
    zero_point: Number, lo: Number = -128, *, alike: int = 1,
) -> Kernel:  # fmt: skip
    """One row of the output, or two neighbouring ones."""
    reach = (taps - 1) * tap_step
    return _depthwise(
        1, taps, lambda tap: tap * tap_step, outputs, pixels, pixel_step, channels, reach, zero_point, lo, fixed,
        alike=alike,
    )  # fmt: skip


def _windows(
    fixed: bool, steps: Number, reach: Number, pixels: Number, pixel_step: Number, channels: Number, apart: Number,
    zero_point: Number, lo: Number = -128,
) -> Kernel:  # fmt: skip
    """One row of the output for kernels of any size, whose windows are words ``offsets`` bytes from their first one
    on."""
    offsets = param("offsets", DType.I32, steps * WORD, Access.READ, 4)
    return _depthwise(
        steps, steps * WORD, lambda n: INDEX(offsets[n]) // WORD, 1, pixels, pixel_step, channels, reach, zero_point,
        lo, fixed, (offsets,), apart=apart,
    )  # fmt: skip


def _repeat_cycles(size: int, times: int) -> float:
    """Twice by eight bytes, else by sixteen."""
    return 20 + 6 * -(-size // 8) if times == 2 else 24 + -(-size // 16) * (7 + 8 * times)


def _pixels_cycles(call: float, together: int, pixel: float, tile: float) -> Formula:
    """For some pixels ``together``, by tiles of four channels."""
    return lambda pixels, _, __, ___, channels, *____: (
        call + -(-pixels // together) * (pixel + -(-channels // TILE) * tile)
    )


def _columns_cycles(call: float, tile: float, pixel: float) -> Formula:
    """For tiles of four channels, pixel by pixel."""
    return lambda pixels, _, __, ___, channels, *____: call + -(-channels // TILE) * (tile + pixel * pixels)


def _windows_cycles(call: float, pair: float, tile: float, step: float) -> Formula:
    """For two pixels at a time, by tiles of four channels and steps."""
    return lambda steps, _, pixels, __, channels, *___: (
        call + -(-pixels // 2) * (pair + -(-channels // TILE) * (tile + step * steps))
    )


_ROW = ("pixels", "pixel_step", "tap_step", "taps", "channels", "zero_point", "lo")
_WINDOW = ("steps", "reach", *_ROW[:2], "channels", "apart", *_ROW[5:])
ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "helium_interleave", ("size", "outside", "fill"), _interleave, MVE, ((21, 0b1001, -7),),
        cycles=Cycles(mve=linear(99, 1.2)),
    ),
    BlockInstruction(
        "helium_repeat", ("size", "times"), _repeat, MVE, ((21, 2), (16, 3), (5, 8)),
        cycles=Cycles(mve=_repeat_cycles),
    ),
    BlockInstruction(
        "helium_depthwise_rows", _ROW, partial(_rows, 2, False), MVE, ((5, 12, 6, 3, 6, 1, -128),),
        cycles=Cycles(mve=_pixels_cycles(85, 1, 14.4, 60.2)),
    ),
    BlockInstruction(
        "helium_depthwise_pixels", _ROW, partial(_rows, 1, False), MVE, ((5, 12, 6, 3, 6, 1, -128),),
        cycles=Cycles(mve=_pixels_cycles(88, 2, 21.2, 72.8)),
    ),
    BlockInstruction(
        "helium_depthwise_rows_fixed", _ROW[:-1], partial(_rows, 2, True), MVE, ((5, 12, 6, 3, 6, 1),),
        cycles=Cycles(mve=_pixels_cycles(75, 1, 16.3, 44)),
    ),
    BlockInstruction(
        "helium_depthwise_pixels_fixed", _ROW[:-1], partial(_rows, 1, True), MVE, ((5, 12, 6, 3, 6, 1),),
        cycles=Cycles(mve=_columns_cycles(78, 30, 21)),
    ),
    BlockInstruction(
        "helium_depthwise_pixels_twice_fixed", _ROW[:-1], partial(_rows, 1, True, alike=2), MVE,
        ((5, 12, 6, 3, 6, 1), (1, 12, 6, 3, 8, -3)),
        cycles=Cycles(mve=_columns_cycles(77, 28, 16)),
    ),
    BlockInstruction(
        "helium_depthwise_pixels_four_fixed", _ROW[:-1], partial(_rows, 1, True, alike=4), MVE,
        ((5, 12, 6, 3, 8, 1), (3, 4, 2, 2, 4, -3)),
        cycles=Cycles(mve=_columns_cycles(77, 25, 14)),
    ),
    BlockInstruction(
        "helium_depthwise_windows", _WINDOW, partial(_windows, False), MVE,
        ((2, 90, 5, 12, 6, 6, 1, -128), (2, 90, 4, 12, 8, 21, 1, -128)),
        cycles=Cycles(mve=_windows_cycles(76, 25, 48.7, 43.4)),
    ),
    BlockInstruction(
        "helium_depthwise_windows_fixed", _WINDOW[:-1], partial(_windows, True), MVE,
        ((2, 90, 5, 12, 6, 6, 1), (2, 90, 4, 12, 8, 21, 1)),
        cycles=Cycles(mve=_windows_cycles(76, 25, 38, 43.5)),
    ),
)
