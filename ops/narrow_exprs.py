"""Casts to and from narrow types as loop-IR expressions: bit arithmetic, exact, the same for scalars and vectors.

No step makes or takes a subnormal float where the result is none, so that machines that flush these to zero agree.
"""

from __future__ import annotations

from ..ir.build import absolute, bits, convert, eq, ge, gt, lt, minimum, select
from ..ir.loops import Expr, const
from ..ir.types import DType
from .float_exprs import FloatFormat, float_format
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
        return x & ((1 << dtype.bits) - 1)
    unused = const(8 - dtype.bits, x.type)
    return x << unused >> unused


# ---------------------------------------------------------------- to f32


def _single_bits(x: Expr, form: MiniFloat, bind: Bind) -> Expr:
    """The bits of f32. A normal number's fields move, with another bias; a subnormal one is an integer of steps."""
    code = bind("code", convert(x, DType.U32))
    if form.bits == 16:
        return code << 16
    sign = code >> (form.bits - 1) << 31
    magnitude = bind("magnitude", code & (form.sign_mask - 1))
    shift = _SINGLE_MANTISSA - form.mantissa
    moved = magnitude << shift
    normal = moved + ((_SINGLE_BIAS - form.bias) << _SINGLE_MANTISSA)
    step = 2.0 ** (1 - form.bias - form.mantissa)
    steps = convert(convert(magnitude, DType.I32), DType.F32)
    result = select(lt(magnitude, 1 << form.mantissa), bits(steps * step, DType.U32), normal)
    if form.infinity is not None:
        result = select(eq(magnitude, form.infinity), _SINGLE_INFINITY, result)
    last = form.infinity or form.greatest
    if last < form.sign_mask - 1:
        result = select(gt(magnitude, last), _SINGLE_NAN, result)
    result = result | sign
    if form.unsigned_zero:
        return select(eq(code, form.nan), _SINGLE_NAN, result)
    return result


def _scale_bits(x: Expr, bind: Bind) -> Expr:
    """2^(code - 127), of which the least is subnormal; 255 is NaN."""
    code = bind("code", convert(x, DType.U32))
    power = code << _SINGLE_MANTISSA
    least = select(eq(code, 0), 1 << (_SINGLE_MANTISSA - 1), power)
    return select(eq(code, 0xFF), _SINGLE_NAN, least)


# ---------------------------------------------------------------- from f32 and f64


def _code(x: Expr, form: MiniFloat, saturate: bool, bind: Bind) -> Expr:
    """The code of ``x`` in the unsigned integer of its size: rounded to nearest, halves to even."""
    x = bind("x", x)
    fmt = float_format(x)
    whole = bind("bits", bits(x, fmt.unsigned))
    magnitude = bind("magnitude", whole & (fmt.sign_mask - 1))
    rounded = _rounded_magnitude(x, magnitude, fmt, form, bind)
    code = bind("rounded", rounded)
    code = select(gt(code, form.greatest), form.overflow(saturate), code)
    signed = bind("signed", code | _sign(whole, fmt, form))
    if form.unsigned_zero:
        signed = select(eq(signed & (form.sign_mask - 1), 0),
                        code & form.sign_mask, signed)  # fmt: skip
    infinity = int(fmt.dtype.numpy.type("inf").view(fmt.unsigned.numpy))
    nan: Expr = const(form.nan, whole.type)
    if not form.unsigned_zero:
        nan = nan | _sign(whole, fmt, form)
    return select(gt(magnitude, infinity), nan, signed)


def _sign(whole: Expr, fmt: FloatFormat, form: MiniFloat) -> Expr:
    """The sign bit where the code has it."""
    moved = whole >> (fmt.unsigned.size * 8 - form.bits)
    return moved & form.sign_mask


def _rounded_magnitude(x: Expr, magnitude: Expr, fmt: FloatFormat, form: MiniFloat, bind: Bind) -> Expr:
    """The code of |x| as if the exponent had no upper end.

    In a normal number the mantissa is rounded as an integer, from which a carry goes to the exponent. Below, the sum
    of |x| and 2^mantissa least steps is rounded to a whole number of steps, which its low bits hold.
    """
    drop = fmt.mantissa - form.mantissa
    odd = (magnitude >> drop) & 1
    up = magnitude + ((1 << (drop - 1)) - 1) + odd
    moved = up >> drop
    normal = moved - ((fmt.bias - form.bias) << form.mantissa)
    if fmt.bias == form.bias:
        return normal
    one = fmt.dtype.numpy.type(2.0 ** (1 - form.bias - form.mantissa + fmt.mantissa))
    steps = bits(absolute(x) + float(one), fmt.unsigned) - int(one.view(fmt.unsigned.numpy))
    least = int(fmt.dtype.numpy.type(2.0 ** (1 - form.bias)).view(fmt.unsigned.numpy))
    return select(lt(magnitude, least), steps, normal)


def _scale_code(x: Expr, saturate: bool, rounding: str, bind: Bind) -> Expr:
    """The exponent of f32 |x|, after its rounding to a power of two; below 2^-126 that is by comparison."""
    magnitude = bind("magnitude", bits(x, DType.U32) & 0x7FFFFFFF)
    added, half = {"up": (0x7FFFFF, 0x400001), "down": (0, 0x800000), "nearest": (0x400000, 0x600000)}[rounding]
    normal = (magnitude + added) >> _SINGLE_MANTISSA
    code = select(lt(magnitude, 0x800000), convert(ge(magnitude, half), DType.U32), normal)
    code = minimum(code, 254) if saturate else select(lt(magnitude, 0x400000), 0xFF, code)
    return select(gt(magnitude, _SINGLE_INFINITY), 0xFF, code)
