"""Accumulators times scales in loop IR: what machines run that have no single instruction for it."""

from __future__ import annotations

from ..ir.build import convert, eq, gt, lt, maximum, minimum, ne, select
from ..ir.loops import U32, Expr
from ..ir.types import DType


def expand_mul_high(x: Expr, y: Expr) -> Expr:
    """The upper word of a product from four products of halfwords (Warren, "Hacker's Delight", 8-2)."""
    x_low, y_low, x_high, y_high = x & 0xFFFF, y & 0xFFFF, x >> 16, y >> 16
    low = convert((_unsigned(x_low) * _unsigned(y_low)) >> 16, DType.I32)
    first = x_high * y_low + low
    second = x_low * y_high + (first & 0xFFFF)
    return x_high * y_high + (first >> 16) + (second >> 16)


def scale_by_multiplier(shift: Expr, high: Expr) -> Expr:
    """``scale_round`` for ``shift`` > 0, where ``high`` is the upper word of the product."""
    return (high + (1 << (shift - 1))) >> shift


_FRACTION = 8
"""Bits behind the point by which most products are rounded at once."""


def scale_by_fraction(acc: Expr, mantissa: Expr, exponent: Expr) -> tuple[Expr, Expr]:
    """What :func:`scale_by_float` is in most cases, and whether this is one: the product has 24 bits with ``_FRACTION``
    of them behind the point. Binary32 cuts it below these, so that they tell how it is rounded to a whole number,
    unless they are those beside a half."""
    negative = lt(acc, 0)
    magnitude = select(negative, 0 - _unsigned(acc), _unsigned(acc))
    behind = 0 - exponent - _FRACTION
    shift = _unsigned(behind) & 31
    high, low = _product(magnitude, _unsigned(mantissa))
    product = (high << ((32 - shift) & 31)) | (low >> shift)
    half = 1 << _FRACTION - 1
    short = lt(magnitude, 1 << 24) & gt(behind, 0) & lt(behind, 32) & eq(high >> shift, 0) & lt(product, 1 << 24)
    told = ne((product + 1) & (2 * half - 2), half)
    value = (product + half) >> _FRACTION
    return short & told, convert(select(negative, 0 - value, value), DType.I32)


def scale_by_float(acc: Expr, mantissa: Expr, exponent: Expr) -> Expr:
    """``scale_round`` for the other shifts: binary32 in integers, as ``ops.fixed_point.float_multiply_round``."""
    negative = lt(acc, 0)
    magnitude = select(negative, 0 - _unsigned(acc), _unsigned(acc))
    first = _excess(_bits(magnitude))
    value = _to_even(magnitude >> first, magnitude, first)
    high, low = _product(value, _unsigned(mantissa))
    second = _excess(select(eq(high, 0), _bits(low), _bits(high) + 32))
    upper = high << ((32 - second) & 31)
    value = _to_even(upper | (low >> second), low, second)
    power = exponent + convert(first + second, DType.I32)
    right = convert(minimum(maximum(0 - power, 0), 31), DType.U32)
    left = convert(minimum(maximum(power, 0), 31), DType.U32)
    limit = select(negative, U32(1 << 31), (1 << 31) - 1)
    whole = _to_even(value >> right, value, right)
    kept = select(gt(whole, limit >> left), limit, whole << left)
    return convert(select(negative, 0 - kept, kept), DType.I32)


def _product(x: Expr, y: Expr) -> tuple[Expr, Expr]:
    """The words of the product of two numbers of at most 25 bits."""
    x_low, y_low, x_high, y_high = x & 0xFFFF, y & 0xFFFF, x >> 16, y >> 16
    low, middle = x_low * y_low, x_low * y_high + x_high * y_low
    total = low + (middle << 16)
    carry = select(lt(total, low), U32(1), 0)
    return x_high * y_high + (middle >> 16) + carry, total


def _to_even(quotient: Expr, x: Expr, shift: Expr) -> Expr:
    """``quotient`` = x >> shift rounded to the nearest by the bits that were shifted out, halves to even."""
    rest = x & ((1 << shift) - 1)
    twice, unit = rest + rest, 1 << shift
    odd = quotient & 1
    up = gt(twice, unit) | (eq(twice, unit) & ne(odd, 0))
    return quotient + select(ne(shift, 0) & up, U32(1), 0)


def _excess(bits: Expr) -> Expr:
    """What ``bits`` are more than 24."""
    return maximum(bits, 24) - 24


def _bits(x: Expr) -> Expr:
    """The position of the highest bit, from 1 on; 0 for 0."""
    total: Expr = U32(0)
    for step in (16, 8, 4, 2, 1):
        large = ne(x >> step, 0)
        total = total + select(large, U32(step), 0)
        x = select(large, x >> step, x)
    return total + x


def _unsigned(x: Expr) -> Expr:
    return convert(x, DType.U32)
