"""Which tensor each byte of memory belongs to, as intervals: what it costs follows the number of tensors, not bytes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import groupby, pairwise

NOBODY = -1


class Owners:
    """The bytes ``0`` to ``size``, each owned by the tensor with a number, at first by ``NOBODY``.

    ``_starts`` are the first bytes of intervals that lie one behind the other, ``_numbers`` their owners.
    """

    def __init__(self, size: int) -> None:
        self._starts = [0, max(size, 0)]
        self._numbers = [NOBODY, NOBODY]

    def own(self, first: int, end: int, number: int) -> None:
        """Gives the bytes from ``first`` to ``end`` (excluded) to a tensor."""
        if first >= end:
            return
        low, high = bisect_left(self._starts, first), bisect_left(self._starts, end)
        behind = high < len(self._starts) and self._starts[high] == end
        after = [] if behind else [(end, self._numbers[bisect_right(self._starts, end) - 1])]
        self._starts[low:high] = [first, *(start for start, _ in after)]
        self._numbers[low:high] = [number, *(owner for _, owner in after)]

    def copy(self) -> Owners:
        found = Owners(0)
        found._starts, found._numbers = list(self._starts), list(self._numbers)
        return found

    def met(self, other: Owners) -> Owners:
        """Of the same bytes, those owned by whom both say, and all others by ``NOBODY``."""
        found = Owners(self._starts[-1])
        for start, end in pairwise(sorted({*self._starts, *other._starts})):
            owner = self._numbers[bisect_right(self._starts, start) - 1]
            if owner == other._numbers[bisect_right(other._starts, start) - 1]:
                found.own(start, end, owner)
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Owners):
            return NotImplemented
        return self._intervals() == other._intervals()

    __hash__ = None  # type: ignore[assignment]

    def _intervals(self) -> list[tuple[int, int]]:
        """Where owners change."""
        pairs = zip(self._starts, self._numbers, strict=True)
        return [next(group) for _, group in groupby(pairs, key=lambda pair: pair[1])]

    def parts(self, first: int, end: int, number: int) -> Iterator[tuple[int, int]]:
        """The intervals between ``first`` and ``end`` that a tensor owns."""
        for start, stop, owner in self._between(first, end):
            if owner == number:
                yield start, stop

    def stranger(self, first: int, end: int, number: int) -> tuple[int, int] | None:
        """The first byte between ``first`` and ``end`` that another than ``number`` owns, and who that is."""
        return next(((start, owner) for start, _, owner in self._between(first, end) if owner != number), None)

    def _between(self, first: int, end: int) -> Iterator[tuple[int, int, int]]:
        place = bisect_right(self._starts, first) - 1
        while place < len(self._starts) and self._starts[place] < end:
            stop = self._starts[place + 1] if place + 1 < len(self._starts) else end
            start = max(self._starts[place], first)
            if start < min(stop, end):
                yield start, min(stop, end), self._numbers[place]
            place += 1
