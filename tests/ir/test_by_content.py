"""Values by the contents of arrays."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.ir.by_content import ByContent, bytes_of


def test_equal_arrays_are_one_key() -> None:
    known: ByContent[str] = ByContent()
    array = np.arange(10_000, dtype=np.float32).reshape(100, 100)
    known.set(array, "first")
    assert known.get(array.copy()) == known.get(np.asfortranarray(array)) == "first"
    known.set(array.copy(), "second")
    assert known.get(array) == "second"


@pytest.mark.parametrize(
    "other",
    [
        np.array([0.0, -0.0], np.float32), np.zeros((2, 1), np.float32), np.zeros(2, np.int32), np.zeros(3, np.float32),
    ],
)  # fmt: skip
def test_others_are_not(other: np.ndarray) -> None:
    known: ByContent[int] = ByContent()
    known.set(np.zeros(2, np.float32), 1)
    assert known.get(other) is None


def test_any_byte_tells_arrays_apart() -> None:
    known: ByContent[int] = ByContent()
    array = np.zeros(1000, np.uint8)
    for place in range(array.size):
        array[place] = 1
        assert known.get(array) is None
        known.set(array.copy(), place)
        array[place] = 0


@pytest.mark.parametrize("array", [np.float32(1.5), np.zeros((0, 3), np.int16), np.array([True, False]), np.eye(3).T])
def test_bytes_are_those_of_the_elements_in_their_order(array: np.ndarray) -> None:
    assert bytes_of(np.asarray(array)).tobytes() == np.asarray(array).tobytes()
