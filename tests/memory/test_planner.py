"""Placement in the arena."""

from __future__ import annotations

from collections.abc import Set
from itertools import combinations, permutations, product

import pytest
from ccml.memory.first_fit import first_fit
from ccml.memory.planner import place
from ccml.memory.request import Request
from hypothesis import given, settings
from hypothesis import strategies as st

REQUESTS = st.lists(
    st.tuples(st.integers(1, 100), st.integers(0, 8), st.integers(0, 4)).map(
        lambda t: Request("", t[0], t[1], t[1] + t[2])
    ),
    max_size=12,
).map(lambda found: [Request(f"t{i}", r.nbytes, r.first, r.last) for i, r in enumerate(found)])


def sound(
    a: Request, b: Request, start: int, other: int, distances: dict[tuple[str, str], int],
    in_place: Set[tuple[str, str]] = frozenset(),
) -> bool:  # fmt: skip
    """Whether two contemporaries at ``start`` and ``other`` are apart, or as near as their distance allows, or where
    they may be in place."""
    dying = (a, b) if a.last == b.first else (b, a)
    if start == other and tuple(each.name for each in dying) in in_place and dying[0].last == dying[1].first:
        return True
    if start + a.nbytes <= other or other + b.nbytes <= start:
        return True
    if a.last == b.first and (a.name, b.name) in distances:
        return start - other >= distances[a.name, b.name]
    return b.last == a.first and (b.name, a.name) in distances and other - start >= distances[b.name, a.name]


@settings(max_examples=200, deadline=None)
@given(REQUESTS, st.sampled_from([1, 4, 16]), st.data())
def test_contemporaries_share_no_more_than_they_may(requests: list[Request], align: int, data: st.DataObject) -> None:
    pairs = [(a, b) for a, b in permutations(requests, 2) if a.last == b.first and a.first < b.first]
    distances = {(a.name, b.name): data.draw(st.integers(-a.nbytes, b.nbytes)) for a, b in pairs}
    in_place = {pair for pair in distances if data.draw(st.booleans())}
    plan = place(requests, align, distances, in_place=in_place)
    for request in requests:
        assert plan.offsets[request.name] % align == 0
        assert plan.offsets[request.name] + request.nbytes <= plan.size
    for a, b in combinations(requests, 2):
        if a.first <= b.last and b.first <= a.last:
            assert sound(a, b, plan.offsets[a.name], plan.offsets[b.name], distances, in_place)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 3), st.integers(0, 2)), max_size=3), st.data())
def test_few_tensors_are_placed_as_well_as_can_be(found: list[tuple[int, int, int]], data: st.DataObject) -> None:
    requests = [Request(f"t{i}", n, first, first + more) for i, (n, first, more) in enumerate(found)]
    pairs = [(a, b) for a, b in permutations(requests, 2) if a.last == b.first and a.first < b.first]
    distances = {(a.name, b.name): data.draw(st.integers(0, b.nbytes)) for a, b in pairs}
    in_place = {pair for pair in distances if data.draw(st.booleans())}
    sizes = [
        max((start + r.nbytes for start, r in zip(starts, requests)), default=0)
        for starts in product(range(9), repeat=len(requests))
        if all(
            sound(requests[i], requests[j], starts[i], starts[j], distances, in_place)
            for i, j in combinations(range(len(requests)), 2)
            if requests[i].overlaps(requests[j])
        )
    ]
    assert place(requests, 1, distances, in_place=in_place).size == min(sizes)


def test_dead_memory_is_used_again() -> None:
    plan = place([Request("a", 100, 0, 1), Request("b", 60, 1, 2), Request("c", 100, 2, 3)], 4)
    assert plan.size == 160


def test_in_place() -> None:
    requests = [Request("a", 100, 0, 1), Request("b", 100, 1, 2), Request("c", 40, 2, 3)]
    plan = place(requests, 4, {("a", "b"): 0, ("b", "c"): 8})
    assert plan.size == 108
    assert plan.offsets == {"a": 8, "b": 8, "c": 0}


def test_a_result_may_begin_behind_its_operand() -> None:
    """Where it need not begin before its operand, it may leave the bytes before to others."""
    requests = [Request("x", 100, 0, 1), Request("y", 60, 1, 2), Request("z", 100, 2, 3), Request("kept", 40, 1, 3)]
    assert place(requests, 1, {("x", "y"): -40, ("y", "z"): 0}).size == 140


@pytest.mark.parametrize("steps", [3, 8])
def test_a_chain_of_steps_in_place_drifts_downwards(steps: int) -> None:
    requests = [Request(f"t{i}", 1000, i, i + 1) for i in range(steps)]
    plan = place(requests, 1, {(f"t{i}", f"t{i + 1}"): 10 for i in range(steps - 1)})
    assert plan.size == 1000 + 10 * (steps - 1)


def test_what_the_caller_may_keep_elsewhere() -> None:
    plan = place([Request("in", 100, 0, 0, 4, True), Request("t", 20, 0, 1), Request("out", 80, 1, 1, 4, True)], 4)
    assert (plan.size, plan.whole, plan.ram) == (20, 120, 120)


@settings(max_examples=100, deadline=None)
@given(REQUESTS, st.integers(0, 400))
def test_a_size_that_is_enough(requests: list[Request], enough: int) -> None:
    """A plan that is only to fit is sound, and no smaller than the best."""
    plan = place(requests, 4, {}, enough // 4 * 4)
    assert plan.size >= place(requests, 4).size
    for a, b in combinations(requests, 2):
        assert not a.overlaps(b) or sound(a, b, plan.offsets[a.name], plan.offsets[b.name], {})


def test_the_search_ends_where_a_size_is_enough() -> None:
    """Neighbours in time take 20 bytes together, which takes some search."""
    requests = [Request(f"t{n}", n, first, first + 1) for n, first in ((10, 0), (9, 1), (8, 2), (12, 3))]
    assert [place(requests, 1, {}, enough).size for enough in (-1, 20)] == [20, 20]
    assert 20 <= place(requests, 1, {}, 27).size <= 27


@settings(max_examples=200, deadline=None)
@given(REQUESTS, st.sampled_from([1, 4, 16]))
def test_very_many_tensors_are_placed_without_a_search(requests: list[Request], align: int) -> None:
    offsets = first_fit(requests, align)
    assert all(offset % align == 0 for offset in offsets.values())
    for a, b in combinations(requests, 2):
        assert not a.overlaps(b) or sound(a, b, offsets[a.name], offsets[b.name], {})


def test_gaps_are_filled() -> None:
    requests = [Request("a", 4, 0, 0), Request("b", 4, 0, 0), Request("c", 4, 0, 2), Request("d", 8, 1, 1)]
    assert first_fit(requests, 4) == {"a": 0, "b": 4, "c": 8, "d": 0}


def test_ten_thousand_tensors_that_live_together() -> None:
    plan = place([Request(f"t{n}", 4, 0, n) for n in range(10_000)], 4)
    assert plan.size == 40_000
