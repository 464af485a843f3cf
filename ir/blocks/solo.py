"""A block instruction of contractions: four channels of a single pixel at a time, on packed weights.

*Weights* and *activations* are those of ``ir/blocks/quad.py``, but for tiles of four channels, and the pixel is read as
bytes: each tile widens it again, which needs no memory.
"""

from __future__ import annotations

from ..loops import I32, Access, Alloc, Block, Buffer, Call, Expr, Kernel, Let, Load, Space, Stmt, Store, Var, as_expr
from ..loops_rewrite import loop
from ..types import DType
from .common import Row, param, requantized_fixed
from .quad import staged_words

TILE = 4
"""Channels that are computed together."""
GROUPS = 8
"""Groups of four k that the meaning runs through at most before it loops."""


def solo(groups: int, channels: int, zero_point: int, shift: int) -> Kernel:
    """One pixel by all channels, a multiple of four."""
    w = param("w", DType.I32, channels * (groups + 2), Access.READ, 4)
    x = param("x", DType.I8, 4 * groups, Access.READ)
    y = param("y", DType.I8, channels, Access.WRITE)
    tile, g = Var("tile"), Var("g")
    at, acc = tile * (TILE * (groups + 2)), Buffer("acc", I32, (TILE,), Space.REG)
    stmts: list[Stmt] = [Alloc(acc)]
    stmts += [Store(acc, (as_expr(c),), Load(w, (at + c,))) for c in range(TILE)]
    steps = max(n for n in range(1, GROUPS + 1) if groups % n == 0)
    body: Block = ()
    for step in range(steps):
        group = g * steps + step
        body += _group(w, at + (group * TILE + TILE), x, group * 4, acc, f"_{step}")
    stmts += loop(g, groups // steps, *body)
    for c in range(TILE):
        factor = Load(w, (at + (TILE * (1 + groups) + c),))
        value = requantized_fixed(Load(acc, (as_expr(c),)), factor, zero_point, shift)
        stmts.append(Store(y, (tile * TILE + c,), value))
    return Kernel("solo_fixed", (w, x, y), loop(tile, channels // TILE, *stmts))


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


ROWS: tuple[Row, ...] = (("solo_fixed", ("groups", "channels", "zero_point", "shift"), solo),)
