"""Block instructions of contractions on cores with DSP: two staged pixels by three channels, one pixel by eight.

*Weights* are a stream of 32-bit words in the order in which they are read. For each tile of channels: a bias per
channel; for each group of four k a word of four signed bytes per channel, k0 in the low bits; and, for rows that
requantize, the float32 scale of each channel. Channels that fill no tile follow as tiles of one.

*Requantization* is ``clamp(zero_point + round_half_even(float32(acc) * scale), -128, 127)`` in float32, where the sum
of the product and 1.5 * 2^23 has the rounded product in its low bits: it must stay below 2^21.

*Staged activations* are words of two signed halfwords: for each group of four k and each of two pixels (k0, k2) and
(k1, k3), as ``widen_even`` and ``widen_odd`` make them of four bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..ir.loops import (
    F32,
    I32,
    Access,
    Alloc,
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
from .common import param, requantized
from .instruction import DSP, DSP_FPU, BlockInstruction

PAIR_TILE = 3
"""Channels that ``pair`` rows compute together: with two pixels they fill the registers of an Arm core."""
SINGLE_TILE = 8
"""Channels that ``single`` rows compute together."""
KEPT = 4
"""Channels that the meaning keeps in registers at a time: with more, compilers spill."""
STRAIGHT = 10
"""Groups of four k that the meaning runs through at most before it loops: counters cost registers."""
STAGED_STEP = 4
"""Words of staged activations for each group of four k."""


def stream_words(channels: int, groups: int, requantize: bool) -> int:
    """The length of a stream of weights."""
    return channels * (1 + groups + requantize)


# ---------------------------------------------------------------- staging


def _stage(groups: int) -> Kernel:
    """Four bytes at a time, widened for one of two pixels."""
    x = param("x", DType.I8, 4 * groups, Access.READ)
    y = param("y", DType.I32, STAGED_STEP * groups - 2, Access.WRITE, 8)
    g, word = Var("g"), Var("word", I32)
    body = (
        Let(word, Bitcast(I32, Load(x, (g * 4,), 4))),
        Store(y, (g * STAGED_STEP,), Call("widen_even", (word,), I32)),
        Store(y, (g * STAGED_STEP + 1,), Call("widen_odd", (word,), I32)),
    )
    return Kernel("stage", (x, y), loop(g, groups, *body))


def _stage_fill(groups: int, value: int) -> Kernel:
    """The same activation throughout, as at borders."""
    y = param("y", DType.I32, STAGED_STEP * groups - 2, Access.WRITE, 8)
    g, both = Var("g"), Const((value << 16) + (value & 0xFFFF), I32)
    stores = tuple(Store(y, (g * STAGED_STEP + half,), both) for half in range(2))
    return Kernel("stage_fill", (y,), loop(g, groups, *stores))


# ---------------------------------------------------------------- contraction


@dataclass(frozen=True)
class _Contraction:
    """The meaning of one row: ``tile`` channels by ``len(outputs)`` pixels at a time over ``groups`` of four k."""

    weights: Buffer
    x: Buffer
    outputs: tuple[Buffer, ...]
    groups: int
    channels: int
    tile: int
    zero_point: int = 0

    @property
    def requantize(self) -> bool:
        return self.outputs[0].dtype is DType.I8

    def body(self) -> Block:
        full = self.channels // self.tile
        rest = range(full * self.tile, self.channels)
        singles = [self._tiles(1, 1, c, as_expr(c * self._words(1)), f"s{c}_") for c in rest]
        return (*self._tiles(full, self.tile, 0, as_expr(0), "t"), *(stmt for single in singles for stmt in single))

    def _words(self, tile: int) -> int:
        return stream_words(tile, self.groups, self.requantize)

    def _tiles(self, count: int, tile: int, first: int, stream: Expr, stem: str) -> Block:
        """``count`` tiles from channel ``first`` on, whose part of the stream begins at ``stream``."""
        t = Var(stem)
        parts: Block = ()
        for start in range(0, tile, KEPT):
            part = range(start, min(start + KEPT, tile))
            parts += self._part(stream + t * self._words(tile), tile, part, t * tile + first, f"{stem}{start}")
        return loop(t, count, *parts)

    def _part(self, at: Expr, tile: int, part: range, channel: Expr, stem: str) -> Block:
        """The channels ``part`` of the tile whose words begin at ``at``; ``channel`` is the first of the tile."""
        acc = Buffer(f"acc_{stem}", I32, (len(part), len(self.outputs)), Space.REG)
        pixels = range(len(self.outputs))
        stmts: list[Stmt] = [Alloc(acc)]
        for c in part:
            bias = Var(f"bias_{stem}_{c}", I32)
            stmts.append(Let(bias, Load(self.weights, (at + c,))))
            stmts += [Store(acc, (as_expr(c - part.start), as_expr(p)), bias) for p in pixels]
        g = Var(f"g_{stem}")
        steps = max(n for n in range(1, STRAIGHT + 1) if self.groups % n == 0)
        body: Block = ()
        for step in range(steps):
            body += self._group(g * steps + step, at + tile, tile, part, acc, f"{stem}_{step}")
        stmts += loop(g, self.groups // steps, *body)
        for c in part:
            scale = Var(f"scale_{stem}_{c}", F32)
            if self.requantize:
                stmts.append(Let(scale, Bitcast(F32, Load(self.weights, (at + (tile * (1 + self.groups) + c),)))))
            for p in pixels:
                value = self._result(Load(acc, (as_expr(c - part.start), as_expr(p))), scale)
                stmts.append(Store(self.outputs[p], (channel + c,), value))
        return tuple(stmts)

    def _group(self, g: Expr, at: Expr, tile: int, part: range, acc: Buffer, stem: str) -> Block:
        """Four products for every channel of the part and every pixel."""
        out: list[Stmt] = []
        halves = []
        for p in range(len(self.outputs)):
            even, odd = Var(f"x{p}_even_{stem}", I32), Var(f"x{p}_odd_{stem}", I32)
            out += [Let(half, value) for half, value in zip((even, odd), self._pixel(g, p), strict=True)]
            halves.append((even, odd))
        for c in part:
            word = Var(f"w{c}_{stem}", I32)
            out.append(Let(word, Load(self.weights, (at + g * tile + c,))))
            for half, row in enumerate(("widen_even", "widen_odd")):
                wide = Var(f"w{c}_{row[6:]}_{stem}", I32)
                out.append(Let(wide, Call(row, (word,), I32)))
                for p, pair in enumerate(halves):
                    where = (as_expr(c - part.start), as_expr(p))
                    out.append(Store(acc, where, Call("dot2_i16i16", (Load(acc, where), pair[half], wide), I32)))
        return tuple(out)

    def _pixel(self, g: Expr, pixel: int) -> tuple[Expr, Expr]:
        if self.x.dtype is DType.I32:
            first = g * STAGED_STEP + 2 * pixel
            return Load(self.x, (first,)), Load(self.x, (first + 1,))
        word = Bitcast(I32, Load(self.x, (g * 4,), 4))
        return Call("widen_even", (word,), I32), Call("widen_odd", (word,), I32)

    def _result(self, acc: Expr, scale: Expr) -> Expr:
        return requantized(acc, scale, self.zero_point) if self.requantize else acc


def _pair(out: DType) -> Callable[..., Kernel]:
    """Two staged pixels by all channels."""

    def meaning(groups: int, channels: int, zero_point: int = 0) -> Kernel:
        w = param("w", DType.I32, stream_words(channels, groups, out is DType.I8), Access.READ, 4)
        x = param("x", DType.I32, STAGED_STEP * groups, Access.READ, 8)
        y = tuple(param(name, out, channels, Access.WRITE) for name in ("y0", "y1"))
        return Kernel("pair", (w, x, *y), _Contraction(w, x, y, groups, channels, PAIR_TILE, zero_point).body())

    return meaning


def _single(out: DType) -> Callable[..., Kernel]:
    """One pixel, widened on the way, by all channels."""

    def meaning(groups: int, channels: int, zero_point: int = 0) -> Kernel:
        w = param("w", DType.I32, stream_words(channels, groups, out is DType.I8), Access.READ, 4)
        x = param("x", DType.I8, 4 * groups, Access.READ)
        y = (param("y", out, channels, Access.WRITE),)
        return Kernel("single", (w, x, *y), _Contraction(w, x, y, groups, channels, SINGLE_TILE, zero_point).body())

    return meaning


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction("stage", ("groups",), _stage, DSP, ((3,),)),
    BlockInstruction("stage_fill", ("groups", "value"), _stage_fill, DSP, ((3, -5),)),
    BlockInstruction("pair_i8", ("groups", "channels", "zero_point"), _pair(DType.I8), DSP_FPU, ((13, 7, -128),)),
    BlockInstruction("pair_i32", ("groups", "channels"), _pair(DType.I32), DSP_FPU, ((2, 5),)),
    BlockInstruction("single_i8", ("groups", "channels", "zero_point"), _single(DType.I8), DSP_FPU, ((3, 11, 4),)),
    BlockInstruction("single_i32", ("groups", "channels"), _single(DType.I32), DSP_FPU, ((2, 9),)),
)
