"""Which tensors set the size of the arena."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .planner import Request


def covered(requests: Sequence[Request], offsets: Mapping[str, int]) -> int:
    """Bytes that tensors take together; what two of them share counts once."""
    total = end = 0
    for request in sorted(requests, key=lambda r: offsets[r.name]):
        stop = offsets[request.name] + request.nbytes
        total += max(0, stop - max(end, offsets[request.name]))
        end = max(end, stop)
    return total


def at_peak(requests: Sequence[Request], offsets: Mapping[str, int]) -> list[Request]:
    """The tensors that live at the first step at which most bytes are taken, largest first."""
    steps = {request.first for request in requests}
    live = [[r for r in requests if r.first <= step <= r.last] for step in sorted(steps)]
    peak = max(live, key=lambda found: covered(found, offsets), default=[])
    return sorted(peak, key=lambda request: -request.nbytes)
