"""Range methods: which real numbers an encoding is to cover. Beyond them values saturate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..ops.response import Function
from .histogram import Histogram, TensorStats
from .options import RangeMethod

Range = tuple[float, float]

SATURATION_WEIGHT = 4.0
"""What a squared error by saturation counts against one by rounding. Rounding errors are independent and average out
in the sums that follow; saturation errors of neighbours have one sign and add up."""

_PARTS = np.concatenate([np.linspace(0.05, 1.0, 39), np.linspace(1.05, 1.6, 12)])
"""Ends of a range that the MSE method tries, as parts of the extremes of the samples that it is made from."""

DEFAULT_TRUST = 1.0
"""How much the MSE method looks at the errors of samples that a range was made from."""

_THRESHOLDS = np.linspace(0.05, 1.0, 96)
"""Parts of the observed range that the entropy method tries."""

_SYMBOLS = 128
"""Levels that the entropy method tells apart, as TensorRT does for 8 bits."""


def find_range(stats: TensorStats, method: RangeMethod, percentile: float, levels: int = 256) -> Range:
    """The range, with 0 inside, for an encoding of ``levels`` integers; ``percentile`` is for that method."""
    if not stats.whole.counts.size:
        return 0.0, 0.0
    low, high = _METHODS[method](stats, percentile, levels)
    return min(low, 0.0), max(high, 0.0)


def _min_max(stats: TensorStats, percentile: float, levels: int) -> Range:
    return stats.low, stats.high


def _moving_average(stats: TensorStats, percentile: float, levels: int) -> Range:
    return stats.smooth_low, stats.smooth_high


def _percentile(stats: TensorStats, percentile: float, levels: int) -> Range:
    """Both ends so that ``percentile`` percent of the values are below (above) them, to the width of a bin."""
    histogram = stats.whole
    first, counts = _with_zeros(histogram)
    edges = (first + np.arange(counts.size + 1)) * histogram.width
    below = np.cumsum(counts)
    tail = counts.sum() * (1.0 - percentile / 100.0)
    low = edges[int(np.searchsorted(below, tail, side="right"))]
    high = edges[min(int(np.searchsorted(below, counts.sum() - tail, side="left")), counts.size - 1) + 1]
    return max(float(low), stats.low), min(float(high), stats.high)


def _with_zeros(histogram: Histogram) -> tuple[int, np.ndarray]:
    """The counts with the zeros in the bin that begins at 0, and the place of the first bin."""
    begin, end = min(histogram.first, 0), max(histogram.first + histogram.counts.size, 1)
    counts = np.zeros(end - begin, np.int64)
    start = histogram.first - begin
    counts[start : start + histogram.counts.size] = histogram.counts
    counts[-begin] += histogram.zeros
    return begin, counts


def _mse(stats: TensorStats, percentile: float, levels: int) -> Range:
    (found,) = mse_ranges(stats, [DEFAULT_TRUST], levels)
    return found


def mse_ranges(stats: TensorStats, trusts: Sequence[float], levels: int) -> list[Range]:
    """Ranges of the least squared error: on samples that they were not made from, and on those that they were.

    With a step d a value inside is off by d^2 / 12 on average, one outside by its distance from the range (the idea of
    Banner et al., "Post training 4-bit quantization of convolutional networks for rapid-deployment", 2019, with the
    observed distribution in place of a model of it). Ends are tried as multiples of the extremes of all folds but one,
    on that one, and as multiples of the extremes of all folds on all. The multiples with the least error are taken:
    geometric mean over folds, times the error on all to the power of ``trust``.

    The former gives few or uneven samples a margin, and many like ones none; but a fold that alone is far out counts
    once and not more, and what it shows would be cut off. The latter keeps it, for such samples come again.

    Where the tensor's response is known errors are those of its readers' results.
    """
    function = None if stats.response is None else stats.response.function
    whole = stats.whole
    if not whole.counts.size:
        return [(0.0, 0.0)] * len(trusts)
    folds = [number for number, fold in enumerate(stats.folds) if fold.counts.size]
    held_out = np.zeros((_PARTS.size, _PARTS.size))
    for number in folds:
        others = [stats.folds[other] for other in folds if other != number] or [stats.folds[number]]
        lows = min(0.0, *(other.low for other in others)) * _PARTS
        highs = max(0.0, *(other.high for other in others)) * _PARTS
        held_out += np.log(_squared_error(stats.folds[number], lows, highs, levels, function)) / len(folds)
    if len(folds) == 1:
        held_out[_PARTS > 1, :] = held_out[:, _PARTS > 1] = np.inf
    seen = np.log(_squared_error(whole, stats.low * _PARTS, stats.high * _PARTS, levels, function))
    best = [np.unravel_index(int(np.argmin(held_out + trust * seen)), seen.shape) for trust in trusts]
    return [(float(stats.low * _PARTS[low]), float(stats.high * _PARTS[high])) for low, high in best]


def _squared_error(
    histogram: Histogram, lows: np.ndarray, highs: np.ndarray, levels: int, function: Function | None = None
) -> np.ndarray:
    """Of all pairs of ends, weighted as :data:`SATURATION_WEIGHT` says; of what ``function`` makes of the values."""
    centers, counts = histogram.centers, histogram.counts
    step = (highs[np.newaxis, :] - lows[:, np.newaxis]) / (levels - 1)
    if function is None:
        rounded, parts = counts.sum(), [(centers, lows, highs)]
    else:
        edges = (histogram.first + np.arange(counts.size + 1)) * histogram.width
        slopes = np.diff(function(edges), axis=1) / histogram.width
        rounded = (counts * np.square(slopes)).sum()
        parts = list(zip(function(centers), function(lows), function(highs)))
    saturated = sum(_saturated(histogram, places, (lows, highs), ends) for places, *ends in parts)
    return np.asarray(rounded * step**2 / 12 + SATURATION_WEIGHT * saturated + np.finfo(float).tiny)


def _saturated(
    histogram: Histogram, results: np.ndarray, ends: tuple[np.ndarray, np.ndarray], at_ends: Sequence[np.ndarray]
) -> np.ndarray:
    """The squared error of saturation for all pairs of ``ends``, where values become ``results``, and ends what
    ``at_ends`` says."""
    moments = [np.concatenate([[0.0], np.cumsum(histogram.counts * results**power)]) for power in range(3)]

    def beyond(number: int, outside: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        """The sum of (result - end)^2 of what is outside, by sums of powers of results up to each bin."""
        places = np.searchsorted(histogram.centers, ends[number])
        count, first, second = (outside(sums, places) for sums in moments)
        return np.maximum(second - 2 * at_ends[number] * first + at_ends[number] ** 2 * count, 0.0)

    below = beyond(0, lambda sums, places: sums[places])[:, np.newaxis]
    return np.asarray(below + beyond(1, lambda sums, places: sums[-1] - sums[places]))


def _entropy(stats: TensorStats, percentile: float, levels: int) -> Range:
    """The part of the range whose quantized distribution diverges least from the observed one.

    Migacz, "8-bit inference with TensorRT", 2017: the reference distribution holds what is outside in its last bins,
    the candidate lacks it; the candidate is summed into as many bins as there are levels and spread out again over the
    bins that hold something. Zeros, which are exact, say nothing about the range.
    """
    histogram = stats.whole
    best, least = 1.0, np.inf
    for part in _THRESHOLDS:
        inside = (histogram.centers >= stats.low * part) & (histogram.centers <= stats.high * part)
        divergence = _divergence(histogram.counts, inside) if inside.sum() >= _SYMBOLS else np.inf
        if divergence < least:
            best, least = float(part), divergence
    return stats.low * best, stats.high * best


def _divergence(counts: np.ndarray, inside: np.ndarray) -> float:
    """Kullback-Leibler divergence of the quantized candidate from the reference."""
    places = np.flatnonzero(inside)
    candidate = counts[inside].astype(np.float64)
    reference = candidate.copy()
    reference[0] += counts[: places[0]].sum()
    reference[-1] += counts[places[-1] + 1 :].sum()
    level = np.arange(candidate.size) * _SYMBOLS // candidate.size
    filled = reference > 0
    mass, bins = np.bincount(level, candidate), np.bincount(level, filled)
    quantized = np.where(filled, (mass / np.maximum(bins, 1))[level], 0.0)
    if not quantized.any():
        return float("inf")
    p, q = reference[filled] / reference.sum(), quantized[filled] / quantized.sum()
    return float(np.sum(p * np.log(p / np.maximum(q, 1e-12))))


_METHODS: Mapping[RangeMethod, Callable[[TensorStats, float, int], Range]] = {
    RangeMethod.AUTO: _mse,
    RangeMethod.MIN_MAX: _min_max,
    RangeMethod.MOVING_AVERAGE: _moving_average,
    RangeMethod.PERCENTILE: _percentile,
    RangeMethod.ENTROPY: _entropy,
    RangeMethod.MSE: _mse,
}
