"""Weighted sums of neighbours along one or two axes, as Resize writes linear and cubic interpolation, on integers."""

from __future__ import annotations

import numpy as np

from ..ir.types import DType, TensorType
from .attributes import ints
from .infer import check_axes, operand
from .integer import NARROW, zero_point
from .opdef import Arrays, Attrs, Types
from .pointwise import present_arrays


def infer_interpolate(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    """Behind x stand i32[outputs, taps] twice for each axis: the places of the neighbours, and their weights."""
    x, axes = operand(types, 0), ints(attrs, "axes")
    check_axes(axes, x)
    if x.dtype not in (*NARROW, DType.I32) or len(axes) not in (1, 2) or list(axes) != sorted(axes):
        raise ValueError(f"no interpolation of {x} along {axes}")
    if len(types) != 1 + 2 * len(axes):
        raise ValueError(f"{len(types) - 1} operands do not fit {len(axes)} axes, which have two each")
    shape = list(x.shape)
    for number, axis in enumerate(axes):
        indices, weights = operand(types, 1 + 2 * number), operand(types, 2 + 2 * number)
        if {indices.dtype, weights.dtype} != {DType.I32} or indices.shape != weights.shape or indices.rank != 2:
            raise ValueError(f"indices {indices} and weights {weights} are not both i32[outputs, taps]")
        shape[axis] = indices.shape[0]
    return (TensorType(DType.I32, tuple(shape)),)


def evaluate_interpolate(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """y = sum over taps of weight * (x at the tap - zero_point), axis by axis; sums wrap around as i32."""
    x, *tables = present_arrays(arrays)
    y = x.astype(np.int32) - np.int32(zero_point(attrs))
    for axis, indices, weights in zip(ints(attrs, "axes"), tables[::2], tables[1::2], strict=True):
        along = [1] * y.ndim
        along[axis] = -1
        with np.errstate(over="ignore"):
            terms = [
                np.take(y, np.clip(places, 0, y.shape[axis] - 1), axis) * factors.reshape(along)
                for places, factors in zip(indices.T, weights.T, strict=True)
            ]
            y = np.sum(terms, axis=0, dtype=np.int32)
    return (y,)
