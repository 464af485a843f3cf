"""Nests of square_distance and couple_probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.ops.svm import evaluate_couple_probabilities

from tests.ops.nest_harness import check_nest


def pairs(rows: int, classes: int) -> np.ndarray:
    """r[i, j] = 1 - r[j, i]"""
    upper = np.random.default_rng(classes).uniform(0.05, 0.95, (rows, classes, classes))
    r = np.triu(upper, 1) + np.tril(1 - np.swapaxes(upper, 1, 2), -1)
    return r.astype(np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_square_distance(dtype: type) -> None:
    rng = np.random.default_rng(0)
    x, s = rng.standard_normal((3, 4)).astype(dtype), rng.standard_normal((5, 4)).astype(dtype)
    check_nest("square_distance", x, s, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_couple_probabilities(classes: int) -> None:
    check_nest("couple_probabilities", pairs(4, classes), rtol=1e-4, atol=1e-5)


def test_coupling_of_consistent_pairs() -> None:
    """Where r[i, j] = p[i] / (p[i] + p[j]), the result is p, as near as the coupling goes."""
    p = np.array([0.5, 0.3, 0.15, 0.05])
    r = (p[:, None] / (p[:, None] + p)).astype(np.float32)[None]
    np.testing.assert_allclose(evaluate_couple_probabilities([r], {})[0][0], p, atol=0.01)
