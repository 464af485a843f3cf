"""Rules of elementwise operators: arithmetic, comparisons, logic, activations, casts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import inf, pi, sqrt

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from ..ops.narrow import NARROW_FLOATS, ROUNDINGS
from .context import NodeContext, Rule
from .string_casts import cast_to_strings
from .tensors import dtype_of

SAME = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan",
    "Atanh": "atanh", "BitwiseNot": "bitnot", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf",
    "Exp": "exp", "Floor": "floor", "IsNaN": "isnan", "Log": "log", "Neg": "neg", "Not": "not",
    "Reciprocal": "reciprocal", "Relu": "relu", "Round": "round", "Sigmoid": "sigmoid", "Sign": "sign",
    "Sin": "sin", "Sinh": "sinh", "Softplus": "softplus", "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh",
    "Add": "add", "And": "and", "BitwiseAnd": "bitand", "BitwiseOr": "bitor", "BitwiseXor": "bitxor", "Div": "div",
    "Equal": "eq", "Greater": "gt", "GreaterOrEqual": "ge", "Less": "lt", "LessOrEqual": "le", "Mul": "mul",
    "Or": "or", "Pow": "pow", "Sub": "sub", "Where": "where", "Xor": "xor",
}  # fmt: skip
"""ONNX operators that are one core operator with the same operands."""


def same(op: str, ctx: NodeContext) -> Sequence[Value]:
    return [ctx.emit(op, *ctx.operands())]


def erf(ctx: NodeContext) -> Sequence[Value]:
    """Before operator set 13 also of integers."""
    x = ctx.input(0)
    return [ctx.cast(ctx.emit("erf", x if x.dtype.is_float else ctx.cast(x, DType.F32)), x.dtype)]


def variadic(op: str, ctx: NodeContext) -> Sequence[Value]:
    """Max, Min and Sum: a chain of the binary operator."""
    first, *rest = ctx.operands()
    for value in rest:
        first = ctx.emit(op, first, value)
    return [first]


def mean(ctx: NodeContext) -> Sequence[Value]:
    (total,) = variadic("add", ctx)
    return [ctx.emit("div", total, ctx.scalar(len(ctx.inputs), total))]


def mod(ctx: NodeContext) -> Sequence[Value]:
    fmod = bool(ctx.integer("fmod", 0))
    if not fmod and ctx.input(0).dtype.is_float and ctx.opset < 28:
        raise ctx.invalid(f"Mod of floats needs fmod=1 in opset {ctx.opset}")
    return [ctx.emit("mod", ctx.input(0), ctx.input(1), fmod=fmod)]


def bit_shift(ctx: NodeContext) -> Sequence[Value]:
    direction = ctx.string("direction")
    if direction not in ("LEFT", "RIGHT"):
        raise ctx.invalid(f"direction is {direction}, neither LEFT nor RIGHT")
    return [ctx.emit("shl" if direction == "LEFT" else "shr", ctx.input(0), ctx.input(1))]


def is_inf(ctx: NodeContext) -> Sequence[Value]:
    negative, positive = (bool(ctx.integer(f"detect_{sign}", 1)) for sign in ("negative", "positive"))
    return [ctx.emit("isinf", ctx.input(0), negative=negative, positive=positive)]


def clip(ctx: NodeContext) -> Sequence[Value]:
    """Constant bounds become attributes; bounds computed at run time, or of extents, become max and min."""
    x = ctx.input(0)
    if x.dtype is DType.BOOL:
        raise ctx.invalid(f"Clip of {x.type}")
    bounds = [ctx.optional(1), ctx.optional(2)] if ctx.opset >= 11 else [None, None]
    numbers = ctx.builder.numbers
    if all(bound is None or (ctx.array(bound) is not None and not numbers.depends(bound)) for bound in bounds):
        lo, hi = ctx.scalar_parameter("min", 1), ctx.scalar_parameter("max", 2)
        kind = float if x.dtype.is_float else int
        limits = (-inf, inf) if x.dtype.is_float else (np.iinfo(x.dtype.numpy).min, np.iinfo(x.dtype.numpy).max)
        return [ctx.emit("clip", x, lo=kind(limits[0] if lo is None else lo), hi=kind(limits[1] if hi is None else hi))]
    for op, bound in zip(("max", "min"), bounds):
        if bound is not None:
            x = ctx.emit(op, x, ctx.reshape(bound, ()))
    return [x]


def bit_cast(ctx: NodeContext) -> Sequence[Value]:
    x, to = ctx.input(0), dtype_of(ctx.integer("to"), ctx.loc)
    return [x if x.dtype is to else ctx.emit("bitcast", x, to=to)]


def cast(ctx: NodeContext) -> Sequence[Value]:
    """``saturate`` is of floats of 8 bits, ``round_mode`` of E8M0."""
    return [_cast(ctx, dtype_of(ctx.integer("to"), ctx.loc))]


def cast_like(ctx: NodeContext) -> Sequence[Value]:
    return [_cast(ctx, ctx.input(1).dtype)]


def _cast(ctx: NodeContext, to: DType) -> Value:
    x, rounding = ctx.input(0), ctx.string("round_mode", "up")
    if rounding not in ROUNDINGS:
        raise ctx.invalid(f"round_mode is {rounding}, not one of {', '.join(ROUNDINGS)}")
    if to is DType.CHAR:
        return cast_to_strings(ctx, x)
    if x.dtype is to or to not in NARROW_FLOATS:
        return ctx.cast(x, to)
    return ctx.emit("cast", x, to=to, saturate=bool(ctx.integer("saturate", 1)), rounding=rounding)


# Activations. Each docstring is the definition of the ONNX operator.


def _positive(ctx: NodeContext, x: Value) -> Value:
    return ctx.emit("gt", x, ctx.scalar(0, x))


def _scaled(ctx: NodeContext, x: Value, factor: float) -> Value:
    return x if factor == 1.0 else ctx.emit("mul", x, ctx.scalar(factor, x))


def _exp_minus_one(ctx: NodeContext, x: Value) -> Value:
    return ctx.emit("sub", ctx.emit("exp", x), ctx.scalar(1, x))


def elu(ctx: NodeContext) -> Sequence[Value]:
    """x > 0 ? x : alpha * (e^x - 1)"""
    x = ctx.input(0)
    negative = _scaled(ctx, _exp_minus_one(ctx, x), ctx.number("alpha", 1.0))
    return [ctx.emit("where", _positive(ctx, x), x, negative)]


def selu(ctx: NodeContext) -> Sequence[Value]:
    """gamma * (x > 0 ? x : alpha * (e^x - 1))"""
    x = ctx.input(0)
    alpha, gamma = ctx.number("alpha", 1.67326319217681884765625), ctx.number("gamma", 1.05070102214813232421875)
    negative = _scaled(ctx, _exp_minus_one(ctx, x), alpha * gamma)
    return [ctx.emit("where", _positive(ctx, x), _scaled(ctx, x, gamma), negative)]


def celu(ctx: NodeContext) -> Sequence[Value]:
    """max(0, x) + min(0, alpha * (e^(x / alpha) - 1))"""
    x, alpha = ctx.input(0), ctx.number("alpha", 1.0)
    if alpha == 0.0:
        raise ctx.invalid("alpha is 0")
    negative = _scaled(ctx, _exp_minus_one(ctx, _scaled(ctx, x, 1.0 / alpha)), alpha)
    return [ctx.emit("add", ctx.emit("relu", x), ctx.emit("min", negative, ctx.scalar(0, x)))]


def leaky_relu(ctx: NodeContext) -> Sequence[Value]:
    """x < 0 ? alpha * x : x"""
    x = ctx.input(0)
    below = ctx.emit("lt", x, ctx.scalar(0, x))
    return [ctx.emit("where", below, _scaled(ctx, x, ctx.number("alpha", 0.01)), x)]


def prelu(ctx: NodeContext) -> Sequence[Value]:
    """x < 0 ? slope * x : x"""
    x, slope = ctx.input(0), ctx.input(1)
    below = ctx.emit("lt", x, ctx.scalar(0, x))
    return [ctx.emit("where", below, ctx.emit("mul", x, slope), x)]


def hard_sigmoid(ctx: NodeContext) -> Sequence[Value]:
    """clip(alpha * x + beta, 0, 1)"""
    return [_hard_sigmoid(ctx, ctx.input(0), ctx.number("alpha", 0.2), ctx.number("beta", 0.5))]


def _hard_sigmoid(ctx: NodeContext, x: Value, alpha: float, beta: float) -> Value:
    line = ctx.emit("add", _scaled(ctx, x, alpha), ctx.scalar(beta, x))
    return ctx.emit("clip", line, lo=0.0, hi=1.0)


def hard_swish(ctx: NodeContext) -> Sequence[Value]:
    """x * clip(x / 6 + 0.5, 0, 1)"""
    x = ctx.input(0)
    return [ctx.emit("mul", x, _hard_sigmoid(ctx, x, 1.0 / 6.0, 0.5))]


def softsign(ctx: NodeContext) -> Sequence[Value]:
    """x / (1 + |x|)"""
    x = ctx.input(0)
    return [ctx.emit("div", x, ctx.emit("add", ctx.emit("abs", x), ctx.scalar(1, x)))]


def thresholded_relu(ctx: NodeContext) -> Sequence[Value]:
    """x > alpha ? x : 0"""
    x = ctx.input(0)
    above = ctx.emit("gt", x, ctx.scalar(ctx.number("alpha", 1.0), x))
    return [ctx.emit("where", above, x, ctx.scalar(0, x))]


def mish(ctx: NodeContext) -> Sequence[Value]:
    """x * tanh(log(1 + e^x))"""
    x = ctx.input(0)
    return [ctx.emit("mul", x, ctx.emit("tanh", ctx.emit("softplus", x)))]


def swish(ctx: NodeContext) -> Sequence[Value]:
    """x * sigmoid(alpha * x)"""
    x = ctx.input(0)
    return [ctx.emit("mul", x, ctx.emit("sigmoid", _scaled(ctx, x, ctx.number("alpha", 1.0))))]


def gelu(ctx: NodeContext) -> Sequence[Value]:
    """x / 2 * (1 + erf(x / sqrt(2))), or with approximate=tanh x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))"""
    x, approximate = ctx.input(0), ctx.string("approximate", "none")
    if approximate == "tanh":
        cube = ctx.emit("mul", ctx.emit("mul", x, x), x)
        inner = _scaled(ctx, ctx.emit("add", x, _scaled(ctx, cube, 0.044715)), sqrt(2.0 / pi))
        bend = ctx.emit("tanh", inner)
    elif approximate == "none":
        bend = ctx.emit("erf", _scaled(ctx, x, sqrt(0.5)))
    else:
        raise ctx.invalid(f"approximate is {approximate}, neither none nor tanh")
    return [ctx.emit("mul", _scaled(ctx, x, 0.5), ctx.emit("add", bend, ctx.scalar(1, x)))]


def shrink(ctx: NodeContext) -> Sequence[Value]:
    """x < -lambd ? x + bias : x > lambd ? x - bias : 0"""
    x, lambd, bias = ctx.input(0), ctx.number("lambd", 0.5), ctx.number("bias", 0.0)
    below, above = ctx.emit("lt", x, ctx.scalar(-lambd, x)), ctx.emit("gt", x, ctx.scalar(lambd, x))
    inner = ctx.emit("where", above, ctx.emit("sub", x, ctx.scalar(bias, x)), ctx.scalar(0, x))
    return [ctx.emit("where", below, ctx.emit("add", x, ctx.scalar(bias, x)), inner)]


RULES: Mapping[str, Rule] = {
    **{onnx_op: partial(same, op) for onnx_op, op in SAME.items()},
    "BitCast": bit_cast,
    "BitShift": bit_shift,
    "Cast": cast,
    "CastLike": cast_like,
    "Celu": celu,
    "Clip": clip,
    "Elu": elu,
    "Erf": erf,
    "Gelu": gelu,
    "HardSigmoid": hard_sigmoid,
    "HardSwish": hard_swish,
    "IsInf": is_inf,
    "LeakyRelu": leaky_relu,
    "Max": partial(variadic, "max"),
    "Mean": mean,
    "Min": partial(variadic, "min"),
    "Mish": mish,
    "Mod": mod,
    "PRelu": prelu,
    "Selu": selu,
    "Shrink": shrink,
    "Softsign": softsign,
    "Sum": partial(variadic, "add"),
    "Swish": swish,
    "ThresholdedRelu": thresholded_relu,
}
