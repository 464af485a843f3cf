"""Rounding to whole numbers: the calls, and their expansion for machines that lack the instructions."""

from __future__ import annotations

from ..ir.build import absolute, bits, convert, gt, lt, select
from ..ir.loops import Call, Expr
from .float_exprs import float_format, half_through_single, with_sign_of
from .opdef import Bind


def floor(x: Expr, bind: Bind) -> Expr:
    return Call("floor", (x,), x.type)


def ceil(x: Expr, bind: Bind) -> Expr:
    return Call("ceil", (x,), x.type)


def trunc(x: Expr, bind: Bind) -> Expr:
    return Call("trunc", (x,), x.type)


def round_even(x: Expr, bind: Bind) -> Expr:
    return Call("round_even", (x,), x.type)


def round_to_integer(x: Expr, offset: int = 0) -> Expr:
    """The nearest integer (halves to even) plus ``offset`` as i32 (f64: i64), for f32 or f64 ``x`` that has, with and
    without the offset, a magnitude below 2^(mantissa bits - 1): one addition leaves it in the low bits of the sum, and
    needs no rounding instruction. It adds an even offset as well, behind which even numbers are even."""
    fmt = float_format(x)
    magic = int(fmt.dtype.numpy.type(fmt.round_magic).view(fmt.signed.numpy))
    added = 0 if offset % 2 else offset
    return bits(x + (fmt.round_magic + added), fmt.signed) - (magic - offset + added)


def _unnamed(stem: str, value: Expr) -> Expr:
    return value


def expand_rounding(call: Expr, bind: Bind = _unnamed) -> Expr:
    """``floor``, ``ceil``, ``trunc`` or ``round_even`` of any float by conversion to an integer and back.

    Without ``bind``, for places where no name can be made, the operand is repeated up to eight times.

    From 2^mantissa on every float is a whole number and stays as it is, as do infinity and NaN; the sign of a zero
    is that of the operand.
    """
    assert isinstance(call, Call)
    (x,) = call.args
    return half_through_single(_EXPANSIONS[call.function])(x, bind)


def _whole_or(x: Expr, bind: Bind, rounded: Expr) -> Expr:
    """``rounded`` with the sign of ``x``, or ``x`` where it has no fraction (or is NaN)."""
    return select(_has_fraction_bits(x), with_sign_of(absolute(rounded), x), x)


def _has_fraction_bits(x: Expr) -> Expr:
    return lt(absolute(x), 2.0 ** float_format(x).mantissa)


def _truncated(x: Expr, bind: Bind) -> Expr:
    """The integer part of ``x`` where it has a fraction, 0 elsewhere: never converts what does not fit."""
    fmt = float_format(x)
    small = select(_has_fraction_bits(x), x, 0.0)
    return bind("whole", convert(convert(small, fmt.signed), fmt.dtype))


def _trunc(x: Expr, bind: Bind) -> Expr:
    x = bind("x", x)
    return _whole_or(x, bind, _truncated(x, bind))


def _floor(x: Expr, bind: Bind) -> Expr:
    x = bind("x", x)
    whole = _truncated(x, bind)
    return _whole_or(x, bind, select(gt(whole, x), whole - 1.0, whole))


def _ceil(x: Expr, bind: Bind) -> Expr:
    x = bind("x", x)
    whole = _truncated(x, bind)
    return _whole_or(x, bind, select(lt(whole, x), whole + 1.0, whole))


def _round_even(x: Expr, bind: Bind) -> Expr:
    """|x| + 2^mantissa has no room for a fraction, and the sum is rounded half to even."""
    x = bind("x", x)
    limit = 2.0 ** float_format(x).mantissa
    return _whole_or(x, bind, (absolute(x) + limit) - limit)


_EXPANSIONS = {"floor": _floor, "ceil": _ceil, "trunc": _trunc, "round_even": _round_even}
