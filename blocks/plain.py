"""Block instructions of cores without packed arithmetic: contractions of bytes for four pixels at a time.

*Staged activations* stand side by side for four pixels, one k after the other, so that one instruction loads them.

``quad_words`` (no long multiplication): a word for each pixel. Weights are bytes plus 128, because only unsigned bytes
are loaded at a constant offset; what that adds, 128 times the sum of a pixel's activations, is taken off by the first
row of words.

``quad_pairs`` (long multiplication): a word ``a + 128 + b * 2^24`` for two pixels, which a weight multiplies at once
into a 64-bit sum ``A + B * 2^24``; |A| stays below 2^23. Each channel has a bias for A, which takes the 128 off, and
one for B. Two channels share the activations; their weights stand side by side.

``single_words``: one pixel in words behind the same correction, by four channels at a time, whose weights stand side by
side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..ir.loops import (
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
    If,
    Kernel,
    Let,
    Load,
    Space,
    Stmt,
    Store,
    Type,
    Var,
    as_expr,
)
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import param, requantized_fixed
from .instruction import LONG, THUMB, BlockInstruction

PIXELS = 4
"""Pixels that are multiplied together."""
PAIR_CHANNELS = 2
"""Channels that ``quad_pairs`` multiplies together."""
SINGLE_CHANNELS = 4
"""Channels that ``single_words`` multiplies together."""
WEIGHT_OFFSET = 128
FIELD = 24
"""Bits of the lower of two sums in one."""
STRAIGHT = 8
"""Steps of k that a meaning runs through before it loops."""

I8, I64, U32 = Type(DType.I8), Type(DType.I64), Type(DType.U32)


def _steps(count: int, body: Callable[[Expr, str], Block]) -> Block:
    """``body`` for each k, some at a time without a loop; it gets k and a stem for its names."""
    outer = Var("g")
    full = count // STRAIGHT
    out = loop(outer, full, *(s for i in range(STRAIGHT) for s in body(outer * STRAIGHT + i, f"_{i}")))
    return (*out, *(s for i in range(full * STRAIGHT, count) for s in body(as_expr(i), f"_r{i}")))


def _add(acc: Buffer, at: int, value: Expr) -> Store:
    where = (as_expr(at),)
    return Store(acc, where, Binary("add", Load(acc, where), value))


# ---------------------------------------------------------------- staging


def _spread(count: int, step: int) -> Kernel:
    """Bytes as words, ``step`` apart, and their sum times -128 added to ``total``."""
    x = param("x", DType.I8, count, Access.READ)
    y = param("y", DType.I32, step * (count - 1) + 1, Access.WRITE)
    total = param("total", DType.I32, 1, Access.READ_WRITE)
    i, word = Var("i"), Var("word", I32)
    acc = Buffer("acc", I32, (1,), Space.REG)
    body = (Let(word, Convert(I32, Load(x, (i,)))), Store(y, (i * step,), word), _add(acc, 0, word))
    taken = Binary("mul", Load(acc, (as_expr(0),)), Const(-WEIGHT_OFFSET, I32))
    return Kernel(
        "spread", (x, y, total),
        (
            Alloc(acc), Store(acc, (as_expr(0),), Const(0, I32)), *loop(i, count, *body),
            Store(total, (as_expr(0),), Binary("add", Load(total, (as_expr(0),)), taken)),
        ),
    )  # fmt: skip


def _pack(count: int, flip: int) -> Kernel:
    """Bytes into one byte of every second word, with the sign bit turned over where ``flip`` is -128."""
    x = param("x", DType.I8, count, Access.READ)
    y = param("y", DType.I8, 8 * (count - 1) + 1, Access.WRITE)
    i = Var("i")
    return Kernel("pack", (x, y), loop(i, count, Store(y, (i * 8,), Binary("xor", Load(x, (i,)), Const(flip, I8)))))


# ---------------------------------------------------------------- contraction


def _quad_words(steps: int, channels: int) -> Kernel:
    b = param("b", DType.I32, channels, Access.READ)
    w = param("w", DType.U8, channels * steps, Access.READ)
    x = param("x", DType.I32, PIXELS * (steps + 1), Access.READ)
    y = param("y", DType.I32, PIXELS * channels, Access.WRITE)
    c, bias, acc = Var("c"), Var("bias", I32), Buffer("acc", I32, (PIXELS,), Space.REG)

    def step(k: Expr, stem: str) -> Block:
        weight = Var(f"w{stem}", I32)
        named = Let(weight, Convert(I32, Load(w, (c * steps + k,))))
        products = (Binary("mul", Load(x, (k * PIXELS + (PIXELS + p),)), weight) for p in range(PIXELS))
        return (named, *(_add(acc, p, value) for p, value in enumerate(products)))

    body: list[Stmt] = [Alloc(acc), Let(bias, Load(b, (c,)))]
    body += [Store(acc, (as_expr(p),), Binary("add", bias, Load(x, (as_expr(p),)))) for p in range(PIXELS)]
    body += _steps(steps, step)
    body += [Store(y, (c * PIXELS + p,), Load(acc, (as_expr(p),))) for p in range(PIXELS)]
    return Kernel("quad_words", (b, w, x, y), loop(c, channels, *body))


def _single_words(steps: int, channels: int) -> Kernel:
    """``channels`` in whole tiles."""
    tile = SINGLE_CHANNELS
    b = param("b", DType.I32, channels, Access.READ)
    w = param("w", DType.U8, channels * steps, Access.READ)
    x = param("x", DType.I32, steps + 1, Access.READ)
    y = param("y", DType.I32, channels, Access.WRITE)
    t, acc = Var("t"), Buffer("acc", I32, (tile,), Space.REG)

    def step(k: Expr, stem: str) -> Block:
        value = Var(f"x{stem}", I32)
        at = t * (steps * tile) + k * tile
        products = (Binary("mul", Convert(I32, Load(w, (at + c,))), value) for c in range(tile))
        return (Let(value, Load(x, (k + 1,))), *(_add(acc, c, v) for c, v in enumerate(products)))

    taken = Load(x, (as_expr(0),))
    body: list[Stmt] = [Alloc(acc)]
    body += [Store(acc, (as_expr(c),), Binary("add", Load(b, (t * tile + c,)), taken)) for c in range(tile)]
    body += _steps(steps, step)
    body += [Store(y, (t * tile + c,), Load(acc, (as_expr(c),))) for c in range(tile)]
    return Kernel("single_words", (b, w, x, y), loop(t, channels // tile, *body))


def _quad_pairs(steps: int, channels: int) -> Kernel:
    b = param("b", DType.I32, 2 * channels, Access.READ)
    w = param("w", DType.I8, channels * steps, Access.READ)
    x = param("x", DType.I8, 8 * steps, Access.READ, 8)
    y = param("y", DType.I32, PIXELS * channels, Access.WRITE)
    full, odd = channels // PAIR_CHANNELS, channels % PAIR_CHANNELS
    t = Var("t")
    parts = loop(t, full, *_pair_tile((b, w, x, y), steps, PAIR_CHANNELS, t * PAIR_CHANNELS, "t"))
    last = _pair_tile((b, w, x, y), steps, 1, as_expr(channels - 1), "s") if odd else ()
    return Kernel("quad_pairs", (b, w, x, y), (*parts, *last))


def _pair_tile(params: tuple[Buffer, ...], steps: int, tile: int, first: Expr, stem: str) -> Block:
    """``tile`` channels from ``first`` on."""
    b, w, x, y = params
    acc = Buffer(f"acc_{stem}", I64, (2 * tile,), Space.REG)

    def step(k: Expr, name: str) -> Block:
        out: list[Stmt] = []
        words = [Var(f"x{p}{name}{stem}", I64) for p in range(2)]
        for p, word in enumerate(words):
            out.append(Let(word, Convert(I64, Bitcast(I32, Load(x, (k * 8 + 4 * p,), 4)))))
        for c in range(tile):
            weight = Var(f"w{c}{name}{stem}", I64)
            out.append(Let(weight, Convert(I64, Load(w, (first * steps + k * tile + c,)))))
            out += [_add(acc, 2 * c + p, Binary("mul", word, weight)) for p, word in enumerate(words)]
        return tuple(out)

    body: list[Stmt] = [Alloc(acc), *(Store(acc, (as_expr(i),), Const(0, I64)) for i in range(2 * tile))]
    body += _steps(steps, step)
    for c in range(tile):
        for p in range(2):
            lower, upper = _fields(Load(acc, (as_expr(2 * c + p),)), f"{c}{p}{stem}")
            body.append(lower)
            for half, value in enumerate((lower.var, upper)):
                biased = Binary("add", value, Load(b, ((first + c) * 2 + half,)))
                body.append(Store(y, ((first + c) * PIXELS + (2 * p + half),), biased))
    return tuple(body)


def _fields(total: Expr, stem: str) -> tuple[Let, Expr]:
    """The lower sum, sign extended and named, and the upper one, which has lent one where that is negative."""
    spare = Const(32 - FIELD, I32)
    lower = Let(Var(f"lower{stem}", I32), Binary("shr", Binary("shl", Convert(I32, total), spare), spare))
    lent = Convert(I32, Binary("shr", Convert(U32, lower.var), Const(31, U32)))
    return lower, Binary("add", Convert(I32, Binary("shr", total, Const(FIELD, I64))), lent)


# ---------------------------------------------------------------- requantization


@dataclass(frozen=True)
class _Requantization:
    """Accumulators [channel, lanes] as bytes of ``pixels`` that are ``step`` apart. ``s`` has the factor and the shift
    of each channel, as ``scale_round`` takes them; ``fixed``: all shifts are positive."""

    fixed: bool

    def __call__(self, channels: int, pixels: int, lanes: int, step: int, zero_point: int) -> Kernel:
        a = param("a", DType.I32, lanes * channels, Access.READ)
        s = param("s", DType.I32, 2 * channels, Access.READ)
        y = param("y", DType.I8, (pixels - 1) * step + channels, Access.WRITE)
        c, factor, shift, half = Var("c"), Var("factor", I32), Var("shift", I32), Var("half", I32)

        def results(value: Callable[[Expr], Expr], stem: str) -> Block:
            def one(p: Expr) -> Store:
                return Store(y, (c + p * step,), _clamped(value(Load(a, (c * lanes + p,))), zero_point))

            p = Var(f"p_{stem}")
            return loop(p, pixels, one(p)) if pixels > PIXELS else tuple(one(as_expr(p)) for p in range(pixels))

        def by_multiplier(acc: Expr) -> Expr:
            return Binary("shr", Binary("add", Call("mul_high", (acc, factor), I32), half), shift)

        one = Const(1, I32)
        multiplied = (Let(half, Binary("shl", one, Binary("sub", shift, one))), *results(by_multiplier, "fixed"))
        if not self.fixed:
            floats = results(lambda acc: Call("scale_round", (acc, factor, shift), I32), "float")
            multiplied = (If(Binary("gt", shift, Const(0, I32)), multiplied, floats),)
        body = (Let(factor, Load(s, (c * 2,))), Let(shift, Load(s, (c * 2 + 1,))), *multiplied)
        return Kernel("requantize", (a, s, y), loop(c, channels, *body))


def _requantize_halfword(channels: int, pixels: int, lanes: int, step: int, zero_point: int, shift: int) -> Kernel:
    """The same with factors ``s`` of 15 bits, which stand for ``s << 16``, and one shift."""
    a = param("a", DType.I32, lanes * channels, Access.READ)
    s = param("s", DType.I16, channels, Access.READ)
    y = param("y", DType.I8, (pixels - 1) * step + channels, Access.WRITE)
    c, p, factor = Var("c"), Var("p"), Var("factor", I32)
    widened = Let(factor, Binary("shl", Convert(I32, Load(s, (c,))), Const(16, I32)))
    result = requantized_fixed(Load(a, (c * lanes + p,)), factor, zero_point, shift)
    stored = loop(p, pixels, Store(y, (c + p * step,), result))
    return Kernel("requantize", (a, s, y), loop(c, channels, widened, *stored))


def _clamped(steps: Expr, zero_point: int) -> Expr:
    moved = Binary("add", steps, Const(zero_point, I32))
    return Convert(I8, Binary("min", Binary("max", moved, Const(-128, I32)), Const(127, I32)))


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction("spread", ("count", "step"), _spread, THUMB, ((5, 4),), frozenset({"step"})),
    BlockInstruction("pack", ("count", "flip"), _pack, LONG, ((3, -128),)),
    BlockInstruction("quad_words", ("steps", "channels"), _quad_words, THUMB, ((13, 3),)),
    BlockInstruction("quad_pairs", ("steps", "channels"), _quad_pairs, LONG, ((13, 3),)),
    BlockInstruction("single_words", ("steps", "channels"), _single_words, THUMB, ((13, 8),)),
    BlockInstruction(
        "requantize_i8", ("channels", "pixels", "lanes", "step", "zero_point"), _Requantization(fixed=False),
        THUMB, ((3, 2, 4, 7, -128),),
    ),
    BlockInstruction(
        "requantize_fixed", ("channels", "pixels", "lanes", "step", "zero_point"), _Requantization(fixed=True),
        THUMB, ((3, 6, 6, 7, 5),),
    ),
    BlockInstruction(
        "requantize_halfword", ("channels", "pixels", "lanes", "step", "zero_point", "shift"), _requantize_halfword,
        THUMB, ((3, 2, 4, 7, -128, 5),),
    ),
)
