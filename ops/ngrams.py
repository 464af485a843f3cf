"""Counting sequences of integers: types and meaning of count_ngrams."""

from __future__ import annotations

import numpy as np

from ..ir.types import DType, TensorType
from .attributes import integer
from .infer import check_dtype, operand
from .opdef import Arrays, Attrs, Types
from .pointwise import present_arrays


def infer_count_ngrams(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, grams = operand(types, 0), operand(types, 1)
    check_dtype(grams, x)
    if x.rank != 2 or grams.rank != 2 or x.dtype not in (DType.I32, DType.I64) or integer(attrs, "skips") < 0:
        raise ValueError(f"no count of {grams} in {x}")
    return (TensorType(DType.I32, (x.shape[0], grams.shape[0])),)


def evaluate_count_ngrams(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """How often each row of grams occurs in each row of x, with 0 to ``skips`` elements left out between neighbours."""
    x, grams = present_arrays(arrays)
    y = np.zeros((x.shape[0], grams.shape[0]), np.int32)
    length = grams.shape[1]
    for gap in range(1, 2 + (integer(attrs, "skips") if length > 1 else 0)):
        for start in range(x.shape[1] - (length - 1) * gap):
            window = x[:, start : start + (length - 1) * gap + 1 : gap]
            y += (window[:, None, :] == grams[None]).all(-1)
    return (y,)
