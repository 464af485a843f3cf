"""Factors of 15 bits give the bytes of the float definition, or are said not to."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.ops.fixed_point import FixedPoint, defined
from ccml.ops.halfword_factors import SHIFTS, are_exact, common_shift, halfword_factors
from hypothesis import given, settings
from hypothesis import strategies as st

codes = st.integers(-128, 127)
shifts = st.sampled_from(SHIFTS)


def product(acc: np.ndarray, factor: int, shift: int, zero_point: int) -> np.ndarray:
    """What block instructions compute, of Python's integers."""
    steps = [(value * factor + (1 << shift - 1)) >> shift for value in acc.tolist()]
    return np.clip(np.array(steps, np.int64) + zero_point, -128, 127)


def hard_accumulators(factor: int, shift: int, bound: int) -> np.ndarray:
    """Those around every half that the product can reach, and the ends."""
    halves = ((2 * np.arange(-300, 301) + 1) << shift - 1) // factor
    near = np.concatenate([halves + away for away in range(-2, 4)])
    return np.unique(np.clip(np.concatenate([near, [-bound, bound, 0]]), -bound, bound))


@settings(max_examples=150, deadline=None)
@given(
    factor=st.integers(1, 2**15 - 1), shift=shifts, ulps=st.integers(-3, 3), zero_point=codes,
    low=st.integers(-30_000, 0), high=st.integers(0, 30_000),
)  # fmt: skip
def test_exact_is_said_of_those_that_are(
    factor: int, shift: int, ulps: int, zero_point: int, low: int, high: int
) -> None:
    """For every accumulator within bounds, scales next to the factor's; half ties among them."""
    scale = (np.float32(factor * 2.0**-shift).view(np.int32) + np.int32(ulps)).view(np.float32)
    acc = np.arange(low, high + 1)
    same = np.array_equal(product(acc, factor, shift, zero_point), defined(acc, scale, zero_point, -128, 127))
    found = are_exact(np.array([scale]), np.array([factor]), shift, [(low, high)], zero_point, -128, 127)
    assert found.tolist() == [same]


@settings(max_examples=100, deadline=None)
@given(
    exponents=st.lists(st.floats(-11, -5), min_size=1, max_size=6), zero_point=codes, bits=st.integers(10, 26),
    seed=st.integers(0, 2**32),
)  # fmt: skip
def test_all_channels_with_one_shift(exponents: list[float], zero_point: int, bits: int, seed: int) -> None:
    """Large bounds, where what is next to a half decides."""
    shift = common_shift(2.0 ** max(exponents))
    assert shift is not None
    factors = np.rint(2.0 ** (np.array(exponents) + shift)).astype(np.int64)
    scales, bound = (factors * 2.0**-shift).astype(np.float32), 1 << bits
    found = halfword_factors(scales, [(-bound, bound)] * scales.size, zero_point, -128, 127)
    same = True
    for scale, factor in zip(scales, factors.tolist()):
        acc = hard_accumulators(factor, shift, bound)
        acc = np.concatenate([acc, np.random.default_rng(seed).integers(-bound, bound + 1, 2000)])
        wanted = defined(acc, scale, zero_point, -128, 127)
        same &= np.array_equal(product(acc, factor, shift, zero_point), wanted)
    assert (found is not None) == same
    if found is not None:
        assert found[0].dtype == np.int16
        assert found[0].tolist() == factors.tolist()


def test_they_are_multipliers_of_fixed_point() -> None:
    """The factor is the upper half of a 32-bit multiplier: what multiplies these takes the others, too."""
    acc = np.arange(-70_000, 70_000, 3)
    form = FixedPoint(0, 12_345 << 16, 21 - 16)
    np.testing.assert_array_equal(form.apply(acc, 3, -128, 127), product(acc, 12_345, 21, 3))


@pytest.mark.parametrize("scale", [0.5, 1.0, 0.2500001, 1e30, np.inf, 1e-12])
def test_scales_beyond_the_shifts_have_none(scale: float) -> None:
    assert halfword_factors(np.array([scale], np.float32), [(-5, 5)], 0, -128, 127) is None


def test_nor_have_ties_that_go_to_even() -> None:
    """Half of 2^9 is between two results."""
    scale = np.array([2.0**-9], np.float32)
    assert halfword_factors(scale, [(-2000, 2000)], 0, -128, 127) is None
    assert halfword_factors(scale, [(-255, 255)], 0, -128, 127) is not None


def test_a_scale_between_two_factors_has_none() -> None:
    scale = np.array([24_691.5 * 2.0**-22], np.float32)
    assert halfword_factors(scale, [(-1, 1)], 0, -128, 127) is not None
    assert halfword_factors(scale, [(-40_000, 40_000)], 0, -128, 127) is None
