"""Words of windows of depthwise convolutions with Helium: every tap once, wherever its word is."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from ccml.blocks.helium_depthwise import WORD
from ccml.schedule.helium.window_words import places_of, planes_of, weights_of

KERNELS = [(rows, columns) for rows in (1, 2, 3, 4, 5, 6, 7, 8, 9, 13) for columns in (1, 2, 3, 4, 5, 6, 9)]
PLANE, TAP = 10_000, 7
"""Words from plane to plane, and from column to column."""


@pytest.mark.parametrize(("rows", "columns"), KERNELS)
def test_every_tap_is_in_one_byte(rows: int, columns: int) -> None:
    planes = planes_of(rows, columns)
    places = places_of(planes, PLANE, TAP)
    taps = np.arange(1, rows * columns + 1, dtype=np.int8).reshape(1, rows, columns)
    weights = weights_of(planes, taps).view(np.int8).reshape(-1, WORD)
    assert len(places) == len(weights) and len(weights) % WORD == 0
    found: Counter[tuple[int, int]] = Counter()
    for place, word in zip(places, weights, strict=True):
        plane = planes[place // PLANE]
        column = place % PLANE // TAP
        for (row, behind), weight in zip(plane.taps, word, strict=False):
            if weight:
                assert weight == taps[0, row, column + behind]
                found[row, column + behind] += 1
    assert found == Counter((row, column) for row in range(rows) for column in range(columns))


@pytest.mark.parametrize(
    ("kernel", "steps"), [((3, 3), 1), ((5, 5), 2), ((1, 9), 1), ((6, 4), 2), ((7, 7), 4), ((9, 9), 6), ((3, 7), 2)]
)
def test_steps_of_kernels(kernel: tuple[int, int], steps: int) -> None:
    """Counted by hand: 5x5 has five words of four rows and two of four columns, in steps of four words."""
    assert len(places_of(planes_of(*kernel), PLANE, TAP)) == steps * WORD
