"""What the searches find is right for every operand."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.passes.integerize.proofs import (
    FLOAT_LIMIT,
    LIMIT,
    corners,
    find_even_sum,
    find_product,
    find_scalings,
    find_sum,
)
from hypothesis import given, settings
from hypothesis import strategies as st

CODES = np.arange(-128, 128)
scales = st.floats(0.003, 0.3)
bytes_ = st.integers(-128, 127)


def rounded(reals: np.ndarray, zero_point: int) -> np.ndarray:
    return np.clip(np.rint(reals) + zero_point, -128, 127).astype(np.int64)


@settings(max_examples=25, deadline=None)
@given(s1=scales, s2=scales, y=st.floats(0.5, 2), z1=bytes_, z2=bytes_, zero_point=bytes_)
def test_sums(s1: float, s2: float, y: float, z1: int, z2: int, zero_point: int) -> None:
    step = np.float32(y * max(s1, s2))
    a, b = ((CODES - z).astype(np.float32) * np.float32(s) for z, s in ((z1, s1), (z2, s2)))
    reals = (a[:, np.newaxis] + b) / step
    codes = rounded(reals, zero_point)
    found = find_sum(codes, reals + zero_point, CODES, CODES)
    if found is None:  # float32 rounds ties at random
        return
    m1, m2 = found.multipliers
    terms = CODES[:, np.newaxis] * m1 + CODES * m2
    assert np.max(np.abs(terms)) + abs(found.bias) <= LIMIT
    assert np.array_equal(np.clip(terms + found.bias >> found.shift, found.lo, found.hi), codes)


def test_nearly_all_sums_have_an_integer_form() -> None:
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(30):
        s1, s2 = rng.uniform(0.01, 0.1, 2).astype(np.float32)
        z1, z2 = rng.integers(-128, 128, 2)
        step = np.float32(max(s1, s2) * rng.uniform(0.6, 1.6))
        a, b = (CODES - z1).astype(np.float32) * s1, (CODES - z2).astype(np.float32) * s2
        reals = (a[:, np.newaxis] + b) / step
        found += find_sum(rounded(reals, 0), reals, CODES, CODES) is not None
    assert found >= 28


@pytest.mark.parametrize(("m1", "m2", "shift"), [(1, 1, 1), (1, 4, 2), (8, 1, 3)])
def test_halves_to_even(m1: int, m2: int, shift: int) -> None:
    sums = CODES[:, np.newaxis] * m1 + CODES * m2
    reals = sums / 2**shift
    found = find_even_sum(rounded(reals, 0), reals, CODES, CODES)
    assert find_sum(rounded(reals, 0), reals, CODES, CODES) is None
    assert found is not None
    total = CODES[:, np.newaxis] * found.multipliers[0] + CODES * found.multipliers[1] + found.bias
    assert np.max(np.abs(total)) <= FLOAT_LIMIT
    assert np.array_equal(np.clip(np.rint(total / 2**found.shift), -128, 127), rounded(reals, 0))


def test_products() -> None:
    lhs, rhs = CODES - 3, CODES + 128
    reals = np.outer(lhs, rhs) / 37.0
    found = find_product(rounded(reals, 5), reals + 5, lhs, rhs)
    assert found is not None
    total = np.outer(lhs, rhs) * found.multipliers[0] + found.bias
    assert np.max(np.abs(total)) <= LIMIT
    assert np.array_equal(np.clip(total >> found.shift, found.lo, found.hi), rounded(reals, 5))


def test_channels_share_a_shift_and_bounds() -> None:
    rng = np.random.default_rng(1)
    reals = CODES * rng.uniform(0.3, 2, (20, 1)) + rng.normal(0, 20, (20, 1))
    codes = np.maximum(rounded(reals, 0), -10)
    found = find_scalings(codes, reals, CODES)
    assert found is not None and len({(s.shift, s.lo, s.hi) for s in found}) == 1
    for row, scaling in zip(codes, found):
        total = CODES * scaling.multipliers[0] + scaling.bias
        assert np.array_equal(np.clip(total >> scaling.shift, scaling.lo, scaling.hi), row)


def test_what_is_not_linear_has_none() -> None:
    reals = np.outer(CODES, CODES) / 100
    assert find_sum(rounded(reals, 0), reals, CODES, CODES) is None


@given(st.integers(0, 2**32 - 1), st.integers(1, 2))
def test_linear_functions_are_least_and_greatest_in_corners(seed: int, dimensions: int) -> None:
    """Of points in any order, on lines and repeated, by code; and corners are few of many."""
    rng = np.random.default_rng(seed)
    terms = [rng.integers(-9, 9, 300) for _ in range(dimensions)]
    codes = sum(term * factor for term, factor in zip(terms, (3, 5), strict=False)) // 7 + rng.integers(0, 2, 300)
    kept = corners(codes, terms)
    assert len(kept) < len(codes) / 2
    for multipliers in ((1, 0), (0, -1), (3, 5), *rng.integers(-99, 99, (5, 2)).tolist()):
        f = np.asarray(sum(m * term for m, term in zip(multipliers, terms, strict=False)))
        for code in np.unique(codes):
            every, few = f[codes == code], f[kept][codes[kept] == code]
            assert (every.min(), every.max()) == (few.min(), few.max())
