"""Block instructions of contractions: two channels of four staged pixels at a time, weights packed two to a halfword.

*Weights* are a stream of 32-bit words. For each two channels: their biases; for each group of four k a word for each
channel; and, for rows that requantize, their float32 scales. A word holds two halfwords ``256 * w1 + w0`` and
``256 * w3 + w2``. The word itself and ``widen_even`` of it, (w0, w2), are factors of dual multiplications: one
extension serves four weights, where separate bytes need two.

*Staged activations* ``x0 .. x3`` of a pixel are the halfwords (o1, o3) and (e0, e2) with ``o = x - 127`` for odd k and
``e = 256 * x - o`` of the k before, which just fits 16 bits::

    o1 * (256 * w1 + w0) + e0 * w0 = 256 * ((x1 - 127) * w1 + x0 * w0)

Accumulators are 256 times the sums of products; the stream's biases (also times 256) add ``127 * w`` for odd k. The
scales are divided by 256, which is exact. A group of four k of four pixels takes eight words: (o1, o3) of each pixel,
then (e0, e2) of each pixel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .blocks_common import param, requantized
from .loops import (
    F32,
    I32,
    Access,
    Alloc,
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
    Space,
    Stmt,
    Store,
    Var,
    as_expr,
    loop,
)
from .types import DType

TILE = 2
"""Channels that are computed together."""
PIXELS = 4
STEP = 2 * PIXELS
"""Words of staged activations for each group of four k."""
GROUPS = 9
"""Groups of four k that the meaning runs through at most before it loops."""
ODD_OFFSET = 127
SCALE = 256
"""What accumulators are multiples of."""


def packable(columns: np.ndarray) -> bool:
    """Whether weights [o, k] (k a multiple of four) have a packed form: not -128 behind a negative weight."""
    return not bool(np.any((columns[:, 1::2] == -128) & (columns[:, 0::2] < 0)))


def packed(columns: np.ndarray) -> np.ndarray:
    """Words [o, k / 4] of int8 weights [o, k]."""
    wide = columns.astype(np.int32)
    return np.ascontiguousarray((wide[:, 1::2] * SCALE + wide[:, 0::2]).astype(np.int16)).view(np.int32)


# ---------------------------------------------------------------- staging


def stage_pixel(groups: int) -> Kernel:
    """Four bytes at a time, for one of four pixels."""
    x = param("x", DType.I8, 4 * groups, Access.READ)
    y = param("y", DType.I32, STEP * groups - PIXELS + 1, Access.WRITE, 4)
    g = Var("g")
    return Kernel("quad_stage_pixel", (x, y), loop(g, groups, *_staged(x, g * 4, y, g * STEP, "")))


def stage(groups: int, step: int) -> Kernel:
    """Four pixels that begin ``step`` bytes apart."""
    x = param("x", DType.I8, 4 * groups + 3 * step, Access.READ)
    y = param("y", DType.I32, STEP * groups, Access.WRITE, 8)
    g = Var("g")
    body: Block = ()
    for pixel in range(PIXELS):
        body += _staged(x, g * 4 + pixel * step, y, g * STEP + pixel, str(pixel))
    return Kernel("quad_stage", (x, y), loop(g, groups, *body))


def _staged(x: Buffer, source: Expr, y: Buffer, at: Expr, stem: str) -> Block:
    word, odd = Var(f"word{stem}", I32), Var(f"odd{stem}", I32)
    shifted = Binary("and", Binary("shl", word, Const(8, I32)), Const(-0x00FF0100, I32))
    return (
        Let(word, Bitcast(I32, Load(x, (source,), 4))),
        Let(odd, Call("halves_add", (Const(_both(-ODD_OFFSET), I32), Call("widen_odd", (word,), I32)), I32)),
        Store(y, (at,), odd),
        Store(y, (at + PIXELS,), Call("halves_sub", (shifted, odd), I32)),
    )


def _both(value: int) -> int:
    """A word of two equal halfwords."""
    word = (value & 0xFFFF) * 0x10001
    return word - (1 << 32) if word >> 31 else word


def fill(groups: int, value: int) -> Kernel:
    """The same activation throughout for one of four pixels, as at borders."""
    y = param("y", DType.I32, STEP * groups - PIXELS + 1, Access.WRITE, 4)
    g, odd = Var("g"), value - ODD_OFFSET
    stores = (
        Store(y, (g * STEP,), Const(_both(odd), I32)),
        Store(y, (g * STEP + PIXELS,), Const(_both(SCALE * value - odd), I32)),
    )
    return Kernel("quad_fill", (y,), loop(g, groups, *stores))


# ---------------------------------------------------------------- contraction


def stream_words(channels: int, groups: int, requantize: bool) -> int:
    """The length of a stream of weights; ``channels`` is even."""
    return channels * (1 + groups + requantize)


def contraction(name: str, out: DType, pixels: int) -> Callable[..., Kernel]:
    """``pixels`` staged pixels by all channels, an even number."""

    def meaning(groups: int, channels: int, zero_point: int = 0) -> Kernel:
        w = param("w", DType.I32, stream_words(channels, groups, out is DType.I8), Access.READ, 4)
        x = param("x", DType.I32, STEP * groups - PIXELS + pixels, Access.READ, 4)
        y = tuple(param(f"y{pixel}", out, channels, Access.WRITE) for pixel in range(pixels))
        return Kernel(name, (w, x, *y), _tiles(w, x, y, groups, channels, zero_point))

    return meaning


def _tiles(w: Buffer, x: Buffer, y: Sequence[Buffer], groups: int, channels: int, zero_point: int) -> Block:
    tile, g = Var("tile"), Var("g")
    requantize = y[0].dtype is DType.I8
    at = tile * stream_words(TILE, groups, requantize)
    acc = Buffer("acc", I32, (TILE, len(y)), Space.REG)
    stmts: list[Stmt] = [Alloc(acc)]
    for c in range(TILE):
        bias = Var(f"bias{c}", I32)
        stmts.append(Let(bias, Load(w, (at + c,))))
        stmts += [Store(acc, (as_expr(c), as_expr(p)), bias) for p in range(len(y))]
    steps = max(n for n in range(1, GROUPS + 1) if groups % n == 0)
    body: Block = ()
    for step in range(steps):
        group = g * steps + step
        body += _group(w, at + (group * TILE + TILE), x, group * STEP, acc, f"_{step}")
    stmts += loop(g, groups // steps, *body)
    for c in range(TILE):
        scale = Var(f"scale{c}", F32)
        if requantize:
            stmts.append(Let(scale, Bitcast(F32, Load(w, (at + (TILE * (1 + groups) + c),)))))
        for p, out in enumerate(y):
            found: Expr = Load(acc, (as_expr(c), as_expr(p)))
            value = requantized(found, scale, zero_point) if requantize else Binary("shr", found, Const(8, I32))
            stmts.append(Store(out, (tile * TILE + c,), value))
    return loop(tile, channels // TILE, *stmts)


def _group(w: Buffer, weights: Expr, x: Buffer, at: Expr, acc: Buffer, stem: str) -> Block:
    """Four products for both channels and every pixel."""
    words = [Var(f"w{c}{stem}", I32) for c in range(TILE)]
    evens = [Var(f"even{c}{stem}", I32) for c in range(TILE)]
    out: list[Stmt] = [Let(word, Load(w, (weights + c,))) for c, word in enumerate(words)]
    for half, factors in enumerate((words, evens)):
        if half:
            out += [Let(even, Call("widen_even", (word,), I32)) for even, word in zip(evens, words, strict=True)]
        for pixel in range(acc.shape[1]):
            value = Var(f"x{half}_{pixel}{stem}", I32)
            out.append(Let(value, Load(x, (at + (half * PIXELS + pixel),))))
            for c, factor in enumerate(factors):
                where = (as_expr(c), as_expr(pixel))
                out.append(Store(acc, where, Call("dot2_i16i16", (Load(acc, where), value, factor), I32)))
    return tuple(out)
