"""The words that make the window of a depthwise convolution with Helium: four taps each, in one plane or several.

A *plane* has one word for each column of the input, whose bytes are taps of that column and those behind it. The first
planes have four rows of the kernel each, one column deep. A last row, or two, would leave most of a word empty, so its
words are four columns deep, or two::

    kernel 5x5      plane 0: rows 0 to 3 of columns 0, 1, 2, 3, 4       five words
                    plane 1: row 4 of columns 0 to 3, 4 to 7            two words
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...blocks.helium_depthwise import WORD
from ...record import record

Tap = tuple[int, int]
"""A row of the kernel, and how many columns of it behind that of the word."""


@record
class Plane:
    """The ``taps`` in the bytes of a word; a window has ``words`` of them, each ``depth`` columns behind the last."""

    taps: tuple[Tap, ...]
    words: int
    depth: int = 1


def planes_of(rows: int, columns: int) -> tuple[Plane, ...]:
    """Those of a kernel; one alone where its words are no more than a step takes."""
    if rows <= WORD and columns <= WORD:
        return (_rows(range(rows), columns),)
    full, rest = divmod(rows, WORD)
    planes = [_rows(range(n * WORD, (n + 1) * WORD), columns) for n in range(full)]
    depth = WORD // rest if rest else 1
    if depth > 1 and columns > 1:
        taps = tuple((full * WORD + n // depth, n % depth) for n in range(rest * depth))
        planes.append(Plane(taps, -(-columns // depth), depth))
    elif rest:
        planes.append(_rows(range(full * WORD, rows), columns))
    return tuple(planes)


def _rows(rows: Sequence[int], columns: int) -> Plane:
    return Plane(tuple((row, 0) for row in rows), columns)


def weights_of(planes: Sequence[Plane], taps: np.ndarray) -> np.ndarray:
    """Words [channel, number] of the weights ``taps`` [channel, row, column]; zeros where they fill no step."""
    count = sum(plane.words for plane in planes)
    data, number = np.zeros((len(taps), -(-count // WORD) * WORD, WORD), np.int8), 0
    for plane in planes:
        for word in range(plane.words):
            for byte, (row, behind) in enumerate(plane.taps):
                column = word * plane.depth + behind
                if column < taps.shape[2]:
                    data[:, number, byte] = taps[:, row, column]
            number += 1
    return data.reshape(len(taps), -1).view("<i4")


def places_of(planes: Sequence[Plane], plane_step: int, tap_step: int) -> list[int]:
    """Where the words of a window are, in words from its first one on; the last one again where they fill no step."""
    places = [
        number * plane_step + word * plane.depth * tap_step
        for number, plane in enumerate(planes)
        for word in range(plane.words)
    ]
    return places + places[-1:] * (-len(places) % WORD)
