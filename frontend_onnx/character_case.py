"""Upper and lower case of characters, as ranges for the operator ``string_map``.

Source: the character database of Unicode, as Python has it. Characters whose other case is several characters stay as
they are, and no character looks at its neighbours: the simple case mappings.
"""

from __future__ import annotations

import sys
from enum import Enum
from functools import cache

import numpy as np


class Case(Enum):
    UPPER = "upper"
    LOWER = "lower"


UPPER, LOWER = Case.UPPER, Case.LOWER


@cache
def _changes(case: Case) -> tuple[tuple[int, int], ...]:
    """The code points that change, and what they become."""
    found = []
    for code in range(sys.maxunicode + 1):
        other = chr(code).upper() if case is UPPER else chr(code).lower()
        if len(other) == 1 and ord(other) != code:
            found.append((code, ord(other)))
    return tuple(found)


@cache
def case_ranges(case: Case) -> tuple[np.ndarray, ...]:
    """First and last character, step and offset of sorted ranges that do not overlap, each i32[ranges]."""
    ranges: list[list[int]] = []
    for code, other in _changes(case):
        first, last, step, offset = ranges[-1] if ranges else (0, -3, 1, 0)
        if other - code == offset and (code - last == step or (first == last and code - last <= 2)):
            ranges[-1] = [first, code, code - last, offset]
        else:
            ranges.append([code, code, 1, other - code])
    return tuple(np.array(column, np.int32) for column in zip(*ranges))


def grown(case: Case, size: int) -> int:
    """The bytes that a string of ``size`` bytes takes at most in the other case."""
    return max(size * len(chr(b).encode()) // len(chr(a).encode()) for a, b in _growing(case))


@cache
def _growing(case: Case) -> tuple[tuple[int, int], ...]:
    """Changes with the greatest growth, of characters of each length."""
    sizes = {(len(chr(a).encode()), len(chr(b).encode())): (a, b) for a, b in _changes(case)}
    return tuple(sizes.values())
