"""What is kept of a tensor while it is observed: extremes and a histogram, whatever the number of values."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

MAX_BINS = 4096
"""Between half as many and this many bins cover the observed range: 8 or more for each step of an int8."""


@dataclass
class Histogram:
    """Counts in bins of width ``2^exponent`` that begin at multiples of it; bin ``i`` is ``first + i`` widths from 0.

    When values outside arrive, bins are added, and when there are too many, pairs are joined. Because widths are
    powers of two and 0 is an edge, any two histograms can be brought to the same bins exactly. Zeros are counted apart:
    0 is represented exactly by every encoding.
    """

    exponent: int | None = None
    first: int = 0
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    zeros: int = 0

    @property
    def width(self) -> float:
        return math.ldexp(1.0, self.exponent or 0)

    @property
    def centers(self) -> np.ndarray:
        return (self.first + np.arange(self.counts.size) + 0.5) * self.width

    @property
    def total(self) -> int:
        return int(self.counts.sum()) + self.zeros

    def add(self, x: np.ndarray) -> None:
        """Counts finite values."""
        flat = x.reshape(-1)
        values = flat[flat != 0].astype(np.float64)
        self.zeros += flat.size - values.size
        if not values.size:
            return
        low, high = float(values.min()), float(values.max())
        if self.exponent is None:
            self.exponent = math.frexp(max(high, 0.0) - min(low, 0.0))[1] - int(math.log2(MAX_BINS))
        self._cover(low, high)
        places = np.floor(values / self.width).astype(np.int64) - self.first
        self.counts += np.bincount(places, minlength=self.counts.size)

    def merged(self, other: Histogram) -> Histogram:
        """The histogram of both sets of values."""
        mine, theirs = self._copy(), other._copy()
        mine.zeros += theirs.zeros
        if theirs.exponent is None or mine.exponent is None:
            filled = theirs if mine.exponent is None else mine
            return Histogram(filled.exponent, filled.first, filled.counts, mine.zeros)
        while mine.exponent < theirs.exponent:
            mine._coarsen()
        mine._cover(theirs.first * theirs.width, (theirs.first + theirs.counts.size - 0.5) * theirs.width)
        while theirs.exponent < mine.exponent:
            theirs._coarsen()
        start = theirs.first - mine.first
        mine.counts[start : start + theirs.counts.size] += theirs.counts
        return mine

    def _copy(self) -> Histogram:
        return Histogram(self.exponent, self.first, self.counts.copy(), self.zeros)

    def _cover(self, low: float, high: float) -> None:
        """Adds bins for ``low`` and ``high``, joining pairs of bins as long as they would be too many."""
        while True:
            begin, end = math.floor(low / self.width), math.floor(high / self.width) + 1
            if self.counts.size:
                begin, end = min(begin, self.first), max(end, self.first + self.counts.size)
            if end - begin <= MAX_BINS:
                break
            self._coarsen()
        grown = np.zeros(end - begin, np.int64)
        grown[self.first - begin : self.first - begin + self.counts.size] = self.counts
        self.first, self.counts = begin, grown

    def _coarsen(self) -> None:
        """Doubles the width."""
        assert self.exponent is not None
        before, after = self.first % 2, (self.first + self.counts.size) % 2
        self.counts = np.pad(self.counts, (before, after)).reshape(-1, 2).sum(axis=1)
        self.first = (self.first - before) // 2
        self.exponent += 1


@dataclass
class TensorStats:
    """A tensor as observed over samples: extremes, their moving averages, and the histogram.

    ``low`` and ``high`` are those of all samples; ``smooth_low`` and ``smooth_high`` follow the extremes of each
    sample with ``momentum`` (Jacob et al. 2018, section 3.1).
    """

    momentum: float = 0.9
    low: float = math.inf
    high: float = -math.inf
    smooth_low: float = math.nan
    smooth_high: float = math.nan
    histogram: Histogram = field(default_factory=Histogram)

    def add(self, x: np.ndarray) -> None:
        """Observes one sample."""
        if not x.size:
            return
        low, high = float(x.min()), float(x.max())
        if math.isinf(self.low):
            self.smooth_low, self.smooth_high = low, high
        else:
            self.smooth_low += (1.0 - self.momentum) * (low - self.smooth_low)
            self.smooth_high += (1.0 - self.momentum) * (high - self.smooth_high)
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.histogram.add(x)

    def merged(self, other: TensorStats) -> TensorStats:
        """The statistics of tensors that are to share an encoding."""
        return TensorStats(
            self.momentum, min(self.low, other.low), max(self.high, other.high),
            min(self.smooth_low, other.smooth_low), max(self.smooth_high, other.smooth_high),
            self.histogram.merged(other.histogram),
        )  # fmt: skip
