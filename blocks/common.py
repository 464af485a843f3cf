"""What the meanings of block instructions are built of.

A meaning is built for numbers or for ``index`` expressions in place of its scalars: the one is a kernel of static
shapes, the other a kernel with scalars, which is the C function that stands in for assembly. So extents, places and
values are written with operators and the helpers of this file, which fold where they get numbers.
"""

from __future__ import annotations

from ..ir.build import maximum, minimum
from ..ir.loops import F32, I8, I32, U8, Access, Binary, Bitcast, Block, Buffer, Call, Expr, If, Space, Type, as_expr
from ..ir.types import DType

Number = int | Expr
"""A scalar, or what is computed from scalars."""

ROUNDER = 1.5 * 2.0**23
"""A float32 whose unit in the last place is 1: the sum with it is rounded to the nearest even whole number."""
ROUNDER_BITS = 0x4B400000


def param(name: str, dtype: DType, size: Number, access: Access, align: int = 0) -> Buffer:
    """A flat parameter of a meaning; of one with scalars, how long it is is known to its calls only."""
    extent = size if isinstance(size, int) else 1
    return Buffer(name, Type(dtype), (extent,), Space.GLOBAL, access, align)


def power(exponent: Number) -> Expr:
    """A power of two as a word."""
    if isinstance(exponent, int):
        return I32((1 << exponent) - (1 << 32 if exponent == 31 else 0))
    return 1 << I32(exponent)


def when(op: str, x: Number, y: Number, then: Block, orelse: Block = ()) -> Block:
    """``then`` where a comparison of two numbers holds."""
    if isinstance(x, int) and isinstance(y, int):
        holds = {"eq": x == y, "ne": x != y, "lt": x < y, "ge": x >= y}[op]
        return then if holds else orelse
    return (If(Binary(op, as_expr(x), as_expr(y)), then, orelse),)


def halves(low: Expr, high: Expr) -> Expr:
    """A word of the low halfwords of two words."""
    return (low & 0xFFFF) | (high << 16)


def both(value: Number) -> Expr:
    """A word of two equal halfwords."""
    if isinstance(value, int):
        word = (value & 0xFFFF) * 0x10001
        return I32(word - (1 << 32) if word >> 31 else word)
    return halves(I32(value), I32(value))


def signed(x: Buffer, at: Expr) -> Expr:
    """A signed byte as a word."""
    return I32(x[at])


def low_half(word: Expr) -> Expr:
    """The lower halfword, signed."""
    return word << 16 >> 16


def high_half(word: Expr) -> Expr:
    """The upper halfword, signed."""
    return word >> 16


def byte_of(word: Expr, n: Number) -> Expr:
    """The signed byte number ``n`` of a word."""
    return word << I32(24 - n * 8) >> 24


def word_of(x: Buffer, at: Expr) -> Expr:
    """Four bytes as a word, the first in its low bits."""
    parts = [I32(Bitcast(U8, x[at + n])) for n in range(4)]
    word: Expr = parts[0]
    for n, part in enumerate(parts[1:], 1):
        word = word | (part << 8 * n)
    return word


# ---------------------------------------------------------------- requantization


def clamped(steps: Expr, lo: Number = -128, hi: Number = 127) -> Expr:
    """As a byte."""
    return I8(minimum(maximum(steps, I32(lo)), I32(hi)))


def requantized(acc: Expr, scale: Expr, zero_point: Number, lo: Number = -128) -> Expr:
    """``clamp(zero_point + round_half_even(float32(acc) * scale), lo, 127)`` as a byte, for products below 2^21."""
    product = F32(acc) * scale
    rounded = Bitcast(I32, product + ROUNDER)
    if isinstance(zero_point, int):
        return clamped(rounded - (ROUNDER_BITS - zero_point), lo)
    return clamped(rounded - ROUNDER_BITS + I32(zero_point), lo)


def requantized_fixed(acc: Expr, factor: Expr, zero_point: Number, shift: Number) -> Expr:
    """``clamp(zero_point + ((upper word of acc * factor) + 2^(shift - 1) >> shift), -128, 127)`` as a byte."""
    if isinstance(zero_point, int) and isinstance(shift, int):
        offset: Expr = I32((zero_point << shift) + (1 << shift - 1))
    else:
        offset = I32(zero_point) * power(shift) + power(shift - 1)
    return clamped((Call("mul_high", (acc, factor), I32) + offset) >> I32(shift))


def requantized_rounded(acc: Expr, factor: Expr, zero_point: Number) -> Expr:
    """``clamp(zero_point + (acc * factor + 2^31 >> 32), -128, 127)`` as a byte, the half by the lower word."""
    carry = (acc * factor) >> 31
    return clamped(Call("mul_high", (acc, factor), I32) - carry + I32(zero_point))
