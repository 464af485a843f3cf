"""Pointwise operators as loop-IR expressions, ``scalar(operands, node, bind)``; :data:`SCALARS` holds them by name.

They take scalars and vectors. An operand that occurs more than once in the result is named by ``bind`` first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..ir.build import absolute, bits, convert, eq, gt, lt, maximum, minimum, ne, select
from ..ir.graph import Node
from ..ir.loops import BOOL, Binary, Call, Const, Expr, Type, Unary, const
from ..ir.types import DType
from . import math_exprs, rounding_exprs, trig_exprs
from .attributes import element_type, flag, floats, ints, number
from .float_exprs import Expansion
from .integer_exprs import cast_float, divide, dtype_limits, integer_power, remainder, rounded_power, shift
from .narrow_exprs import narrow, widen
from .opdef import Bind
from .pow_exprs import power
from .requantize_exprs import INTEGER_SCALARS
from .root_exprs import int_sqrt
from .rounding_exprs import round_to_integer

Scalar = Callable[[Sequence[Expr], Node, Bind], Expr]


# ---------------------------------------------------------------- factories


def _expansion(expansion: Expansion) -> Scalar:
    """A function of one operand."""
    return lambda args, node, bind: expansion(args[0], bind)


def _unary(op: str) -> Scalar:
    return lambda args, node, bind: Unary(op, args[0])


def _binary(op: str) -> Scalar:
    return lambda args, node, bind: Binary(op, args[0], args[1])


def _comparison(op: str) -> Scalar:
    """Comparisons of bool compare 0 and 1."""

    def scalar(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
        x, y = (convert(arg, DType.U8) if arg.type.dtype is DType.BOOL else arg for arg in args)
        return Binary(op, x, y)

    return scalar


def _extremum(op: str) -> Scalar:
    """``min`` or ``max`` of two operands; NaN where one is NaN, as NumPy has it."""

    def scalar(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
        x, y = args
        if isinstance(y, Const):
            x, y = y, x
        if not x.type.dtype.is_float or (isinstance(x, Const) and not math.isnan(x.value)):
            return Binary(op, x, y)
        x = bind("x", x)
        return select(ne(x, x), x, Binary(op, x, y))

    return scalar


# ---------------------------------------------------------------- one operand


def _reciprocal(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    return 1.0 / args[0]


def _abs(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    return absolute(args[0]) if args[0].type.dtype.is_signed else args[0]


def _sign(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    """Zero and NaN are their own sign."""
    x = bind("x", args[0])
    positive = select(gt(x, 0), 1, x)
    return select(lt(x, 0), -1, positive) if x.type.dtype.is_signed else positive


def _relu(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    """The operand comes second, so that NaN stays NaN."""
    return maximum(0, args[0])


def _isnan(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    x = bind("x", args[0])
    return ne(x, x)


def _isinf(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    x = args[0]
    if node.attrs["positive"] and node.attrs["negative"]:
        return eq(absolute(x), math.inf)
    if node.attrs["positive"] or node.attrs["negative"]:
        return eq(x, math.inf if node.attrs["positive"] else -math.inf)
    return const(False, BOOL.with_lanes(x.type.lanes))


def _clip(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    """min(max(x, lo), hi) with the literals first, so that NaN stays NaN; bounds that bound nothing are left out."""
    x = args[0]
    lo, hi = number(node.attrs, "lo"), number(node.attrs, "hi")
    least, greatest = (-math.inf, math.inf) if x.type.dtype.is_float else dtype_limits(x.type.dtype)
    if lo > least:
        x = maximum(min(lo, greatest), x)
    return minimum(max(hi, least), x) if hi < greatest else x


def _cast(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    """From a narrow type by way of the type in which it is computed with."""
    x, to = args[0], element_type(node.attrs, "to")
    source = node.operands[0].dtype
    if source.is_narrow:
        x = widen(x, source, bind)
    if to is DType.BF16 and x.type.dtype is DType.F32:
        return Call("round_bf16", (bind("x", x),), Type(to.stored, x.type.lanes))
    if to.is_narrow:
        return narrow(x, to, bool(node.attrs.get("saturate", True)), str(node.attrs.get("rounding", "up")), bind)
    if x.type.dtype.is_float and to.is_integer:
        return cast_float(x, to, bind)
    return convert(x, to)


def _bitcast(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    """A bool is a byte with 0 or 1; of a narrow type the stored integers are given and wanted."""
    x, to = args[0], element_type(node.attrs, "to").stored
    if x.type.dtype is DType.BOOL:
        x = convert(x, DType.U8)
    if to is DType.BOOL:
        return ne(x, 0)
    return x if x.type.dtype is to else bits(x, to)


# ---------------------------------------------------------------- two operands and more


def _div(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    x, y = args
    return x / y if x.type.dtype.is_float else divide(x, y, bind)


def _pow(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    x, y = args
    if x.type.dtype.is_float:
        return power(x, y, bind)
    return integer_power(x, y, bind) if y.type.dtype.is_integer else rounded_power(x, y, bind)


def _mod(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    return remainder(args[0], args[1], flag(node.attrs, "fmod"), bind)


def _shift(op: str) -> Scalar:
    return lambda args, node, bind: shift(op, args[0], args[1], bind)


def _where(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    return select(args[0], args[1], args[2])


# ---------------------------------------------------------------- quantization


def _quantize(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    """saturate(round_half_even(x / scale) + zero_point), the quotient in binary32. NaN becomes the least value.

    The quotient is clamped first: the bounds are whole numbers, so rounding cannot leave them.
    """
    (scale, zero_point), to = _per_tensor(node), element_type(node.attrs, "to")
    low, high = (limit - zero_point for limit in dtype_limits(to))
    steps = args[0] / scale
    if to.size > 2:
        return _quantize_wide(steps, zero_point, to, bind)
    clamped = minimum(maximum(steps, low), high)
    return convert(round_to_integer(clamped, zero_point), to)


def _quantize_wide(steps: Expr, zero_point: int, to: DType, bind: Bind) -> Expr:
    """32 bits and more, where binary32 cannot hold the bounds."""
    if zero_point:
        raise NotImplementedError(f"quantization to {to.value} with a zero point")
    rounded = bind("rounded", rounding_exprs.round_even(steps, bind))
    return select(eq(rounded, rounded), cast_float(rounded, to, bind), dtype_limits(to)[0])


def _dequantize(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    """(x - zero_point) * scale in binary32; up to 16 bits the difference is exact as an integer."""
    scale, zero_point = _per_tensor(node)
    x = args[0]
    if zero_point and x.type.dtype.size <= 2:
        x = convert(x, DType.I32) - zero_point
    real = convert(x, DType.F32)
    if zero_point and args[0].type.dtype.size > 2:
        real = real - zero_point
    return real * scale


def _per_tensor(node: Node) -> tuple[float, int]:
    scale, zero_point = floats(node.attrs, "scale"), ints(node.attrs, "zero_point")
    if len(scale) > 1:
        raise NotImplementedError("per-axis parameters are passed as operands")
    return scale[0], zero_point[0]


# ---------------------------------------------------------------- the table


SCALARS: dict[str, Scalar] = {
    "exp": _expansion(math_exprs.exp),
    "log": _expansion(math_exprs.log),
    "sqrt": _expansion(math_exprs.sqrt),
    "reciprocal": _reciprocal,
    "floor": _expansion(rounding_exprs.floor),
    "ceil": _expansion(rounding_exprs.ceil),
    "round": _expansion(rounding_exprs.round_even),
    "sin": _expansion(trig_exprs.sin),
    "cos": _expansion(trig_exprs.cos),
    "tan": _expansion(trig_exprs.tan),
    "asin": _expansion(trig_exprs.asin),
    "acos": _expansion(trig_exprs.acos),
    "atan": _expansion(trig_exprs.atan),
    "sinh": _expansion(math_exprs.sinh),
    "cosh": _expansion(math_exprs.cosh),
    "tanh": _expansion(math_exprs.tanh),
    "asinh": _expansion(math_exprs.asinh),
    "acosh": _expansion(math_exprs.acosh),
    "atanh": _expansion(math_exprs.atanh),
    "erf": _expansion(math_exprs.erf),
    "sigmoid": _expansion(math_exprs.sigmoid),
    "softplus": _expansion(math_exprs.softplus),
    "neg": _unary("neg"),
    "abs": _abs,
    "sign": _sign,
    "relu": _relu,
    "not": _unary("not"),
    "bitnot": _unary("not"),
    "int_sqrt": int_sqrt,
    "isnan": _isnan,
    "isinf": _isinf,
    "add": _binary("add"),
    "sub": _binary("sub"),
    "mul": _binary("mul"),
    "div": _div,
    "pow": _pow,
    "min": _extremum("min"),
    "max": _extremum("max"),
    "mod": _mod,
    "and": _binary("and"),
    "or": _binary("or"),
    "xor": _binary("xor"),
    "bitand": _binary("and"),
    "bitor": _binary("or"),
    "bitxor": _binary("xor"),
    "shl": _shift("shl"),
    "shr": _shift("shr"),
    "eq": _comparison("eq"),
    "lt": _comparison("lt"),
    "le": _comparison("le"),
    "gt": _comparison("gt"),
    "ge": _comparison("ge"),
    "clip": _clip,
    "where": _where,
    "cast": _cast,
    "bitcast": _bitcast,
    "quantize": _quantize,
    "dequantize": _dequantize,
    **INTEGER_SCALARS,
}
