"""Powers of floats, which take more than the working precision.

Error-free products and sums are those of Dekker (A floating-point technique for extending the available precision,
1971), with the halves of a factor taken by masking bits.
"""

from __future__ import annotations

import math

from ..ir.build import absolute, bits, convert, eq, gt, lt, maximum, minimum, ne, select
from ..ir.loops import Call, Const, Expr, Unary, const
from ..ir.types import DType
from ..record import record
from .float_exprs import float_format, poly, with_sign_of
from .math_exprs import exp_of_sum, split_exponent
from .opdef import Bind

INF, NAN = math.inf, math.nan


@record
class _Tables:
    """Constants of one float format. ``log`` is (log((1+s)/(1-s)) - 2s - 2/3*s^3) / s^5 in powers of s^2."""

    ln2: tuple[float, float]
    two_thirds: tuple[float, float]
    log: tuple[float, ...]


_TABLES = {
    DType.F32: _Tables(
        ln2=(0.693145751953125, 1.4286068203094172e-06), two_thirds=(0.66666668653488159, -1.9868214925130208e-08),
        log=(0.4000015688166411079, 0.28546632317678187678, 0.23431010718958360285),
    ),
    DType.F64: _Tables(
        ln2=(0.69314718055989033019, 5.4979230187083711747e-14), two_thirds=(2.0 / 3.0, 3.7007434154171884681e-17),
        log=(
            0.40000000000004176104, 0.28571428569169078339, 0.22222222686936687065, 0.18181769741249474438,
            0.1538742912272352808, 0.13241265542370816269, 0.13339499330157534199,
        ),
    ),
}  # fmt: skip


@record
class Double:
    """The unevaluated sum of ``high`` and a much smaller ``low``; both are names."""

    high: Expr
    low: Expr


def _quick_sum(high: Expr, low: Expr, bind: Bind) -> Double:
    """high + low without error, where |high| >= |low|."""
    total = bind("sum", high + low)
    return Double(total, bind("rest", low - (total - high)))


def _halves(x: Expr, bind: Bind) -> tuple[Expr, Expr]:
    """``x`` as the sum of two numbers of half the mantissa bits."""
    fmt = float_format(x)
    mask = (2 * fmt.sign_mask - 1) & -(1 << ((fmt.mantissa + 2) // 2))
    kept = bits(x, fmt.unsigned) & mask
    high = bind("high", bits(kept, fmt.dtype))
    return high, bind("low", x - high)


def exact_product(x: Expr, y: Expr, bind: Bind) -> Double:
    """x * y without error (within the range of exponents)."""
    product = bind("product", x * y)
    (xh, xl), (yh, yl) = _halves(x, bind), _halves(y, bind)
    return Double(product, bind("error", ((xh * yh - product) + xh * yl + xl * yh) + xl * yl))


def _product_of(x: Double, y: Double, bind: Bind) -> Double:
    product = exact_product(x.high, y.high, bind)
    return _quick_sum(product.high, product.low + (x.high * y.low + x.low * y.high), bind)


def _log(x: Expr, bind: Bind) -> Double:
    """log of a positive finite ``x`` with some ten bits more than the format has.

    As in ``math_exprs.log``, but with s = f / (2 + f), 2s and 2/3 s^3 in doubled precision.
    """
    tables = _TABLES[x.type.dtype]
    k, f = split_exponent(x, bind)
    divisor = _quick_sum(const(2.0, x.type), f, bind)
    quotient = bind("quotient", f / divisor.high)
    back = exact_product(quotient, divisor.high, bind)
    rest = ((f - back.high) - back.low - quotient * divisor.low) / divisor.high
    s = _quick_sum(quotient, rest, bind)
    z = _product_of(s, s, bind)
    cube = _product_of(s, z, bind)
    two_thirds = Double(*(const(part, x.type) for part in tables.two_thirds))
    third = _product_of(cube, two_thirds, bind)
    fifth = (cube.high * z.high) * poly(z.high, tables.log)
    high = _quick_sum(bind("twice", s.high * 2.0), third.high, bind)
    of_mantissa = _quick_sum(high.high, high.low + ((s.low * 2.0 + third.low) + fifth), bind)
    total = _quick_sum(bind("exponent", k * tables.ln2[0]), of_mantissa.high, bind)
    return _quick_sum(total.high, total.low + (of_mantissa.low + k * tables.ln2[1]), bind)


def _power_of_positive(x: Expr, y: Expr, bind: Bind) -> Expr:
    """x^y = e^(y * log x) for positive finite ``x`` and finite ``y``."""
    log = _log(x, bind)
    # Beyond this every result is 0, 1 or infinite; within, products of halves do not overflow.
    limit = 2.0 ** (float_format(x).bias // 2)
    y = bind("y", minimum(limit, maximum(-limit, y)))
    product = exact_product(log.high, y, bind)
    tail = bind("tail", product.low + log.low * y)
    near = lt(absolute(product.high), 2.0**12)
    return exp_of_sum(product.high, select(near, tail, 0.0), bind)


def power(x: Expr, y: Expr, bind: Bind) -> Expr:
    """x^y in the type of ``x``; special cases as pow of C99 (F.9.4.4). f32: 1.2 ULP, f64: 1.1 ULP.

    Literal exponents -2, -1, 0.5, 1, 2, 3, 4 are products, quotients and square roots.
    """
    if x.type.dtype is DType.F16:
        return convert(power(convert(x, DType.F32), y, bind), DType.F16)
    x = bind("x", x)
    if isinstance(y, Const) and y.value in _SIMPLE:
        return _simple_power(x, float(y.value), bind)
    return _general_power(x, bind("y", convert(y, x.type.dtype)), bind)


_SIMPLE = (-2, -1, 0.5, 1, 2, 3, 4)


def _simple_power(x: Expr, exponent: float, bind: Bind) -> Expr:
    if exponent < 0.0:
        return 1.0 / _simple_power(x, -exponent, bind)
    if exponent == 0.5:
        return Call("sqrt", (x,), x.type)
    if exponent == 4.0:
        square = bind("square", x * x)
        return square * square
    result = x
    for _ in range(int(exponent) - 1):
        result = result * x
    return result


def _general_power(x: Expr, y: Expr, bind: Bind) -> Expr:
    a = bind("a", absolute(x))
    finite = bind("power", _power_of_positive(a, y, bind))
    y_positive = bind("y_positive", gt(y, 0.0))
    zero_or_inf = eq(a, 0.0) | eq(a, INF)
    at_limit = select(eq(y_positive, eq(a, INF)), const(INF, x.type), 0.0)
    magnitude = select(zero_or_inf, at_limit, finite)
    magnitude = select(eq(absolute(y), INF), _infinite_power(a, y_positive), magnitude)
    whole, odd = _parity(y, bind)
    negative = bind("negative", lt(x, 0.0) & lt(a, INF))
    magnitude = bind("magnitude", select(negative & Unary("not", whole), NAN, magnitude))
    signed = select(odd, with_sign_of(magnitude, x), magnitude)
    signed = select(ne(x, x) | ne(y, y), NAN, signed)
    return select(eq(y, 0.0) | eq(x, 1.0), 1.0, signed)


def _infinite_power(a: Expr, positive: Expr) -> Expr:
    """a^inf or a^-inf for a >= 0."""
    grows = select(eq(gt(a, 1.0), positive), const(INF, a.type), 0.0)
    return select(eq(a, 1.0), 1.0, grows)


def _parity(y: Expr, bind: Bind) -> tuple[Expr, Expr]:
    """Whether ``y`` is a whole number, and whether it is an odd one."""
    half = bind("half", y * 0.5)
    whole = bind("whole", eq(Call("trunc", (y,), y.type), y))
    return whole, bind("odd", whole & ne(Call("trunc", (half,), y.type), half))
