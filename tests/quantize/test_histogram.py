"""Histograms that grow, and what they keep of the samples."""

import numpy as np
import pytest
from ccml.quantization.histogram import FOLDS, MAX_BINS, Histogram, TensorStats
from hypothesis import given
from hypothesis import strategies as st


def histogram(*arrays: object) -> Histogram:
    result = Histogram()
    for array in arrays:
        rows = np.asarray([array], np.float32)
        if rows.size:
            result.reach(float(rows.min()), float(rows.max()))
        result.add(rows)
    return result


def test_bins_hold_what_was_added() -> None:
    h = histogram([1.0, 2.0, 2.0, -3.0, 0.0, 0.0])
    assert (h.total, h.zeros, h.low, h.high) == (6, 2, -3.0, 2.0)
    filled = {center: count for center, count in zip(h.centers, h.counts) if count}
    assert [round(center, 2) for center in filled] == [-3.0, 1.0, 2.0]
    assert list(filled.values()) == [1, 1, 2]


@given(st.lists(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=5), min_size=1, max_size=6))
def test_growth_keeps_every_value_in_its_bin(arrays: list[list[float]]) -> None:
    h = histogram(*arrays)
    values = np.concatenate([np.asarray(a, np.float32) for a in arrays]).astype(np.float64)
    assert h.counts.size <= MAX_BINS
    expected = np.bincount(np.floor(values[values != 0] / h.width).astype(int) - h.first, minlength=h.counts.size)
    assert h.counts.tolist() == expected.tolist()
    assert h.zeros == np.count_nonzero(values == 0)


@given(st.lists(st.floats(-1e3, 1e3, width=32), max_size=6), st.lists(st.floats(-1, 1, width=32), max_size=6))
def test_merging_is_adding(first: list[float], second: list[float]) -> None:
    both, merged = histogram(first, second), histogram(first).merged(histogram(second))
    while (both.exponent or 0) < (merged.exponent or 0):
        both._coarsen()
    places = {(h.first + i, c) for h in (both, merged) for i, c in enumerate(h.counts) if c}
    assert len(places) == len({place for place, _ in places})
    assert (merged.total, merged.zeros, merged.low, merged.high) == (both.total, both.zeros, both.low, both.high)


def test_samples_take_turns_in_folds() -> None:
    stats = TensorStats()
    for sample in range(4):
        stats.add(np.full((1, 3), sample + 1.0, np.float32))
    stats.add(np.array([[5.0] * 3, [6.0] * 3], np.float32))
    assert [fold.total for fold in stats.folds] == [6, 6, 3, 3]
    assert [fold.high for fold in stats.folds] == [5.0, 6.0, 3.0, 4.0]
    assert FOLDS == 4
    assert (stats.low, stats.high, stats.whole.total) == (0.0, 6.0, 18)


def test_smooth_extremes_follow_with_momentum() -> None:
    stats = TensorStats(momentum=0.9)
    stats.add(np.array([[-1.0, 1.0]], np.float32))
    stats.add(np.array([[-2.0, 11.0]], np.float32))
    assert stats.smooth_low == pytest.approx(-1.1)
    assert stats.smooth_high == pytest.approx(2.0)


def test_infinity_is_noted_and_not_counted() -> None:
    stats = TensorStats()
    stats.add(np.array([[1.0, np.inf], [2.0, 3.0]], np.float32))
    stats.add(np.array([[np.nan]], np.float32))
    assert not stats.finite
    assert (stats.whole.total, stats.folds[1].total, stats.high) == (2, 2, 3.0)


def test_less_is_counted_of_each_of_very_many_samples() -> None:
    """What is counted lies evenly apart; extremes are those of all values."""
    stats, x = TensorStats.of_many(1 << 9), np.linspace(-1, 1, 1 << 15, dtype=np.float32)
    x[5] = 7.0
    stats.add(x[np.newaxis])
    counted = stats.whole.total
    assert 1 << 12 < counted <= 1 << 13
    assert stats.high == 7.0
    assert stats.whole.counts[stats.whole.centers > 0].sum() == pytest.approx(counted / 2, rel=0.01)
