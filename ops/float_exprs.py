"""Small tools to build loop-IR expressions that work on scalars and vectors alike.

A constant takes its element type and lanes from the expression that it is combined with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps

from ..ir.build import bits, convert
from ..ir.loops import Call, Expr, const
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


def poly(x: Expr, coefficients: Sequence[float]) -> Expr:
    """``c0 + c1*x + c2*x^2 + ...`` by Horner's rule. ``x`` is named by the caller: it occurs once a step."""
    result: Expr = const(coefficients[-1], x.type)
    for coefficient in reversed(coefficients[:-1]):
        result = multiply_add(result, x, coefficient)
    return result


def multiply_add(x: Expr, y: Expr, z: Expr | float) -> Expr:
    """``x * y + z``, of which it does not matter whether the product is rounded."""
    return Call("multiply_add", (x, y, z if isinstance(z, Expr) else const(z, x.type)), x.type)


def with_sign_of(magnitude: Expr, x: Expr) -> Expr:
    """The non-negative ``magnitude`` with the sign bit of ``x``."""
    fmt = float_format(x)
    sign = bits(x, fmt.unsigned) & fmt.sign_mask
    return bits(bits(magnitude, fmt.unsigned) | sign, x.type.dtype)
