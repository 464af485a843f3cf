"""Scatter, the counterpart of gather: types and meaning."""

from __future__ import annotations

import numpy as np

from ..ir.types import DType, TensorType
from .attributes import text
from .infer import check_dtype, operand
from .opdef import Arrays, Attrs, Types
from .pointwise import present_arrays


def infer_scatter(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, places, updates = (operand(types, position) for position in range(3))
    check_dtype(updates, x)
    if places.dtype not in (DType.I32, DType.I64):
        raise ValueError(f"places are {places}, not i32 or i64")
    if x.rank < 1 or updates.shape != (*places.shape, *x.shape[1:]):
        raise ValueError(f"updates {updates} do not fit places {places} in {x}")
    if attrs["reduction"] != "none" and x.dtype is DType.BOOL:
        raise ValueError(f"no reduction {attrs['reduction']} of {x}")
    return (TensorType(x.dtype, x.shape),)


def evaluate_scatter(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """y = x, then y[place] = reduction(y[place], update) for one place after the other that is in range."""
    x, places, updates = present_arrays(arrays)
    y = x.copy()
    rows = updates.reshape(places.size, *x.shape[1:])
    combine = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}.get(text(attrs, "reduction"))
    for place, row in zip(places.reshape(-1), rows):
        if 0 <= place < x.shape[0]:
            y[place] = row if combine is None else combine(y[place], row)
    return (y,)
