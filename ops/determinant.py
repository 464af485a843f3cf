"""Determinants: types and meaning of det."""

from __future__ import annotations

import numpy as np

from ..ir.types import TensorType
from .infer import operand
from .opdef import Arrays, Attrs, Types
from .pointwise import FLOATS, present_arrays


def infer_det(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x = operand(types, 0)
    if x.rank < 2 or x.shape[-1] != x.shape[-2] or x.dtype not in FLOATS:
        raise ValueError(f"no determinant of {x}")
    return (TensorType(x.dtype, x.shape[:-2]),)


def evaluate_det(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    (x,) = present_arrays(arrays)
    return (np.asarray(np.linalg.det(x.astype(np.float64))).astype(x.dtype),)
