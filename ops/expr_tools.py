"""Small tools to build loop-IR expressions that work on scalars and vectors alike.

A constant takes its element type and lanes from the expression that it is combined with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps

from ..ir.loops import Binary, Bitcast, Const, Convert, Expr, ExprLike, Select, Type, Unary
from ..ir.types import DType
from .opdef import Bind

Expansion = Callable[[Expr, Bind], Expr]


@dataclass(frozen=True)
class FloatFormat:
    """A binary IEEE 754 format: its bits as integers, explicit mantissa bits and exponent bias."""

    dtype: DType
    unsigned: DType
    signed: DType
    mantissa: int
    bias: int

    @property
    def sign_mask(self) -> int:
        return 1 << (self.unsigned.size * 8 - 1)

    @property
    def round_magic(self) -> float:
        """1.5 * 2^mantissa. Adding it rounds a float of magnitude up to 2^(mantissa - 1) to the nearest integer, halves
        to even, and leaves that integer in the low mantissa bits; subtracting it again gives the integer as a float."""
        return 1.5 * 2.0**self.mantissa


_FORMATS = {
    DType.F32: FloatFormat(DType.F32, DType.U32, DType.I32, 23, 127),
    DType.F64: FloatFormat(DType.F64, DType.U64, DType.I64, 52, 1023),
}


def float_format(x: Expr) -> FloatFormat:
    """The format of ``x``, which is f32 or f64."""
    return _FORMATS[x.type.dtype]


def half_through_single(expansion: Expansion) -> Expansion:
    """Lets ``expansion``, which knows f32 and f64, take f16 by way of f32."""

    @wraps(expansion)
    def any_float(x: Expr, bind: Bind) -> Expr:
        if x.type.dtype is not DType.F16:
            return expansion(x, bind)
        return convert(expansion(convert(x, DType.F32), bind), DType.F16)

    return any_float


def const(value: float | int | bool, type_: Type) -> Const:
    """A literal of ``type_``; floats are rounded to what the type can hold."""
    if type_.dtype.is_float:
        return Const(float(type_.dtype.numpy.type(value)), type_)
    return Const(bool(value) if type_.dtype is DType.BOOL else int(value), type_)


def like(x: Expr, value: ExprLike) -> Expr:
    """``value`` as it stands, or as a literal of the type of ``x``."""
    return value if isinstance(value, Expr) else const(value, x.type)


def compare(op: str, x: Expr, y: ExprLike) -> Expr:
    return Binary(op, x, like(x, y))


def both(x: Expr, y: Expr) -> Expr:
    return Binary("and", x, y)


def either(x: Expr, y: Expr) -> Expr:
    return Binary("or", x, y)


def select(cond: Expr, x: ExprLike, y: ExprLike) -> Expr:
    """``x`` where ``cond``, else ``y``; one of them may be a number."""
    if isinstance(x, Expr):
        return Select(cond, x, like(x, y))
    assert isinstance(y, Expr)
    return Select(cond, like(y, x), y)


def minimum(x: ExprLike, y: ExprLike) -> Expr:
    """``min``, whose result is ``y`` where an operand is NaN; one of them may be a number."""
    return _ordered("min", x, y)


def maximum(x: ExprLike, y: ExprLike) -> Expr:
    """``max``, whose result is ``y`` where an operand is NaN; one of them may be a number."""
    return _ordered("max", x, y)


def _ordered(op: str, x: ExprLike, y: ExprLike) -> Expr:
    if isinstance(x, Expr):
        return Binary(op, x, like(x, y))
    assert isinstance(y, Expr)
    return Binary(op, like(y, x), y)


def convert(x: Expr, dtype: DType) -> Expr:
    """``x`` by value as another element type; literals are converted at once."""
    if x.type.dtype is dtype:
        return x
    target = Type(dtype, x.type.lanes)
    if isinstance(x, Const) and dtype.is_float:
        return const(x.value, target)
    return Convert(target, x)


def bits(x: Expr, dtype: DType) -> Expr:
    """The bits of ``x`` as ``dtype``, an element type of the same size."""
    return Bitcast(Type(dtype, x.type.lanes), x)


def absolute(x: Expr) -> Expr:
    return Unary("abs", x)


def poly(x: Expr, coefficients: Sequence[float]) -> Expr:
    """``c0 + c1*x + c2*x^2 + ...`` by Horner's rule. ``x`` is named by the caller: it occurs once a step."""
    result: Expr = const(coefficients[-1], x.type)
    for coefficient in reversed(coefficients[:-1]):
        result = Binary("add", Binary("mul", result, x), const(coefficient, x.type))
    return result


def with_sign_of(magnitude: Expr, x: Expr) -> Expr:
    """The non-negative ``magnitude`` with the sign bit of ``x``."""
    fmt = float_format(x)
    sign = Binary("and", bits(x, fmt.unsigned), const(fmt.sign_mask, Type(fmt.unsigned, x.type.lanes)))
    return bits(Binary("or", bits(magnitude, fmt.unsigned), sign), x.type.dtype)
