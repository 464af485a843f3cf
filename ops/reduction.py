"""Reductions, softmax, normalizations and running sums: types and meaning. Sums are taken in float64."""

from __future__ import annotations

import numpy as np

from ..ir.types import DType, TensorType
from .attributes import flag, integer, ints, number
from .infer import check_axes, operand, reduced_shape
from .integer import NARROW, zero_point
from .opdef import Arrays, Attrs, Types
from .pointwise import NUMBERS, present_arrays, truncating_divide


def infer_reduce(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, axes, kind = operand(types, 0), ints(attrs, "axes"), attrs["kind"]
    check_axes(axes, x)
    if x.dtype not in NUMBERS:
        raise ValueError(f"no {kind} of {x}")
    centred = "zero_point" in attrs
    if centred and (kind != "sum" or x.dtype not in NARROW):
        raise ValueError(f"no {kind} of {x} with a zero point")
    if kind == "mean" and not x.dtype.is_float and 0 in (x.shape[axis] for axis in axes):
        raise ValueError(f"no mean of nothing: {x} over axes {axes}")
    dtype = DType.I32 if centred else x.dtype
    return (TensorType(dtype, reduced_shape(x.shape, axes, flag(attrs, "keepdims"))),)


def evaluate_reduce(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """The mean of integers truncates toward zero; the maximum of nothing is the least value of the type. With a
    ``zero_point``, of 8 or 16 bits, the sum is that of x - zero_point, as i32."""
    (x,) = present_arrays(arrays)
    if "zero_point" in attrs:
        x = x.astype(np.int32) - zero_point(attrs)
    axes, keepdims, kind = ints(attrs, "axes"), flag(attrs, "keepdims"), attrs["kind"]
    wide = x.astype(np.float64 if x.dtype.kind == "f" else np.int64)
    with np.errstate(all="ignore"):
        if kind in ("max", "min"):
            pick: np.ufunc = np.maximum if kind == "max" else np.minimum
            result = pick.reduce(x, axis=axes, keepdims=keepdims, initial=_extreme(x.dtype, kind == "max").item())
        elif kind == "prod":
            result = np.prod(wide, axis=axes, keepdims=keepdims)
        else:
            result = np.sum(wide, axis=axes, keepdims=keepdims)
            if kind == "mean":
                result = truncating_divide(result, np.asarray(_count(x, axes), wide.dtype))
        return (np.asarray(result).astype(x.dtype),)


def _extreme(dtype: np.dtype, lowest: bool) -> np.generic:
    """The least (or greatest) value of a type: the maximum (minimum) of nothing."""
    if dtype.kind == "f":
        return dtype.type(-np.inf if lowest else np.inf)
    return dtype.type(np.iinfo(dtype).min if lowest else np.iinfo(dtype).max)


def _count(x: np.ndarray, axes: tuple[int, ...]) -> int:
    return int(np.prod([x.shape[axis] for axis in axes], dtype=np.int64))


def infer_arg_reduce(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, axis = operand(types, 0), integer(attrs, "axis")
    check_axes((axis,), x)
    if x.shape[axis] == 0 or x.dtype not in NUMBERS or attrs["kind"] not in ("max", "min"):
        raise ValueError(f"no index of the {attrs['kind']} of {x} along axis {axis}")
    return (TensorType(DType.I64, reduced_shape(x.shape, (axis,), flag(attrs, "keepdims"))),)


def evaluate_arg_reduce(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """The first index of the extreme along the axis, or with ``last`` the last one."""
    (x,) = present_arrays(arrays)
    axis, pick = integer(attrs, "axis"), (np.argmax if attrs["kind"] == "max" else np.argmin)
    first = np.asarray(pick(np.flip(x, axis) if attrs["last"] else x, axis=axis), np.int64)
    index = x.shape[axis] - 1 - first if attrs["last"] else first
    return (np.expand_dims(index, axis) if attrs["keepdims"] else index,)


def infer_along_axis(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    """Softmax and its like: floats, one axis, the same type."""
    x, axis = operand(types, 0), integer(attrs, "axis")
    check_axes((axis,), x)
    if not x.dtype.is_float:
        raise ValueError(f"the operand is {x}, not of floats")
    return (TensorType(x.dtype, x.shape),)


def evaluate_softmax(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """Of half floats differences, powers and their sum are rounded, as ONNX defines the operator by those steps."""
    (x,) = present_arrays(arrays)
    axis = integer(attrs, "axis")
    with np.errstate(all="ignore"):
        if x.dtype == np.float16 and x.shape[axis]:
            powers = np.exp((x - x.max(axis=axis, keepdims=True)).astype(np.float32)).astype(np.float16)
            total = powers.sum(axis=axis, keepdims=True, dtype=np.float32).astype(np.float16)
            return (powers / total,)
        return (np.exp(_log_softmax(x, attrs)).astype(x.dtype),)


def evaluate_log_softmax(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    (x,) = present_arrays(arrays)
    with np.errstate(all="ignore"):
        return (_log_softmax(x, attrs).astype(x.dtype),)


def _log_softmax(x: np.ndarray, attrs: Attrs) -> np.ndarray:
    axis = integer(attrs, "axis")
    if x.shape[axis] == 0:
        return x.astype(np.float64)
    shifted = x.astype(np.float64) - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def infer_normalize(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x = operand(types, 0)
    check_axes(ints(attrs, "axes"), x)
    if not x.dtype.is_float:
        raise ValueError(f"the operand is {x}, not of floats")
    return (TensorType(x.dtype, x.shape),)


def evaluate_normalize(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """(x - mean) / sqrt(variance + epsilon), the variance biased."""
    (x,) = present_arrays(arrays)
    axes, wide = ints(attrs, "axes"), x.astype(np.float64)
    centred = wide - wide.mean(axis=axes, keepdims=True)
    return (_over_rms(centred, axes, attrs).astype(x.dtype),)


def evaluate_rms_normalize(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """x / sqrt(mean(x^2) + epsilon)"""
    (x,) = present_arrays(arrays)
    return (_over_rms(x.astype(np.float64), ints(attrs, "axes"), attrs).astype(x.dtype),)


def _over_rms(x: np.ndarray, axes: tuple[int, ...], attrs: Attrs) -> np.ndarray:
    with np.errstate(all="ignore"):
        return x / np.sqrt(np.square(x).mean(axis=axes, keepdims=True) + number(attrs, "epsilon"))


def infer_cumulative(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, axis = operand(types, 0), integer(attrs, "axis")
    check_axes((axis,), x)
    if x.dtype not in NUMBERS:
        raise ValueError(f"no running sum or product of {x}")
    return (TensorType(x.dtype, x.shape),)


def evaluate_cumsum(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    return (_cumulative(present_arrays(arrays)[0], np.add, attrs),)


def evaluate_cumprod(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    return (_cumulative(present_arrays(arrays)[0], np.multiply, attrs),)


def _cumulative(x: np.ndarray, combine: np.ufunc, attrs: Attrs) -> np.ndarray:
    """Running results along the axis, from its end with ``reverse``; ``exclusive`` leaves each element itself out."""
    axis = integer(attrs, "axis")
    source = np.flip(x, axis) if attrs["reverse"] else x
    wide = source.astype(np.float64 if x.dtype.kind == "f" else np.int64)
    if attrs["exclusive"]:
        first = np.full_like(wide.take([0], axis), combine.identity)
        wide = np.concatenate([first, wide.take(range(x.shape[axis] - 1), axis)], axis)
    result = combine.accumulate(wide, axis=axis)
    return np.ascontiguousarray(np.flip(result, axis) if attrs["reverse"] else result).astype(x.dtype)
