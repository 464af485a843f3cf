"""Casts to and from narrow types as loop-IR expressions: bit arithmetic, exact, the same for scalars and vectors.

No step makes or takes a subnormal float where the result is none, so that machines that flush these to zero agree.
"""

from __future__ import annotations

from ..ir.loops import Binary, Expr, Type
from ..ir.types import DType
from .expr_tools import FloatFormat, absolute, bits, compare, const, convert, float_format, minimum, select
from .integer_exprs import cast_float
from .narrow import MINIFLOATS, NARROW_FLOATS, MiniFloat
from .opdef import Bind

_SINGLE_BIAS, _SINGLE_MANTISSA = 127, 23
_SINGLE_INFINITY, _SINGLE_NAN = 0x7F800000, 0x7FC00000


def widen(x: Expr, dtype: DType, bind: Bind) -> Expr:
    """Elements of the narrow ``dtype``, given as its stored integers, in the type in which they are computed with."""
    if dtype in MINIFLOATS:
        return bits(_single_bits(x, MINIFLOATS[dtype], bind), DType.F32)
    if dtype is DType.F8E8M0:
        return bits(_scale_bits(x, bind), DType.F32)
    return _low_bits(x, dtype)


def narrow(x: Expr, to: DType, saturate: bool, rounding: str, bind: Bind) -> Expr:
    """A number as the stored integer of the narrow type ``to``; see ``ops.narrow.narrowed``."""
    if to not in NARROW_FLOATS:
        whole = cast_float(x, DType.I32, bind) if x.type.dtype.is_float else x
        return _low_bits(convert(whole, to.stored), to)
    if to is DType.F8E8M0:
        return convert(_scale_code(convert(x, DType.F32), saturate, rounding, bind), to.stored)
    return convert(_code(_exact_float(x), MINIFLOATS[to], saturate, bind), to.stored)


def _exact_float(x: Expr) -> Expr:
    """As f32 or f64, whichever holds all values; integers of 64 bits round to f64."""
    if x.type.dtype in (DType.F32, DType.F64):
        return x
    wide = x.type.dtype.is_integer and x.type.dtype.size > 2
    return convert(x, DType.F64 if wide else DType.F32)


def _low_bits(x: Expr, dtype: DType) -> Expr:
    """The low bits of a byte, with their sign extended."""
    if not x.type.dtype.is_signed:
        return Binary("and", x, const((1 << dtype.bits) - 1, x.type))
    unused = const(8 - dtype.bits, x.type)
    return Binary("shr", Binary("shl", x, unused), unused)


# ---------------------------------------------------------------- to f32


def _single_bits(x: Expr, form: MiniFloat, bind: Bind) -> Expr:
    """The bits of f32. A normal number's fields move, with another bias; a subnormal one is an integer of steps."""
    code = bind("code", convert(x, DType.U32))
    if form.bits == 16:
        return Binary("shl", code, const(16, code.type))
    sign = Binary("shl", Binary("shr", code, const(form.bits - 1, code.type)), const(31, code.type))
    magnitude = bind("magnitude", Binary("and", code, const(form.sign_mask - 1, code.type)))
    shift = _SINGLE_MANTISSA - form.mantissa
    moved = Binary("shl", magnitude, const(shift, code.type))
    normal = moved + const((_SINGLE_BIAS - form.bias) << _SINGLE_MANTISSA, code.type)
    step = 2.0 ** (1 - form.bias - form.mantissa)
    steps = convert(convert(magnitude, DType.I32), DType.F32)
    result = select(compare("lt", magnitude, 1 << form.mantissa), bits(steps * step, DType.U32), normal)
    if form.infinity is not None:
        result = select(compare("eq", magnitude, form.infinity), _SINGLE_INFINITY, result)
    last = form.infinity or form.greatest
    if last < form.sign_mask - 1:
        result = select(compare("gt", magnitude, last), _SINGLE_NAN, result)
    result = Binary("or", result, sign)
    if form.unsigned_zero:
        return select(compare("eq", code, form.nan), _SINGLE_NAN, result)
    return result


def _scale_bits(x: Expr, bind: Bind) -> Expr:
    """2^(code - 127), of which the least is subnormal; 255 is NaN."""
    code = bind("code", convert(x, DType.U32))
    power = Binary("shl", code, const(_SINGLE_MANTISSA, code.type))
    least = select(compare("eq", code, 0), 1 << (_SINGLE_MANTISSA - 1), power)
    return select(compare("eq", code, 0xFF), _SINGLE_NAN, least)


# ---------------------------------------------------------------- from f32 and f64


def _code(x: Expr, form: MiniFloat, saturate: bool, bind: Bind) -> Expr:
    """The code of ``x`` in the unsigned integer of its size: rounded to nearest, halves to even."""
    x = bind("x", x)
    fmt = float_format(x)
    whole = bind("bits", bits(x, fmt.unsigned))
    magnitude = bind("magnitude", Binary("and", whole, const(fmt.sign_mask - 1, whole.type)))
    rounded = _rounded_magnitude(x, magnitude, fmt, form, bind)
    code = bind("rounded", rounded)
    code = select(compare("gt", code, form.greatest), form.overflow(saturate), code)
    signed = bind("signed", Binary("or", code, _sign(whole, fmt, form)))
    if form.unsigned_zero:
        signed = select(compare("eq", Binary("and", signed, const(form.sign_mask - 1, whole.type)), 0),
                        Binary("and", code, const(form.sign_mask, whole.type)), signed)  # fmt: skip
    infinity = int(fmt.dtype.numpy.type("inf").view(fmt.unsigned.numpy))
    nan: Expr = const(form.nan, whole.type)
    if not form.unsigned_zero:
        nan = Binary("or", nan, _sign(whole, fmt, form))
    return select(compare("gt", magnitude, infinity), nan, signed)


def _sign(whole: Expr, fmt: FloatFormat, form: MiniFloat) -> Expr:
    """The sign bit where the code has it."""
    moved = Binary("shr", whole, const(fmt.unsigned.size * 8 - form.bits, whole.type))
    return Binary("and", moved, const(form.sign_mask, whole.type))


def _rounded_magnitude(x: Expr, magnitude: Expr, fmt: FloatFormat, form: MiniFloat, bind: Bind) -> Expr:
    """The code of |x| as if the exponent had no upper end.

    In a normal number the mantissa is rounded as an integer, from which a carry goes to the exponent. Below, the sum
    of |x| and 2^mantissa least steps is rounded to a whole number of steps, which its low bits hold.
    """
    drop = fmt.mantissa - form.mantissa
    odd = Binary("and", Binary("shr", magnitude, const(drop, magnitude.type)), const(1, magnitude.type))
    up = magnitude + const((1 << (drop - 1)) - 1, magnitude.type) + odd
    moved = Binary("shr", up, const(drop, magnitude.type))
    normal = moved - const((fmt.bias - form.bias) << form.mantissa, magnitude.type)
    if fmt.bias == form.bias:
        return normal
    one = fmt.dtype.numpy.type(2.0 ** (1 - form.bias - form.mantissa + fmt.mantissa))
    steps = bits(absolute(x) + float(one), fmt.unsigned) - const(int(one.view(fmt.unsigned.numpy)), magnitude.type)
    least = int(fmt.dtype.numpy.type(2.0 ** (1 - form.bias)).view(fmt.unsigned.numpy))
    return select(compare("lt", magnitude, least), steps, normal)


def _scale_code(x: Expr, saturate: bool, rounding: str, bind: Bind) -> Expr:
    """The exponent of f32 |x|, after its rounding to a power of two; below 2^-126 that is by comparison."""
    magnitude = bind("magnitude", Binary("and", bits(x, DType.U32), const(0x7FFFFFFF, Type(DType.U32, x.type.lanes))))
    added, half = {"up": (0x7FFFFF, 0x400001), "down": (0, 0x800000), "nearest": (0x400000, 0x600000)}[rounding]
    normal = Binary("shr", magnitude + const(added, magnitude.type), const(_SINGLE_MANTISSA, magnitude.type))
    code = select(compare("lt", magnitude, 0x800000), convert(compare("ge", magnitude, half), DType.U32), normal)
    code = minimum(code, 254) if saturate else select(compare("lt", magnitude, 0x400000), 0xFF, code)
    return select(compare("gt", magnitude, _SINGLE_INFINITY), 0xFF, code)
