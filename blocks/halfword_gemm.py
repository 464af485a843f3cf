"""Block instructions that multiply one pixel of halfwords by all channels, four or eight at a time, into words.

*Activations* are halfwords, padded with zeros to whole groups: four on cores with DSP instructions, eight with Helium.
*Weights* are a :class:`Stream`: for each channel and group of four k a word of bytes, in the order k0, k2, k1, k3 in
which ``widen_even`` and ``widen_odd`` make (k0, k1) and (k2, k3) of them, or two words of halfwords; with Helium four
words for each group of eight k. Channels that fill no tile follow as tiles of one; with Helium as a tile of zeros.

*Packed weights* of ``gemm_4x1_s16s8_i32`` are halfwords ``256 * w0 + w1`` of two channels. The products with them,
summed in 64 bits (SMLALD), are ``256 * sum0 + sum1``; one SXTB16 of the word gives ``sum1`` by itself. So three
instructions make four products, where bytes need two SXTB16 and two SMLAD. No weight may be -128. A tile has no biases
and, for each group, words of k0 and k1 for both pairs of channels, then of k2 and k3; channels that fill no tile are
zero.

*Split activations* of ``helium_gemm_4x1_s16s8_i32`` are two lines of bytes: the upper ones of the halfwords v, and the
lower ones less 128, so that ``v = 256 * upper + lower + 128`` (``helium_split_halfwords``). Weights are for each tile
of four channels a vector of sixteen bytes of each channel, step by step, then the biases; those of
``helium_gemm_4x1_s16s8_few_i32``, for two to eight steps, are a :class:`Stream`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ..ir.build import store
from ..ir.loops import I8, I32, Access, Block, Call, Expr, Kernel, Let, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, byte_of, halves, high_half, low_half, param
from .helium import STEP, pad
from .instruction import DSP_FPU, MVE, BlockInstruction, Cycles, of_tiles
from .tiles import Stream, tile_block

BYTES_8X1 = Stream(8, factors=False)
"""Weights of 8 bits on cores with DSP instructions."""
HALFWORDS_8X1 = Stream(8, words=2, factors=False)
"""Weights of 16 bits there."""
VECTORS_8X1 = Stream(8, words=4, factors=False)
"""Weights of 16 bits with Helium."""
PACKED_4X1 = 4
"""Channels of a tile of packed weights, and words of a group."""
SPLIT_4X1 = 4
"""Channels of a tile of weights for split activations."""
SPLIT_FEW_4X1 = Stream(SPLIT_4X1, words=4, factors=False)
"""Weights for split activations of few steps."""
FEW_STEPS = range(2, 9)
"""Steps that ``helium_gemm_4x1_s16s8_few_i32`` can take."""
WORD = 4
"""Bytes."""
GROUP, VECTOR = 4, 8
"""k of a group on cores with DSP instructions, and with Helium."""
_ORDER = (0, 2, 1, 3)


def can_be_packed(weights: np.ndarray) -> bool:
    """Whether any two int8 weights fit a halfword ``256 * w0 + w1``."""
    return bool(np.all(weights > -128))


def pack_pairs(bias: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The packed int8 weights [o, k] for ``gemm_4x1_s16s8_i32``, which has no biases: they have to be zero."""
    assert not bias.any() and can_be_packed(weights)
    columns = _padded(weights.astype(np.int16), GROUP)
    whole = np.zeros((pad(len(columns), PACKED_4X1), columns.shape[1]), np.int16)
    whole[: len(columns)] = columns
    halfwords = whole[0::2] * np.int16(256) + whole[1::2]
    words = halfwords.astype("<i2").view("<i4").reshape(-1, 2, columns.shape[1] // 2)
    return np.ascontiguousarray(words.transpose(0, 2, 1)).reshape(-1).astype(np.int32)


def pack_bytes(bias: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The stream of biases [o] and int8 weights [o, k] for ``gemm_8x1_s16s8_i32``."""
    columns = _padded(weights.astype(np.int8), GROUP)
    ordered = columns.reshape(len(columns), -1, GROUP)[..., _ORDER].reshape(columns.shape)
    return _by_tiles(BYTES_8X1, bias, np.ascontiguousarray(ordered).view("<i4"))


def pack_halfwords(bias: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The stream of biases [o] and int16 weights [o, k] for ``gemm_8x1_s16_i32``."""
    return _by_tiles(HALFWORDS_8X1, bias, _padded(weights.astype("<i2"), GROUP).view("<i4"))


def pack_vectors(bias: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The stream of biases [o] and int16 weights [o, k] for ``helium_gemm_8x1_s16_i32``."""
    return VECTORS_8X1.pack(bias, _padded(weights.astype("<i2"), VECTOR).view("<i4"))


def split_block(vectors: int) -> str:
    """The block instruction for split activations of so many steps of sixteen k."""
    return f"helium_gemm_4x1_s16s8_{'few_' if vectors in FEW_STEPS else ''}i32"


def pack_split(bias: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The biases [o] and int8 weights [o, k] for the :func:`split_block` of so many k."""
    columns = _padded(weights.astype(np.int8), STEP).view("<i4")
    vectors = columns.shape[1] // (STEP // WORD)
    if vectors in FEW_STEPS:
        return SPLIT_FEW_4X1.pack(bias, columns)
    whole = pad(len(weights), SPLIT_4X1)
    data, biases = np.zeros((whole, columns.shape[1]), np.int32), np.zeros(whole, np.int32)
    data[: len(weights)], biases[: len(weights)] = columns, bias
    words = data.reshape(-1, SPLIT_4X1, vectors, STEP // WORD).swapaxes(1, 2)
    tiles = [words.reshape(len(words), -1), biases.reshape(-1, SPLIT_4X1)]
    return np.concatenate(tiles, axis=1).reshape(-1)


def _padded(columns: np.ndarray, unit: int) -> np.ndarray:
    out = np.zeros((len(columns), pad(columns.shape[1], unit)), columns.dtype)
    out[:, : columns.shape[1]] = columns
    return out


def _by_tiles(stream: Stream, bias: np.ndarray, words: np.ndarray) -> np.ndarray:
    full, ones = len(bias) // stream.tile * stream.tile, replace(stream, tile=1)
    parts = ((stream, slice(full)), (ones, slice(full, None)))
    return np.concatenate([each.pack(bias[channels], words[channels]) for each, channels in parts])


def _tiles(stream: Stream, groups: Number, channels: Number) -> Kernel:
    """Tiles of eight channels and of one, with DSP instructions."""
    w = param("w", DType.I32, stream.size(channels, groups), Access.READ, 4)
    x = param("x", DType.I16, groups * GROUP, Access.READ, 4)
    y = param("y", DType.I32, channels, Access.WRITE)

    def tiles(stream: Stream, count: Number, first: Number, stem: str) -> Block:
        t = Var(f"t{stem}")
        at, channel = t * stream.size(stream.tile, groups) + stream.size(1, groups) * first, t * stream.tile + first

        def group(g: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
            pairs = [Var(f"x{n}{stem}", I32) for n in range(2)]
            lets = tuple(
                Let(pair, halves(I32(x[g * GROUP + 2 * n]), I32(x[g * GROUP + (2 * n + 1)])))
                for n, pair in enumerate(pairs)
            )

            def product(acc: Expr, c: int, p: int) -> Expr:
                for n, pair in enumerate(pairs):
                    word: Expr = w[stream.weight(at, g, c, n if stream.words == 2 else 0)]
                    if stream.words == 1:
                        word = Call(("widen_even", "widen_odd")[n], (word,), I32)
                    acc = Call("dot2_i16i16", (acc, pair, word), I32)
                return acc

            return lets, product

        def finish(c: int, p: int, acc: Expr) -> Block:
            return (store(y[channel + c], acc),)

        return loop(t, count, *tile_block((stream.tile, 1), (groups,), lambda c, p: w[at + c], group, finish, stem))

    full = channels // stream.tile
    done = full * stream.tile
    body = (*tiles(stream, full, 0, ""), *tiles(replace(stream, tile=1), channels - done, done, "_rest"))
    return Kernel("halfword_gemm", (w, x, y), body)


def _bytes(groups: Number, channels: Number) -> Kernel:
    return _tiles(BYTES_8X1, groups, channels)


def _halfwords(groups: Number, channels: Number) -> Kernel:
    return _tiles(HALFWORDS_8X1, groups, channels)


def _packed(groups: Number, channels: Number) -> Kernel:
    """Tiles of four channels of packed weights."""
    whole, t = pad(channels, PACKED_4X1), Var("t")
    w = param("w", DType.I32, whole * groups, Access.READ, 4)
    x = param("x", DType.I16, groups * GROUP, Access.READ, 4)
    y = param("y", DType.I32, whole, Access.WRITE, 4)

    def group(g: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
        at = (t * groups + g) * PACKED_4X1
        values = [Var(f"x{n}", I32) for n in range(GROUP)]
        lets = tuple(Let(value, I32(x[g * GROUP + n])) for n, value in enumerate(values))

        def product(acc: Expr, c: int, p: int) -> Expr:
            for n, value in enumerate(values):
                word = w[at + (n // 2 * 2 + c // 2)]
                both = high_half(word) if n % 2 else low_half(word)
                second = byte_of(both, 0)
                acc = acc + value * (second if c % 2 else (both - second) >> 8)
            return acc

        return lets, product

    def finish(c: int, p: int, acc: Expr) -> Block:
        return (store(y[t * PACKED_4X1 + c], acc),)

    body = tile_block((PACKED_4X1, 1), (groups,), lambda c, p: I32(0), group, finish)
    return Kernel("packed_halfword_gemm", (w, x, y), loop(t, whole // PACKED_4X1, *body))


def _split_halfwords(vectors: Number) -> Kernel:
    """The lines of bytes of ``vectors`` times sixteen halfwords."""
    x = param("x", DType.I16, vectors * STEP, Access.READ, 4)
    y, i, word = param("y", DType.I8, vectors * (2 * STEP), Access.WRITE), Var("i"), Var("word", I32)
    upper, lower = store(y[i], I8(word >> 8)), store(y[i + vectors * STEP], I8((word & 255) - 128))
    return Kernel("split_halfwords", (x, y), loop(i, vectors * STEP, Let(word, I32(x[i])), upper, lower))


def _split(vectors: Number, channels: Number, *, biases_first: bool) -> Kernel:
    """Tiles of four channels, sixteen k at a time. Sums of the two bytes are one sum of the halfwords less 128."""
    whole, t, tile = pad(channels, SPLIT_4X1), Var("t"), SPLIT_4X1
    words, line = vectors * (STEP // WORD * tile), vectors * STEP
    w = param("w", DType.I32, whole // tile * (words + tile), Access.READ, 4)
    x = param("x", DType.I8, line * 2, Access.READ)
    y = param("y", DType.I32, whole, Access.WRITE, 4)
    tile_at = t * (words + tile)
    at, biases = (tile_at + tile, tile_at) if biases_first else (tile_at, tile_at + words)

    def group(vector: Var, word: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
        first = vector * STEP + word * WORD
        values = [Var(f"x{n}", I32) for n in range(WORD)]
        lets = tuple(
            Let(value, (I32(x[first + n]) << 8) + I32(x[first + n + line])) for n, value in enumerate(values)
        )

        def product(acc: Expr, c: int, p: int) -> Expr:
            place = w[at + (vector * tile + c) * (STEP // WORD) + word]
            for n, value in enumerate(values):
                acc = acc + value * byte_of(place, n)
            return acc

        return lets, product

    def finish(c: int, p: int, acc: Expr) -> Block:
        return (store(y[t * tile + c], acc),)

    body = tile_block((tile, 1), (vectors, STEP // WORD), lambda c, p: w[biases + c], group, finish)
    return Kernel("split_halfword_gemm", (w, x, y), loop(t, whole // tile, *body))


def _vectors(vectors: Number, channels: Number) -> Kernel:
    """Tiles of eight channels, eight k at a time."""
    stream, t = VECTORS_8X1, Var("t")
    whole = pad(channels, stream.tile)
    w = param("w", DType.I32, stream.size(whole, vectors), Access.READ, 4)
    x = param("x", DType.I16, vectors * VECTOR, Access.READ)
    y = param("y", DType.I32, whole, Access.WRITE)
    at = t * stream.size(stream.tile, vectors)

    def group(vector: Var, pair: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
        values = [Var(f"x{n}", I32) for n in range(2)]
        first = vector * VECTOR + pair * 2
        lets = tuple(Let(value, I32(x[first + n])) for n, value in enumerate(values))

        def product(acc: Expr, c: int, p: int) -> Expr:
            word = w[stream.weight(at, vector, c) + pair]
            return acc + values[0] * low_half(word) + values[1] * high_half(word)

        return lets, product

    def finish(c: int, p: int, acc: Expr) -> Block:
        return (store(y[t * stream.tile + c], acc),)

    body = tile_block((stream.tile, 1), (vectors, VECTOR // 2), lambda c, p: w[at + c], group, finish)
    return Kernel("halfword_gemm", (w, x, y), loop(t, whole // stream.tile, *body))


_SCALARS = ("groups", "channels")
ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "gemm_4x1_s16s8_i32", _SCALARS, _packed, DSP_FPU, ((2, 9), (5, 16)),
        cycles=Cycles(dsp=of_tiles(68, 4, 35.5, 21.3)),
    ),
    BlockInstruction(
        "gemm_8x1_s16s8_i32", _SCALARS, _bytes, DSP_FPU, ((2, 9), (5, 17)),
        cycles=Cycles(dsp=of_tiles(76, 8, 31, 53, (6.5, 12))),
    ),
    BlockInstruction(
        "gemm_8x1_s16_i32", _SCALARS, _halfwords, DSP_FPU, ((2, 9), (5, 17)),
        cycles=Cycles(dsp=of_tiles(76, 8, 31, 45, (6.5, 11))),
    ),
    BlockInstruction(
        "helium_gemm_4x1_s16s8_i32", ("vectors", "channels"), partial(_split, biases_first=False), MVE,
        ((1, 4), (2, 9), (11, 16)),
        cycles=Cycles(mve=of_tiles(49, 4, 23, 16.2)),
    ),
    BlockInstruction(
        "helium_gemm_4x1_s16s8_few_i32", ("vectors", "channels"), partial(_split, biases_first=True), MVE,
        ((2, 9), (5, 16), (8, 4)),
        cycles=Cycles(mve=of_tiles(55, 4, 15, 16)),
    ),
    BlockInstruction(
        "helium_split_halfwords", ("vectors",), _split_halfwords, MVE, ((3,),),
        cycles=Cycles(mve=lambda vectors: 19 + 8 * vectors),
    ),
    BlockInstruction(
        "helium_gemm_8x1_s16_i32", ("vectors", "channels"), _vectors, MVE, ((2, 9), (9, 16)),
        cycles=Cycles(mve=of_tiles(49, 8, 22, 18.5)),
    ),
)
