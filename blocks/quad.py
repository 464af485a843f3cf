"""Block instructions of contractions: two channels of four staged pixels at a time, weights packed two to a halfword.

*Weights* are a stream of 32-bit words. For each two channels: their biases; for each group of four k a word for each
channel; and, for rows that requantize, their float32 scales. A word holds two halfwords ``256 * w1 + w0`` and
``256 * w3 + w2``. The word itself and ``widen_even`` of it, (w0, w2), are factors of dual multiplications: one
extension serves four weights, where separate bytes need two.

*Staged activations* ``x0 .. x3`` of a pixel are the halfwords (o1, o3) and (e0, e2) with ``o = x - 127`` for odd k and
``e = 256 * x - o`` of the k before, which just fits 16 bits::

    o1 * (256 * w1 + w0) + e0 * w0 = 256 * ((x1 - 127) * w1 + x0 * w0)

Accumulators are 256 times the sums of products; the stream's biases (also times 256) add ``127 * w`` for odd k. The
scales are divided by 256, which is exact; or there are factors instead, so that the upper word of ``acc * factor``,
shifted, is the result. A group of four k of four pixels takes eight words: (o1, o3) of each pixel,
then (e0, e2) of each pixel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..ir.loops import (
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
)
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import param, requantized, requantized_fixed
from .instruction import DSP, DSP_FPU, BlockInstruction

TILE = 2
"""Channels that are computed together."""
PIXELS = 4
STEP = 2 * PIXELS
"""Words of staged activations for each group of four k."""
GROUPS = 9
"""Groups of four k that the meaning runs through at most before it loops."""
ODD_OFFSET = 127
PRE_SHIFT = 8
SCALE = 1 << PRE_SHIFT
"""What accumulators are multiples of."""
USUAL_SHIFT = 12
"""The shift behind a multiplication that most layers can have; it has a row of its own, in which it is constant."""


def packable(columns: np.ndarray) -> bool:
    """Whether weights [o, k] (k a multiple of four) have a packed form: not -128 behind a negative weight."""
    return not bool(np.any((columns[:, 1::2] == -128) & (columns[:, 0::2] < 0)))


def packed(columns: np.ndarray) -> np.ndarray:
    """Words [o, k / 4] of int8 weights [o, k]."""
    wide = columns.astype(np.int32)
    return np.ascontiguousarray((wide[:, 1::2] * SCALE + wide[:, 0::2]).astype(np.int16)).view(np.int32)


# ---------------------------------------------------------------- staging


def copy_bytes(count: int) -> Kernel:
    """Four at a time, all of which are read before they are written."""
    x, y = param("x", DType.I8, count, Access.READ), param("y", DType.I8, count, Access.WRITE)
    word = Var("word")

    def copied(first: Expr, number: int, stem: str) -> Block:
        values = [Var(f"{stem}{i}", x.type) for i in range(number)]
        loads = tuple(Let(value, Load(x, (first + i,))) for i, value in enumerate(values))
        return (*loads, *(Store(y, (first + i,), value) for i, value in enumerate(values)))

    rest = copied(as_expr(count - count % 4), count % 4, "last")
    return Kernel("copy_bytes", (x, y), (*loop(word, count // 4, *copied(word * 4, 4, "byte")), *rest))


def stage_pixel(groups: int) -> Kernel:
    """Four bytes at a time, for one of four pixels."""
    x = param("x", DType.I8, 4 * groups, Access.READ)
    y = param("y", DType.I32, STEP * groups - PIXELS + 1, Access.WRITE, 4)
    g = Var("g")
    lets, odd, even = staged_words(x, g * 4, "")
    stores = (Store(y, (g * STEP,), odd), Store(y, (g * STEP + PIXELS,), even))
    return Kernel("quad_stage_pixel", (x, y), loop(g, groups, *lets, *stores))


def stage(groups: int, step: int) -> Kernel:
    """Four pixels that begin ``step`` bytes apart."""
    x = param("x", DType.I8, 4 * groups + 3 * step, Access.READ)
    y = param("y", DType.I32, STEP * groups, Access.WRITE, 8)
    g, pair = Var("g"), Var("pair")
    source, at = g * 4 + pair * (2 * step), g * STEP + pair * 2
    first, *begin = staged_words(x, source, "0")
    second, *end = staged_words(x, source + step, "1")
    words = (begin[0], end[0], begin[1], end[1])
    stores = (Store(y, (at + number % 2 + number // 2 * PIXELS,), word) for number, word in enumerate(words))
    return Kernel("quad_stage", (x, y), loop(pair, PIXELS // 2, *loop(g, groups, *first, *second, *stores)))


def staged_words(x: Buffer, source: Expr, stem: str) -> tuple[Block, Var, Var]:
    """Definitions of the words of odd and even k for four bytes from ``source`` on."""
    word, odd, even = Var(f"word{stem}", I32), Var(f"odd{stem}", I32), Var(f"even{stem}", I32)
    shifted = Binary("and", Binary("shl", word, Const(8, I32)), Const(-0x00FF0100, I32))
    lets = (
        Let(word, Bitcast(I32, Load(x, (source,), 4))),
        Let(odd, Call("halves_add", (Const(_both(-ODD_OFFSET), I32), Call("widen_odd", (word,), I32)), I32)),
        Let(even, Call("halves_sub", (shifted, odd), I32)),
    )
    return lets, odd, even


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


def contraction(name: str, out: DType, pixels: int, usual_shift: int = 0) -> Callable[..., Kernel]:
    """``pixels`` staged pixels by all channels, an even number. With a ``shift`` the stream has factors, no scales."""

    def meaning(groups: int, channels: int, zero_point: int = 0, shift: int = usual_shift) -> Kernel:
        w = param("w", DType.I32, stream_words(channels, groups, out is DType.I8), Access.READ, 4)
        x = param("x", DType.I32, STEP * groups - PIXELS + pixels, Access.READ, 4)
        y = tuple(param(f"y{pixel}", out, channels, Access.WRITE) for pixel in range(pixels))
        return Kernel(name, (w, x, *y), _tiles(w, x, y, groups, channels, _Rounding(zero_point, shift)))

    return meaning


@dataclass(frozen=True)
class _Rounding:
    zero_point: int
    shift: int

    def result(self, acc: Expr, word: Expr, out: DType) -> Expr:
        """What becomes of an accumulator, where the stream has ``word`` for its channel."""
        if out is DType.I32:
            return Binary("shr", acc, Const(PRE_SHIFT, I32))
        if self.shift:
            return requantized_fixed(acc, word, self.zero_point, self.shift)
        return requantized(acc, Bitcast(F32, word), self.zero_point)


def _tiles(w: Buffer, x: Buffer, y: Sequence[Buffer], groups: int, channels: int, rounding: _Rounding) -> Block:
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
        word = Var(f"scale{c}", I32)
        if requantize:
            stmts.append(Let(word, Load(w, (at + (TILE * (1 + groups) + c),))))
        for p, out in enumerate(y):
            value = rounding.result(Load(acc, (as_expr(c), as_expr(p))), word, out.dtype)
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


_FLOAT = ("groups", "channels", "zero_point")
_FIXED = (*_FLOAT, "shift")
ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction("copy_bytes", ("count",), copy_bytes, DSP, ((11,), (3,), (7,), (8,))),
    BlockInstruction("quad_stage_pixel", ("groups",), stage_pixel, DSP, ((3,),)),
    BlockInstruction("quad_stage", ("groups", "step"), stage, DSP_FPU, ((3, 12),)),
    BlockInstruction("quad_fill", ("groups", "value"), fill, DSP, ((3, -128),)),
    BlockInstruction("quad_i8", _FLOAT, contraction("quad", DType.I8, 4), DSP_FPU, ((9, 6, -128),)),
    BlockInstruction("quad_i32", ("groups", "channels"), contraction("quad", DType.I32, 4), DSP_FPU, ((2, 4),)),
    BlockInstruction("quad_fixed", _FIXED, contraction("quad", DType.I8, 4), DSP_FPU, ((9, 6, -128, 11),)),
    BlockInstruction("quad_fixed12", _FLOAT, contraction("quad", DType.I8, 4, USUAL_SHIFT), DSP_FPU, ((4, 2, 127),)),
    BlockInstruction("lone_fixed", _FIXED, contraction("lone", DType.I8, 1), DSP_FPU, ((3, 4, 5, 15),)),
    BlockInstruction("lone_i8", _FLOAT, contraction("lone", DType.I8, 1), DSP_FPU, ((3, 4, 5),)),
    BlockInstruction("lone_i32", ("groups", "channels"), contraction("lone", DType.I32, 1), DSP_FPU, ((1, 2),)),
)
