"""Block instructions: whole loop nests that a loop-IR ``Invoke`` may name, each with its meaning as a kernel.

An ``Invoke`` carries constant scalars, so that its meaning is a plain kernel of static shapes. The C printer calls the
row's function of ``runtime_c`` (hand-written assembly where the compiler targets a core that has it, and a C twin with
the same bits elsewhere); the LLVM printer prints the meaning as a function of its own.

Operands of contractions
------------------------
*Weights* are a stream of 32-bit words in the order in which they are read. For each tile of channels: a bias per
channel; for each group of four k a word of four signed bytes per channel, k0 in the low bits; and for rows that
requantize per channel a multiplier ``m``, a summand ``a`` and a shift ``n``: the result is
``clamp(((acc * m >> 32) + a) >> n, -128, 127)``. Channels that fill no tile follow as tiles of one.

*Staged activations* are words of two signed halfwords: for each group of four k and each of two pixels (k0, k2) and
(k1, k3), as ``widen_even`` and ``widen_odd`` make them of four bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .loops import (
    I32,
    Access,
    Alloc,
    Binary,
    Bitcast,
    Block,
    Buffer,
    Call,
    Const,
    Convert,
    Expr,
    Kernel,
    Let,
    Load,
    Space,
    Stmt,
    Store,
    Type,
    Var,
    as_expr,
    loop,
)
from .types import DType

PAIR_TILE = 3
"""Channels that ``pair`` rows compute together: with two pixels they fill the registers of an Arm core."""
SINGLE_TILE = 8
"""Channels that ``single`` rows compute together."""
STAGED_STEP = 4
"""Words of staged activations for each group of four k."""

_I8, _I64 = Type(DType.I8), Type(DType.I64)


@dataclass(frozen=True)
class BlockInstruction:
    """``meaning`` maps the values of ``scalars`` to a kernel with one flat parameter for each pointer."""

    name: str
    scalars: tuple[str, ...]
    meaning: Callable[..., Kernel]


def block_kernel(name: str, scalars: Sequence[int]) -> Kernel:
    """The meaning of an Invoke, under :func:`block_name`."""
    kernel = BLOCKS[name].meaning(*scalars)
    return Kernel(block_name(name, scalars), kernel.params, kernel.body, kernel.loc)


def block_name(name: str, scalars: Sequence[int]) -> str:
    """``stage_16``: an identifier for a block instruction with its scalars."""
    return "_".join((name, *(str(scalar).replace("-", "m") for scalar in scalars)))


def stream_words(channels: int, groups: int, requantize: bool) -> int:
    """The length of a stream of weights."""
    return channels * (1 + groups + (3 if requantize else 0))


def _param(name: str, dtype: DType, size: int, access: Access, align: int = 0) -> Buffer:
    return Buffer(name, Type(dtype), (size,), Space.GLOBAL, access, align)


# ---------------------------------------------------------------- staging


def _stage(groups: int) -> Kernel:
    """Four bytes at a time, widened for one of two pixels."""
    x = _param("x", DType.I8, 4 * groups, Access.READ)
    y = _param("y", DType.I32, STAGED_STEP * groups - 2, Access.WRITE, 8)
    g, word = Var("g"), Var("word", I32)
    body = (
        Let(word, Bitcast(I32, Load(x, (g * 4,), 4))),
        Store(y, (g * STAGED_STEP,), Call("widen_even", (word,), I32)),
        Store(y, (g * STAGED_STEP + 1,), Call("widen_odd", (word,), I32)),
    )
    return Kernel("stage", (x, y), loop(g, groups, *body))


def _stage_fill(groups: int, value: int) -> Kernel:
    """The same activation throughout, as at borders."""
    y = _param("y", DType.I32, STAGED_STEP * groups - 2, Access.WRITE, 8)
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

    @property
    def requantize(self) -> bool:
        return self.outputs[0].dtype is DType.I8

    def body(self) -> Block:
        full = self.channels // self.tile
        start = full * self.tile
        return (
            *self._tiles(full, self.tile, 0, as_expr(0), "t"),
            *self._tiles(self.channels - start, 1, start, as_expr(start * (self._words(1))), "s"),
        )

    def _words(self, tile: int) -> int:
        return stream_words(tile, self.groups, self.requantize)

    def _tiles(self, count: int, tile: int, first: int, stream: Expr, stem: str) -> Block:
        t = Var(stem)
        at = stream + t * self._words(tile)
        acc = Buffer(f"acc_{stem}", I32, (tile, len(self.outputs)), Space.REG)
        both = [(c, p) for c in range(tile) for p in range(len(self.outputs))]
        stmts: list[Stmt] = [Alloc(acc)]
        stmts += [Store(acc, (as_expr(c), as_expr(p)), Load(self.weights, (at + c,))) for c, p in both]
        g = Var(f"g_{stem}")
        stmts += loop(g, self.groups, *self._group(g, at + tile, tile, acc))
        end = at + tile * (1 + self.groups)
        for c, p in both:
            value = self._result(Load(acc, (as_expr(c), as_expr(p))), end + 3 * c)
            stmts.append(Store(self.outputs[p], (t * tile + (first + c),), value))
        return loop(t, count, *stmts)

    def _group(self, g: Expr, at: Expr, tile: int, acc: Buffer) -> Block:
        """Four products for every channel and pixel."""
        stem = acc.name
        out: list[Stmt] = []
        halves = []
        for p in range(len(self.outputs)):
            even, odd = Var(f"{stem}_e{p}", I32), Var(f"{stem}_o{p}", I32)
            out += [Let(half, value) for half, value in zip((even, odd), self._pixel(g, p), strict=True)]
            halves.append((even, odd))
        for c in range(tile):
            word = Var(f"{stem}_w{c}", I32)
            out.append(Let(word, Load(self.weights, (at + g * tile + c,))))
            for half, row in enumerate(("widen_even", "widen_odd")):
                wide = Var(f"{stem}_{row}{c}", I32)
                out.append(Let(wide, Call(row, (word,), I32)))
                for p, pair in enumerate(halves):
                    where = (as_expr(c), as_expr(p))
                    value = Call("dot2_i16i16", (Load(acc, where), pair[half], wide), I32)
                    out.append(Store(acc, where, value))
        return tuple(out)

    def _pixel(self, g: Expr, pixel: int) -> tuple[Expr, Expr]:
        if self.x.dtype is DType.I32:
            first = g * STAGED_STEP + 2 * pixel
            return Load(self.x, (first,)), Load(self.x, (first + 1,))
        word = Bitcast(I32, Load(self.x, (g * 4,), 4))
        return Call("widen_even", (word,), I32), Call("widen_odd", (word,), I32)

    def _result(self, acc: Expr, at: Expr) -> Expr:
        if not self.requantize:
            return acc
        m, a, n = (Load(self.weights, (at + part,)) for part in range(3))
        product = Binary("mul", Convert(_I64, acc), Convert(_I64, m))
        high = Convert(I32, Binary("shr", product, Const(32, _I64)))
        steps = Binary("shr", Binary("add", high, a), n)
        return Convert(_I8, Binary("min", Binary("max", steps, Const(-128, I32)), Const(127, I32)))


def _pair(out: DType) -> Callable[..., Kernel]:
    """Two staged pixels by all channels."""

    def meaning(groups: int, channels: int) -> Kernel:
        w = _param("w", DType.I32, stream_words(channels, groups, out is DType.I8), Access.READ, 4)
        x = _param("x", DType.I32, STAGED_STEP * groups, Access.READ, 8)
        y = tuple(_param(name, out, channels, Access.WRITE) for name in ("y0", "y1"))
        return Kernel("pair", (w, x, *y), _Contraction(w, x, y, groups, channels, PAIR_TILE).body())

    return meaning


def _single(out: DType) -> Callable[..., Kernel]:
    """One pixel, widened on the way, by all channels."""

    def meaning(groups: int, channels: int) -> Kernel:
        w = _param("w", DType.I32, stream_words(channels, groups, out is DType.I8), Access.READ, 4)
        x = _param("x", DType.I8, 4 * groups, Access.READ)
        y = (_param("y", out, channels, Access.WRITE),)
        return Kernel("single", (w, x, *y), _Contraction(w, x, y, groups, channels, SINGLE_TILE).body())

    return meaning


BLOCKS: dict[str, BlockInstruction] = {
    row.name: row
    for row in (
        BlockInstruction("stage", ("groups",), _stage),
        BlockInstruction("stage_fill", ("groups", "value"), _stage_fill),
        BlockInstruction("pair_i8", ("groups", "channels"), _pair(DType.I8)),
        BlockInstruction("pair_i32", ("groups", "channels"), _pair(DType.I32)),
        BlockInstruction("single_i8", ("groups", "channels"), _single(DType.I8)),
        BlockInstruction("single_i32", ("groups", "channels"), _single(DType.I32)),
    )
}
