"""Trigonometric functions and their inverses, as loop-IR arithmetic on f32, f64 and (by way of f32) f16.

The rules of ``ops/math_exprs.py`` hold: straight-line code for scalars and vectors, no math library, minimax
coefficients, errors measured by ``tests/ops/test_lowering_math.py``.
"""

from __future__ import annotations

import math

from ..ir.build import absolute, bits, eq, gt, lt, maximum, minimum, select
from ..ir.loops import Expr
from ..ir.types import DType
from ..record import record
from .float_exprs import float_format, half_through_single, poly, with_sign_of
from .large_angles import reduced
from .math_exprs import sqrt
from .opdef import Bind

NAN = math.nan


@record
class _Tables:
    """Constants of one float format, all series in powers of the argument's square.

    ``half_pi`` are parts whose products with a quadrant number of ``quadrants`` bits are exact, but for the last.
    ``sin`` is (sin(r)/r - 1)/r^2 and ``cos`` (cos(r) - 1 + r^2/2)/r^4 on |r| <= pi/4, ``atan`` (atan(x)/x - 1)/x^2
    on |x| <= 1, ``asin`` (asin(x)/x - 1)/x^2 on |x| <= 1/2.
    """

    half_pi: tuple[float, ...]
    quadrants: int
    sin: tuple[float, ...]
    cos: tuple[float, ...]
    atan: tuple[float, ...]
    asin: tuple[float, ...]


_TABLES = {
    DType.F32: _Tables(
        half_pi=(1.5703125, 0.00048351287841796875, 3.1385570764541626e-07, 6.0771005065061926e-11), quadrants=15,
        sin=(-0.16666654536833817007, 0.0083321560567507244167, -0.00019514631817852458868),
        cos=(0.041666645554720576174, -0.0013887309878839273942, 2.4432414293928609283e-5),
        atan=(
            -0.33333299094066598022, 0.19998548431902394829, -0.1426424311000960597, 0.10952192402138586177,
            -0.084034674625037075824, 0.057957855361009438227, -0.031178081211452763065, 0.010914720940622658466,
            -0.0017936453887699460032,
        ),
        asin=(
            0.1666675249976146961, 0.074952971076058297453, 0.045470431315704992733, 0.02417927768901796108,
            0.042166668582357554158,
        ),
    ),
    DType.F64: _Tables(
        half_pi=(1.5707963267341256142, 6.0771005063039659766e-11, 2.0222662487959507324e-21), quadrants=20,
        sin=(
            -0.16666666666666630296, 0.0083333333333220054715, -0.00019841269829495322508, 2.7557313587541509789e-6,
            -2.5050742294711892226e-8, 1.589590396175219154e-10,
        ),
        cos=(
            0.041666666666666592018, -0.0013888888888872895121, 2.480158728874816652e-5, -2.7557314148611995987e-7,
            2.0875696570486478929e-9, -1.1358310364049772821e-11,
        ),
        atan=(
            -0.33333333333333067992, 0.19999999999951442558, -0.1428571428257410515, 0.1111111100699984648,
            -0.090909070025894226924, 0.076922798352949594332, -0.066664040299890373199, 0.058805276771332358388,
            -0.052535180451496140913, 0.047223208047568918096, -0.042191759747528139176, 0.036641863149600782459,
            -0.029903800965155295901, 0.021984802554135946422, -0.013900528972498249818, 0.0071964917703639043778,
            -0.002884917490722231191, 0.00083132306923928788703, -0.00015216143525088311781, 1.3225160251902554954e-5,
        ),
        asin=(
            0.16666666666665409165, 0.075000000003369576141, 0.044642856828373405836, 0.030381959135137297602,
            0.022371758094167166553, 0.01735970410233435567, 0.01388524202152042722, 0.012169168452636871991,
            0.0065281622226086013243, 0.019527754731310547373, -0.016223455926003749481, 0.031911727783248279036,
        ),
    ),
}  # fmt: skip


def direct_limit(dtype: DType) -> float:
    """The largest |x| that is reduced by multiples of pi/2 in floats: 51471 for f32 (and f16), 1647099 for f64."""
    tables = _TABLES[DType.F32 if dtype is DType.F16 else dtype]
    return float(math.floor(2**tables.quadrants * math.pi / 2))


@half_through_single
def sin(x: Expr, bind: Bind) -> Expr:
    """Sine. f32: 1.6 ULP to |x| = 20, 2.4 (at zeros 3.7) to 51471, beyond 2.7 ULP or 1e-8; f64: 2.4 ULP to 1647099,
    beyond 2.4 ULP or 2e-17."""
    x = bind("x", x)
    quadrant, sine, cosine = _sin_cos(x, bind)
    return _flip(quadrant, select(_odd(quadrant), cosine, sine), 0)


@half_through_single
def cos(x: Expr, bind: Bind) -> Expr:
    """Cosine. f32: 1.6 ULP to |x| = 20, 2.4 (at zeros 3.7) to 51471, beyond 2.7 ULP or 1e-8; f64: 2.4 ULP to 1647099,
    beyond 2.4 ULP or 2e-17."""
    x = bind("x", x)
    quadrant, sine, cosine = _sin_cos(x, bind)
    return _flip(quadrant, select(_odd(quadrant), sine, cosine), 1)


@half_through_single
def tan(x: Expr, bind: Bind) -> Expr:
    """sin / cos. f32: 3.4 ULP to |x| = 20, 3.8 (at poles 6.4) to 51471; f64: 3.8 ULP to 1647099.
    Beyond, the quotient of such a sine and cosine."""
    x = bind("x", x)
    quadrant, sine, cosine = _sin_cos(x, bind)
    sine, cosine, odd = bind("sine", sine), bind("cosine", cosine), bind("odd", _odd(quadrant))
    return select(odd, -cosine, sine) / select(odd, sine, cosine)


def _sin_cos(x: Expr, bind: Bind) -> tuple[Expr, Expr, Expr]:
    """x = n * pi/2 + r with |r| <= pi/4: the bits that hold n, sin(r) and cos(r)."""
    tables = _TABLES[x.type.dtype]
    quadrant, r = _reduced(x, bind)
    z = bind("z", r * r)
    sine = r + (r * z) * poly(z, tables.sin)
    cosine = 1.0 - (z * 0.5 - (z * z) * poly(z, tables.cos))
    return quadrant, sine, cosine


def _reduced(x: Expr, bind: Bind) -> tuple[Expr, Expr]:
    """The quadrant and the rest, by Cody & Waite up to the limit, and in integers beyond."""
    fmt, tables, limit = float_format(x), _TABLES[x.type.dtype], direct_limit(x.type.dtype)
    shifted = bind("shifted", x * (2.0 / math.pi) + fmt.round_magic)
    n = bind("n", shifted - fmt.round_magic)
    r = x
    for part in tables.half_pi:
        r = r - n * part
    far = bind("far", gt(absolute(x), limit))
    quadrant, rest = reduced(x, limit, bind)
    negative = bind("negative", lt(x, 0.0))
    quadrant = select(negative, 0 - quadrant, quadrant)
    rest = select(negative, -rest, rest)
    whole = select(far, quadrant, bits(shifted, fmt.unsigned))
    return bind("quadrant", whole), bind("r", select(far, rest, r))


def _odd(quadrant: Expr) -> Expr:
    return eq(quadrant & 1, 1)


def _flip(quadrant: Expr, value: Expr, ahead: int) -> Expr:
    """``value`` negated in quadrants 2 and 3, counted ``ahead`` quadrants onward."""
    fmt = float_format(value)
    turned = quadrant + ahead if ahead else quadrant
    sign = (turned & 2) << (fmt.unsigned.size * 8 - 2)
    return bits(bits(value, fmt.unsigned) ^ sign, fmt.dtype)


@half_through_single
def atan(x: Expr, bind: Bind) -> Expr:
    """atan(|x|), or pi/2 - atan(1/|x|) above 1, with the sign of x. f32: 1.5 ULP, f64: 1.8 ULP."""
    x = bind("x", x)
    a = bind("a", absolute(x))
    ratio = bind("ratio", minimum(1.0, a) / maximum(1.0, a))
    z = bind("z", ratio * ratio)
    angle = bind("angle", ratio + (ratio * z) * poly(z, _TABLES[x.type.dtype].atan))
    return with_sign_of(select(gt(a, 1.0), _complement(angle, 0.5), angle), x)


def _complement(angle: Expr, half_turns: float) -> Expr:
    """half_turns * pi - angle, with pi in two parts."""
    high = float(angle.type.dtype.numpy.type(half_turns * math.pi))
    low = half_turns * math.pi - high if angle.type.dtype is DType.F32 else half_turns * 1.2246467991473532e-16
    return high - (angle - low)


@half_through_single
def asin(x: Expr, bind: Bind) -> Expr:
    """Up to 1/2 a series, above pi/2 - 2 * asin(sqrt((1 - |x|) / 2)). NaN for |x| > 1. f32: 2.4 ULP, f64: 2.4 ULP."""
    x = bind("x", x)
    large, angle = _asin_core(bind("a", absolute(x)), bind)
    return with_sign_of(select(large, _complement(angle + angle, 0.5), angle), x)


@half_through_single
def acos(x: Expr, bind: Bind) -> Expr:
    """pi/2 - asin(x); above 1/2 2 * asin(sqrt((1 - x) / 2)), below -1/2 pi less that. f32: 1.2 ULP, f64: 1.2 ULP."""
    x = bind("x", x)
    large, angle = _asin_core(bind("a", absolute(x)), bind)
    twice = bind("twice", angle + angle)
    outer = select(lt(x, 0.0), _complement(twice, 1.0), twice)
    return select(large, outer, _complement(with_sign_of(angle, x), 0.5))


def _asin_core(a: Expr, bind: Bind) -> tuple[Expr, Expr]:
    """Whether a > 1/2; and asin(a), or where a > 1/2 asin(sqrt((1 - a) / 2))."""
    large = bind("large", gt(a, 0.5))
    reduced = bind("reduced", (1.0 - a) * 0.5)
    square = bind("square", select(large, reduced, a * a))
    argument = bind("argument", select(large, sqrt(reduced, bind), a))
    return large, bind("angle", argument + (argument * square) * poly(square, _TABLES[a.type.dtype].asin))
