"""Block instructions of contractions on cores with DSP: two staged pixels by three channels, one pixel by eight.

*Weights* are a :class:`Stream` with a word of four signed bytes for each channel and group of four k, k0 in the low
bits, and the float32 scales of rows that requantize. Channels that fill no tile follow as tiles of one.

Rows with ``s16`` have weights of 16 bits instead: of each channel and group of four k two words, (k0, k2) and (k1, k3).

*Staged activations* are words of two signed halfwords: for each group of four k and each of two pixels (k0, k2) and
(k1, k3), as ``widen_even`` and ``widen_odd`` make them of four bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ..ir.build import store
from ..ir.loops import I32, Access, Block, Buffer, Call, Expr, Kernel, Let, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, both, halves, param, requantized, requantized_rounded, signed
from .instruction import DSP, DSP_FPU, BlockInstruction, Cycles, linear, of_tiles
from .tiles import Stream, as_scale, tile_block

GEMM_3X2 = Stream(3)
"""The tile of ``gemm_3x2`` rows: with two pixels it fills the registers of an Arm core."""
GEMM_8X1 = Stream(8)
"""The tile of ``gemm_8x1`` rows."""
GEMM_3X2_S16 = Stream(3, words=2, factors=False)
"""The tile of ``gemm_3x2_s16`` rows."""
STAGED_STEP = 4
"""Words of staged activations for each group of four k."""


def pack(stream: Stream, bias: np.ndarray, weights: np.ndarray, scales: np.ndarray | None) -> np.ndarray:
    """The stream of biases [o], int8 weights [o, k] (k a multiple of four) and float32 scales [o]."""
    words, full = np.ascontiguousarray(weights).view("<i4"), len(bias) // stream.tile * stream.tile
    ones = replace(stream, tile=1)

    def part(one: Stream, channels: slice) -> np.ndarray:
        return one.pack(bias[channels], words[channels], None if scales is None else scales[channels])

    return np.concatenate([part(stream, slice(full)), part(ones, slice(full, None))])


def _stage(groups: Number) -> Kernel:
    """Four bytes at a time, widened for one of two pixels."""
    x = param("x", DType.I8, groups * 4, Access.READ)
    y, g = param("y", DType.I32, groups * STAGED_STEP - 2, Access.WRITE, 8), Var("g")
    words = (halves(signed(x, g * 4 + n), signed(x, g * 4 + (n + 2))) for n in range(2))
    return Kernel("stage", (x, y), loop(g, groups, *(store(y[g * 4 + n], word) for n, word in enumerate(words))))


def _stage_fill(groups: Number, value: Number) -> Kernel:
    """The same activation throughout, as at borders."""
    y, g = param("y", DType.I32, groups * STAGED_STEP - 2, Access.WRITE, 8), Var("g")
    stores = (store(y[g * STAGED_STEP + half], both(value)) for half in range(2))
    return Kernel("im2col_x2_fill", (y,), loop(g, groups, *stores))


def _contraction(
    stream: Stream, pixels: int, out: DType, groups: Number, channels: Number, zero_point: Number = 0,
    factor: Number | None = None,
) -> Kernel:  # fmt: skip
    """Two staged pixels, or one that is widened on the way, by all channels. With one ``factor`` for all of these, and
    weights of bytes, behind the staged pixels stands what is added to the sums of each."""
    requantize, wide = out is DType.I8, stream.words == 2
    terms = factor is not None and not wide
    stream = replace(stream, factors=requantize and factor is None)
    w = param("w", DType.I32, stream.size(channels, groups), Access.READ, 4)
    staged = groups * STAGED_STEP + (pixels if terms else 0)
    x = param("x", *((DType.I32, staged) if pixels == 2 else (DType.I8, groups * 4)), Access.READ, 4)
    y = tuple(param(f"y{p}" if pixels == 2 else "y", out, channels, Access.WRITE) for p in range(pixels))

    def tiles(stream: Stream, count: Number, first: Number, stem: str) -> Block:
        t = Var(f"t{stem}")
        at, channel = t * stream.size(stream.tile, groups) + stream.size(1, groups) * first, t * stream.tile + first

        def group(g: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
            words = [Var(f"w{c}{stem}", I32) for c in range(stream.tile)]
            lets = tuple(Let(word, w[stream.weight(at, g, c)]) for c, word in enumerate(words))

            def weights(c: int, half: int) -> Expr:
                if wide:
                    return w[stream.weight(at, g, c, half)]
                return Call(("widen_even", "widen_odd")[half], (words[c],), I32)

            def product(acc: Expr, c: int, p: int) -> Expr:
                for half in range(2):
                    acc = Call("dot2_i16i16", (acc, _half(x, g, p, half), weights(c, half)), I32)
                return acc

            return () if wide else lets, product

        def first_sum(c: int, p: int) -> Expr:
            return w[at + c] + x[groups * STAGED_STEP + p] if terms else w[at + c]

        def finish(c: int, p: int, acc: Expr) -> Block:
            if factor is not None:
                return (store(y[p][channel + c], requantized_rounded(acc, I32(factor), zero_point)),)
            scale = as_scale(w[stream.factor(at, groups, c)])
            return (store(y[p][channel + c], requantized(acc, scale, zero_point) if requantize else acc),)

        shape = (stream.tile, pixels)
        return loop(t, count, *tile_block(shape, (groups,), first_sum, group, finish, stem))

    full = channels // stream.tile
    done = full * stream.tile
    body = (*tiles(stream, full, 0, ""), *tiles(replace(stream, tile=1), channels - done, done, "_rest"))
    return Kernel("contraction", (w, x, *y), body)


def _rounded(stream: Stream, groups: Number, channels: Number, factor: Number, zero_point: Number) -> Kernel:
    return _contraction(stream, 2, DType.I8, groups, channels, zero_point, factor)


def _half(x: Buffer, g: Expr, pixel: int, half: int) -> Expr:
    """k0 and k2, or k1 and k3, of a pixel."""
    if x.dtype is DType.I32:
        return x[g * STAGED_STEP + (2 * pixel + half)]
    return halves(signed(x, g * 4 + half), signed(x, g * 4 + (half + 2)))


_SUMS, _BYTES = ("groups", "channels"), ("groups", "channels", "zero_point")
ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "im2col_x2", ("groups",), _stage, DSP, ((3,),),
        cycles=Cycles(dsp=linear(21, 7.8)),
    ),
    BlockInstruction("im2col_x2_fill", ("groups", "value"), _stage_fill, DSP, ((3, -5),)),
    BlockInstruction(
        "gemm_3x2_i8", _BYTES, partial(_contraction, GEMM_3X2, 2, DType.I8), DSP_FPU, ((13, 7, -128),),
        cycles=Cycles(dsp=of_tiles(100, 3, 90, 29.7, (52, 13.9))),
    ),
    BlockInstruction(
        "gemm_3x2_rounded", (*_SUMS, "factor", "zero_point"), partial(_rounded, GEMM_3X2), DSP_FPU,
        ((13, 7, 1 << 21, -128), (2, 2, 5 << 24, 3)),
        cycles=Cycles(dsp=of_tiles(110, 3, 51, 29.7, (31, 13.9))),
    ),
    BlockInstruction(
        "gemm_3x2_s16_rounded", (*_SUMS, "factor", "zero_point"), partial(_rounded, GEMM_3X2_S16), DSP_FPU,
        ((13, 7, 1 << 21, -128), (2, 2, 5 << 24, 3)),
        cycles=Cycles(dsp=of_tiles(105, 3, 45, 26.7, (27, 12.5))), roomy=True,
    ),
    BlockInstruction(
        "gemm_3x2_i32", _SUMS, partial(_contraction, GEMM_3X2, 2, DType.I32), DSP_FPU, ((2, 5),),
        cycles=Cycles(dsp=of_tiles(100, 3, 34, 29.7, (21, 14.1))),
    ),
    BlockInstruction(
        "gemm_8x1_i8", _BYTES, partial(_contraction, GEMM_8X1, 1, DType.I8), DSP_FPU, ((13, 11, 4),),
        cycles=Cycles(dsp=of_tiles(94, 8, 111, 55, (1.2, 15.7))),
    ),
    BlockInstruction(
        "gemm_8x1_i32", _SUMS, partial(_contraction, GEMM_8X1, 1, DType.I32), DSP_FPU, ((2, 9),),
        cycles=Cycles(dsp=of_tiles(76, 8, 31, 54.9, (6.5, 13))),
    ),
)
