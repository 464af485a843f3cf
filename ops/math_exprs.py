"""Exponentials, logarithms and what is made of them, as loop-IR arithmetic on f32, f64 and (by way of f32) f16.

Every expansion is ``name(x, bind)``: straight-line code for scalars and vectors, without a math library, defined for
all inputs. Sums and products stand as written; a machine with fused multiply-add may contract them afterwards.

The reductions are those of Cody & Waite (Software Manual for the Elementary Functions, 1980) and of FreeBSD's msun;
the coefficients are minimax (Remez exchange in 160-bit arithmetic). The errors stated are the largest found in the
sweeps of ``tests/ops/test_lowering_math.py``, in units of the last place (ULP) of the result. Results below the
least normal number may be flushed to zero.
"""

from __future__ import annotations

import math

from ..ir.build import absolute, bits, eq, ge, gt, lt, maximum, minimum, select
from ..ir.loops import Call, Expr, const
from ..ir.types import DType
from ..record import record
from .float_exprs import float_format, half_through_single, multiply_add, poly, with_sign_of
from .opdef import Bind

INF, NAN = math.inf, math.nan


@record
class _Tables:
    """Constants of one float format.

    ``ln2_high`` has trailing zeros, so that products with an exponent are exact. ``exp`` is (e^r - 1 - r) / r^2 on
    |r| <= ln(2)/2 in powers of r; ``log`` is (log((1+s)/(1-s)) - 2s) / s^3 on |s| <= 0.1716 in powers of s^2.
    """

    ln2_high: float
    ln2_low: float
    exp: tuple[float, ...]
    log: tuple[float, ...]
    exp_range: tuple[float, float]
    tanh_one: float
    sinh_overflow: float


_TABLES = {
    DType.F32: _Tables(
        ln2_high=0.693145751953125, ln2_low=1.4286068203094172e-06,
        exp=(
            0.49999993426631705087, 0.16666520316736482396, 0.041668391932248623456, 0.0083687554442130350472,
            0.001381450688776180789,
        ),
        log=(0.66666665603092242, 0.40000345596045663, 0.28536601695234964, 0.23596352077120493),
        exp_range=(-87.33, 89.0), tanh_one=10.0, sinh_overflow=89.75,
    ),
    DType.F64: _Tables(
        ln2_high=0.69314718055989033019, ln2_low=5.4979230187083711747e-14,
        exp=(
            0.50000000000000040202, 0.16666666666665910562, 0.041666666666581270278, 0.008333333333861295087,
            0.0013888888932828557231, 0.00019841268710568632844, 2.480150178267586328e-5, 2.7558266919318756617e-6,
            2.7627879677063877613e-7, 2.4797707174174192378e-8,
        ),
        log=(
            0.66666666666667393901, 0.3999999999937793837, 0.28571428751309486237, 0.22222197586824082308,
            0.18183619010448333574, 0.15312569390538438068, 0.14811544563707564016,
        ),
        exp_range=(-708.39, 710.0), tanh_one=20.0, sinh_overflow=710.7,
    ),
}  # fmt: skip


_ERF_ONE = {DType.F32: 4.0, DType.F64: 6.0}
"""From where on the error function is 1."""

# erf(x) / x on |x| <= 4 as a quotient of polynomials in x^2, all of whose terms are positive: no digits cancel out.
_ERF_NUMERATOR = (
    1.128379139351171, 0.1935447067936891, 0.053101646491627554, 0.0038833120299889274, 0.0002845625969691025,
    1.986753846351777e-06,
)
_ERF_DENOMINATOR = (
    1.0, 0.5048570864964811, 0.11534980557097159, 0.015207191950360698, 0.0011855583484953077, 3.7419700005348956e-05,
)
# erf(x) / x - 1 on |x| <= 1 in powers of x^2, and log(1 - erf(x)) for x from 1 to 6 in powers of x.
_ERF_BELOW_ONE = (
    0.1283791670955125737, -0.37612638903183746007, 0.11283791670954778179, -0.026866170645057488169,
    0.0052239776246265408574, -0.00085483269696396877875, 0.00012055330697211737107, -1.4925585177608227103e-5,
    1.6460836807066490532e-6, -1.6348560644537565845e-7, 1.4647893406160584174e-8, -1.1326602324639341741e-9,
    5.8784945752500260152e-11,
)
_LOG_ERFC = (
    -2.0153952035210042151e-7, -1.1283771776832731103, -0.63662884594824254782, -0.10274734827772684673,
    0.019080887153779266318, 0.00027220401517554283871, -0.0017541714969023164168, 0.0006225231963555224832,
    -2.7250440599256885943e-5, -8.3167810104646737578e-5, 5.2368850480523204556e-5, -1.9841390455500740846e-5,
    5.5258232454053752721e-6, -1.1920812283487019368e-6, 2.0189412280985476152e-7, -2.6716665607824525913e-8,
    2.7120141571908578041e-9, -2.0408251041937081274e-10, 1.0725414889516183957e-11, -3.5126081225078456237e-13,
    5.3938004961828921397e-15,
)


def sqrt(x: Expr, bind: Bind) -> Expr:
    """Correctly rounded: an instruction of every machine that has floats at all."""
    return Call("sqrt", (x,), x.type)


# ---------------------------------------------------------------- exponentials


@record
class _Reduced:
    """``e^x = 2^n * (1 + q)``; ``shifted`` holds the integer ``n`` in its low mantissa bits."""

    q: Expr
    shifted: Expr

    def power_of_two(self, offset: int = 0) -> Expr:
        return _power_of_two(self.shifted, offset)


def _power_of_two(shifted: Expr, offset: int = 0) -> Expr:
    """``2^(n + offset)`` for the ``n`` in the low mantissa bits, for exponents of normal numbers; one less gives 0, one
    more infinity."""
    fmt = float_format(shifted)
    biased = bits(shifted, fmt.unsigned) + (fmt.bias + offset)
    return bits(biased << fmt.mantissa, fmt.dtype)


def _reduce(x: Expr, bind: Bind, tail: Expr | None = None) -> _Reduced:
    """Splits ``x + tail`` into n * ln(2) + r with |r| <= ln(2)/2, and expands e^r - 1 = r + r^2 * P(r)."""
    r, shifted = _split(x, 1, bind)
    r = bind("r", r if tail is None else r + tail)
    return _Reduced(multiply_add(r * r, poly(r, _TABLES[x.type.dtype].exp), r), shifted)


def _split(x: Expr, sign: int, bind: Bind) -> tuple[Expr, Expr]:
    """The r of ``x = sign * n * ln(2) + r`` with |r| <= ln(2)/2, and n in the low bits of a mantissa."""
    tables, magic = _TABLES[x.type.dtype], float_format(x).round_magic
    shifted = bind("shifted", multiply_add(x, const(sign / math.log(2.0), x.type), magic))
    n = bind("n", shifted - magic)
    r = multiply_add(n, const(-sign * tables.ln2_high, x.type), x)
    return multiply_add(n, const(-sign * tables.ln2_low, x.type), r), shifted


@half_through_single
def exp(x: Expr, bind: Bind) -> Expr:
    """e^x. f32: 1.0 ULP, f64: 1.0 ULP; results below 2^-125.5 (f64: 2^-1021.5) are 0."""
    return exp_of_sum(x, None, bind)


def exp_of_sum(x: Expr, tail: Expr | None, bind: Bind) -> Expr:
    """e^(x + tail), where ``tail`` is less than an ULP of ``x`` and finite."""
    low, high = _TABLES[x.type.dtype].exp_range
    clamped = bind("x", minimum(high, maximum(low, x)))
    reduced = _reduce(clamped, bind, tail)
    p = bind("p", reduced.q + 1.0)
    return (p + p) * reduced.power_of_two(-1)


@half_through_single
def sigmoid(x: Expr, bind: Bind) -> Expr:
    """1 / (1 + e^-x), with -x = n * ln(2) - r. f32: 2.4 ULP, f64: 2.4 ULP."""
    tables = _TABLES[x.type.dtype]
    low, high = tables.exp_range
    x = bind("x", minimum(-low, maximum(-high, x)))
    r, shifted = _split(x, -1, bind)
    r = bind("r", r)
    alternating = tuple(-c if power % 2 == 0 else c for power, c in enumerate(tables.exp))
    lost = multiply_add(r * r, poly(r, alternating), r)  # 1 - e^-r
    return 1.0 / multiply_add(1.0 - lost, _power_of_two(shifted), 1.0)


@half_through_single
def tanh(x: Expr, bind: Bind) -> Expr:
    """m / (2 - m) with m = 1 - e^(-2|x|), and the sign of x. f32: 2.6 ULP, f64: 2.6 ULP."""
    x = bind("x", x)
    a = minimum(_TABLES[x.type.dtype].tanh_one, absolute(x))
    reduced = _reduce(bind("a", a * -2.0), bind)
    scale = bind("scale", reduced.power_of_two())
    m = bind("m", (1.0 - scale) - scale * reduced.q)
    return with_sign_of(m / (2.0 - m), x)


@half_through_single
def erf(x: Expr, bind: Bind) -> Expr:
    """Error function. f32: 5.7 ULP, f64: 1.1 ULP."""
    x = bind("x", x)
    return _erf_as_quotient(x, bind) if x.type.dtype is DType.F32 else _erf_in_pieces(x, bind)


def _erf_as_quotient(x: Expr, bind: Bind) -> Expr:
    """x * P(x^2) / Q(x^2), where |x| is at most 4; a result beyond 1 is one of rounding."""
    one = _ERF_ONE[x.type.dtype]
    near = bind("near", minimum(one, maximum(-one, x)))
    square = bind("square", near * near)
    ratio = (near * poly(square, _ERF_NUMERATOR)) / poly(square, _ERF_DENOMINATOR)
    return minimum(1.0, maximum(-1.0, ratio))


def _erf_in_pieces(x: Expr, bind: Bind) -> Expr:
    """x + x * P(x^2) up to 1, then 1 - e^Q(|x|), with the sign of x."""
    a = bind("a", minimum(_ERF_ONE[x.type.dtype], absolute(x)))
    small = multiply_add(a, poly(bind("square", a * a), _ERF_BELOW_ONE), a)
    reduced = _reduce(bind("log_erfc", poly(a, _LOG_ERFC)), bind)
    large = 1.0 - (reduced.q + 1.0) * reduced.power_of_two()
    return with_sign_of(select(lt(a, 1.0), small, large), x)


@half_through_single
def sinh(x: Expr, bind: Bind) -> Expr:
    """(m + m / (m + 1)) / 2 with m = e^|x| - 1, a quarter of it at a time. f32: 2.4 ULP, f64: 2.6 ULP."""
    x = bind("x", x)
    reduced, scale = _quarter(x, bind)
    quarter = bind("quarter", scale * reduced.q + (scale - 0.25))
    return with_sign_of((quarter + quarter / (quarter * 4.0 + 1.0)) * 2.0, x)


@half_through_single
def cosh(x: Expr, bind: Bind) -> Expr:
    """(e^|x| + 1 / e^|x|) / 2. f32: 1.4 ULP, f64: 1.4 ULP."""
    reduced, scale = _quarter(x, bind)
    quarter = bind("quarter", scale * (reduced.q + 1.0))
    return (quarter + 0.0625 / quarter) * 2.0


def _quarter(x: Expr, bind: Bind) -> tuple[_Reduced, Expr]:
    """|x| reduced, clamped where the hyperbolic functions overflow, and 2^n / 4."""
    a = bind("a", minimum(_TABLES[x.type.dtype].sinh_overflow, absolute(x)))
    reduced = _reduce(a, bind)
    return reduced, bind("scale", reduced.power_of_two(-2))


# ---------------------------------------------------------------- logarithms


@half_through_single
def log(x: Expr, bind: Bind) -> Expr:
    """Natural logarithm. f32: 0.9 ULP, f64: 0.9 ULP. log 0 is -inf, of less it is NaN."""
    x = bind("x", x)
    return _log_special(x, _log_positive(x, None, bind))


def _log_special(x: Expr, finite: Expr) -> Expr:
    """Infinity and NaN stay; zero and negative numbers."""
    outside = select(eq(x, 0.0), const(-INF, x.type), NAN)
    return select(gt(x, 0.0), select(lt(x, INF), finite, x), outside)


def _log_positive(x: Expr, correction: Expr | None, bind: Bind) -> Expr:
    """log(x) + correction for positive finite x = 2^k * (1 + f): log(1 + f) by s = f / (2 + f), as in msun."""
    tables = _TABLES[x.type.dtype]
    k, f = split_exponent(x, bind)
    s = bind("s", f / (f + 2.0))
    z = bind("z", s * s)
    half_square = bind("h", (f * f) * 0.5)
    low = multiply_add(s, multiply_add(z, poly(z, tables.log), half_square), k * tables.ln2_low)
    if correction is not None:
        low = low + correction
    return k * tables.ln2_high - ((half_square - low) - f)


def split_exponent(x: Expr, bind: Bind) -> tuple[Expr, Expr]:
    """``k`` and ``f`` with x = 2^k * (1 + f) and sqrt(1/2) <= 1 + f < sqrt(2), for positive finite ``x``."""
    fmt = float_format(x)
    tiny = bind("tiny", lt(x, 2.0 ** (1 - fmt.bias)))
    scaled = select(tiny, x * 2.0 ** (fmt.mantissa + 1), x)
    raw = bind("raw", bits(scaled, fmt.signed))
    root_half = int(fmt.dtype.numpy.type(math.sqrt(0.5)).view(fmt.signed.numpy))
    k = bind("k", (raw - root_half) >> fmt.mantissa)
    one_plus_f = bits(raw - (k << fmt.mantissa), fmt.dtype)
    exponent = x.type(k)
    unscaled = select(tiny, exponent - float(fmt.mantissa + 1), exponent)
    return bind("k", unscaled), bind("f", one_plus_f - 1.0)


def log1p(x: Expr, bind: Bind) -> Expr:
    """log(1 + x), accurate for small x: the rounding error c of w = 1 + x comes back as c / w."""
    x = bind("x", x)
    w = bind("w", x + 1.0)
    lost = select(lt(x, 1.0), x - (w - 1.0), 1.0 - (w - x))
    return _log_special(w, _log_positive(w, lost / w, bind))


@half_through_single
def softplus(x: Expr, bind: Bind) -> Expr:
    """log(1 + e^x) as max(x, 0) + log1p(e^-|x|): nothing overflows or is lost. f32: 2.5 ULP, f64: 2.5 ULP.

    Both terms have one sign, and log1p passes on at most the relative error of its argument: the sum of both bounds.
    """
    x = bind("x", x)
    return maximum(0, x) + log1p(exp(-absolute(x), bind), bind)


@half_through_single
def asinh(x: Expr, bind: Bind) -> Expr:
    """log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))) with the sign of x. f32: 1.7 ULP, f64: 1.7 ULP."""
    x = bind("x", x)
    a = bind("a", absolute(x))
    square = bind("square", a * a)
    small = a + square / (1.0 + sqrt(square + 1.0, bind))
    return with_sign_of(_log1p_or_double(a, small, bind), x)


@half_through_single
def acosh(x: Expr, bind: Bind) -> Expr:
    """log(x + sqrt(x^2 - 1)), as log1p(t + sqrt(2t + t^2)) with t = x - 1. f32: 2.1 ULP, f64: 2.1 ULP."""
    x = bind("x", x)
    t = bind("t", x - 1.0)
    small = t + sqrt(t * 2.0 + t * t, bind)
    return select(ge(x, 1.0), _log1p_or_double(x, small, bind), NAN)


def _log1p_or_double(x: Expr, small: Expr, bind: Bind) -> Expr:
    """log1p(small), or log(2x) where x is so large that its square may overflow."""
    large = bind("large", gt(x, 2.0 ** (float_format(x).mantissa + 5)))
    twice = select(large, const(math.log(2.0), x.type), 0.0)
    return log1p(select(large, x, small), bind) + twice


@half_through_single
def atanh(x: Expr, bind: Bind) -> Expr:
    """log1p(2|x| + 2|x|^2 / (1 - |x|)) / 2 with the sign of x. f32: 1.7 ULP, f64: 1.7 ULP.

    Beyond 1 it is not a number; there the sum would cancel to anything.
    """
    x = bind("x", x)
    a = bind("a", select(gt(absolute(x), 1.0), NAN, absolute(x)))
    double = bind("double", a + a)
    return with_sign_of(log1p(double + (double * a) / (1.0 - a), bind) * 0.5, x)
