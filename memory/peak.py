"""Which tensors set the size of working memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ir.program import Place
from .request import Request


def covered(requests: Sequence[Request], places: Mapping[str, Place]) -> int:
    """Bytes that tensors take together; what two of them share counts once."""
    total = 0
    end = Place(0, 0)
    for request in sorted(requests, key=lambda r: places[r.name]):
        start = places[request.name]
        stop = Place(start.pool, start.offset + request.nbytes)
        total += max(0, stop.offset - (max(end, start).offset))
        end = max(end, stop)
    return total


def at_peak(requests: Sequence[Request], places: Mapping[str, Place]) -> list[Request]:
    """The tensors that live at the first step at which most bytes are taken, largest first."""
    steps = {request.first for request in requests}
    live = [[r for r in requests if r.first <= step <= r.last] for step in sorted(steps)]
    peak = max(live, key=lambda found: covered(found, places), default=[])
    return sorted(peak, key=lambda request: -request.nbytes)
