"""Weights of recurrent layers that become integer layers as a whole: integers of 8 or 16 bits.

Both weights have a scale for each row of each direction. Sums of products of rows with states and inputs of 16 bits
have to fit 32: the magnitudes of a row add up to less than 2^16 steps. Where rows have many weights, those of 16 bits
are so coarse that they fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..ir.types import DType
from .encoding import WEIGHT_LEVELS, Encoding
from .insert import StoredConstant
from .rounding import best_peaks, peak_steps

HALFWORD_LEVELS = 2**15 - 1
_LARGEST_SUM = 2**16 - 2**9
"""Of the magnitudes of a row in steps, with room for what rounding adds."""

Rounding = Callable[[np.ndarray, np.ndarray, Sequence[np.ndarray]], np.ndarray]
"""``(matrices [1, k, rows], steps [1, rows], rows of inputs of even and of odd samples) -> rounded matrices``"""


def byte_weights(weights: np.ndarray, rows: Sequence[np.ndarray], round_: Rounding) -> StoredConstant:
    """``weights`` [dirs, rows, k] as bytes that are rounded by ``round_`` for inputs ``[1, n, k]``."""
    parts, peaks = [], []
    for part in weights.astype(np.float64):
        matrices = part.T[np.newaxis]
        importance = np.concatenate([np.square(each, dtype=np.float64) for each in rows], axis=1).mean(axis=1)
        importance += 1e-6 * importance.mean() if importance.any() else 1
        numbers = np.arange(len(part))[np.newaxis]
        best = np.maximum(best_peaks(matrices, numbers, importance), _least_peaks(part, WEIGHT_LEVELS))
        parts.append(round_(matrices, peak_steps(best)[numbers], rows)[0].T)
        peaks.append(peak_steps(best))
    return _stored(np.stack(parts), np.concatenate(peaks), DType.I8)


def halfword_weights(weights: np.ndarray) -> StoredConstant:
    """``weights`` [dirs, rows, k] rounded to the nearest halfwords."""
    wide = weights.astype(np.float64)
    flat = wide.reshape(-1, wide.shape[2])
    peaks = np.maximum(np.abs(flat).max(axis=1), _least_peaks(flat, HALFWORD_LEVELS))
    steps = np.maximum((peaks / HALFWORD_LEVELS).astype(np.float32), np.finfo(np.float32).tiny)
    return _stored(wide, np.where(peaks > 0, steps.astype(np.float64), 1.0), DType.I16)


def _least_peaks(rows: np.ndarray, levels: int) -> np.ndarray:
    """What becomes ``levels``, so that the magnitudes of each row fit."""
    return np.asarray(np.abs(rows).sum(axis=1) * levels / (_LARGEST_SUM - rows.shape[1] / 2))


def _stored(weights: np.ndarray, steps: np.ndarray, dtype: DType) -> StoredConstant:
    encoding = Encoding(dtype, tuple(steps.tolist()), (0,) * len(steps), 0)
    flat = encoding.quantize(weights.reshape(-1, weights.shape[2]))
    if len(weights) > 1:
        return StoredConstant(flat, encoding, weights.shape)
    return StoredConstant(flat[np.newaxis], replace(encoding, axis=1))
