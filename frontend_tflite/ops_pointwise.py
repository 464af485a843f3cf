"""Operators element by element: computed on the floats that the operands stand for, or on integers and booleans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from .context import OpContext, Rule


def unary(op_type: str, ctx: OpContext) -> Sequence[str]:
    return [ctx.result(ctx.emit(op_type, ctx.real(0)))]


def binary(op_type: str, ctx: OpContext) -> Sequence[str]:
    return [ctx.result(ctx.activated(ctx.emit(op_type, ctx.real(0), ctx.real(1))))]


def compared(op_type: str, ctx: OpContext) -> Sequence[str]:
    return [ctx.emit(op_type, ctx.real(0), ctx.real(1))]


def not_equal(ctx: OpContext) -> Sequence[str]:
    return [ctx.emit("Not", *compared("Equal", ctx))]


def logical(op_type: str, ctx: OpContext) -> Sequence[str]:
    return [ctx.emit(op_type, *(ctx.stored(position) for position in range(len(ctx.inputs))))]


def add_n(ctx: OpContext) -> Sequence[str]:
    return [ctx.result(ctx.emit("Sum", *(ctx.real(position) for position in range(len(ctx.inputs)))))]


def _is_float(ctx: OpContext) -> bool:
    return ctx.tensor(0).dtype.kind == "f" or ctx.is_code(0)


def div(ctx: OpContext) -> Sequence[str]:
    return binary("Div", ctx)


def floor_div(ctx: OpContext) -> Sequence[str]:
    """Rounded down; ONNX's division of integers goes towards zero."""
    a, b = ctx.real(0), ctx.real(1)
    quotient = ctx.emit("Div", a, b)
    if _is_float(ctx):
        return [ctx.result(ctx.emit("Floor", quotient))]
    dtype = ctx.tensor(0).dtype
    zero = ctx.constant(np.zeros((), dtype))
    rest = ctx.emit("Not", ctx.emit("Equal", ctx.emit("Mod", a, b), zero))
    signs = ctx.emit("Xor", ctx.emit("Less", a, zero), ctx.emit("Less", b, zero))
    return [ctx.emit("Sub", quotient, ctx.cast(ctx.emit("And", rest, signs), dtype))]


def floor_mod(ctx: OpContext) -> Sequence[str]:
    """The rest has the sign of the divisor."""
    a, b = ctx.real(0), ctx.real(1)
    if not _is_float(ctx):
        return [ctx.emit("Mod", a, b)]
    rest, zero = ctx.emit("Mod", a, b, fmod=1), ctx.scalar(0)
    signs = ctx.emit("Xor", ctx.emit("Less", rest, zero), ctx.emit("Less", b, zero))
    wrong = ctx.emit("And", signs, ctx.emit("Not", ctx.emit("Equal", rest, zero)))
    return [ctx.result(ctx.emit("Where", wrong, ctx.emit("Add", rest, b), rest))]


def clipped(low: float, high: float, ctx: OpContext) -> Sequence[str]:
    return [ctx.result(ctx.emit("Clip", ctx.real(0), ctx.scalar(low), ctx.scalar(high)))]


def leaky_relu(ctx: OpContext) -> Sequence[str]:
    return [ctx.result(ctx.emit("LeakyRelu", ctx.real(0), alpha=ctx.number("Alpha")))]


def prelu(ctx: OpContext) -> Sequence[str]:
    """The slopes broadcast as in NumPy."""
    return [ctx.result(ctx.emit("PRelu", ctx.real(0), ctx.real(1)))]


def gelu(ctx: OpContext) -> Sequence[str]:
    kind = "tanh" if ctx.flag("Approximate") else "none"
    return [ctx.result(ctx.emit("Gelu", ctx.real(0), approximate=kind))]


def rsqrt(ctx: OpContext) -> Sequence[str]:
    return [ctx.result(ctx.emit("Reciprocal", ctx.emit("Sqrt", ctx.real(0))))]


def square(ctx: OpContext) -> Sequence[str]:
    x = ctx.real(0)
    return [ctx.result(ctx.emit("Mul", x, x))]


def squared_difference(ctx: OpContext) -> Sequence[str]:
    apart = ctx.emit("Sub", ctx.real(0), ctx.real(1))
    return [ctx.result(ctx.emit("Mul", apart, apart))]


def cast(ctx: OpContext) -> Sequence[str]:
    """Of the elements as they are stored."""
    return [ctx.cast(ctx.stored(0), ctx.out.dtype)]


def quantize(ctx: OpContext) -> Sequence[str]:
    """Of floats, or from one quantization to another."""
    if ctx.out.quantization is None:
        raise ctx.invalid(f"'{ctx.out.name}' has no scale")
    return [ctx.result(ctx.real(0))]


def dequantize(ctx: OpContext) -> Sequence[str]:
    return [ctx.real(0)]


def densify(ctx: OpContext) -> Sequence[str]:
    """Constants are dense since they were read."""
    return [ctx.stored(0)]


def select(ctx: OpContext) -> Sequence[str]:
    """condition, x, y; they broadcast. SELECT, the old one, takes rows by a condition of one dimension."""
    condition, shape = ctx.stored(0), ctx.shape(0)
    rank = len(ctx.out.shape)
    if ctx.op.name == "SELECT" and len(shape) == 1 and rank > 1:
        condition = ctx.reshaped(condition, (shape[0], *[1] * (rank - 1)))
    (x, y), finish = ctx.carried([1, 2])
    return [finish(ctx.emit("Where", condition, x, y), ctx.out)]


RULES: Mapping[str, Rule] = {
    "ABS": partial(unary, "Abs"),
    "ADD": partial(binary, "Add"),
    "ADD_N": add_n,
    "CAST": cast,
    "CEIL": partial(unary, "Ceil"),
    "COS": partial(unary, "Cos"),
    "DENSIFY": densify,
    "DEQUANTIZE": dequantize,
    "DIV": div,
    "ELU": partial(unary, "Elu"),
    "EQUAL": partial(compared, "Equal"),
    "EXP": partial(unary, "Exp"),
    "FLOOR": partial(unary, "Floor"),
    "FLOOR_DIV": floor_div,
    "FLOOR_MOD": floor_mod,
    "GELU": gelu,
    "GREATER": partial(compared, "Greater"),
    "GREATER_EQUAL": partial(compared, "GreaterOrEqual"),
    "HARD_SWISH": partial(unary, "HardSwish"),
    "LEAKY_RELU": leaky_relu,
    "LESS": partial(compared, "Less"),
    "LESS_EQUAL": partial(compared, "LessOrEqual"),
    "LOG": partial(unary, "Log"),
    "LOGICAL_AND": partial(logical, "And"),
    "LOGICAL_NOT": partial(logical, "Not"),
    "LOGICAL_OR": partial(logical, "Or"),
    "LOGISTIC": partial(unary, "Sigmoid"),
    "MAXIMUM": partial(binary, "Max"),
    "MINIMUM": partial(binary, "Min"),
    "MUL": partial(binary, "Mul"),
    "NEG": partial(unary, "Neg"),
    "NOT_EQUAL": not_equal,
    "POW": partial(binary, "Pow"),
    "PRELU": prelu,
    "QUANTIZE": quantize,
    "RELU": partial(unary, "Relu"),
    "RELU6": partial(clipped, 0.0, 6.0),
    "RELU_0_TO_1": partial(clipped, 0.0, 1.0),
    "RELU_N1_TO_1": partial(clipped, -1.0, 1.0),
    "ROUND": partial(unary, "Round"),
    "RSQRT": rsqrt,
    "SELECT": select,
    "SELECT_V2": select,
    "SIGN": partial(unary, "Sign"),
    "SIN": partial(unary, "Sin"),
    "SQRT": partial(unary, "Sqrt"),
    "SQUARE": square,
    "SQUARED_DIFFERENCE": squared_difference,
    "SUB": partial(binary, "Sub"),
    "TANH": partial(unary, "Tanh"),
}
