"""Sorting: types and meaning of top_k."""

from __future__ import annotations

import numpy as np

from ..ir.types import DType, TensorType
from .attributes import integer
from .infer import check_axes, operand
from .opdef import Arrays, Attrs, Types
from .pointwise import NUMBERS, present_arrays


def infer_top_k(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, axis, k = operand(types, 0), integer(attrs, "axis"), integer(attrs, "k")
    check_axes((axis,), x)
    if x.dtype not in NUMBERS:
        raise ValueError(f"no order of {x}")
    if not 0 <= k <= x.shape[axis]:
        raise ValueError(f"k is {k}, but {x} has {x.shape[axis]} elements along axis {axis}")
    return (TensorType(DType.I32, (*x.shape[:axis], k, *x.shape[axis + 1 :])),)


def evaluate_top_k(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """The indices in order; of equal elements the first comes first. NaN is greater than all numbers."""
    (x,) = present_arrays(arrays)
    axis, k = integer(attrs, "axis"), integer(attrs, "k")
    if attrs["largest"]:
        backwards = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
        order = x.shape[axis] - 1 - np.flip(backwards, axis)
    else:
        order = np.argsort(x, axis=axis, kind="stable")
    return (np.ascontiguousarray(np.take(order, np.arange(k), axis=axis)).astype(np.int32),)
