"""When tensors live, and how much memory they take at each step."""

from __future__ import annotations

from ..ir.program import Program
from .schema import Placement


def placements(program: Program) -> list[Placement]:
    """The tensors of the arena with their lifetimes, in the order of their addresses."""
    spans: dict[str, list[int]] = {}
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
    """The sum of the sizes of the tensors that live at each of ``steps`` steps."""
    return [sum(place.bytes for place in places if place.first <= step <= place.last) for step in range(steps)]
