"""Block instructions of contractions on cores with DSP whose weights are packed two to a halfword: four staged pixels
by two channels, one of them by two, and one pixel of bytes by four.

Of four bytes of activations those of even k are flipped to ``m = x + 128``, so that the word is two halfwords
``256 * x1 + m0`` and ``256 * x3 + m2``, whose low bytes are ``m``. With halfwords of weights ``256 * b + v``,

    (256 * x + m) * v - m * (256 * b + v) = 256 * (x * v - m * b)

so that either word needs one extension for four products. SMLSD and SMLSDX take the second halfwords with the other
sign; signs and order are in the weights (:func:`ordered`). Accumulators are 256 times the sums, which therefore have to
stay below 2^23.

*Weights* are a :class:`Stream` with such a word for each channel and group of four k. Biases are multiples of 256, less
``128 * w`` for even k. Factors are float32 scales divided by 256, which is exact, or multipliers, so that the upper
word of ``acc * factor``, shifted, is the result; halfwords ``f`` mean ``f << 16``.

*Staged activations*: a group of four k of four pixels takes eight words: the low bytes (m2, m0) of each pixel, then the
flipped bytes of each pixel. One pixel alone is not staged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ..ir.build import store
from ..ir.loops import I32, Access, Block, Buffer, Expr, Kernel, Let, LoopKind, Var
from ..ir.loops_rewrite import loop
from ..ir.shifts import PRE_SHIFT, USUAL_SHIFT
from ..ir.types import DType
from .common import (
    Number,
    both,
    byte_of,
    halves,
    high_half,
    low_half,
    param,
    requantized,
    requantized_fixed,
    signed,
)
from .instruction import DSP, DSP_FPU, BlockInstruction, Cycles, linear, of_tiles
from .tiles import Stream, as_scale, tile_block

PACKED_2X4, PACKED_4X1, PACKED_4X1_HALFWORD = Stream(2), Stream(4), Stream(4, halfwords=True)
PIXELS = 4
STEP = 2 * PIXELS
"""Words of staged activations for each group of four k."""
TAPS = 3
"""Of a row, whose elements are staged for several of them at once."""
FLIP = 128
SCALE = 1 << PRE_SHIFT
"""What accumulators are multiples of."""


def ordered(columns: np.ndarray) -> np.ndarray:
    """Weights [o, k] in the order and with the signs in which they are packed, as int16."""
    groups = columns.astype(np.int16).reshape(len(columns), -1, 4)
    return np.asarray((groups[..., [1, 0, 3, 2]] * np.array([1, -1, -1, 1], np.int16)).reshape(columns.shape))


def packable(columns: np.ndarray) -> bool:
    """Whether weights [o, k] (k a multiple of four) have a packed form: as :func:`ordered` they are bytes, and not -128
    behind a negative one."""
    bytes_ = ordered(columns)
    return not bool(np.any(bytes_ > 127) or np.any((bytes_[:, 1::2] == -128) & (bytes_[:, 0::2] < 0)))


def packed(columns: np.ndarray) -> np.ndarray:
    """Words [o, k / 4] of int8 weights [o, k]."""
    wide = ordered(columns).astype(np.int32)
    return np.ascontiguousarray((wide[:, 1::2] * SCALE + wide[:, 0::2]).astype(np.int16)).view(np.int32)


def packed_bias(bias: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The start of accumulators that are multiples of 256, without what the flipped activations add."""
    found = SCALE * (bias - FLIP * columns[:, 0::2].astype(np.int64).sum(axis=1))
    return np.asarray((found & 0xFFFFFFFF).astype(np.uint32).view(np.int32))


# ---------------------------------------------------------------- staging


def _copy_bytes(count: Number) -> Kernel:
    """Four at a time, all of which are read before they are written."""
    x, y = param("x", DType.I8, count, Access.READ), param("y", DType.I8, count, Access.WRITE)
    word, rest, done = Var("word"), Var("rest"), count // 4 * 4
    values = [Var(f"byte{i}", x.type) for i in range(4)]
    loads = tuple(Let(value, x[word * 4 + i]) for i, value in enumerate(values))
    four = loop(word, count // 4, *loads, *(store(y[word * 4 + i], value) for i, value in enumerate(values)))
    last = loop(rest, count - done, store(y[rest + done], x[rest + done]))
    return Kernel("copy_bytes", (x, y), (*four, *last))


def _flipped(x: Buffer, at: Expr) -> tuple[Expr, Expr]:
    """Of four bytes from ``at`` on the words of low bytes and of flipped bytes."""
    low = [signed(x, at + n) + FLIP for n in (0, 2)]
    whole = ((signed(x, at + (n + 1)) << PRE_SHIFT) + part for n, part in zip((0, 2), low, strict=True))
    return halves(*reversed(low)), halves(*whole)


def _stage_pixel(groups: Number) -> Kernel:
    """Four bytes at a time, for one of four pixels."""
    x = param("x", DType.I8, groups * 4, Access.READ)
    y, g = param("y", DType.I32, groups * STEP - (PIXELS - 1), Access.WRITE, 4), Var("g")
    low, whole = _flipped(x, g * 4)
    return Kernel(
        "stage_pixel", (x, y), loop(g, groups, store(y[g * STEP], low), store(y[g * STEP + PIXELS], whole))
    )


def _stage(groups: Number, step: Number) -> Kernel:
    """Four pixels that begin ``step`` bytes apart."""
    x = param("x", DType.I8, groups * 4 + 3 * step, Access.READ)
    y, g, pixel = param("y", DType.I32, groups * STEP, Access.WRITE, 8), Var("g"), Var("pixel")
    low, whole = _flipped(x, g * 4 + pixel * step)
    stores = (store(y[g * STEP + pixel], low), store(y[g * STEP + pixel + PIXELS], whole))
    return Kernel("stage", (x, y), loop(pixel, PIXELS, *loop(g, groups, *stores)))


def _stage_rows(groups: Number, step: Number, rows: Number, pitch: Number) -> Kernel:
    """Rows of ``groups`` that begin ``pitch`` bytes apart, of four pixels that begin ``step`` bytes apart."""
    x = param("x", DType.I8, (rows - 1) * pitch + groups * 4 + 3 * step, Access.READ)
    y = param("y", DType.I32, rows * groups * STEP, Access.WRITE, 8)
    row, g, pixel = Var("row"), Var("g"), Var("pixel")
    low, whole = _flipped(x, row * pitch + g * 4 + pixel * step)
    at = (row * groups + g) * STEP + pixel
    stores = (store(y[at], low), store(y[at + PIXELS], whole))
    return Kernel("stage_rows", (x, y), loop(row, rows, *loop(pixel, PIXELS, *loop(g, groups, *stores))))


def _stage_three(words: Number, step: Number, rows: Number, pitch: Number) -> Kernel:
    """Rows that begin ``pitch`` bytes apart of three taps of four pixels, each a step from the one before: six elements
    of ``words`` that lie ``step`` bytes apart."""
    x = param("x", DType.I8, (rows - 1) * pitch + 5 * step + words * 4, Access.READ)
    y = param("y", DType.I32, rows * TAPS * words * STEP, Access.WRITE, 8)
    row, tap, word, pixel = Var("row"), Var("tap"), Var("word"), Var("pixel")
    low, whole = _flipped(x, row * pitch + (tap + pixel) * step + word * 4)
    at = ((row * TAPS + tap) * words + word) * STEP + pixel
    block: Block = (store(y[at], low), store(y[at + PIXELS], whole))
    for variable, extent in ((pixel, PIXELS), (word, words), (tap, TAPS), (row, rows)):
        block = loop(variable, extent, *block)
    return Kernel("stage_three", (x, y), block)


def _fill(groups: Number, value: Number) -> Kernel:
    """The same activation throughout for one of four pixels, as at borders."""
    y, g = param("y", DType.I32, groups * STEP - (PIXELS - 1), Access.WRITE, 4), Var("g")
    low, whole = value + FLIP, value * (SCALE + 1) + FLIP
    stores = (store(y[g * STEP], both(low)), store(y[g * STEP + PIXELS], both(whole)))
    return Kernel("fill", (y,), loop(g, groups, *stores, kind=LoopKind.ROLLED))


# ---------------------------------------------------------------- contraction

Rounding = Callable[[Expr, Buffer, Expr, int], Expr]
"""What becomes of an accumulator of a channel, given the stream and where its factors of a tile begin."""


def _product(acc: Expr, low: Expr, whole: Expr, word: Expr) -> Expr:
    """An accumulator with the products of four activations and a word of weights: SMLSDX, SXTB16, SMLSD."""
    acc = acc + low_half(low) * high_half(word) - high_half(low) * low_half(word)
    return acc + low_half(whole) * byte_of(word, 0) - high_half(whole) * byte_of(word, 2)


def _contraction(
    stream: Stream, pixels: int, groups: Number, channels: Number, rounding: Rounding | None, staged: bool = True
) -> Kernel:
    """All channels, which fill tiles, of staged pixels, or of one in bytes."""
    out = DType.I32 if rounding is None else DType.I8
    stream = replace(stream, factors=rounding is not None)
    w = param("w", DType.I32, stream.size(channels, groups), Access.READ, 4)
    size = groups * STEP - (PIXELS - pixels) if staged else groups * 4
    x = param("x", DType.I32 if staged else DType.I8, size, Access.READ, 4 if staged else 0)
    y = tuple(param(f"y{p}" if staged else "y", out, channels, Access.WRITE) for p in range(pixels))
    t = Var("t")
    at = t * stream.size(stream.tile, groups)

    def group(g: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
        words = [Var(f"w{c}", I32) for c in range(stream.tile)]
        lets = tuple(Let(word, w[stream.weight(at, g, c)]) for c, word in enumerate(words))

        def product(acc: Expr, c: int, p: int) -> Expr:
            low, whole = (x[g * STEP + p], x[g * STEP + (PIXELS + p)]) if staged else _flipped(x, g * 4)
            return _product(acc, low, whole, words[c])

        return lets, product

    def finish(c: int, p: int, acc: Expr) -> Block:
        if rounding is None:
            value: Expr = acc >> PRE_SHIFT
        else:
            value = rounding(acc, w, stream.factor(at, groups, c), c)
        return (store(y[p][t * stream.tile + c], value),)

    tile = tile_block((stream.tile, pixels), (groups,), lambda c, p: w[at + c], group, finish)
    return Kernel("contraction", (w, x, *y), loop(t, channels // stream.tile, *tile))


def _sums(pixels: int, groups: Number, channels: Number) -> Kernel:
    return _contraction(PACKED_2X4, pixels, groups, channels, None)


def _sums_of_one(groups: Number, channels: Number) -> Kernel:
    return _contraction(PACKED_4X1, 1, groups, channels, None, False)


def _scaled(pixels: int, groups: Number, channels: Number, zero_point: Number) -> Kernel:
    def rounding(acc: Expr, w: Buffer, at: Expr, c: int) -> Expr:
        return requantized(acc, as_scale(w[at]), zero_point)

    return _contraction(PACKED_2X4, pixels, groups, channels, rounding)


def _fixed(
    stream: Stream, pixels: int, groups: Number, channels: Number, zero_point: Number, shift: Number = USUAL_SHIFT
) -> Kernel:
    def rounding(acc: Expr, w: Buffer, at: Expr, c: int) -> Expr:
        factor: Expr = w[at]
        if stream.halfwords:
            odd = c % 2
            factor = factor & (-1 << 16) if odd else factor << 16
        return requantized_fixed(acc, factor, zero_point, shift)

    return _contraction(stream, pixels, groups, channels, rounding, stream is PACKED_2X4)


_SUMS, _FLOAT = ("groups", "channels"), ("groups", "channels", "zero_point")
_FIXED = (*_FLOAT, "shift")
ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction("copy_bytes", ("count",), _copy_bytes, DSP, ((11,),)),
    BlockInstruction(
        "copy_run", ("count",), _copy_bytes, DSP, ((16,), (39,), (5,)),
        cycles=Cycles(dsp=linear(36, 0.9)),
    ),
    BlockInstruction(
        "im2col_x4_pixel", ("groups",), _stage_pixel, DSP, ((3,),),
        cycles=Cycles(dsp=linear(16, 7.4)),
    ),
    BlockInstruction(
        "im2col_x4", ("groups", "step"), _stage, DSP_FPU, ((3, 12),),
        cycles=Cycles(dsp=linear(20, 25)), in_parts=True,
    ),
    BlockInstruction(
        "im2col_x4_rows", ("groups", "step", "rows", "pitch"), _stage_rows, DSP_FPU, ((3, 8, 2, 20), (1, 4, 3, 9)),
        cycles=Cycles(dsp=lambda groups, _, rows, __: 35 + rows * (12 + 25 * groups)),
    ),
    BlockInstruction(
        "im2col_x4_three", ("words", "step", "rows", "pitch"), _stage_three, DSP_FPU, ((3, 12, 2, 80), (1, 9, 3, 50)),
        cycles=Cycles(dsp=lambda words, _, rows, __: 39 + rows * (14 + 53 * words)),
    ),
    BlockInstruction("im2col_x4_fill", ("groups", "value"), _fill, DSP, ((3, -128),)),
    BlockInstruction(
        "gemm_packed_2x4_i8", _FLOAT, partial(_scaled, 4), DSP_FPU, ((9, 6, -128),),
        cycles=Cycles(dsp=of_tiles(200, 2, 51, 35.2)),
    ),
    BlockInstruction(
        "gemm_packed_2x4_i32", _SUMS, partial(_sums, 4), DSP_FPU, ((2, 4),),
        cycles=Cycles(dsp=of_tiles(163, 2, 17, 33.6)),
    ),
    BlockInstruction(
        "gemm_packed_2x4_fixed", _FIXED, partial(_fixed, PACKED_2X4, 4), DSP_FPU, ((9, 6, -128, 11),),
        cycles=Cycles(dsp=of_tiles(124, 2, 44, 34.3)),
    ),
    BlockInstruction(
        "gemm_packed_2x4_fixed12", _FLOAT, partial(_fixed, PACKED_2X4, 4), DSP_FPU, ((4, 2, 127),),
        cycles=Cycles(dsp=of_tiles(174, 2, 22, 34.6)),
    ),
    BlockInstruction(
        "gemm_packed_2x1_fixed", _FIXED, partial(_fixed, PACKED_2X4, 1), DSP_FPU, ((3, 4, 5, 15),),
        cycles=Cycles(dsp=of_tiles(59, 2, 24, 12.9)),
    ),
    BlockInstruction(
        "gemm_packed_2x1_i8", _FLOAT, partial(_scaled, 1), DSP_FPU, ((3, 4, 5),),
        cycles=Cycles(dsp=of_tiles(57, 2, 29, 12.8)),
    ),
    BlockInstruction(
        "gemm_packed_2x1_i32", _SUMS, partial(_sums, 1), DSP_FPU, ((1, 2),),
        cycles=Cycles(dsp=of_tiles(52, 2, 15, 13)),
    ),
    BlockInstruction(
        "gemm_packed_4x1_i32", _SUMS, _sums_of_one, DSP_FPU, ((5, 8), (1, 4)),
        cycles=Cycles(dsp=of_tiles(82, 4, 31, 21.7)),
    ),
    BlockInstruction(
        "gemm_packed_4x1_fixed", _FIXED, partial(_fixed, PACKED_4X1, 1), DSP_FPU, ((5, 8, 7, 12),),
        cycles=Cycles(dsp=of_tiles(88, 4, 40, 21.7)),
    ),
    BlockInstruction(
        "gemm_packed_4x1_halfword", _FIXED, partial(_fixed, PACKED_4X1_HALFWORD, 1), DSP_FPU, ((4, 4, -128, 16),),
        cycles=Cycles(dsp=of_tiles(88, 4, 37, 21.7)),
    ),
)
