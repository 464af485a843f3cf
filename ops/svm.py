"""Support vector machines: types and meaning of square_distance and couple_probabilities."""

from __future__ import annotations

import numpy as np

from ..ir.types import DType, TensorType
from .infer import check_dtype, operand
from .opdef import Arrays, Attrs, Types
from .pointwise import present_arrays

ROUNDS = 100
"""Of the coupling, at most."""

TOLERANCE = 0.005
"""Divided by the number of classes: the error at which the coupling ends."""


def infer_square_distance(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, s = operand(types, 0), operand(types, 1)
    check_dtype(s, x)
    if x.rank != 2 or s.rank != 2 or x.shape[1] != s.shape[1] or x.dtype not in (DType.F32, DType.F64):
        raise ValueError(f"no distances between {x} and {s}")
    return (TensorType(x.dtype, (x.shape[0], s.shape[0])),)


def evaluate_square_distance(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """The sum of the squares of differences between each row of x and each of s."""
    x, s = present_arrays(arrays)
    return (np.square(x[:, None] - s[None]).sum(-1),)


def infer_couple_probabilities(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    r = operand(types, 0)
    if r.rank != 3 or r.shape[1] != r.shape[2] or r.shape[1] < 2 or r.dtype is not DType.F32:
        raise ValueError(f"no probabilities of pairs of classes: {r}")
    return (TensorType(r.dtype, r.shape[:2]),)


def evaluate_couple_probabilities(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """Probabilities of classes from those of the first of each pair (Wu, Lin and Weng 2004, second method; libsvm)."""
    (r,) = present_arrays(arrays)
    count, one = r.shape[1], np.float32(1)
    result = np.full(r.shape[:2], one / np.float32(count), np.float32)
    for pairs, p in zip(r, result):
        q = -pairs * pairs.T
        np.fill_diagonal(q, (np.square(pairs).sum(0) - np.square(np.diag(pairs))).astype(np.float32))
        for _ in range(ROUNDS):
            product = q @ p
            square = p @ product
            if np.abs(product - square).max() < np.float32(TOLERANCE) / np.float32(count):
                break
            for t in range(count):
                step = (square - product[t]) / q[t, t]
                p[t] += step
                square = (square + step * (step * q[t, t] + 2 * product[t])) / (one + step) / (one + step)
                product = (product + step * q[t]) / (one + step)
                p /= one + step
    return (result,)
