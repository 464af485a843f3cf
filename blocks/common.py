"""What the meanings of block instructions have in common."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.loops import (
    F32,
    I32,
    Access,
    Binary,
    Bitcast,
    Buffer,
    Call,
    Const,
    Convert,
    Expr,
    Kernel,
    Space,
    Type,
)
from ..ir.types import DType

Row = tuple[str, tuple[str, ...], Callable[..., Kernel]]
"""Of a block instruction: its name, the names of its scalars, and its meaning for values of these."""

ROUNDER = 1.5 * 2.0**23
"""A float32 whose unit in the last place is 1: the sum with it is rounded to the nearest even whole number."""
ROUNDER_BITS = 0x4B400000


def param(name: str, dtype: DType, size: int, access: Access, align: int = 0) -> Buffer:
    """A flat parameter of a meaning."""
    return Buffer(name, Type(dtype), (size,), Space.GLOBAL, access, align)


def requantized(acc: Expr, scale: Expr, zero_point: int) -> Expr:
    """``clamp(zero_point + round_half_even(float32(acc) * scale), -128, 127)`` as a byte."""
    product = Binary("mul", Convert(F32, acc), scale)
    rounded = Bitcast(I32, Binary("add", product, Const(ROUNDER, F32)))
    steps = Binary("sub", rounded, Const(ROUNDER_BITS - zero_point, I32))
    return Convert(Type(DType.I8), Binary("min", Binary("max", steps, Const(-128, I32)), Const(127, I32)))


def requantized_fixed(acc: Expr, factor: Expr, zero_point: int, shift: int) -> Expr:
    """``clamp(zero_point + ((upper word of acc * factor) + 2^(shift - 1) >> shift), -128, 127)`` as a byte."""
    offset = Const((zero_point << shift) + (1 << shift - 1), I32)
    steps = Binary("shr", Binary("add", Call("mul_high", (acc, factor), I32), offset), Const(shift, I32))
    return Convert(Type(DType.I8), Binary("min", Binary("max", steps, Const(-128, I32)), Const(127, I32)))


def requantized_rounded(acc: Expr, factor: Expr, zero_point: int) -> Expr:
    """``clamp(zero_point + (acc * factor + 2^31 >> 32), -128, 127)`` as a byte, the half by the lower word."""
    carry = Binary("shr", Binary("mul", acc, factor), Const(31, I32))
    steps = Binary("add", Binary("sub", Call("mul_high", (acc, factor), I32), carry), Const(zero_point, I32))
    return Convert(Type(DType.I8), Binary("min", Binary("max", steps, Const(-128, I32)), Const(127, I32)))
