"""Placement of very many tensors in one pool, in a time that does not grow with the pairs of those alive together."""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Sequence

from .request import Request


def first_fit(requests: Sequence[Request], align: int) -> dict[str, int]:
    """Byte offsets such that tensors of a common step are apart: each takes the first gap, in the order of first steps.

    Memory is given back behind a tensor's last step (Knuth, "The Art of Computer Programming", volume 1, 2.5:
    first fit with neighbouring gaps merged).
    """
    offsets: dict[str, int] = {}
    gaps = _Gaps()
    dying: list[tuple[int, int, int]] = []
    for request in sorted(requests, key=lambda r: (r.first, -r.nbytes, r.name)):
        while dying and dying[0][0] < request.first:
            _, start, end = heapq.heappop(dying)
            gaps.give(start, end)
        start = gaps.take(request.nbytes, request.align or align) if request.nbytes else 0
        offsets[request.name] = start
        if request.nbytes:
            heapq.heappush(dying, (request.last, start, start + request.nbytes))
    return offsets


class _Gaps:
    """Free memory: the gaps below the top in ascending order, none beside another, and all from the top on."""

    def __init__(self) -> None:
        self._gaps: list[tuple[int, int]] = []
        self._top = 0

    def take(self, nbytes: int, align: int) -> int:
        for place, (low, high) in enumerate(self._gaps):
            start = -(-low // align) * align
            if start + nbytes <= high:
                self._gaps[place : place + 1] = [
                    gap for gap in ((low, start), (start + nbytes, high)) if gap[0] < gap[1]
                ]
                return start
        start = -(-self._top // align) * align
        if self._top < start:
            self._gaps.append((self._top, start))
        self._top = start + nbytes
        return start

    def give(self, start: int, end: int) -> None:
        place = bisect_left(self._gaps, (start, end))
        if place < len(self._gaps) and self._gaps[place][0] == end:
            end = self._gaps.pop(place)[1]
        if place and self._gaps[place - 1][1] == start:
            start = self._gaps.pop(place - 1)[0]
        if end == self._top:
            self._top = start
        else:
            insort(self._gaps, (start, end))
