"""Block instructions of cores with Helium for depthwise convolutions of bytes with few taps: channels in lanes, rows of
the input as they are.

Sixteen channels are a *tile*, in a stream of words in the order in which they are read::

    weights of each tap          a byte a channel
    for even, then odd channels
        factors                  a halfword a channel
        biases                   a word a channel, of every other one of these first, then of those between

Products of two taps fit a halfword together, if their weights allow it; that sum and the third product are multiplied
by the factor one by one. Biases are ``bias * factor`` with the zero point and the rounding in them.

Rows named ``halfword`` have halfwords of the products with factors. In place of a word their streams have two
halfwords, each as the factors are: what is added before these products, and behind them. Most sums fit a halfword;
assembly sees which do not, and takes another way there. ``helium_depthwise_nine_halfword`` has nine taps, the others
three.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from operator import add

import numpy as np

from ..ir.build import maximum, minimum, store
from ..ir.loops import I32, Access, Block, Call, Expr, Kernel, Let, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, byte_of, clamped, param, power, signed
from .instruction import MVE, BlockInstruction, Cycles

TAPS, NINE = 3, 9
TILE = 16
BIASES, PARITY = 4, 12
"""How far behind the factors of even channels their biases begin, and how far those of odd ones."""
SHIFT = 16
"""What sums are shifted by besides the argument: halfwords are left of them."""
SHIFTS = (5, 6, 7, 8)
"""What halfwords of three taps are shifted by, as the last number in the names of blocks."""
FACTOR_SHIFT = 15
"""What products of halfwords and factors are shifted by, in rows that keep halfwords."""
LARGEST_PAIR = 255
"""Of the absolute weights of the first two taps, whose products with bytes share a halfword."""


def _factors(taps: int) -> int:
    """Where the factors of even channels begin."""
    return taps * TILE // 4


def _words(taps: int) -> int:
    """Of a tile."""
    return _factors(taps) + 2 * PARITY


def pack(weights: np.ndarray, factors: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The stream for weights [channel, tap], factors and biases [channel]; what fills no tile is zero."""
    tiles, count = -(-len(weights) // TILE), weights.shape[1]
    taps, halfwords, words = (
        np.zeros((tiles * TILE, *array.shape[1:]), dtype)
        for array, dtype in ((weights, np.int8), (factors, np.int16), (bias, np.int32))
    )
    taps[: len(weights)], halfwords[: len(factors)], words[: len(bias)] = weights, factors, bias
    parts = [np.ascontiguousarray(taps.reshape(tiles, TILE, count).transpose(0, 2, 1)).view("<i4").reshape(tiles, -1)]
    for parity in range(2):
        parts.append(np.ascontiguousarray(halfwords.reshape(tiles, TILE)[:, parity::2]).view("<i4"))
        parts += [words.reshape(tiles, TILE)[:, parity + 2 * n :: 4] for n in range(2)]
    return np.concatenate(parts, axis=1).reshape(-1)


def pack_halfwords(weights: np.ndarray, factors: np.ndarray, before: np.ndarray, behind: np.ndarray) -> np.ndarray:
    """The stream of rows that keep halfwords, whose numbers for each channel are all halfwords."""
    low, high = (np.zeros(-(-len(weights) // TILE) * TILE, np.int16) for _ in range(2))
    low[: len(before)], high[: len(behind)] = before, behind
    stream = pack(weights, factors, np.zeros(len(weights), np.int32)).reshape(-1, _words(weights.shape[1]))
    for parity in range(2):
        for place, halfwords in ((BIASES, low), (2 * BIASES, high)):
            first = _factors(weights.shape[1]) + place + parity * PARITY
            each = np.ascontiguousarray(halfwords.reshape(-1, TILE)[:, parity::2]).view("<i4")
            stream[:, first : first + 4] = each
    return stream.reshape(-1)


_Total = Callable[[Expr], Expr]


def _each(
    taps: int, pixels: Number, pixel_step: Number, channels: Number,
    finish: Callable[[_Total, Expr, Expr], tuple[Block, Expr]],
) -> Kernel:  # fmt: skip
    """Neighbouring pixels of ``y``, which are ``pixel_step`` bytes apart in the operands; ``x0``, ``x1`` and so on are
    what the ``taps`` of the first pixel see. ``finish`` makes a byte of the sum of products, with the numbers of its
    channel: a function that has a word of the stream, from its factors on, and the lane among its parity."""
    tiles = (channels + (TILE - 1)) // TILE
    w = param("w", DType.I32, tiles * _words(taps), Access.READ, 4)
    x = [param(f"x{n}", DType.I8, (pixels - 1) * pixel_step + channels, Access.READ) for n in range(taps)]
    y = param("y", DType.I8, pixels * channels, Access.WRITE)
    pixel, c = Var("pixel"), Var("c")
    first, lane = c // TILE * _words(taps), c % TILE
    behind = first + lane % 2 * PARITY + _factors(taps)

    products = [
        signed(x[n], pixel * pixel_step + c) * byte_of(w[first + n * (TILE // 4) + lane // 4], lane % 4)
        for n in range(taps)
    ]
    total = reduce(add, products)
    lets, byte = finish(lambda place: w[behind + place], lane // 2, total)
    result = store(y[pixel * channels + c], byte)
    return Kernel("taps", (w, *x, y), loop(pixel, pixels, *loop(c, channels, *lets, result)))


def _halfword(word: _Total, begin: int, place: Expr) -> Expr:
    return word(place // 2 + begin) << I32(16 - place % 2 * 16) >> 16


def _taps(pixels: Number, pixel_step: Number, channels: Number, shift: Number) -> Kernel:
    """``clamp((x0 * w0 + x1 * w1 + x2 * w2) * factor + bias >> 16 + shift)``"""

    def finish(word: _Total, place: Expr, total: Expr) -> tuple[Block, Expr]:
        scaled, offset = Var("scaled", I32), Var("offset", I32)
        lets = (
            Let(scaled, total * _halfword(word, 0, place)),
            Let(offset, word(place % 2 * 4 + place // 2 + BIASES)),
        )
        halved = (scaled >> 1) + (offset >> 1) + (scaled & offset & 1)
        return lets, clamped(halved >> I32(shift + (SHIFT - 1)))

    return _each(TAPS, pixels, pixel_step, channels, finish)


def _halfwords(taps: int, pixels: Number, pixel_step: Number, channels: Number, shift: Number) -> Kernel:
    """``clamp(sat(sat((x0 * w0 + x1 * w1 + ... + before) * factor >> 15) + behind) + half >> shift)`` with
    halfwords that saturate."""

    def saturated(value: Expr) -> Expr:
        return minimum(maximum(value, I32(-(1 << 15))), I32((1 << 15) - 1))

    def finish(word: _Total, place: Expr, total: Expr) -> tuple[Block, Expr]:
        factor, before, behind = (_halfword(word, begin, place) for begin in (0, BIASES, 2 * BIASES))
        scaled = Var("scaled", I32)
        # The upper word of twice the sum and the factor as an upper halfword: a sum of nine takes more than 16 bits.
        product = Call("mul_high", ((total + before) << 1, factor << FACTOR_SHIFT + 1), I32)
        let = Let(scaled, saturated(product))
        return (let,), clamped((saturated(scaled + behind) + power(shift - 1)) >> I32(shift))

    return _each(taps, pixels, pixel_step, channels, finish)


def _halfword_cycles(pixels: int, _: int, channels: int) -> float:
    """Two pixels at a time, but for channels that fill no tile."""
    pairs, alone = divmod(pixels, 2)
    whole, rest = divmod(channels, TILE)
    filling = min(rest, 1)
    return 78 + pairs * (20 + 65 * whole + 156 * filling) + alone * (15 + 62 * (whole + filling))


def _nine_cycles(pixels: int, _: int, channels: int, __: int) -> float:
    whole, rest = divmod(channels, TILE)
    return 88 + pixels * (32 + 78 * whole + 337 * min(rest, 1))


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "helium_depthwise_taps", ("pixels", "pixel_step", "channels", "shift"), _taps, MVE,
        ((3, 5, 5, 1), (2, 40, 20, 8), (2, 32, 32, 5)),
        cycles=Cycles(mve=lambda pixels, _, channels, __: 74 + pixels * (13 + 52 * -(-channels // TILE))),
    ),
    *(
        BlockInstruction(
            f"helium_depthwise_taps_halfword_{shift}", ("pixels", "pixel_step", "channels"),
            partial(_halfwords, TAPS, shift=shift), MVE, ((3, 5, 5), (2, 40, 20), (2, 32, 32), (5, 48, 48)),
            cycles=Cycles(mve=_halfword_cycles),
        )
        for shift in SHIFTS
    ),
    BlockInstruction(
        "helium_depthwise_nine_halfword", ("pixels", "pixel_step", "channels", "shift"), partial(_halfwords, NINE), MVE,
        ((3, 5, 5, 4), (2, 40, 20, 8), (1, 32, 32, 2), (5, 48, 48, 6)),
        cycles=Cycles(mve=_nine_cycles),
    ),
)
