"""Weighted sums of neighbours along one or two axes, as Resize writes linear and cubic interpolation."""

from __future__ import annotations

from functools import reduce as fold

import numpy as np

from ..ir.types import DType, TensorType
from .attributes import ints
from .infer import check_axes, operand
from .integer import NARROW, zero_point
from .opdef import Arrays, Attrs, Types
from .pointwise import present_arrays

_ELEMENTS = (*NARROW, DType.I32, DType.F32, DType.F64)


def infer_interpolate(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    """Behind x stand two [outputs, taps] for each axis: the places of the neighbours as i32, and their weights, which
    are i32 for integers and else of the type of x."""
    x, axes = operand(types, 0), ints(attrs, "axes")
    check_axes(axes, x)
    if x.dtype not in _ELEMENTS or len(axes) not in (1, 2) or list(axes) != sorted(axes):
        raise ValueError(f"no interpolation of {x} along {axes}")
    if len(types) != 1 + 2 * len(axes):
        raise ValueError(f"{len(types) - 1} operands do not fit {len(axes)} axes, which have two each")
    shape = list(x.shape)
    for number, axis in enumerate(axes):
        indices, weights = operand(types, 1 + 2 * number), operand(types, 2 + 2 * number)
        fitting = (indices.dtype, weights.dtype) == (DType.I32, _sums(x.dtype)) and indices.rank == 2
        if not fitting or indices.shape != weights.shape or not indices.shape[1]:
            raise ValueError(f"indices {indices} and weights {weights} are not both [outputs, taps] for {x}")
        shape[axis] = indices.shape[0]
    return (TensorType(_sums(x.dtype), tuple(shape)),)


def _sums(dtype: DType) -> DType:
    """What weights and sums of elements of a type are."""
    return dtype if dtype.is_float else DType.I32


def evaluate_interpolate(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """y = sum over taps of weight * (x at the tap - zero_point), axis by axis and tap by tap; those of integers wrap
    around as i32."""
    x, *tables = present_arrays(arrays)
    floats = np.issubdtype(x.dtype, np.floating)
    y = x if floats else x.astype(np.int32) - np.int32(zero_point(attrs))
    for axis, indices, weights in zip(ints(attrs, "axes"), tables[::2], tables[1::2], strict=True):
        along = [1] * y.ndim
        along[axis] = -1
        with np.errstate(all="ignore"):
            terms = [
                np.take(y, np.clip(places, 0, y.shape[axis] - 1), axis) * factors.reshape(along)
                for places, factors in zip(indices.T, weights.T, strict=True)
            ]
            y = fold(np.add, terms)
    return (y,)
