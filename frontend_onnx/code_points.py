"""Sets of Unicode code points as sorted ranges, and their UTF-8 as sequences of ranges of bytes.

Source of the division into sequences: R. Cox, "Regular Expression Matching in the Wild" (2010).
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

Ranges = tuple[tuple[int, int], ...]
"""First and last code point of each range, ascending, with a gap between neighbours."""

LAST = sys.maxunicode
_LIMITS = (0x7F, 0x7FF, 0xFFFF, LAST)
"""The last code points that take one byte, two, three and four."""


def normal(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Any ranges, sorted and merged."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def negated(ranges: Ranges) -> Ranges:
    """All other code points."""
    found, start = [], 0
    for first, last in ranges:
        if first > start:
            found.append((start, first - 1))
        start = last + 1
    return tuple(found) + (((start, LAST),) if start <= LAST else ())


def of_category(name: str) -> Ranges | None:
    """The code points of a general category of Unicode, ``L`` or ``Lu``; ``None`` where there is none."""
    found = [code for category, code in _categories().items() if category.startswith(name)]
    return normal((code, code) for codes in found for code in codes) if found and name else None


@cache
def _categories() -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for code in range(LAST + 1):
        found.setdefault(unicodedata.category(chr(code)), []).append(code)
    return found


def without_case(ranges: Ranges) -> Ranges:
    """The ranges with the other cases of their characters."""
    added = []
    for one, other in _pairs():
        if any(first <= one <= last for first, last in ranges):
            added.append((other, other))
    return normal((*ranges, *added))


@cache
def _pairs() -> tuple[tuple[int, int], ...]:
    """Characters that differ in case alone, in both directions."""
    groups: dict[str, set[int]] = {}
    for code in range(LAST + 1):
        lower = chr(code).upper().lower() if len(chr(code).upper()) == 1 else chr(code).lower()
        if len(lower) == 1 and (ord(lower) != code or chr(code).upper() != chr(code)):
            groups.setdefault(lower, {ord(lower)}).add(code)
    return tuple((a, b) for group in groups.values() for a in group for b in group if a != b)


def utf8_ranges(ranges: Ranges) -> Iterator[tuple[tuple[int, int], ...]]:
    """Sequences of ranges of bytes that together are the UTF-8 of the code points; surrogates have none."""
    whole = negated(normal([*negated(ranges), (0xD800, 0xDFFF)]))
    for first, last in whole:
        yield from _divided(first, last)


def _divided(first: int, last: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """A range cut until its code points have as many bytes each, and any of the last ones behind any of the first."""
    for limit in _LIMITS[:-1]:
        if first <= limit < last:
            yield from _divided(first, limit)
            yield from _divided(limit + 1, last)
            return
    for count in range(1, 4 if last > 0x7F else 1):
        rest = (1 << 6 * count) - 1
        if first & ~rest == last & ~rest:
            break
        if first & rest:
            yield from _divided(first, first | rest)
            yield from _divided((first | rest) + 1, last)
            return
        if last & rest != rest:
            yield from _divided(first, (last & ~rest) - 1)
            yield from _divided(last & ~rest, last)
            return
    yield tuple(zip(chr(first).encode("utf-8", "surrogatepass"), chr(last).encode("utf-8", "surrogatepass")))
