"""When tensors live, and how much memory they take at each step."""

from __future__ import annotations

from ..ir.program import Program
from .schema import Placement


def placements(program: Program) -> list[Placement]:
    """The tensors with a place in the arena and their lifetimes, in the order of their addresses."""
    spans: dict[str, list[int]] = {}
    for side in program.inputs:
        if side.buffer in program.plan.offsets:
            spans[side.buffer] = [0]
    for side in program.outputs:
        if side.buffer in program.plan.offsets:
            spans[side.buffer] = [len(program.calls) - 1]
    for step, call in enumerate(program.calls):
        for name in call.args:
            if name in program.plan.offsets:
                spans.setdefault(name, []).append(step)
    found = [
        Placement(name, program.plan.offsets[name], program.buffers[name].nbytes, min(steps), max(steps))
        for name, steps in spans.items()
    ]
    return sorted(found, key=lambda place: (place.offset, place.first))


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
    total = end = 0
    for place in sorted(places, key=lambda place: place.offset):
        stop = place.offset + place.bytes
        total += max(0, stop - max(end, place.offset))
        end = max(end, stop)
    return total
