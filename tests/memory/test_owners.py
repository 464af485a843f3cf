"""Intervals of owners against an array with an entry for each byte."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.memory.owners import NOBODY, Owners


@pytest.mark.parametrize("seed", range(20))
def test_same_as_an_array(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 40))
    owners, array = Owners(size), np.full(size, NOBODY)
    for number in range(60):
        first, end = sorted(int(n) for n in rng.integers(0, size + 1, 2))
        owners.own(first, end, number % 5)
        array[first:end] = number % 5
        first, end = sorted(int(n) for n in rng.integers(0, size + 1, 2))
        wanted = int(rng.integers(-1, 5))
        strange = np.flatnonzero(array[first:end] != wanted)
        expected = (first + int(strange[0]), int(array[first + strange[0]])) if strange.size else None
        assert owners.stranger(first, end, wanted) == expected
        found = np.zeros(size, bool)
        for start, stop in owners.parts(first, end, wanted):
            found[start:stop] = True
        np.testing.assert_array_equal(found[first:end], array[first:end] == wanted)
        assert not found[:first].any() and not found[end:].any()


def test_memory_of_any_size_costs_nothing() -> None:
    owners = Owners(2**60)
    owners.own(2**59, 2**59 + 2**40, 1)
    assert owners.stranger(2**59, 2**59 + 2**40, 1) is None
    assert owners.stranger(2**59, 2**60, 1) == (2**59 + 2**40, NOBODY)
