"""Arithmetic on integers with every case defined, conversion of floats to integers, and remainders."""

from __future__ import annotations

import numpy as np

from ..ir.build import absolute, convert, eq, ge, gt, lt, maximum, minimum, ne, select
from ..ir.loops import Binary, Call, Const, Expr, const
from ..ir.types import DType
from .float_exprs import with_sign_of
from .opdef import Bind
from .pow_exprs import exact_product, power


def divide(x: Expr, y: Expr, bind: Bind) -> Expr:
    """x / y truncated toward zero; x / 0 is 0 and MIN / -1 wraps around to MIN."""
    if isinstance(y, Const) and y.value not in (0, -1):
        return x / y
    x, y = bind("x", x), bind("y", y)
    quotient: Expr = x / _safe_divisor(y, bind)
    if y.type.dtype.is_signed:
        quotient = select(eq(y, -1), -x, quotient)
    return select(eq(y, 0), 0, quotient)


def _safe_divisor(y: Expr, bind: Bind) -> Expr:
    """``y``, or 1 where dividing by ``y`` is undefined or a mere negation."""
    unsafe = eq(y, 0)
    if y.type.dtype.is_signed:
        unsafe = unsafe | eq(y, -1)
    return select(unsafe, 1, y)


def remainder(x: Expr, y: Expr, sign_of_dividend: bool, bind: Bind) -> Expr:
    """x - q * y with q truncated toward zero, or rounded down: the sign (of zero too) is that of x, or of y.

    x mod 0 of integers is 0.
    """
    if x.type.dtype.is_float:
        result = _float_remainder(x, bind("y", y), bind)
    else:
        y = bind("y", y)
        literal = isinstance(y, Const) and y.value not in (0, -1)
        result = Binary("mod", x, y if literal else _safe_divisor(y, bind))
    if sign_of_dividend or not x.type.dtype.is_signed:
        return result
    result = bind("remainder", result)
    opposite = ne(lt(result, 0), lt(y, 0))
    zero = select(lt(y, 0), const(-0.0, x.type), 0) if x.type.dtype.is_float else result
    return select(eq(result, 0), zero, select(opposite, result + y, result))


def _float_remainder(x: Expr, y: Expr, bind: Bind) -> Expr:
    """x - trunc(x / y) * y without error where |x / y| < 2^(2 * mantissa bits). NaN for infinite x and for y = 0.

    Each step subtracts an exact product with the rounded quotient; what is left is exact, and may be negative.
    """
    if x.type.dtype is DType.F16:
        return convert(_float_remainder(convert(x, DType.F32), bind("y", convert(y, DType.F32)), bind), DType.F16)
    x = bind("x", x)
    a, divisor = bind("a", absolute(x)), bind("divisor", absolute(y))
    rest = a
    for _ in range(2):
        whole = bind("whole", Call("trunc", (rest / divisor,), x.type))
        taken = exact_product(whole, divisor, bind)
        rest = bind("rest", (rest - taken.high) - taken.low)
    rest = select(lt(rest, 0.0), rest + divisor, rest)
    return with_sign_of(select(lt(a, divisor), a, rest), x)


def shift(op: str, x: Expr, count: Expr, bind: Bind) -> Expr:
    """``shl`` or ``shr`` by any count: below 0 and from the number of bits on, nothing (or the sign) is left."""
    last = x.type.dtype.size * 8 - 1
    if isinstance(count, Const) and 0 <= count.value <= last:
        return Binary(op, x, count)
    count = bind("count", count)
    outside = gt(count, last)
    if count.type.dtype.is_signed:
        outside = outside | lt(count, 0)
    outside = bind("outside", outside)
    shifted = Binary(op, x, select(outside, last, count))
    if op == "shr" and x.type.dtype.is_signed:
        return shifted
    return select(outside, 0, shifted)


def rounded_power(x: Expr, y: Expr, bind: Bind) -> Expr:
    """An integer to a floating power, truncated to the integer type."""
    exponent = bind("exponent", convert(y, DType.F64))
    return cast_float(power(convert(x, DType.F64), exponent, bind), x.type.dtype, bind)


def integer_power(x: Expr, y: Expr, bind: Bind) -> Expr:
    """Square and multiply over the bits of the exponent; a literal exponent takes only the products it needs."""
    if isinstance(y, Const) and int(y.value) >= 0:
        return _literal_power(x, int(y.value), bind)
    y = bind("y", y)
    count = bind("count", absolute(y)) if y.type.dtype.is_signed else y
    base, result = bind("base", x), const(1, x.type)
    factors: Expr = result
    square = base
    for bit in range(y.type.dtype.size * 8):
        taken = (count >> bit) & 1
        factors = bind("result", factors * select(eq(taken, 1), square, 1))
        square = bind("square", square * square)
    if not y.type.dtype.is_signed:
        return factors
    unit = eq(base, 1)
    if x.type.dtype.is_signed:
        unit = unit | eq(base, -1)
    return select(ge(y, 0) | unit, factors, 0)


def _literal_power(x: Expr, exponent: int, bind: Bind) -> Expr:
    square, result = bind("base", x), None
    while exponent:
        if exponent & 1:
            result = square if result is None else bind("result", result * square)
        exponent >>= 1
        if exponent:
            square = bind("square", square * square)
    return const(1, x.type) if result is None else result


def cast_float(x: Expr, dtype: DType, bind: Bind) -> Expr:
    """A float as an integer type: truncates toward zero and saturates; NaN becomes 0."""
    x = bind("x", convert(x, DType.F32) if x.type.dtype is DType.F16 else x)
    least, greatest = dtype_limits(dtype)
    high = _float_at_most(greatest, x.type.dtype)
    result = convert(select(eq(x, x), minimum(maximum(x, least), high), 0.0), dtype)
    if high < greatest:
        return select(ge(x, float(greatest)), greatest, result)
    return result


def _float_at_most(limit: int, dtype: DType) -> float:
    """The greatest float of ``dtype`` that is not above ``limit``."""
    nearest = dtype.numpy.type(limit)
    return float(nearest if int(nearest) <= limit else np.nextafter(nearest, dtype.numpy.type(0)))


def dtype_limits(dtype: DType) -> tuple[int, int]:
    """Least and greatest value of an integer type."""
    size = dtype.size * 8
    return (-(1 << (size - 1)), (1 << (size - 1)) - 1) if dtype.is_signed else (0, (1 << size) - 1)
