"""Block instructions of cores without packed arithmetic: contractions of bytes for four pixels at a time.

*Staged activations* of four pixels are a word ``a + b * 2^16`` for each two of them and each k, of bytes plus 128. With
weights plus 128, a product of the two holds both, each below 2^16; a sum of such words and one of their upper halves
give the sums of both, modulo 2^32. So one multiplication makes two products, where it takes a cycle and one that
accumulates takes two. The blocks take off 128 times the sum of a pixel's activations themselves.

``gemm_1x4_pairs`` takes one channel at a time, ``gemm_2x4_pairs`` (cores that can address all registers) two, which
share the activations; their weights stand side by side.

``gemm_4x1_words``: one pixel in words behind a first one, which takes off what the offset of the weights adds, by four
channels at a time, whose weights stand side by side.

``gemm_4x1_bytes``: the same where the words are bytes. Of a halfword of two weights, one product with it adds to
``256 * s1 + s0``, one with its low byte to ``s0``, so that half of the loads are saved; that needs sums below 2^23, as
those of 511 bytes are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..ir.build import gt, store
from ..ir.loops import I8, I32, U32, Access, Alloc, Block, Buffer, Call, Expr, If, Kernel, Let, Load, Space, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, clamped, param, requantized_fixed, signed, word_of
from .instruction import LONG, THUMB, BlockInstruction, Cycles, Formula, of_fours, of_groups, of_tiles
from .tiles import tile_block

PIXELS = 4
"""Pixels that are multiplied together."""
PAIR_CHANNELS = 2
"""Channels that ``gemm_2x4_pairs`` multiplies together."""
ONE_PIXEL_CHANNELS = 4
"""Channels that ``gemm_4x1_words`` multiplies together."""
WEIGHT_OFFSET = 128


def offset_weights(columns: np.ndarray) -> np.ndarray:
    """Weights [o, k] as unsigned bytes, channel by channel."""
    return (columns.astype(np.int16) + WEIGHT_OFFSET).astype(np.uint8)


def tiled_weights(columns: np.ndarray) -> np.ndarray:
    """Weights [o, k] as unsigned bytes, side by side for the channels of a tile; what is missing of a tile is zero."""
    padded = np.zeros((-(-len(columns) // ONE_PIXEL_CHANNELS) * ONE_PIXEL_CHANNELS, columns.shape[1]), np.int16)
    padded[: len(columns)] = columns
    return offset_weights(padded.reshape(-1, ONE_PIXEL_CHANNELS, columns.shape[1]).transpose(0, 2, 1)).reshape(-1)


def paired_weights(columns: np.ndarray) -> np.ndarray:
    """Weights [o, k] as unsigned bytes, those of two channels side by side."""
    even, steps = len(columns) // PAIR_CHANNELS * PAIR_CHANNELS, columns.shape[1]
    pairs = columns[:even].reshape(-1, PAIR_CHANNELS, steps).transpose(0, 2, 1).reshape(even, steps)
    return offset_weights(np.concatenate([pairs, columns[even:]]))


def paired_bias(bias: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Biases [o, 1] for activations plus 128."""
    return np.asarray((bias - 128 * columns.astype(np.int64).sum(axis=1)).astype(np.int32)[:, None])


# ---------------------------------------------------------------- staging


def _spread(count: Number) -> Kernel:
    """Bytes as words, and their sum times -128 added to ``total``."""
    x = param("x", DType.I8, count, Access.READ)
    y = param("y", DType.I32, count, Access.WRITE)
    total, i, word = param("total", DType.I32, 1, Access.READ_WRITE), Var("i"), Var("word", I32)
    acc = Buffer("acc", I32, (1,), Space.REG)
    added = store(acc[0], acc[0] + word)
    body = loop(i, count, Let(word, signed(x, i)), store(y[i], word), added)
    taken = total[0] + acc[0] * -WEIGHT_OFFSET
    block = (Alloc(acc), store(acc[0], 0), *body, store(total[0], taken))
    return Kernel("spread", (x, y, total), block)


def _pack(count: Number) -> Kernel:
    """Bytes plus 128 into one byte of every second word."""
    x = param("x", DType.I8, count, Access.READ)
    y, i = param("y", DType.I8, (count - 1) * 8 + 1, Access.WRITE), Var("i")
    flipped = x[i] ^ I8(-WEIGHT_OFFSET)
    return Kernel("pack", (x, y), loop(i, count, store(y[i * 8], flipped)))


# ---------------------------------------------------------------- contraction


def _words_4x1(align: int, steps: Number, channels: Number) -> Kernel:
    """``channels`` in whole tiles."""
    tile, t, value = ONE_PIXEL_CHANNELS, Var("t"), Var("x_k", I32)
    b = param("b", DType.I32, channels, Access.READ)
    w = param("w", DType.U8, channels * steps, Access.READ, align)
    x = param("x", DType.I32, steps + 1, Access.READ)
    y = param("y", DType.I32, channels, Access.WRITE)

    def group(k: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
        def product(acc: Expr, c: int, _: int) -> Expr:
            return acc + I32(w[(t * steps + k) * tile + c]) * value

        return (Let(value, x[k + 1]),), product

    def start(c: int, _: int) -> Expr:
        return b[t * tile + c] + x[0]

    body = tile_block((tile, 1), (steps,), start, group, lambda c, _, acc: (store(y[t * tile + c], acc),))
    return Kernel("gemm_4x1_words", (b, w, x, y), loop(t, channels // tile, *body))


def _pairs(channels_of_tile: int, steps: Number, channels: Number) -> Kernel:
    """Even sums are those of words, odd ones those of upper halves, which are taken off the even ones at the end."""
    b = param("b", DType.I32, channels, Access.READ)
    w = param("w", DType.U8, channels * steps, Access.READ)
    x = param("x", DType.I8, steps * 8, Access.READ, 8)
    y, full = param("y", DType.I32, channels * PIXELS, Access.WRITE), channels // channels_of_tile
    totals, step = Buffer("totals", I32, (PIXELS,), Space.REG), Var("step")

    def part(word: Expr, p: int) -> Expr:
        return I32(U32(word) >> 16) if p % 2 else word

    def taken(p: int, values: Buffer, *lead: int) -> Expr:
        return values[(*lead, p)] if p % 2 else values[(*lead, p)] - (values[(*lead, p + 1)] << 16)

    def tile(width: int, first: Expr, stem: str) -> Block:
        def group(k: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
            products = [[Var(f"product{c}{n}{stem}", I32) for n in range(2)] for c in range(width)]
            lets = tuple(
                Let(products[c][n], word_of(x, k * 8 + 4 * n) * I32(w[first * steps + k * width + c]))
                for c in range(width) for n in range(2)
            )  # fmt: skip
            return lets, lambda acc, c, p: acc + part(products[c][p // 2], p)

        def finish(c: int, p: int, acc: Expr) -> Block:
            assert isinstance(acc, Load)
            value = b[first + c] + taken(p, acc.buffer, c) - (taken(p, totals) << 7)
            return (store(y[(first + c) * PIXELS + p], value),)

        return tile_block((width, PIXELS), (steps,), lambda c, _: I32(0), group, finish, stem)

    t, last = Var("t"), Var("last")
    adds = (store(totals[p], totals[p] + part(word_of(x, step * 8 + p // 2 * 4), p)) for p in range(PIXELS))
    added = (Alloc(totals), *(store(totals[p], 0) for p in range(PIXELS)), *loop(step, steps, *adds))
    block = (*added, *loop(t, full, *tile(channels_of_tile, t * channels_of_tile, "")))
    if channels_of_tile > 1:
        block += loop(last, channels % channels_of_tile, *tile(1, last + full * channels_of_tile, "_last"))
    return Kernel("gemm_pairs", (b, w, x, y), block)


# ---------------------------------------------------------------- requantization


def _requantize(fixed: bool, channels: Number, pixels: Number, lanes: Number, step: Number, zero: Number) -> Kernel:
    """Accumulators [channel, lanes] as bytes of ``pixels`` that are ``step`` apart. ``s`` has the factor and the shift
    of each channel, as ``scale_round`` takes them; ``fixed``: all shifts are positive."""
    a = param("a", DType.I32, channels * lanes, Access.READ)
    s = param("s", DType.I32, channels * 2, Access.READ)
    y = param("y", DType.I8, (pixels - 1) * step + channels, Access.WRITE)
    c, factor, shift, half = Var("c"), Var("factor", I32), Var("shift", I32), Var("half", I32)

    def results(value: Callable[[Expr], Expr], p: Var) -> Block:
        steps = value(a[c * lanes + p]) + I32(zero)
        return loop(p, pixels, store(y[c + p * step], clamped(steps)))

    def by_multiplier(acc: Expr) -> Expr:
        return (Call("mul_high", (acc, factor), I32) + half) >> shift

    body: Block = (Let(half, 1 << (shift - 1)), *results(by_multiplier, Var("p_fixed")))
    if not fixed:
        floats = results(lambda acc: Call("scale_round", (acc, factor, shift), I32), Var("p_float"))
        body = (If(gt(shift, 0), body, floats),)
    lets = (Let(factor, s[c * 2]), Let(shift, s[c * 2 + 1]))
    return Kernel("requantize", (a, s, y), loop(c, channels, *lets, *body))


def _requantize_halfword(
    channels: Number, pixels: Number, lanes: Number, step: Number, zero: Number, shift: Number
) -> Kernel:
    """The same with factors ``s`` of 15 bits, which stand for ``s << 16``, and one shift."""
    a = param("a", DType.I32, channels * lanes, Access.READ)
    s = param("s", DType.I16, channels, Access.READ)
    y = param("y", DType.I8, (pixels - 1) * step + channels, Access.WRITE)
    c, p, factor = Var("c"), Var("p"), Var("factor", I32)
    widened = Let(factor, I32(s[c]) << 16)
    result = requantized_fixed(a[c * lanes + p], factor, zero, shift)
    stored = loop(p, pixels, store(y[c + p * step], result))
    return Kernel("requantize", (a, s, y), loop(c, channels, widened, *stored))


def _requantize_cycles(call: float, one: float, four: float, channel: float, each: float) -> Formula:
    """For a channel of one pixel, of four, and of as many as there are."""
    known = {1: one, 4: four}
    return lambda channels, pixels, *_: call + channels * known.get(pixels, channel + each * pixels)


def _pairs_cycles(steps: int, channels: int) -> float:
    """Activations are added up once, then multiplied for two channels at a time."""
    pairs, alone = divmod(channels, PAIR_CHANNELS)
    return 118 + 8.6 * steps + pairs * (52 + 18.7 * steps) + alone * (36 + 10.7 * steps)


_WORDS, _REQUANTIZE = ("steps", "channels"), ("channels", "pixels", "lanes", "step", "zero_point")
ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction("spread", ("count",), _spread, THUMB, ((5,),)),
    BlockInstruction(
        "pack", ("count",), _pack, THUMB, ((3,),),
        cycles=Cycles(of_fours(30, 23, 10.7), of_fours(12, 18.3, 9.1)),
    ),
    BlockInstruction(
        "gemm_1x4_pairs", _WORDS, partial(_pairs, 1), THUMB, ((13, 3),),
        cycles=Cycles(lambda steps, channels: 121 + 10 * steps + channels * (53.6 + 13.1 * steps)),
    ),
    BlockInstruction(
        "gemm_2x4_pairs", _WORDS, partial(_pairs, PAIR_CHANNELS), LONG, ((13, 3),),
        cycles=Cycles(long_multiply=_pairs_cycles),
    ),
    BlockInstruction(
        "gemm_4x1_words", _WORDS, partial(_words_4x1, 0), THUMB, ((13, 8),),
        cycles=Cycles(of_tiles(98, 4, 42, 17.9), of_tiles(69, 4, 33, 15.8)),
    ),
    BlockInstruction(
        "gemm_4x1_bytes", _WORDS, partial(_words_4x1, 2), THUMB, ((13, 8),), cycles=Cycles(of_tiles(98, 4, 57, 15.9))
    ),
    BlockInstruction("requantize_i8", _REQUANTIZE, partial(_requantize, False), THUMB, ((3, 2, 4, 7, -128),)),
    BlockInstruction(
        "requantize_fixed", _REQUANTIZE, partial(_requantize, True), THUMB, ((3, 6, 6, 7, 5),),
        cycles=Cycles(of_groups(93, 39, 27), of_groups(69, 15, 15)),
    ),
    BlockInstruction(
        "requantize_halfword", (*_REQUANTIZE, "shift"), _requantize_halfword, THUMB, ((3, 2, 4, 7, -128, 5),),
        cycles=Cycles(_requantize_cycles(93, 22, 73, 20, 19), _requantize_cycles(77, 26, 48, 11, 15)),
    ),
)
