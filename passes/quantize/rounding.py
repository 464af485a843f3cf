"""From float weights to int8: the scale of each channel, and which way each weight is rounded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .encoding import WEIGHT_LEVELS

_SHRINK = np.linspace(1.0, 0.5, 51)
"""Parts of a channel's largest weight that are tried as the end of its range."""


@dataclass(frozen=True)
class Moments:
    """Second moments of a layer's inputs, about their means, for each group: ``quantized[g, k, k]`` of the inputs as
    the quantized model computes them, and ``cross[g, k, k]`` of those (rows) with the float model's (columns)."""

    quantized: np.ndarray
    cross: np.ndarray
    original: np.ndarray

    def error(self, weights: np.ndarray, rounded: np.ndarray) -> float:
        """The mean squared difference of outputs, ``|x @ weights - x_quantized @ rounded|^2`` summed over columns."""
        own = np.einsum("gkn,gkl,gln->", rounded, self.quantized, rounded, optimize=True)
        mixed = np.einsum("gkn,gkl,gln->", rounded, self.cross, weights, optimize=True)
        wanted = np.einsum("gkn,gkl,gln->", weights, self.original, weights, optimize=True)
        return float(own - 2 * mixed + wanted)


def channel_peaks(matrices: np.ndarray, importance: np.ndarray | None) -> np.ndarray:
    """For each column of ``[g, k, n]`` the magnitude that becomes 127.

    The largest weight; or with ``importance[g, k]`` (the inputs' mean squares) the part of it that makes
    ``sum_k importance * (w - rounded(w))^2`` least.
    """
    peaks = np.abs(matrices).max(axis=1)
    if importance is None:
        return peaks
    best, least = peaks, np.full(peaks.shape, np.inf)
    for part in _SHRINK:
        error = np.einsum("gk,gkn->gn", importance, np.square(matrices - nearest(matrices, peaks * part)))
        best = np.where(error < least, peaks * part, best)
        least = np.minimum(error, least)
    return best


def steps(peaks: np.ndarray) -> np.ndarray:
    """The scale of each column, as ``weight_encoding`` has it."""
    return np.where(peaks > 0, (peaks / WEIGHT_LEVELS).astype(np.float32).astype(np.float64), 1.0)


def nearest(matrices: np.ndarray, peaks: np.ndarray) -> np.ndarray:
    """Weights rounded to the nearest multiple of their column's step."""
    step = steps(peaks)[:, np.newaxis, :]
    return np.clip(np.rint(matrices / step), -WEIGHT_LEVELS, WEIGHT_LEVELS) * step


def compensated(matrices: np.ndarray, peaks: np.ndarray, moments: Moments, damping: float, sweeps: int = 2) -> np.ndarray:
    """Rounds one row of weights after the other; the rows that are left take up the error.

    Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers", 2022:
    rounding w_i by e changes the output by e x_i, and the least squares change of the other weights that makes up
    for it is given by the Cholesky factor of the inverse of the moments. Rows go by falling importance. 
    """
    size = matrices.shape[1]
    trace = np.einsum("gkk->gk", moments.quantized)
    mean = trace.mean(axis=1, keepdims=True)
    diagonal = damping * np.where(mean > 0, mean, 1.0) * np.ones_like(trace)
    h = moments.quantized.copy()
    h[:, np.arange(size), np.arange(size)] += diagonal
    target = matrices - np.linalg.solve(h, (moments.quantized - moments.cross) @ matrices)
    order = np.argsort(-np.einsum("gkk->gk", h), axis=1, kind="stable")
    ho = np.take_along_axis(np.take_along_axis(h, order[:, :, None], 1), order[:, None, :], 2)
    w = np.take_along_axis(target, order[:, :, None], 1)
    upper = np.linalg.cholesky(np.linalg.inv(ho)).transpose(0, 2, 1)  # lower L with H^-1 = L L^T; U = L^T
    # need upper factor: H^-1 = U^T U
    step = steps(peaks)
    q = np.empty_like(w)
    t = w.copy()
    for i in range(size):
        q[:, i] = np.clip(np.rint(w[:, i] / step), -WEIGHT_LEVELS, WEIGHT_LEVELS) * step
        e = (w[:, i] - q[:, i]) / upper[:, i, i, None]
        w[:, i + 1 :] -= upper[:, i, i + 1 :, None] * e[:, None, :]
    for _ in range(sweeps):
        r = np.einsum("gkl,gln->gkn", ho, q - t)
        for i in range(size):
            hii = ho[:, i, i, None]
            best = np.clip(np.rint((q[:, i] - r[:, i] / hii) / step), -WEIGHT_LEVELS, WEIGHT_LEVELS) * step
            d = best - q[:, i]
            q[:, i] = best
            r += ho[:, :, i, None] * d[:, None, :]
    out = np.empty_like(q)
    np.put_along_axis(out, order[:, :, None], q, 1)
    return out
