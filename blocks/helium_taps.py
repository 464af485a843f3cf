"""The block instruction of cores with Helium for depthwise convolutions of bytes with up to three taps: channels in
lanes, rows of the input as they are.

Sixteen channels are a *tile*, in a stream of words in the order in which they are read::

    weights of each tap          a byte a channel
    for even, then odd channels
        factors                  a halfword a channel
        biases                   a word a channel, of every other one of these first, then of those between

Products of two taps fit a halfword together, if their weights allow it; that sum and the third product are multiplied
by the factor one by one. Biases are ``bias * factor`` with the zero point and the rounding in them.
"""

from __future__ import annotations

import numpy as np

from ..ir.build import store
from ..ir.loops import I32, Access, Expr, Kernel, Let, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, byte_of, clamped, param, signed
from .instruction import MVE, BlockInstruction, Cycles

TAPS = 3
TILE = 16
WORDS = 36
"""Of a tile."""
FACTORS, BIASES, PARITY = 12, 16, 12
"""Where factors and biases of even channels begin, and how far behind are those of odd ones."""
SHIFT = 16
"""What sums are shifted by besides the argument: halfwords are left of them."""
LARGEST_PAIR = 255
"""Of the absolute weights of the first two taps, whose products with bytes share a halfword."""


def pack(weights: np.ndarray, factors: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The stream for weights [channel, tap], factors and biases [channel]; what fills no tile is zero."""
    tiles = -(-len(weights) // TILE)
    taps, halfwords, words = (
        np.zeros((tiles * TILE, *array.shape[1:]), dtype)
        for array, dtype in ((weights, np.int8), (factors, np.int16), (bias, np.int32))
    )
    taps[: len(weights)], halfwords[: len(factors)], words[: len(bias)] = weights, factors, bias
    parts = [np.ascontiguousarray(taps.reshape(tiles, TILE, TAPS).transpose(0, 2, 1)).view("<i4").reshape(tiles, -1)]
    for parity in range(2):
        parts.append(np.ascontiguousarray(halfwords.reshape(tiles, TILE)[:, parity::2]).view("<i4"))
        parts += [words.reshape(tiles, TILE)[:, parity + 2 * n :: 4] for n in range(2)]
    return np.concatenate(parts, axis=1).reshape(-1)


def _taps(pixels: Number, pixel_step: Number, channels: Number, shift: Number) -> Kernel:
    """Neighbouring pixels of ``y``, which are ``pixel_step`` bytes apart in the operands; ``x0`` to ``x2`` are what the
    taps of the first pixel see: ``clamp((x0 * w0 + x1 * w1 + x2 * w2) * factor + bias >> 16 + shift)``."""
    tiles = (channels + (TILE - 1)) // TILE
    w = param("w", DType.I32, tiles * WORDS, Access.READ, 4)
    x = [param(f"x{n}", DType.I8, (pixels - 1) * pixel_step + channels, Access.READ) for n in range(TAPS)]
    y = param("y", DType.I8, pixels * channels, Access.WRITE)
    pixel, c = Var("pixel"), Var("c")
    first, lane = c // TILE * WORDS, c % TILE
    behind = first + lane % 2 * PARITY
    place = lane // 2
    half = w[behind + FACTORS + place // 2] << I32(16 - place % 2 * 16) >> 16
    bias = w[behind + BIASES + place % 2 * 4 + place // 2]

    products = [
        signed(x[n], pixel * pixel_step + c) * byte_of(w[first + n * (TILE // 4) + lane // 4], lane % 4)
        for n in range(TAPS)
    ]
    scaled, offset = Var("scaled", I32), Var("offset", I32)
    total: Expr = products[0] + products[1] + products[2]
    halved = (scaled >> 1) + (offset >> 1) + (scaled & offset & 1)
    lets = (Let(scaled, total * half), Let(offset, bias))
    result = store(y[pixel * channels + c], clamped(halved >> I32(shift + (SHIFT - 1))))
    return Kernel("taps", (w, *x, y), loop(pixel, pixels, *loop(c, channels, *lets, result)))


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "helium_depthwise_taps", ("pixels", "pixel_step", "channels", "shift"), _taps, MVE,
        ((3, 5, 5, 1), (2, 40, 20, 8), (2, 32, 32, 5)),
        cycles=Cycles(mve=lambda pixels, _, channels, __: 74 + pixels * (13 + 52 * -(-channels // TILE))),
    ),
)
