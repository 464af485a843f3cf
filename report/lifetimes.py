"""When tensors live, and how much memory they take at each step."""

from __future__ import annotations

from ..ir.program import Program
from ..memory.lifetimes import lifetimes
from .schema import Placement


def placements(program: Program) -> list[Placement]:
    """The tensors with a place in working memory and their lifetimes, in the order of pools and addresses."""
    pools = program.plan.pools
    places = {name: place for name, place in program.plan.places.items() if place.pool < len(pools)}
    spans: dict[str, list[int]] = {}
    for side in program.inputs:
        if side.buffer in places:
            spans[side.buffer] = [0]
    for side in program.outputs:
        if side.buffer in places:
            spans[side.buffer] = [len(program.calls) - 1]
    kernels = {kernel.name: kernel for kernel in program.kernels}
    for name, life in lifetimes(program.body, kernels).items():
        if name in places:
            spans.setdefault(name, []).extend((life.first, life.last))
    return [
        Placement(name, at.offset, program.buffers[name].nbytes, min(steps), max(steps), pools[at.pool].name)
        for name, steps in sorted(spans.items(), key=lambda span: (places[span[0]], min(span[1])))
        for at in (places[name],)
    ]


def live_bytes(places: list[Placement], steps: int) -> list[int]:
    """The bytes that the tensors living at each of ``steps`` steps take; what two of them share counts once."""
    return [_covered([place for place in places if place.first <= step <= place.last]) for step in range(steps)]


def peak_tensors(places: list[Placement], live: list[int]) -> list[str]:
    """The tensors that live at the first step at which most bytes are taken."""
    if not live:
        return []
    peak = live.index(max(live))
    return [place.tensor for place in places if place.first <= peak <= place.last]


def _covered(places: list[Placement]) -> int:
    total = 0
    ends: dict[str, int] = {}
    for place in sorted(places, key=lambda place: place.offset):
        end, stop = ends.get(place.pool, 0), place.offset + place.bytes
        total += max(0, stop - max(end, place.offset))
        ends[place.pool] = max(end, stop)
    return total
