"""What is kept of a tensor while it is observed: histograms, whatever the number of values."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from ..ops.response import Response

MAX_BINS = 4096
"""Between half as many and this many bins cover the observed range: 8 or more for each step of an int8."""

MOST_COUNTED, _MOST_OF_ALL, _LEAST_COUNTED = 1 << 18, 1 << 22, 1 << 13
"""Values of a tensor that are counted of one sample, of all samples, and of one of very many, about."""

FOLDS = 4
"""Parts of the samples that are observed apart, so that a range can be tried on samples that it was not made from."""


@dataclass
class Histogram:
    """Counts in bins of width ``2^exponent`` that begin at multiples of it: the first at ``first`` widths from 0.

    When values outside arrive, bins are added, and when there are too many, pairs are joined. Because widths are
    powers of two and 0 is an edge, any two histograms can be brought to the same bins exactly. Zeros are counted apart:
    every encoding represents 0 exactly. ``low`` and ``high`` are the exact extremes.
    """

    exponent: int | None = None
    first: int = 0
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    zeros: int = 0
    low: float = math.inf
    high: float = -math.inf

    @property
    def width(self) -> float:
        return math.ldexp(1.0, self.exponent or 0)

    @property
    def centers(self) -> np.ndarray:
        return (self.first + np.arange(self.counts.size) + 0.5) * self.width

    @property
    def total(self) -> int:
        return int(self.counts.sum()) + self.zeros

    def add(self, rows: np.ndarray, most: int = MOST_COUNTED) -> None:
        """Counts finite values of samples ``rows[samples, values]``; of a sample with more than about ``most``, such as
        lie evenly apart, an odd distance from each other, for extents are mostly even."""
        some = rows[:, :: rows.shape[1] // most | 1]
        values = some[some != 0]
        self.zeros += some.size - values.size
        if not values.size:
            return
        low, high = float(values.min()), float(values.max())
        if self.exponent is None:
            self.exponent = math.frexp(max(high, 0.0) - min(low, 0.0))[1] - int(math.log2(MAX_BINS))
        self._cover(low, high)
        places = np.floor(values.astype(np.float64) / self.width).astype(np.int64) - self.first
        self.counts += np.bincount(places, minlength=self.counts.size)

    def reach(self, low: float, high: float) -> None:
        """Extremes of samples that are counted."""
        self.low, self.high = min(self.low, low), max(self.high, high)

    def merged(self, other: Histogram) -> Histogram:
        """The histogram of both sets of values."""
        coarse, fine = self._copy(), other._copy()
        if (coarse.exponent is None) or (fine.exponent is not None and coarse.exponent < fine.exponent):
            coarse, fine = fine, coarse
        coarse.zeros += fine.zeros
        coarse.low, coarse.high = min(coarse.low, fine.low), max(coarse.high, fine.high)
        if fine.exponent is None:
            return coarse
        coarse._cover(fine.first * fine.width, (fine.first + fine.counts.size - 0.5) * fine.width)
        while fine.exponent != coarse.exponent:
            fine._coarsen()
        start = fine.first - coarse.first
        coarse.counts[start : start + fine.counts.size] += fine.counts
        return coarse

    def _copy(self) -> Histogram:
        return Histogram(self.exponent, self.first, self.counts.copy(), self.zeros, self.low, self.high)

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
        start = self.first - begin if self.counts.size else 0
        grown[start : start + self.counts.size] = self.counts
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
    """A tensor as observed over samples; sample ``i`` goes to fold ``i % FOLDS``. Samples that hold NaN or infinity
    only clear ``finite``.

    ``smooth_low`` and ``smooth_high`` follow the extremes of each sample with ``momentum`` (Jacob et al., "Quantization
    and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", 2018, section 3.1). Of one sample
    ``counted`` values are, about.
    """

    momentum: float = 0.9
    counted: int = MOST_COUNTED
    folds: list[Histogram] = field(default_factory=lambda: [Histogram() for _ in range(FOLDS)])
    samples: int = 0
    finite: bool = True
    smooth_low: float = math.nan
    smooth_high: float = math.nan
    response: Response | None = None
    """What the tensor's readers make of an element, where ranges are to be chosen by that."""

    @staticmethod
    def of_many(samples: int) -> TensorStats:
        """To observe so many samples."""
        return TensorStats(counted=min(MOST_COUNTED, max(_LEAST_COUNTED, _MOST_OF_ALL // max(1, samples))))

    @property
    def whole(self) -> Histogram:
        """All folds."""
        return reduce(Histogram.merged, self.folds)

    @property
    def low(self) -> float:
        """The least value, 0 if none is below: every range contains 0."""
        return min(0.0, *(fold.low for fold in self.folds))

    @property
    def high(self) -> float:
        return max(0.0, *(fold.high for fold in self.folds))

    def add(self, x: np.ndarray) -> None:
        """Observes samples, ``x[samples, ...]``."""
        numbers = self.samples + np.arange(len(x))
        self.samples += len(x)
        if not x.size:
            return
        rows = x.reshape(len(x), -1)
        lows, highs = rows.min(axis=1), rows.max(axis=1)
        finite = np.isfinite(lows) & np.isfinite(highs)
        if not finite.all():
            self.finite = False
            rows, lows, highs, numbers = rows[finite], lows[finite], highs[finite], numbers[finite]
        for low, high in zip(lows.tolist(), highs.tolist()):
            if math.isnan(self.smooth_low):
                self.smooth_low, self.smooth_high = low, high
            self.smooth_low += (1.0 - self.momentum) * (low - self.smooth_low)
            self.smooth_high += (1.0 - self.momentum) * (high - self.smooth_high)
        for number, fold in enumerate(self.folds):
            own = numbers % FOLDS == number
            if own.any():
                fold.reach(float(lows[own].min()), float(highs[own].max()))
                fold.add(rows if own.all() else rows[own], self.counted)

    def without(self, fold: int) -> TensorStats:
        """Of the samples of all folds but one; where no other has any, of that one."""
        others = [each for number, each in enumerate(self.folds) if number != fold]
        return replace(self, folds=others) if any(each.total for each in others) else self

    def merged(self, other: TensorStats) -> TensorStats:
        """The statistics of tensors that are to share an encoding."""
        return TensorStats(
            self.momentum,
            self.counted,
            [mine.merged(theirs) for mine, theirs in zip(self.folds, other.folds)],
            max(self.samples, other.samples),
            self.finite and other.finite,
            float(np.fmin(self.smooth_low, other.smooth_low)),
            float(np.fmax(self.smooth_high, other.smooth_high)),
        )
