"""Accumulators times scales in loop IR: what machines run that have no single instruction for it."""

from __future__ import annotations

from ..ir.loops import Binary, Const, Expr, Type
from ..ir.types import DType
from .expr_tools import both, compare, const, convert, either, maximum, minimum, select

U32 = Type(DType.U32)


def expand_mul_high(x: Expr, y: Expr) -> Expr:
    """The upper word of a product from four products of halfwords (Warren, "Hacker's Delight", 8-2)."""
    x_low, y_low, x_high, y_high = _low(x), _low(y), _right(x, 16), _right(y, 16)
    low = convert(Binary("shr", _unsigned(x_low) * _unsigned(y_low), const(16, U32)), DType.I32)
    first = x_high * y_low + low
    second = x_low * y_high + _low(first)
    return x_high * y_high + _right(first, 16) + _right(second, 16)


def scale_by_multiplier(shift: Expr, high: Expr) -> Expr:
    """``scale_round`` for ``shift`` > 0, where ``high`` is the upper word of the product."""
    return Binary("shr", high + Binary("shl", const(1, shift.type), shift - const(1, shift.type)), shift)


def scale_by_float(acc: Expr, mantissa: Expr, exponent: Expr) -> Expr:
    """``scale_round`` for the other shifts: binary32 in integers, as ``ops.fixed_point.float_multiply_round``."""
    negative = compare("lt", acc, 0)
    magnitude = select(negative, const(0, U32) - _unsigned(acc), _unsigned(acc))
    first = _excess(_bits(magnitude))
    value = _to_even(Binary("shr", magnitude, first), magnitude, first)
    high, low = _product(value, _unsigned(mantissa))
    second = _excess(select(compare("eq", high, 0), _bits(low), _bits(high) + const(32, U32)))
    upper = Binary("shl", high, Binary("and", const(32, U32) - second, const(31, U32)))
    value = _to_even(Binary("or", upper, Binary("shr", low, second)), low, second)
    power = exponent + convert(first + second, DType.I32)
    right = convert(minimum(maximum(const(0, power.type) - power, 0), 31), DType.U32)
    left = convert(minimum(maximum(power, 0), 31), DType.U32)
    limit = select(negative, const(1 << 31, U32), const((1 << 31) - 1, U32))
    whole = _to_even(Binary("shr", value, right), value, right)
    kept = select(Binary("gt", whole, Binary("shr", limit, left)), limit, Binary("shl", whole, left))
    return convert(select(negative, const(0, U32) - kept, kept), DType.I32)


def _product(x: Expr, y: Expr) -> tuple[Expr, Expr]:
    """The words of the product of two numbers of at most 25 bits."""
    x_low, y_low, x_high, y_high = _low(x), _low(y), _right(x, 16), _right(y, 16)
    low, middle = x_low * y_low, x_low * y_high + x_high * y_low
    total = low + Binary("shl", middle, const(16, U32))
    carry = select(Binary("lt", total, low), const(1, U32), const(0, U32))
    return x_high * y_high + _right(middle, 16) + carry, total


def _to_even(quotient: Expr, x: Expr, shift: Expr) -> Expr:
    """``quotient`` = x >> shift rounded to the nearest by the bits that were shifted out, halves to even."""
    rest = Binary("and", x, Binary("shl", const(1, U32), shift) - const(1, U32))
    twice, unit = rest + rest, Binary("shl", const(1, U32), shift)
    odd = Binary("and", quotient, const(1, U32))
    up = either(Binary("gt", twice, unit), both(Binary("eq", twice, unit), compare("ne", odd, 0)))
    return quotient + select(both(compare("ne", shift, 0), up), const(1, U32), const(0, U32))


def _excess(bits: Expr) -> Expr:
    """What ``bits`` are more than 24."""
    return maximum(bits, 24) - const(24, U32)


def _bits(x: Expr) -> Expr:
    """The position of the highest bit, from 1 on; 0 for 0."""
    total: Expr = const(0, U32)
    for step in (16, 8, 4, 2, 1):
        large = compare("ne", Binary("shr", x, const(step, U32)), 0)
        total = total + select(large, const(step, U32), const(0, U32))
        x = select(large, Binary("shr", x, const(step, U32)), x)
    return total + x


def _unsigned(x: Expr) -> Expr:
    return convert(x, DType.U32)


def _low(x: Expr) -> Expr:
    return Binary("and", x, Const(0xFFFF, x.type))


def _right(x: Expr, by: int) -> Expr:
    return Binary("shr", x, Const(by, x.type))
