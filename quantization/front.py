"""The choices of mixed precision that are estimated to be best: the least noise for what they cost.

Of each :class:`Slot` one candidate at most is taken; noise and costs add up. Of such choices the Lagrangian relaxation
knows the convex hull: each slot goes along the hull of its own candidates, and all of these steps are taken in the
order of the noise that they take away for what they cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .candidates import Candidate, Raise

Slot = tuple[str, bool]
"""What candidates exclude each other in: a name, and whether it is of a layer's weights."""

Chosen = tuple[Candidate, ...]
Costs = Callable[[Candidate], float]


def slot_of(candidate: Candidate) -> Slot:
    return candidate.name, candidate.kind is not Raise.INT16


def with_candidate(chosen: Iterable[Candidate], candidate: Candidate) -> Chosen:
    """``candidate`` in the place of what its slot has."""
    return (*(each for each in chosen if slot_of(each) != slot_of(candidate)), candidate)


def front(candidates: Sequence[Candidate], costs: Costs) -> list[Chosen]:
    """Choices of rising cost and falling noise, the first of which is none at all. The last have 16 bits for all
    tensors and float for all layers, whatever that is worth: any demand is met so."""
    steps = [step for slot in _slots(candidates).values() for step in _hull(slot, costs)]
    chosen: list[Chosen] = [()]
    for _, candidate in sorted(steps, key=lambda step: -step[0]):
        chosen.append(with_candidate(chosen[-1], candidate))
    rest = sorted(candidates, key=lambda each: -each.noise / costs(each))
    for kind in (Raise.INT16, Raise.FLOAT):
        for candidate in rest:
            if candidate.kind is kind and candidate not in chosen[-1]:
                chosen.append(with_candidate(chosen[-1], candidate))
    return chosen


def _slots(candidates: Iterable[Candidate]) -> dict[Slot, list[Candidate]]:
    slots: dict[Slot, list[Candidate]] = {}
    for each in candidates:
        if each.noise > 0:
            slots.setdefault(slot_of(each), []).append(each)
    return slots


def _hull(slot: Sequence[Candidate], costs: Costs) -> list[tuple[float, Candidate]]:
    """The candidates of one slot that some price of noise makes the best, from the cheapest on; each with the noise for
    a unit of cost that it takes away beyond the one before."""
    hull: list[tuple[float, Candidate]] = []
    cost, noise = 0.0, 0.0
    left = list(slot)
    while left:
        slopes = [(each.noise - noise) / max(costs(each) - cost, 1e-30) for each in left]
        best = left[slopes.index(max(slopes))]
        hull.append((max(slopes), best))
        cost, noise = costs(best), best.noise
        left = [each for each in left if costs(each) > cost and each.noise > noise]
    return hull
