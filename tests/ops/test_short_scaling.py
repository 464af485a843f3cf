"""Requantization by a product of 32 bits: equal to the definition for every accumulator, or not there."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.ops.fixed_point import defined
from ccml.ops.short_scaling import MOST_ACCUMULATORS, short_scaling


@pytest.mark.parametrize("span", [255, 1020, 12_000, 60_000])
def test_equals_the_definition(span: int) -> None:
    """For scales of all sizes that bytes are reached with, next to each other, with bounds that are tighter than a
    byte's among them."""
    rng, found = np.random.default_rng(span), 0
    for _ in range(20):
        scales = (rng.uniform(0.2, 3, 2) * 256 / span).astype(np.float32)
        zero_point, lo, hi = int(rng.integers(-128, 128)), *((-128, 127) if rng.random() < 0.5 else (-20, 90))
        acc = np.arange(-span // 3, span - span // 3)
        form = short_scaling(scales, int(acc[0]), int(acc[-1]), zero_point, lo, hi)
        if form is None:
            continue
        found += 1
        for scale, factor, bias in zip(scales, form.factors.tolist(), form.biases.tolist(), strict=True):
            total = acc * factor + bias
            assert np.abs(total).max() < 2**31 and np.abs(acc * factor).max() < 2**31
            result = np.clip(total >> form.shift, lo, hi)
            np.testing.assert_array_equal(result, defined(acc, scale, zero_point, lo, hi))
    assert found >= (15 if span < 10_000 else 1)


@pytest.mark.parametrize(
    ("scale", "low", "high"),
    [
        (0.25, -1000, 1000),  # halves go to even, which no product does
        (0.01, 0, MOST_ACCUMULATORS),  # more than are tried
        (0.0, 0, 100),
    ],
)
def test_where_there_is_none(scale: float, low: int, high: int) -> None:
    assert short_scaling(np.array([scale], np.float32), low, high, 0, -128, 127) is None
