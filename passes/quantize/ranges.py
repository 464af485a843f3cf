"""Range methods: which part of what was observed an int8 is to cover. Beyond it values saturate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from .histogram import Histogram, TensorStats
from .options import RangeMethod

Range = tuple[float, float]

STEPS = 255
"""Steps of an 8-bit encoding."""

_GRID = np.linspace(0.05, 1.0, 96)
"""Parts of the observed range that the MSE method tries, for either side."""


def find_range(stats: TensorStats, method: RangeMethod, percentile: float) -> Range:
    """The range, with 0 inside. ``percentile`` (50..100) is for the method of that name."""
    if math.isinf(stats.low):
        return 0.0, 0.0
    low, high = _METHODS[method](stats, percentile)
    return max(min(low, 0.0), min(stats.low, 0.0)), min(max(high, 0.0), max(stats.high, 0.0))


def _min_max(stats: TensorStats, percentile: float) -> Range:
    return stats.low, stats.high


def _moving_average(stats: TensorStats, percentile: float) -> Range:
    return stats.smooth_low, stats.smooth_high


def _percentile(stats: TensorStats, percentile: float) -> Range:
    """All but ``100 - percentile`` percent of the values on either side."""
    edges, counts = _with_zeros(stats.histogram)
    share = np.cumsum(counts) / counts.sum()
    tail = 1.0 - percentile / 100.0
    low = edges[int(np.searchsorted(share, tail, side="right"))]
    high = edges[min(int(np.searchsorted(share, 1.0 - tail, side="left")), counts.size - 1) + 1]
    return float(low), float(high)


def _with_zeros(histogram: Histogram) -> tuple[np.ndarray, np.ndarray]:
    """Edges and counts of bins from below 0 to above, the zeros in the bin that begins at 0."""
    begin = min(histogram.first, 0)
    end = max(histogram.first + histogram.counts.size, 1)
    counts = np.zeros(end - begin, np.int64)
    counts[histogram.first - begin : histogram.first - begin + histogram.counts.size] = histogram.counts
    counts[-begin] += histogram.zeros
    return np.arange(begin, end + 1) * histogram.width, counts


def _mse(stats: TensorStats, percentile: float) -> Range:
    """The range of the least mean squared error: rounding inside against saturation outside.

    With step d = (high - low) / 255 a value inside is off by d^2 / 12 on average, one outside by its distance from
    the range. All pairs of a grid are tried (the idea of Banner et al., "Post training 4-bit quantization of
    convolutional networks for rapid-deployment", 2019, with the observed distribution in place of a model of it).
    """
    lows, highs = min(stats.low, 0.0) * _GRID, max(stats.high, 0.0) * _GRID
    below, above = _tail_errors(stats.histogram, lows, highs)
    step = (highs[np.newaxis, :] - lows[:, np.newaxis]) / STEPS
    error = step**2 / 12 * int(stats.histogram.counts.sum()) + below[:, np.newaxis] + above[np.newaxis, :]
    best_low, best_high = np.unravel_index(int(np.argmin(error)), error.shape)
    return float(lows[best_low]), float(highs[best_high])


def _tail_errors(histogram: Histogram, lows: np.ndarray, highs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums of squared distances of the values below each of ``lows`` and above each of ``highs``."""
    centers, counts = histogram.centers, histogram.counts
    below = [float(np.sum(counts * np.square(np.minimum(centers - low, 0.0)))) for low in lows]
    above = [float(np.sum(counts * np.square(np.maximum(centers - high, 0.0)))) for high in highs]
    return np.array(below), np.array(above)


def _entropy(stats: TensorStats, percentile: float) -> Range:
    raise NotImplementedError


_METHODS: Mapping[RangeMethod, Callable[[TensorStats, float], Range]] = {
    RangeMethod.MIN_MAX: _min_max,
    RangeMethod.MOVING_AVERAGE: _moving_average,
    RangeMethod.PERCENTILE: _percentile,
    RangeMethod.ENTROPY: _entropy,
    RangeMethod.MSE: _mse,
}
