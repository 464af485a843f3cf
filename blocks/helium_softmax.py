"""Softmax of a row of bytes on cores with Helium: exponentials are gathered from a table, four at a time.

The arithmetic is that of the operator ``int_softmax`` (``ops/integer.py``).
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.build import convert, maximum, store
from ..ir.loops import I32, INDEX, U32, Access, Alloc, Block, Buffer, Call, Expr, Kernel, Let, Space, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, clamped, param, signed
from .instruction import MVE, BlockInstruction, Cycles
from .tiles import tile_block

DIGIT = 8
"""Bits that a step of the division makes: those of a word that the divisor leaves."""
TABLE = 256


def _softmax(count: Number, step: Number, start: Number, digits: Number, shift: Number, rounding: Number) -> Kernel:
    """``clamp((upper word of (table[max(x) - x] * reciprocal)) + rounding >> shift)``. The reciprocal is ``start``
    divided by the sum of the row's entries times ``step`` / 2^32, with ``digits`` steps behind the first."""
    x, table = param("x", DType.I8, count, Access.READ), param("table", DType.I32, TABLE, Access.READ, 4)
    y, i = param("y", DType.I8, count, Access.WRITE), Var("i")
    top = Buffer("top", I32, (1,), Space.REG)

    def term(at: Expr) -> Expr:
        return table[INDEX(top[0] - signed(x, at))]

    def larger(k: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
        return (), lambda acc, _, __: maximum(acc, signed(x, k))

    def keep(_: int, __: int, acc: Expr) -> Block:
        return (store(top[0], acc),)

    def more(k: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
        return (), lambda acc, _, __: acc + U32(term(k))

    def scaled(total: Expr) -> Block:
        before, reciprocal = _divided(U32(start), _unit(total, step), digits)
        product = Call("mul_high", (term(i), reciprocal), I32)
        return (*before, *loop(i, count, store(y[i], clamped((product + I32(rounding)) >> I32(shift)))))

    body: Block = (
        Alloc(top),
        *tile_block((1, 1), (count,), lambda _, __: I32(-128), larger, keep, "_top"),
        *tile_block((1, 1), (count,), lambda _, __: U32(0), more, lambda _, __, acc: scaled(acc), type_=U32),
    )
    return Kernel("softmax", (x, table, y), body)


def _unit(total: Expr, step: Number) -> Expr:
    """``total * step / 2^32``, rounded; u32."""
    product = convert(total, DType.U64) * convert(U32(step), DType.U64)
    return convert((product + (1 << 31)) >> 32, DType.U32)


def _divided(start: Expr, unit: Expr, digits: Number) -> tuple[Block, Expr]:
    """``start * 2^(8 digits) / unit``, rounded down; i32."""
    divisor, first, digit = Var("divisor", U32), Var("first", U32), Var("digit", U32)
    quotient, rest = (Buffer(name, U32, (1,), Space.REG) for name in ("quotient", "rest"))
    block: Block = (
        Let(divisor, unit),
        Let(first, start / divisor),
        Alloc(quotient),
        Alloc(rest),
        store(quotient[0], first),
        store(rest[0], start - first * divisor),
        *loop(
            Var("n"),
            as_expr(digits),
            Let(digit, (rest[0] << DIGIT) / divisor),
            store(rest[0], (rest[0] << DIGIT) - digit * divisor),
            store(quotient[0], (quotient[0] << DIGIT) + digit),
        ),
    )
    return block, convert(quotient[0], DType.I32)


def _cycles(count: int, step: int, start: int, digits: int, *_: int) -> float:
    """The greatest byte by sixteens; each of the two walks over the row by fours, with a gather."""
    return 66 + 10 * digits + 2 * -(-count // 16) + 29 * -(-count // 4)


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "helium_softmax", ("count", "step", "start", "digits", "shift", "rounding"), _softmax, MVE,
        ((21, 1 << 24, 1 << 21, 1, 5, -4000), (12, 1 << 24, 1 << 30, 2, 14, -2097153)),
        cycles=Cycles(mve=_cycles),
    ),
)
