"""How far two arrays are apart, in whatever layout they are held."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field
from itertools import permutations

import numpy as np

from ..ir.types import DType
from ..record import record

_MAX_PERMUTED = 5
"""Dimensions (of more than one element) whose orders are all tried."""


@record
class Difference:
    """How far two arrays are apart.

    ``relative_l2`` is |found - reference| / |reference| in the Euclidean norm; the absolute one where that is 0.

    ``max_abs`` is the largest absolute difference. Both are infinite where one array has a NaN or an infinity that
    the other has not. ``compared`` counts the finite elements of the reference: NaN beside NaN says nothing.
    ``differing`` counts those that are not equal.
    """

    relative_l2: float
    max_abs: float
    compared: int = field(default=0, compare=False)
    differing: int = field(default=0, compare=False)

    @property
    def snr_db(self) -> float:
        """Signal-to-noise ratio in decibels; infinite for equal arrays."""
        return math.inf if self.relative_l2 == 0 else -20 * math.log10(self.relative_l2)

    def worse(self, other: Difference | None) -> Difference:
        """The larger of both in either measure."""
        if other is None:
            return self
        compared, differing = self.compared + other.compared, self.differing + other.differing
        return Difference(
            max(self.relative_l2, other.relative_l2), max(self.max_abs, other.max_abs), compared, differing
        )


def difference(found: np.ndarray, reference: np.ndarray) -> Difference:
    """Of two arrays, element by element in row-major order; infinite where one has more. Strings are equal or not."""
    if found.size != reference.size:
        return Difference(math.inf, math.inf, reference.size)
    if "U" in (found.dtype.kind, reference.dtype.kind) or reference.dtype.kind == "O":
        same = np.array_equal(found.astype(str).reshape(-1), reference.astype(str).reshape(-1))
        return Difference(0.0 if same else math.inf, 0.0 if same else math.inf, reference.size)
    lhs, rhs = (_numbers(array).reshape(-1) for array in (found, reference))
    finite = np.isfinite(rhs)
    if not np.array_equal(lhs[~finite], rhs[~finite], equal_nan=True) or not np.isfinite(lhs[finite]).all():
        return Difference(math.inf, math.inf, int(np.count_nonzero(finite)))
    apart = lhs[finite] - rhs[finite]
    noise, signal = float(np.linalg.norm(apart)), float(np.linalg.norm(rhs[finite]))
    largest, differing = float(np.abs(apart).max(initial=0.0)), int(np.count_nonzero(apart))
    return Difference(noise / signal if signal else noise, largest, apart.size, differing)


def _numbers(array: np.ndarray) -> np.ndarray:
    """Elements in float64, those of strings as the bytes that they are."""
    return np.asarray(array.view(np.uint8) if array.dtype == DType.CHAR.numpy else array, np.float64)


def best_difference(found: np.ndarray, reference: np.ndarray, tolerance: float) -> Difference | None:
    """The difference in the layout that makes it smallest; ``None`` where the arrays cannot hold the same tensor.

    ccml keeps tensors channels-last, merges and drops dimensions: ``found`` may be any reshape of a transpose of
    ``reference``. A tensor that is wrong is wrong in every layout, so the smallest difference is the fair one. The
    search ends with the first layout within ``tolerance``.
    """
    if found.size != reference.size:
        return None
    best: Difference | None = None
    for layout in _layouts(reference):
        current = difference(found, layout)
        if best is None or current.relative_l2 < best.relative_l2:
            best = current
        if current.relative_l2 <= tolerance:
            break
    return best


def _layouts(array: np.ndarray) -> Iterator[np.ndarray]:
    """The array as it is, channels-last, and transposed in every other way."""
    yield array
    if array.ndim > 2:
        yield np.moveaxis(array, 1, -1)
    solid = array.reshape([extent for extent in array.shape if extent != 1])
    if solid.ndim <= _MAX_PERMUTED:
        orders = permutations(range(solid.ndim))
        next(orders)
        yield from (solid.transpose(order) for order in orders)
