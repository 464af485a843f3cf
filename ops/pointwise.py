"""Pointwise operators: types and meaning. Their loop-IR expressions are in ``ops/pointwise_exprs.py``.

The functions here are made by small factories, so that a row of the table reads ``unary(FLOATS), apply(np.exp)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..ir.types import DType, QuantParams, TensorType
from .attributes import element_type, flag, number
from .infer import broadcast_shapes, check_dtype, operand
from .narrow import narrowed, widened
from .opdef import Arrays, Attrs, Types

Infer = Callable[[Types, Attrs], tuple[TensorType, ...]]
Evaluate = Callable[[Arrays, Attrs], tuple[np.ndarray, ...]]

FLOATS = frozenset(dtype for dtype in DType if dtype.is_float)
INTEGERS = frozenset(dtype for dtype in DType if dtype.is_integer and dtype is not DType.INDEX)
NUMBERS = FLOATS | INTEGERS
BOOLS = frozenset({DType.BOOL})
ANY = NUMBERS | BOOLS


def unary(allowed: frozenset[DType], result: DType | None = None) -> Infer:
    """One operand of an ``allowed`` type; the result has its shape, and its type unless ``result`` names another."""

    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        x = operand(types, 0)
        _check_allowed(x, allowed)
        return (TensorType(result or x.dtype, x.shape),)

    return infer


def binary(allowed: frozenset[DType], result: DType | None = None) -> Infer:
    """Two operands of one ``allowed`` type, broadcast to one shape."""

    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        lhs, rhs = operand(types, 0), operand(types, 1)
        _check_allowed(lhs, allowed)
        check_dtype(rhs, lhs)
        return (TensorType(result or lhs.dtype, broadcast_shapes(lhs.shape, rhs.shape)),)

    return infer


def infer_chosen(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    """One of two numbers: per-tensor quantization that both have stays."""
    (type_,) = binary(NUMBERS)(types, attrs)
    return (replace(type_, quant=_common_quant(types)),)


def _common_quant(types: Types) -> QuantParams | None:
    quants = {type_.quant for type_ in types if type_ is not None}
    quant = quants.pop() if len(quants) == 1 else None
    return quant if quant is not None and quant.axis is None else None


def infer_bounded(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    """One number, bounded: per-tensor quantization stays what it is."""
    x = operand(types, 0)
    _check_allowed(x, NUMBERS)
    quant = x.quant if x.quant is not None and x.quant.axis is None else None
    return (TensorType(x.dtype, x.shape, quant),)


def apply(function: Callable[..., np.ndarray]) -> Evaluate:
    """Evaluates with a NumPy function of the operands; the result keeps the first operand's type."""

    def evaluate(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
        operands = present_arrays(arrays)
        with np.errstate(all="ignore"):
            return (np.asarray(function(*operands)).astype(operands[0].dtype, copy=False),)

    return evaluate


def predicate(function: Callable[..., np.ndarray]) -> Evaluate:
    """Evaluates with a NumPy function whose result is bool."""

    def evaluate(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
        return (np.asarray(function(*present_arrays(arrays)), dtype=bool),)

    return evaluate


def present_arrays(arrays: Arrays) -> tuple[np.ndarray, ...]:
    return tuple(array for array in arrays if array is not None)


def _check_allowed(type_: TensorType, allowed: frozenset[DType]) -> None:
    if type_.dtype not in allowed:
        names = ", ".join(sorted(dtype.value for dtype in allowed))
        raise ValueError(f"the operand is {type_}; its element type must be one of {names}")


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)) without overflow."""
    return 0.5 * (np.tanh(0.5 * x.astype(np.float64)) + 1.0)


def erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def truncating_divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x / y; integers truncate toward zero, and x / 0 is 0 (the loop IR leaves it undefined)."""
    if x.dtype.kind == "f":
        return x / y
    safe = np.where(y == 0, 1, y).astype(y.dtype)
    quotient = np.floor_divide(x, safe)
    inexact_negative = ((x < 0) != (safe < 0)) & (quotient * safe != x)
    return np.where(y == 0, 0, quotient + inexact_negative)


def infer_pow(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    """The exponent may have another element type than the base; the result has the base's."""
    base, exponent = operand(types, 0), operand(types, 1)
    _check_allowed(base, NUMBERS)
    _check_allowed(exponent, NUMBERS)
    return (TensorType(base.dtype, broadcast_shapes(base.shape, exponent.shape)),)


def power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x ** y; integers to a negative power go through float64 and truncate."""
    if x.dtype.kind in "iu" and y.dtype.kind in "iu" and not np.any(y < 0):
        return np.power(x, y)
    if x.dtype.kind == "f" and y.dtype.kind in "iu":
        return np.power(x, y.astype(x.dtype))
    return saturating_cast(np.power(x.astype(np.float64), y), x.dtype)


def evaluate_mod(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """``fmod``: the result has the sign of x (C); otherwise that of y (Python). x mod 0 of integers is 0."""
    return apply(np.fmod if attrs["fmod"] else np.mod)(arrays, attrs)


def evaluate_isinf(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    (x,) = present_arrays(arrays)
    negative = np.isneginf(x) & flag(attrs, "negative")
    positive = np.isposinf(x) & flag(attrs, "positive")
    return (negative | positive,)


def evaluate_clip(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """min(max(x, lo), hi), so that hi wins where the bounds cross."""
    (x,) = present_arrays(arrays)
    lo, hi = (_bound(number(attrs, name), x.dtype) for name in ("lo", "hi"))
    return (np.minimum(np.maximum(x, lo), hi),)


def _bound(bound: float, dtype: np.dtype) -> np.ndarray:
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.asarray(int(min(max(bound, limits.min), limits.max)), dtype)
    return np.asarray(bound, dtype)


def infer_where(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    condition, x, y = (operand(types, position) for position in range(3))
    if condition.dtype is not DType.BOOL:
        raise ValueError(f"the condition is {condition}, not bool")
    check_dtype(y, x)
    return (TensorType(x.dtype, broadcast_shapes(condition.shape, x.shape, y.shape), _common_quant([x, y])),)


def evaluate_where(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    condition, x, y = present_arrays(arrays)
    return (np.where(condition, x, y).astype(x.dtype, copy=False),)


def infer_cast(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, to = operand(types, 0), element_type(attrs, "to")
    if DType.CHAR in (x.dtype, to):
        raise ValueError(f"no cast of {x} to {to.value}")
    return (TensorType(to, x.shape),)


def evaluate_cast(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """From and to narrow types by way of the type in which they are computed with."""
    (x,), to = present_arrays(arrays), element_type(attrs, "to")
    if to.is_narrow:
        with np.errstate(all="ignore"):
            return (narrowed(widened(x), to, bool(attrs.get("saturate", True)), str(attrs.get("rounding", "up"))),)
    return (saturating_cast(widened(x), to.numpy),)


def infer_bitcast(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, to = operand(types, 0), element_type(attrs, "to")
    if to.bits != x.dtype.bits:
        raise ValueError(f"{x} has elements of {x.dtype.bits} bits, {to.value} has {to.bits}")
    return (TensorType(to, x.shape),)


def evaluate_bitcast(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """As bool, a byte is whether it is not 0."""
    (x,), to = present_arrays(arrays), element_type(attrs, "to").numpy
    return ((x.view(np.uint8) != 0) if to == np.bool_ else np.ascontiguousarray(x).reshape(x.shape).view(to),)


def saturating_cast(x: np.ndarray, to: np.dtype) -> np.ndarray:
    """Float to integer truncates toward zero and saturates, NaN becomes 0; integer to integer keeps the low bits."""
    with np.errstate(all="ignore"):
        if x.dtype.kind != "f" or to.kind not in "iu":
            return x.astype(to)
        limits = np.iinfo(to)
        whole = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
        low, high = whole <= float(limits.min), whole >= float(limits.max)
        result = np.where(low | high, 0, whole).astype(to)
        return np.where(low, limits.min, np.where(high, limits.max, result)).astype(to)
