"""Rows of elementwise operators."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from onnx import helper

from tests.fuzz.build import FLOATS, INTEGERS, NAMES, NARROW, TYPES, Builder, Tensor, number
from tests.fuzz.row import Row, allowed

_RANGES = {
    "Acos": (-0.95, 0.95), "Acosh": (1.05, 5.0), "Asin": (-0.95, 0.95), "Atanh": (-0.95, 0.95), "Log": (0.05, 6.0),
    "Reciprocal": (0.2, 4.0), "Sqrt": (0.0, 6.0), "Tan": (-1.4, 1.4),
}  # fmt: skip
_UNARY = (
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Ceil", "Cos", "Cosh", "Erf", "Exp",
    "Floor", "HardSwish", "Identity", "IsNaN", "Log", "Mish", "Neg", "Not", "Reciprocal", "Relu", "Round", "Sigmoid",
    "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh",
)  # fmt: skip
_MORE = ("bfloat16",)
"""Computed by the reference as ccml does: in float32, rounded once."""


def unary(op: str, b: Builder) -> list[Tensor]:
    low, high = _RANGES.get(op, (-3.0, 3.0))
    kinds = allowed(op, 0, b.opset, more=() if op in _RANGES else _MORE)
    return b.node(op, [b.data(b.dtype(kinds), b.shape(), low, high)])


def activation(op: str, b: Builder) -> list[Tensor]:
    """Unary, with numbers as attributes."""
    ranges: dict[str, tuple[float, float]] = {
        "alpha": (0.05, 1.5), "beta": (0.1, 0.9), "gamma": (0.5, 1.5), "lambd": (0.2, 1.0), "bias": (-1.0, 1.0)
    }  # fmt: skip
    names = {
        "HardSigmoid": ("alpha", "beta"), "Selu": ("alpha", "gamma"), "Shrink": ("lambd", "bias"),
    }.get(op, ("alpha",))  # fmt: skip
    kinds = [kind for kind in allowed(op, 0, b.opset) if not kind.startswith("uint")]  # -lambd is none of theirs
    x = b.data(b.dtype(kinds), b.shape())
    if x.dtype not in FLOATS:
        return b.node(op, [x], lambd=1.0, bias=float(b.between(0, 2)))
    return b.node(op, [x], **b.some(**{name: b.uniform(*ranges[name]) for name in names}))


def gelu(b: Builder) -> list[Tensor]:
    x = b.data(b.dtype(allowed("Gelu", 0, b.opset)), b.shape())
    return b.node("Gelu", [x], **b.some(approximate=b.pick(["none", "tanh"])))


def is_inf(b: Builder) -> list[Tensor]:
    x = b.data(b.dtype(allowed("IsInf", 0, b.opset)), b.shape())
    if not b.taken and x.name in b.parts.inputs and x.array.size:
        x.array.reshape(-1)[:: b.between(2, 3)] = b.pick([np.inf, -np.inf])
    return b.node("IsInf", [x], **b.some(detect_negative=b.between(0, 1), detect_positive=b.between(0, 1)))


def reduced(b: Builder, shape: Sequence[int]) -> tuple[int, ...]:
    """A shape that broadcasts to ``shape``."""
    kept = [1 if b.flip(0.3) else extent for extent in shape]
    return tuple(kept[b.between(0, len(kept)) if kept and b.flip(0.4) else 0 :])


def operands(b: Builder, dtype: str, count: int = 2, low: float = -3.0, high: float = 3.0) -> list[Tensor]:
    """Of one type, with shapes that broadcast; some are constants."""
    shape = b.shape()
    full = b.between(0, count - 1)
    found = []
    for position in range(count):
        own = shape if position == full or b.flip(0.4) else reduced(b, shape)
        constant = position and dtype not in NARROW and b.flip(0.3)
        found.append(b.param(b.values(dtype, own, low, high)) if constant else b.data(dtype, own, low, high))
    return found


def binary(op: str, b: Builder) -> list[Tensor]:
    return b.node(op, operands(b, b.dtype(allowed(op, 0, b.opset, more=_MORE))))


def divide(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("Div", 0, b.opset)), b.shape()
    x = b.data(dtype, shape)
    return b.node("Div", [x, b.data(dtype, reduced(b, shape), 1, 5, exact=dtype not in FLOATS)])


def mod(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("Mod", 0, b.opset)), b.shape()
    x, y = b.data(dtype, shape), b.data(dtype, reduced(b, shape), 1, 5, exact=True)
    fmod = {"fmod": 1} if dtype in FLOATS else b.some(fmod=b.between(0, 1))
    return b.node("Mod", [x, y], **fmod)


def power(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("Pow", 0, b.opset)), b.shape()
    other = dtype if b.opset < 12 or b.flip(0.6) else b.dtype(allowed("Pow", 1, b.opset))
    if dtype in FLOATS and other in FLOATS:
        base = b.data(dtype, shape, 0.2, 3.0)
        exponent = b.data(other, reduced(b, shape), -2.0, 2.0, exact=True)
        if b.flip(0.3):
            exponent = b.param(np.asarray(b.pick([2.0, 0.5, 3.0, -1.0, 1.0, 0.0]), other))
    else:
        base = b.data(dtype, shape, -4, 4, exact=True)
        exponent = b.param(b.values(other, reduced(b, shape), 0, 3)) if b.flip() else b.data(
            other, reduced(b, shape), 0, 3, exact=True)  # fmt: skip
        if other in FLOATS and dtype not in FLOATS:
            exponent = b.param(np.round(b.values(other, reduced(b, shape), 0, 3)))
    return b.node("Pow", [base, exponent])


def bit_shift(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("BitShift", 0, b.opset)), b.shape()
    x, y = b.data(dtype, shape), b.data(dtype, reduced(b, shape), 0, 7, exact=True)
    return b.node("BitShift", [x, y], direction=b.pick(["LEFT", "RIGHT"]))


def prelu(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("PRelu", 0, b.opset)), b.shape()
    x = b.data(dtype, shape)
    return b.node("PRelu", [x, b.weight(dtype, reduced(b, shape))])


def variadic(op: str, b: Builder) -> list[Tensor]:
    return b.node(op, operands(b, b.dtype(allowed(op, 0, b.opset)), b.between(1, 4)))


def where(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("Where", 1, b.opset, more=tuple(NARROW))), b.shape()
    condition = b.data("bool", reduced(b, shape) if b.flip() else shape)
    return b.node("Where", [condition, b.data(dtype, shape), b.data(dtype, reduced(b, shape))])


def clip(b: Builder) -> list[Tensor]:
    dtype = b.dtype(allowed("Clip", 0, b.opset))
    x, low, high = b.data(dtype, b.shape()), b.uniform(-2, 0.5), b.uniform(0.6, 3)
    if b.opset < 11:
        return b.node("Clip", [x], **b.some(min=low, max=high))
    if dtype in INTEGERS:
        low, high = b.between(0, 2), b.between(3, 9)
    bounds: list[Tensor | None] = []
    for bound in (low, high):
        array = np.asarray(bound, dtype)
        if b.flip(0.2):
            bounds.append(None)
        else:
            bounds.append(b.param(array) if b.flip(0.7) else b.data(dtype, (), bound, bound, exact=True))
    return b.node("Clip", [x, *bounds])


def cast_operand(b: Builder, op: str, to: str) -> Tensor:
    """Whose elements ``to`` can hold, unless both are integers: these wrap."""
    dtype = b.dtype(allowed(op, 0, b.opset, more=tuple(NARROW) if to != "bool" else ()))
    if to in NARROW:
        return b.data(dtype, b.shape(), *NARROW[to][1:], exact=True)
    exact = to in INTEGERS and (dtype in FLOATS or dtype in NARROW)
    if exact and to.startswith("uint") and dtype in NARROW:
        dtype = "uint4" if "uint4" in allowed(op, 0, b.opset, more=("uint4",)) else "float32"
    return b.data(dtype, b.shape(), 0 if exact and to.startswith("uint") else -3, 3, exact=exact)


def cast(b: Builder) -> list[Tensor]:
    to = str(b.pick(allowed("Cast", 0, b.opset, output=True, more=tuple(NARROW))))
    saturate = {"saturate": b.between(0, 1)} if b.opset >= 19 and b.flip(0.4) else {}
    return b.node("Cast", [cast_operand(b, "Cast", to)], to=number(to), **saturate)


def cast_like(b: Builder) -> list[Tensor]:
    to = str(b.pick(allowed("CastLike", 0, b.opset, output=True, more=tuple(NARROW))))
    x = cast_operand(b, "CastLike", to)
    saturate = {"saturate": b.between(0, 1)} if b.opset >= 19 and b.flip(0.4) else {}
    return b.node("CastLike", [x, b.data(to, b.shape(0, 2))], **saturate)


def bit_cast(b: Builder) -> list[Tensor]:
    dtype = b.dtype(TYPES[:-1])
    size = np.dtype(dtype).itemsize
    to = b.pick([name for name in TYPES[:-1] if np.dtype(name).itemsize == size and name not in FLOATS])
    x = b.data(dtype, b.shape())
    return b.node("BitCast", [x], to=int(helper.np_dtype_to_tensor_dtype(np.dtype(to))))


assert set(NAMES.values()) == set(TYPES)

ROWS: dict[str, Row] = {
    **{op: Row(partial(unary, op)) for op in _UNARY},
    **{
        op: Row(partial(activation, op))
        for op in ("Celu", "Elu", "HardSigmoid", "LeakyRelu", "Selu", "Shrink", "Swish", "ThresholdedRelu")
    },
    **{
        op: Row(partial(binary, op))
        for op in (
            "Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Greater", "GreaterOrEqual", "Less",
            "LessOrEqual", "Mul", "Or", "Sub", "Xor",
        )
    },
    **{op: Row(partial(variadic, op)) for op in ("Max", "Mean", "Min", "Sum")},
    "BitCast": Row(bit_cast), "BitShift": Row(bit_shift), "Cast": Row(cast), "CastLike": Row(cast_like),
    "Clip": Row(clip), "Div": Row(divide), "Gelu": Row(gelu), "IsInf": Row(is_inf), "Mod": Row(mod),
    "PRelu": Row(prelu), "Pow": Row(power), "Where": Row(where),
}  # fmt: skip
