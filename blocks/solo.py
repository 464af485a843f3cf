"""Block instructions of contractions: four channels of a single pixel at a time, on packed weights.

*Weights* and *activations* are those of ``blocks/quad.py``, but for tiles of four channels, and the pixel is read as
bytes: each tile widens it again, which needs no memory. ``solo_fixed`` has a word for the factor of each channel,
``solo_halfword`` for two, the lower half first; a factor ``f`` there means ``f << 16``.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..ir.loops import (
    I32,
    Access,
    Alloc,
    Binary,
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
from .common import param, requantized_fixed
from .instruction import DSP_FPU, BlockInstruction
from .quad import staged_words

TILE = 4
"""Channels that are computed together."""
GROUPS = 8
"""Groups of four k that the meaning runs through at most before it loops."""


def stream_words(channels: int, groups: int, halfwords: bool) -> int:
    """The length of the stream of weights for a multiple of four channels."""
    return channels * (groups + 1) + (channels // 2 if halfwords else channels)


def factor_words(factors: np.ndarray) -> np.ndarray:
    """The factors of a tile as the stream has them; i16 ones two to a word."""
    return factors.astype("<i2").view("<i4") if factors.dtype == np.int16 else factors


def _solo(halfwords: bool, groups: int, channels: int, zero_point: int, shift: int) -> Kernel:
    """One pixel by all channels, a multiple of four."""
    words = stream_words(TILE, groups, halfwords)
    w = param("w", DType.I32, channels // TILE * words, Access.READ, 4)
    x = param("x", DType.I8, 4 * groups, Access.READ)
    y = param("y", DType.I8, channels, Access.WRITE)
    tile, g = Var("tile"), Var("g")
    at, acc = tile * words, Buffer("acc", I32, (TILE,), Space.REG)
    stmts: list[Stmt] = [Alloc(acc)]
    stmts += [Store(acc, (as_expr(c),), Load(w, (at + c,))) for c in range(TILE)]
    steps = max(n for n in range(1, GROUPS + 1) if groups % n == 0)
    body: Block = ()
    for step in range(steps):
        group = g * steps + step
        body += _group(w, at + (group * TILE + TILE), x, group * 4, acc, f"_{step}")
    stmts += loop(g, groups // steps, *body)
    for c in range(TILE):
        factor = _factor(w, at + TILE * (1 + groups), c, halfwords)
        value = requantized_fixed(Load(acc, (as_expr(c),)), factor, zero_point, shift)
        stmts.append(Store(y, (tile * TILE + c,), value))
    return Kernel("solo", (w, x, y), loop(tile, channels // TILE, *stmts))


def _factor(w: Buffer, at: Expr, channel: int, halfwords: bool) -> Expr:
    """Of a channel of the tile whose factors begin at ``at``."""
    if not halfwords:
        return Load(w, (at + channel,))
    word = Load(w, (at + channel // 2,))
    return Binary("shl", word, Const(16, I32)) if channel % 2 == 0 else Binary("and", word, Const(-1 << 16, I32))


def _group(w: Buffer, weights: Expr, x: Buffer, at: Expr, acc: Buffer, stem: str) -> Block:
    """Four products for every channel."""
    lets, odd, even = staged_words(x, at, stem)
    out: list[Stmt] = [*lets]
    for c in range(TILE):
        word, low = Var(f"w{c}{stem}", I32), Var(f"even_w{c}{stem}", I32)
        out += [Let(word, Load(w, (weights + c,))), Let(low, Call("widen_even", (word,), I32))]
        first = Call("dot2_i16i16", (Load(acc, (as_expr(c),)), odd, word), I32)
        out.append(Store(acc, (as_expr(c),), Call("dot2_i16i16", (first, even, low), I32)))
    return tuple(out)


_SCALARS = ("groups", "channels", "zero_point", "shift")
ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction("solo_fixed", _SCALARS, partial(_solo, False), DSP_FPU, ((5, 8, 7, 12),)),
    BlockInstruction("solo_halfword", _SCALARS, partial(_solo, True), DSP_FPU, ((4, 4, -128, 16),)),
)
