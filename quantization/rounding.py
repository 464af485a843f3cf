"""From float weights to int8: the scale of each channel, and which way each weight is rounded.

Weights are matrices ``[group, k, columns]`` as ``linear.py`` makes them; ``numbers[group, columns]`` says which scale a
column has. A scale is given by its *peak*, the magnitude that becomes 127. Columns may have fewer *levels* than these:
``levels[group, columns]`` is the greatest integer of each, 127 or 7 (:data:`NIBBLE_LEVELS`).
"""

from __future__ import annotations

import numpy as np

from ..record import record
from .encoding import WEIGHT_LEVELS

_SHRINK = np.linspace(1.0, 0.5, 51)
"""Parts of a channel's largest weight that are tried as its peak."""

_BLOCK = 64
"""Rows that are rounded before the others learn of it: most of the work is then in matrix products."""

_MOST_FACTORED = 1 << 11
"""Rows of moments that are factored at once: the time grows by their cube, and the sweeps behind see all of them."""

SWEEPS = 2

_CACHED = 1 << 16
"""Weights whose scales are looked for at once: what is made of them stays in the processor's cache."""

_FEW_GROUPS = 8

NIBBLE_LEVELS = 7
"""Weights of 4 bits are stored as -8..7."""

Levels = int | np.ndarray


def largest_peaks(matrices: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The largest weight of each scale."""
    peaks = np.zeros(int(numbers.max()) + 1)
    np.maximum.at(peaks, numbers, np.abs(matrices).max(axis=1))
    return peaks


def best_peaks(
    matrices: np.ndarray, numbers: np.ndarray, importance: np.ndarray, levels: Levels = WEIGHT_LEVELS
) -> np.ndarray:
    """The peaks with the least ``sum_k importance[g, k] * (w - rounded(w))^2``; with the inputs' mean squares as
    importance that is the noise at the output, if inputs are independent."""
    peaks = largest_peaks(matrices * (WEIGHT_LEVELS / np.broadcast_to(levels, numbers.shape))[:, np.newaxis], numbers)
    errors = np.empty((_SHRINK.size, *numbers.shape))
    width = max(1, _CACHED // max(1, matrices[:, :, 0].size)) if matrices.size else 1
    most = np.broadcast_to(levels, numbers.shape)
    for begin in range(0, numbers.shape[1], width):
        some = slice(begin, begin + width)
        weights = np.ascontiguousarray(matrices[:, :, some])
        for part, found in zip(_SHRINK, errors):
            apart = weights - nearest(weights, peak_steps(peaks * part)[numbers[:, some]], most[:, some])
            found[:, some] = (importance[:, np.newaxis, :] @ np.square(apart, out=apart))[:, 0]
    best, least = peaks.copy(), np.full(peaks.shape, np.inf)
    for part, found in zip(_SHRINK, errors):
        error = np.bincount(numbers.reshape(-1), found.reshape(-1), peaks.size)
        best, least = np.where(error < least, peaks * part, best), np.minimum(error, least)
    return best


def peak_steps(peaks: np.ndarray) -> np.ndarray:
    """The scales that belong to peaks, as ``weight_encoding`` has them."""
    normal = np.maximum((peaks / WEIGHT_LEVELS).astype(np.float32), np.finfo(np.float32).tiny)
    return np.where(peaks > 0, normal.astype(np.float64), 1.0)


def nearest(matrices: np.ndarray, steps: np.ndarray, levels: Levels = WEIGHT_LEVELS) -> np.ndarray:
    """Each weight as the nearest multiple of its column's step, ``steps[group, columns]``."""
    along = steps[:, np.newaxis, :]
    found = _Grid.of(np.broadcast_to(levels, steps.shape)[:, np.newaxis, :]).nearest(matrices / along)
    return np.multiply(found, along, out=found)


@record
class _Grid:
    """What columns can have, in steps: integers from -127 to 127, or from -8 to 7."""

    low: np.ndarray
    high: np.ndarray

    @staticmethod
    def of(most: np.ndarray) -> _Grid:
        high = np.asarray(most, np.float64)
        return _Grid(-high - (high == NIBBLE_LEVELS), high)

    def nearest(self, x: np.ndarray) -> np.ndarray:
        """In place."""
        np.rint(x, out=x)
        np.maximum(x, self.low, out=x)
        return np.minimum(x, self.high, out=x)


@record
class OrderedMoments:
    """Second moments of inputs, ``[g, k, k]``, with rows and columns by falling importance: ``order[g, n]``. ``power``
    is the mean of the diagonal. Only :meth:`damped` changes ``moments``."""

    order: np.ndarray
    moments: np.ndarray
    diagonal: np.ndarray
    power: np.ndarray

    @staticmethod
    def of(moments: np.ndarray) -> OrderedMoments:
        diagonal = np.einsum("gkk->gk", moments)
        order = np.argsort(-diagonal, axis=1, kind="stable")
        power = diagonal.mean(axis=1, keepdims=True)
        return OrderedMoments(order, _permuted(moments, order), np.take_along_axis(diagonal, order, 1), power)

    def damped(self, damping: float | np.ndarray) -> np.ndarray:
        """With ``damping`` times the power on the diagonal; to be used until this is called again."""
        places = np.arange(self.moments.shape[1])
        added = np.reshape(damping, (-1, 1)) * np.where(self.power > 0, self.power, 1.0)
        self.moments[:, places, places] = self.diagonal + added
        return self.moments


def compensated(
    matrices: np.ndarray, steps: np.ndarray, moments: OrderedMoments, damping: float | np.ndarray,
    levels: Levels = WEIGHT_LEVELS, sweeps: int = SWEEPS,
) -> np.ndarray:  # fmt: skip
    """Weights rounded so that the *outputs* are near those of the float weights.

    ``moments`` are those of the inputs: rounding changes the outputs by ``e x`` with the mean square ``e^T moments e``.
    First as Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers", 2022:
    one row after the other is rounded, by falling importance, and the rows that are left take up its error as the
    inverse of the moments says. Then as Behdin et al., "QuantEase", 2023: in some ``sweeps`` each row in turn is set to
    its best values, all others given, beginning with the better of that and the nearest weights, so that no column is
    worse than with these. ``damping``, one number or one for each group, times the mean of the diagonal is added to it.
    One weight hangs on all before it: float32 would round some another way on another processor. All is in steps of the
    columns, which know nothing of each other.

    Raises ``numpy.linalg.LinAlgError`` where the moments are too near to singular.
    """
    hessian, along = moments.damped(damping), steps[:, np.newaxis, :]
    target = np.take_along_axis(matrices, moments.order[:, :, None], axis=1) / along
    grid = _Grid.of(np.broadcast_to(levels, steps.shape))
    sequential = _sequential(target, grid, _unit_factors(hessian))
    whole = _Grid(grid.low[:, np.newaxis], grid.high[:, np.newaxis])
    rounded, gradient = _better(sequential, whole.nearest(target.copy()), target, hessian)
    for left in reversed(range(sweeps)):
        _descend(rounded, gradient, grid, hessian, is_last=left == 0)
    result = np.empty(matrices.shape)
    np.put_along_axis(result, moments.order[:, :, None], rounded * along, axis=1)
    return result


def _permuted(hessian: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Rows and columns of ``[g, k, k]`` by ``order[g, n]``."""
    if len(hessian) <= _FEW_GROUPS:
        return np.stack([each[own].take(own, axis=1) for each, own in zip(hessian, order)])
    return np.asarray(hessian[np.arange(len(hessian))[:, None, None], order[:, :, None], order[:, None, :]])


def _unit_factors(hessian: np.ndarray) -> np.ndarray:
    """U of ``H = U D U^T``, unit upper triangular: of the blocks of :data:`_MOST_FACTORED` rows on the
    diagonal, between which it is zero."""
    unit = np.zeros(hessian.shape)
    for begin in range(0, hessian.shape[1], _MOST_FACTORED):
        rows = slice(begin, begin + _MOST_FACTORED)
        factor = np.linalg.cholesky(hessian[:, rows, rows][:, ::-1, ::-1])[:, ::-1, ::-1]
        np.divide(factor, np.einsum("gkk->gk", factor)[:, np.newaxis, :], out=unit[:, rows, rows])
    return unit


def _better(
    first: np.ndarray, second: np.ndarray, target: np.ndarray, hessian: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of each column what changes the outputs least, and the gradient of that change."""
    apart = [first - target, second - target]
    gradients = [hessian @ each for each in apart]
    errors = [np.einsum("gkn,gkn->gn", *both) for both in zip(apart, gradients)]
    is_first = (errors[0] <= errors[1])[:, np.newaxis, :]
    return np.where(is_first, first, second), np.where(is_first, *gradients)


def _sequential(target: np.ndarray, grid: _Grid, unit: np.ndarray) -> np.ndarray:
    """GPTQ for all groups at once, in the form of Chee et al., "QuIP: 2-Bit Quantization of Large Language Models With
    Guarantees", 2023, theorem 6, which needs no inverse: with :func:`_unit_factors` U of the moments, row k is
    rounded after it took up the errors ``sum_{j<k} U[j, k] (w_j - q_j)`` of the rows before.
    """
    rounded, errors = np.empty_like(target), np.empty_like(target)
    size = target.shape[1]
    for begin in range(0, size, _BLOCK):
        end = min(begin + _BLOCK, size)
        taken = unit[:, :begin, begin:end].transpose(0, 2, 1) @ errors[:, :begin]
        for row in range(begin, end):
            inner = unit[:, np.newaxis, begin:row, row] @ errors[:, begin:row]
            rounded[:, row] = grid.nearest(target[:, row] + taken[:, row - begin] + inner[:, 0])
            errors[:, row] = target[:, row] - rounded[:, row]
    return rounded


def _descend(
    rounded: np.ndarray, gradient: np.ndarray, grid: _Grid, hessian: np.ndarray, *, is_last: bool
) -> None:
    """One sweep of coordinate descent, in place. The error ``(q - w)^T H (q - w)`` never grows. In the last sweep
    nobody looks again at the ``gradient``, ``H (q - w)``, of rows that are done."""
    diagonal = np.einsum("gkk->gk", hessian)
    size = rounded.shape[1]
    changes = np.empty((len(rounded), min(_BLOCK, size), rounded.shape[2]))
    for begin in range(0, size, _BLOCK):
        end = min(begin + _BLOCK, size)
        for row in range(begin, end):
            place = row - begin
            inner = hessian[:, np.newaxis, row, begin:row] @ changes[:, :place]
            slope = gradient[:, row] + inner[:, 0]
            slope /= diagonal[:, row, None]
            best = grid.nearest(np.subtract(rounded[:, row], slope, out=slope))
            np.subtract(best, rounded[:, row], out=changes[:, place])
            rounded[:, row] = best
        behind = end if is_last else 0
        gradient[:, behind:] += hessian[:, behind:, begin:end] @ changes[:, : end - begin]


def output_error(apart: np.ndarray, moments: np.ndarray) -> float:
    """The mean squared change of the outputs where the weights change by ``apart``."""
    return float(np.sum(apart * (moments @ apart)))
