"""Requantization in integers gives the bits of the float definition."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.ops.fixed_point import (
    FixedPoint,
    common_multipliers,
    defined,
    exact_multiplier,
    exact_multipliers,
    float_multiply_round,
    float_parts,
    thresholds,
)
from hypothesis import given, settings
from hypothesis import strategies as st

scales = st.builds(lambda e, m: np.float32(2.0**e * m), st.floats(-16, 1), st.floats(1, 2))
codes = st.integers(-128, 127)


@settings(max_examples=60, deadline=None)
@given(scale=scales, zero_point=codes, acc_lo=st.integers(-40_000, 0), acc_hi=st.integers(0, 40_000))
def test_every_accumulator_of_a_small_range(scale: np.float32, zero_point: int, acc_lo: int, acc_hi: int) -> None:
    found = exact_multiplier(scale, acc_lo, acc_hi, zero_point, -128, 127)
    if found is not None:
        acc = np.arange(acc_lo, acc_hi + 1)
        wanted = defined(acc, scale, zero_point, -128, 127)
        np.testing.assert_array_equal(found.apply(acc, zero_point, -128, 127), wanted)


@settings(max_examples=40, deadline=None)
@given(scale=scales, zero_point=codes, bits=st.integers(16, 30), seed=st.integers(0, 2**32))
def test_random_accumulators_of_large_ranges(scale: np.float32, zero_point: int, bits: int, seed: int) -> None:
    """At random, and around every step of the definition."""
    bound = np.array([1 << bits])
    found = exact_multiplier(scale, -(1 << bits), 1 << bits, zero_point, -128, 127)
    steps = thresholds(np.array([scale]), -bound, bound, zero_point, -128, 127).ravel()
    acc = np.concatenate([np.random.default_rng(seed).integers(-bound[0], bound[0] + 1, 20_000), steps, steps - 1])
    acc = np.clip(acc, -bound[0], bound[0])
    if found is not None:
        wanted = defined(acc, scale, zero_point, -128, 127)
        np.testing.assert_array_equal(found.apply(acc, zero_point, -128, 127), wanted)


@settings(max_examples=40, deadline=None)
@given(scale=st.floats(2.0**-30, 2.0**12, width=32), zero_point=codes, center=st.integers(-(2**31), 2**31 - 6000))
def test_the_steps_are_where_the_definition_takes_them(scale: float, zero_point: int, center: int) -> None:
    """In ranges about zero, where results change, and anywhere, where accumulators are rounded to floats."""
    single = np.float32(scale)
    for lowest in (-3000, center):
        acc = np.arange(lowest, lowest + 6000)
        results = defined(acc, single, zero_point, -128, 127)
        found = thresholds(np.array([single]), acc[:1], acc[-1:], zero_point, -128, 127)[0]
        for result, step in zip(range(-127, 128), found, strict=True):
            enough = acc[results >= result]
            assert step == (enough[0] if enough.size else lowest + 6000)


def test_most_ordinary_channels_have_a_multiplier() -> None:
    rng = np.random.default_rng(0)
    channels = (2.0 ** rng.uniform(-8.5, -5, 200)).astype(np.float32)
    bounds = [(-int(300 / scale), int(300 / scale)) for scale in channels]
    found = exact_multipliers(channels, bounds, 3, -128, 127)
    assert sum(form is not None for form in found) >= 195


@settings(max_examples=30, deadline=None)
@given(
    channels=st.lists(st.floats(-12, -4).map(lambda e: np.float32(2.0**e)), min_size=1, max_size=4),
    zero_point=codes,
    pre_shift=st.sampled_from([0, 8]),
)
def test_one_shift_for_all_channels(channels: list[np.float32], zero_point: int, pre_shift: int) -> None:
    bounds = [(-30_000, 30_000 + number) for number in range(len(channels))]
    shifts = (12, 11, 13, 6, 5)
    found = common_multipliers(np.array(channels), bounds, zero_point, -128, 127, pre_shift, shifts)
    if found is not None:
        factors, shift = found
        assert shift in shifts
        for scale, factor, (low, high) in zip(channels, factors.tolist(), bounds, strict=True):
            acc = np.arange(low, high + 1)
            wanted = defined(acc, scale, zero_point, -128, 127)
            form = FixedPoint(pre_shift, factor, shift)
            np.testing.assert_array_equal(form.apply(acc, zero_point, -128, 127), wanted)


def test_channels_whose_scales_differ_much_share_a_shift() -> None:
    scales = np.array([2.0**-5.3, 2.0**-9.7], np.float32)
    assert common_multipliers(scales, [(-20_000, 20_000)] * 2, -128, -128, 127, 8, (14, 12)) is not None


def test_a_tie_has_none() -> None:
    """A half is rounded up by the multiplication, and to even by the definition."""
    assert exact_multiplier(np.float32(0.5), -10, 10, 0, -128, 127) is None
    assert exact_multiplier(np.float32(0.5), 0, 0, 0, -128, 127) is not None


def test_scales_from_one_half_shift_the_accumulator() -> None:
    found = exact_multiplier(np.float32(1.7391), -100, 100, 0, -128, 127)
    assert found is not None and found.pre_shift > 0


def test_the_upper_word_of_the_product_is_enough() -> None:
    """With a post_shift, as its docstring says."""
    form, acc = FixedPoint(0, 1_234_567_891, 9), np.arange(-300_000, 300_000, 7)
    upper = acc.astype(np.int64) * form.multiplier >> 32
    np.testing.assert_array_equal(form.apply(acc, 5, -128, 127), np.clip(5 + (upper + (1 << 8) >> 9), -128, 127))


def as_floats(acc: np.ndarray, scale: np.float32) -> np.ndarray:
    with np.errstate(all="ignore"):
        steps = np.rint(acc.astype(np.float32) * scale).astype(np.float64)
    return np.clip(steps, -(2**31), 2**31 - 1).astype(np.int64)


@settings(max_examples=150, deadline=None)
@given(scale=st.floats(2.0**-40, 2.0**20, width=32), seed=st.integers(0, 2**32))
def test_binary32_in_integers(scale: float, seed: int) -> None:
    """Accumulators of all sizes, and those whose product is next to a half."""
    rng, single = np.random.default_rng(seed), np.float32(scale)
    near_half = np.rint((rng.integers(-70_000, 70_000, 500) + 0.5) / float(single))
    near_half = near_half[np.abs(near_half) < 2**31 - 2].astype(np.int64)
    sizes = np.concatenate([rng.integers(-(2**bits), 2**bits, 50) for bits in range(1, 32)])
    edges = [0, 1, -1, 2**31 - 1, -(2**31), 2**24, 2**24 + 1, 2**24 + 3, -(2**25) - 2, -(2**25) - 6]
    acc = np.concatenate([sizes, edges, near_half, near_half + 1, near_half - 1]).astype(np.int32)
    np.testing.assert_array_equal(float_multiply_round(acc, *float_parts(single)), as_floats(acc, single))


@pytest.mark.parametrize("scale", [2.0**-126, 2.0**-149, 1e-40, 3e38, 1.0, 0.5, 2.0**-24, 1 - 2.0**-24])
def test_scales_at_the_edges(scale: float) -> None:
    acc = np.array([0, 1, -1, 3, 2**24 + 1, 2**31 - 1, -(2**31)], np.int32)
    single = np.float32(scale)
    np.testing.assert_array_equal(float_multiply_round(acc, *float_parts(single)), as_floats(acc, single))
