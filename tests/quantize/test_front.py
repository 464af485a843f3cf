"""The front of mixed precision against all choices that there are."""

from itertools import product

import numpy as np
import pytest
from ccml.quantization.candidates import Candidate, Raise
from ccml.quantization.front import Chosen, front, slot_of

Costs = dict[Candidate, float]


def random_candidates(seed: int) -> Costs:
    """Three tensors, and three layers with weights of 16 bits or float."""
    rng = np.random.default_rng(seed)
    kinds = {"t": [Raise.INT16], "l": [Raise.HALFWORDS, Raise.FLOAT]}
    names = [(letter, f"{letter}{n}") for letter in kinds for n in range(3)]
    found = [(name, kind) for letter, name in names for kind in kinds[letter]]
    return {Candidate(name, kind, rng.uniform(0.1, 1), name): rng.uniform(0.1, 1) for name, kind in found}


def every_choice(costs: Costs) -> list[Chosen]:
    slots: dict[object, list[Candidate | None]] = {}
    for each in costs:
        slots.setdefault(slot_of(each), [None]).append(each)
    return [tuple(each for each in some if each is not None) for some in product(*slots.values())]


def both(chosen: Chosen, costs: Costs) -> tuple[float, float]:
    return sum(costs[each] for each in chosen), sum(each.noise for each in chosen)


@pytest.mark.parametrize("seed", range(8))
def test_the_best_at_every_price_of_noise_is_on_the_front(seed: int) -> None:
    costs = random_candidates(seed)
    points, every = ([both(each, costs) for each in some] for some in
                     (front(list(costs), costs.__getitem__), every_choice(costs)))  # fmt: skip
    for price in np.geomspace(0.01, 100, 25):
        best, found = (max(price * noise - cost for cost, noise in some) for some in (every, points))
        assert found == pytest.approx(best)


def test_begins_with_nothing_and_ends_with_floats() -> None:
    costs = random_candidates(0)
    choices = front(list(costs), costs.__getitem__)
    assert choices[0] == ()
    assert {(each.name, each.kind) for each in choices[-1]} == {
        *((f"t{n}", Raise.INT16) for n in range(3)), *((f"l{n}", Raise.FLOAT) for n in range(3)),
    }  # fmt: skip


def test_a_slot_has_one_candidate() -> None:
    costs = random_candidates(1)
    for chosen in front(list(costs), costs.__getitem__):
        assert len({slot_of(each) for each in chosen}) == len(chosen)
