"""Placement of tensors in the arena, at compile time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..ir.program import MemoryPlan


@dataclass(frozen=True)
class Request:
    """A tensor of ``nbytes`` that lives from step ``first`` to step ``last``, both included."""

    name: str
    nbytes: int
    first: int
    last: int

    def overlaps(self, other: Request) -> bool:
        """Whether both live at some step."""
        return self.first <= other.last and other.first <= self.last


def place(requests: Sequence[Request], align: int) -> MemoryPlan:
    """Offsets such that tensors that live at the same time do not share bytes.

    Largest first, each at the lowest gap among its contemporaries where it fits (greedy by size, Pisarchyk & Lee,
    "Efficient Memory Management for Deep Neural Net Inference", 2020), in two orders, of which the smaller arena wins.
    """
    by_size = sorted(requests, key=lambda r: (-r.nbytes, r.first, r.name))
    by_time = sorted(requests, key=lambda r: (r.first, -r.nbytes, r.name))
    plans = [_greedy(order, align) for order in (by_size, by_time)]
    return min(plans, key=lambda plan: plan.size)


def _greedy(order: Sequence[Request], align: int) -> MemoryPlan:
    offsets: dict[str, int] = {}
    placed: list[Request] = []
    size = 0
    for request in order:
        taken = sorted((offsets[r.name], r.nbytes) for r in placed if r.overlaps(request))
        offset = _lowest_gap(taken, request.nbytes, align)
        offsets[request.name] = offset
        placed.append(request)
        size = max(size, offset + request.nbytes)
    return MemoryPlan(dict(sorted(offsets.items())), _up(size, align), align)


def _lowest_gap(taken: Sequence[tuple[int, int]], nbytes: int, align: int) -> int:
    """The lowest aligned offset at which ``nbytes`` stay clear of ``taken`` (offset, size) pairs, sorted."""
    offset = 0
    for start, extent in taken:
        if offset + nbytes <= start:
            break
        offset = max(offset, _up(start + extent, align))
    return offset


def _up(value: int, align: int) -> int:
    return -(-value // align) * align
