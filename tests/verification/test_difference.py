"""How far arrays are apart, in whatever layout."""

from __future__ import annotations

import math

import numpy as np
import pytest
from ccml.verification.difference import Difference, best_difference, difference

INF, NAN = np.inf, np.nan


def test_relative_l2_and_max() -> None:
    found = difference(np.array([3.0, 4.5]), np.array([3.0, 4.0]))
    assert found == Difference(0.1, 0.5)
    assert found.snr_db == pytest.approx(20.0)


def test_equal_arrays() -> None:
    found = difference(np.ones(3, np.int8), np.ones(3, bool))
    assert (found, found.snr_db) == (Difference(0.0, 0.0), math.inf)


def test_a_reference_of_zeros_counts_absolutely() -> None:
    assert difference(np.array([0.0, 1e-3]), np.zeros(2)).relative_l2 == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("found", "reference", "same"),
    [
        ([NAN, 1], [NAN, 1], True),
        ([INF, 1], [INF, 1], True),
        ([INF, 1], [-INF, 1], False),
        ([NAN, 1], [0, 1], False),
        ([0, 1], [NAN, 1], False),
        ([INF, 1], [NAN, 1], False),
    ],
)
def test_not_finite(found: list[float], reference: list[float], same: bool) -> None:
    assert difference(np.array(found), np.array(reference)).relative_l2 == (0 if same else math.inf)


def test_empty_arrays_are_equal() -> None:
    assert difference(np.zeros((0, 2)), np.zeros((0, 2))) == Difference(0, 0)


@pytest.mark.parametrize("layout", [(0, 1, 2, 3), (0, 2, 3, 1), (0, 3, 1, 2), (3, 2, 1, 0), (0, 2, 1, 3)])
def test_any_layout_is_found(layout: tuple[int, ...]) -> None:
    reference = np.random.default_rng(0).standard_normal((1, 4, 4, 4))
    held = reference.transpose(layout).reshape(-1, 4)
    found = best_difference(held, reference, 1e-6)
    assert found is not None and found.relative_l2 == 0


def test_a_wrong_tensor_is_wrong_in_every_layout() -> None:
    rng = np.random.default_rng(0)
    reference = rng.standard_normal((1, 4, 4, 4))
    found = best_difference(reference + 0.1 * rng.standard_normal(reference.shape), reference, 1e-6)
    assert found is not None and 0.05 < found.relative_l2 < 0.2


def test_other_sizes_are_other_tensors() -> None:
    assert best_difference(np.zeros(3), np.zeros(4), 1e-6) is None


def test_the_worse_of_two() -> None:
    assert Difference(1, 2).worse(Difference(0, 3)) == Difference(1, 3)
    assert Difference(1, 2).worse(None) == Difference(1, 2)
