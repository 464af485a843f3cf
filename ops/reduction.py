"""Reductions, softmax, normalizations and running sums: types and meaning. Sums are taken in float64."""

from __future__ import annotations

import numpy as np

from ..ir.types import DType, TensorType
from .infer import check_axes, integer, ints, operand, reduced_shape
from .opdef import Arrays, Attrs, Types
from .pointwise import NUMBERS, present_arrays, truncating_divide

REDUCE_KINDS = ("sum", "mean", "max", "min", "prod")


def infer_reduce(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, axes, kind = operand(types, 0), ints(attrs, "axes"), attrs["kind"]
    check_axes(axes, x)
    if kind not in REDUCE_KINDS or x.dtype not in NUMBERS:
        raise ValueError(f"no {kind} of {x}")
    if x.size == 0 and kind in ("max", "min", "mean") and 0 in (x.shape[axis] for axis in axes) and not x.dtype.is_float:
        raise ValueError(f"no {kind} of nothing: {x} over axes {axes}")
    return (TensorType(x.dtype, reduced_shape(x.shape, axes, bool(attrs["keepdims"]))),)


def evaluate_reduce(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """The mean of integers truncates toward zero."""
    (x,) = present_arrays(arrays)
    axes, keepdims, kind = ints(attrs, "axes"), bool(attrs["keepdims"]), attrs["kind"]
    wide = x.astype(np.float64 if x.dtype.kind == "f" else np.int64)
    with np.errstate(all="ignore"):
        if kind in ("max", "min"):
            empty = -np.inf if kind == "max" else np.inf
            pick, initial = (np.max if kind == "max" else np.min), ({"initial": empty} if x.dtype.kind == "f" else {})
            result = pick(x, axis=axes, keepdims=keepdims, **initial)
        elif kind == "prod":
            result = np.prod(wide, axis=axes, keepdims=keepdims)
        else:
            result = np.sum(wide, axis=axes, keepdims=keepdims)
            if kind == "mean":
                result = truncating_divide(result, np.asarray(_count(x, axes), wide.dtype))
        return (np.asarray(result).astype(x.dtype),)


def _count(x: np.ndarray, axes: tuple[int, ...]) -> int:
    return int(np.prod([x.shape[axis] for axis in axes], dtype=np.int64))


def infer_arg_reduce(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, axis = operand(types, 0), integer(attrs, "axis")
    check_axes((axis,), x)
    if x.shape[axis] == 0 or x.dtype not in NUMBERS or attrs["kind"] not in ("max", "min"):
        raise ValueError(f"no index of the {attrs['kind']} of {x} along axis {axis}")
    return (TensorType(DType.I64, reduced_shape(x.shape, (axis,), bool(attrs["keepdims"]))),)


def evaluate_arg_reduce(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """The first index of the extreme along the axis, or with ``last`` the last one."""
    (x,) = present_arrays(arrays)
    axis, pick = integer(attrs, "axis"), (np.argmax if attrs["kind"] == "max" else np.argmin)
    if attrs["last"]:
        index = x.shape[axis] - 1 - pick(np.flip(x, axis), axis=axis)
    else:
        index = pick(x, axis=axis)
    index = np.asarray(index, np.int64)
    return (np.expand_dims(index, axis) if attrs["keepdims"] else index,)


def infer_along_axis(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    """Softmax and its like: floats, one axis, the same type."""
    x, axis = operand(types, 0), integer(attrs, "axis")
    check_axes((axis,), x)
    if not x.dtype.is_float:
        raise ValueError(f"the operand is {x}, not of floats")
    return (TensorType(x.dtype, x.shape),)


def evaluate_softmax(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    (x,) = present_arrays(arrays)
    with np.errstate(all="ignore"):
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
    epsilon = attrs["epsilon"]
    assert isinstance(epsilon, float)
    with np.errstate(all="ignore"):
        return x / np.sqrt(np.square(x).mean(axis=axes, keepdims=True) + epsilon)


def infer_cumsum(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, axis = operand(types, 0), integer(attrs, "axis")
    check_axes((axis,), x)
    if x.dtype not in NUMBERS:
        raise ValueError(f"no running sum of {x}")
    return (TensorType(x.dtype, x.shape),)


def evaluate_cumsum(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """Running sums along the axis, from its end with ``reverse``; ``exclusive`` leaves each element itself out."""
    (x,) = present_arrays(arrays)
    axis = integer(attrs, "axis")
    source = np.flip(x, axis) if attrs["reverse"] else x
    wide = source.astype(np.float64 if x.dtype.kind == "f" else np.int64)
    total = np.cumsum(wide, axis=axis)
    if attrs["exclusive"]:
        total = total - wide
    return (np.ascontiguousarray(np.flip(total, axis) if attrs["reverse"] else total).astype(x.dtype),)
