"""Tensors in several pools of memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations, product
from textwrap import dedent

import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.ir.loops_text import parse_kernel
from ccml.ir.program import MemoryPlan, Pool, Program
from ccml.ir.steps import Call
from ccml.memory.check import check_plan
from ccml.memory.planner import Distances, place
from ccml.memory.pools import Limits, Problem, distribute, excess, fits
from ccml.memory.request import Request
from ccml.memory.traffic import kernel_traffic, tensor_traffic
from ccml.program.build import lower_graph
from ccml.program.goal import Goal
from ccml.targets import select
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.test_check import copies
from tests.memory.test_planner import REQUESTS, sound
from tests.schedule.chains import LARGE, random_chain

M7 = select("cortex-m7")


def problem(requests: Sequence[Request], limits: Limits, traffic: Mapping[str, int] | None = None) -> Problem:
    return Problem(requests, 4, {}, traffic or {r.name: 1 for r in requests}, limits)


def cost(pools: Sequence[Pool], traffic: Mapping[str, int]) -> int:
    return sum(number * traffic[name] for number, pool in enumerate(pools) for name in pool.offsets)


def pairs(requests: Sequence[Request]) -> Iterator[tuple[Request, Request]]:
    """Operands that die where a result is born."""
    return ((a, b) for a, b in permutations(requests, 2) if a.last == b.first and a.first < b.first)


# ---------------------------------------------------------------- the planner


@settings(max_examples=100, deadline=None)
@given(REQUESTS, st.lists(st.integers(0, 300), min_size=1, max_size=2), st.booleans(), st.data())
def test_any_tensors_in_any_pools(requests: list[Request], sizes: list[int], rest: bool, data: st.DataObject) -> None:
    """Each tensor is in one pool, alone where it must be; with a last pool without a limit everything fits."""
    limits: dict[str, int | None] = {f"p{number}": size for number, size in enumerate(sizes)}
    if rest:
        limits["rest"] = None
    distances: Distances = {(a.name, b.name): data.draw(st.integers(-a.nbytes, b.nbytes)) for a, b in pairs(requests)}
    traffic = {r.name: data.draw(st.integers(0, 1000)) for r in requests}
    pools = distribute(Problem(requests, 4, distances, traffic, limits))
    assert [(pool.name, pool.limit) for pool in pools] == list(limits.items())
    assert sorted(name for pool in pools for name in pool.offsets) == sorted(r.name for r in requests)
    assert not rest or not excess(pools)
    for pool in pools:
        inside = [r for r in requests if r.name in pool.offsets]
        assert all(pool.offsets[r.name] + r.nbytes <= pool.size and pool.offsets[r.name] % 4 == 0 for r in inside)
        for a, b in combinations(inside, 2):
            assert not a.overlaps(b) or sound(a, b, pool.offsets[a.name], pool.offsets[b.name], dict(distances))


@settings(max_examples=100, deadline=None)
@given(REQUESTS, st.sampled_from([None, 10_000]))
def test_one_pool_with_room_is_the_arena(requests: list[Request], limit: int | None) -> None:
    (pool,) = distribute(problem(requests, {"sram": limit}))
    assert pool == replace(place(requests, 4), name="sram", limit=limit)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 4), st.integers(0, 2), st.integers(0, 99)), max_size=6),
    st.integers(0, 80),
)
def test_few_tensors_are_where_they_cost_least(found: list[tuple[int, int, int, int]], limit: int) -> None:
    requests = [Request(f"t{i}", n, first, first + more) for i, (n, first, more, _) in enumerate(found)]
    traffic = {f"t{i}": busy for i, (*_, busy) in enumerate(found)}
    costs = [
        sum(traffic[r.name] for r, fast in zip(requests, chosen) if not fast)
        for chosen in product((True, False), repeat=len(requests))
        if place([r for r, fast in zip(requests, chosen) if fast], 4).ram <= limit
    ]
    assert cost(distribute(problem(requests, {"dtcm": limit, "sram": None}, traffic)), traffic) == min(costs)


def test_the_busiest_are_in_the_fastest_pool() -> None:
    """Twelve at a time, of which four fit: too many choices to try them all."""
    requests = [Request(f"t{n}", 100, 0, 1) for n in range(12)]
    traffic = {f"t{n}": 1000 * (n % 3) + n for n in range(12)}
    dtcm, sram = distribute(problem(requests, {"dtcm": 400, "sram": None}, traffic))
    assert set(dtcm.offsets) == {"t2", "t5", "t8", "t11"}
    assert (dtcm.ram, sram.ram) == (400, 800)


def test_an_exchange_makes_better_use_of_a_pool() -> None:
    """For its size, the small tensor is busier than the large one, but leaves the pool half empty."""
    requests = [Request("small", 60, 0, 1), Request("large", 100, 0, 1)]
    requests += [Request(f"t{n}", 100, 2 + n, 2 + n) for n in range(10)]
    traffic = {"small": 70, "large": 100, **{f"t{n}": 5 for n in range(10)}}
    dtcm, _ = distribute(problem(requests, {"dtcm": 100, "sram": None}, traffic))
    assert "large" in dtcm.offsets


def test_large_tensors_go_first_where_room_is_scarce() -> None:
    """The busiest must not take the one place of a tensor that fits nowhere else."""
    requests = [Request("busy", 40, 0, 9), Request("large", 100, 0, 9)]
    pools = distribute(problem(requests, {"dtcm": 100, "sram": 60}, {"busy": 1000, "large": 1}))
    assert [set(pool.offsets) for pool in pools] == [{"large"}, {"busy"}]
    assert fits(problem(requests, {"dtcm": 100, "sram": 60}, {"busy": 1000, "large": 1}))


def test_the_sum_of_pools_is_bounded() -> None:
    """Apart, two tensors that can follow each other in one pool take the bytes of both."""
    requests = [Request("a", 100, 0, 0), Request("b", 120, 1, 1)]
    apart = Problem(requests, 4, {}, {"a": 1, "b": 9}, {"dtcm": 110, "sram": None})
    assert [pool.ram for pool in distribute(apart)] == [100, 120]
    assert [pool.ram for pool in distribute(replace(apart, max_ram=150))] == [0, 120]


# ---------------------------------------------------------------- traffic


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kernel k(x: u8[24] const, y: u8[24] out)\n  for i:24\n    y[i] = x[i]\n", {"x": 24, "y": 24}),
        ("kernel k(x: u8[24] const, y: i32[2,3] out)\n  for i:2, j:3\n    y[i, j] = convert<i32>(x[j] + x[i*3 + j])\n",
         {"x": 12, "y": 24}),
        ("kernel k(x: u8[24] const, y: u8[24] out)\n  for i:6\n    y[i*4 : 4] = x[i*4 : 4]\n", {"x": 24, "y": 24}),
        ("kernel k(x: u8[9] const, y: u8[9] out)\n  for i:9\n    if i > 2:\n      y[i] = x[i] + x[0]\n    else:\n"
         "      y[i] = 1u8\n", {"x": 18, "y": 9}),
        ("kernel k(x: u8[9] const, y: u8[9] out)\n  for i:3\n    for j:i + 1\n      y[j] = x[i]\n", {"x": 9, "y": 9}),
        ("kernel k(x: u8[4] const, y: u8[4] out)\n  reg acc: u8[1]\n  acc[0] = 0u8\n  for i:4\n"
         "    acc[0] = acc[0] + x[i]\n  y[0] = acc[0]\n", {"x": 4, "y": 1}),
    ],
    ids=["copy", "repeated", "vectors", "branches", "triangle", "registers"],
)  # fmt: skip
def test_traffic(text: str, expected: dict[str, int]) -> None:
    assert kernel_traffic(parse_kernel(text)) == expected


def test_traffic_of_a_block_instruction() -> None:
    """``stage`` makes halfwords of two groups of four bytes."""
    kernel = parse_kernel(
        dedent("""
        kernel k(x: i8[8,8] const, pair: i32[2,2,2] out align 8)
          for r:8
            invoke im2col_x2(&x[r, 0], &pair[0, 0, 0], 2)
    """)
    )
    assert kernel_traffic(kernel) == {"x": 8 * 8, "pair": 8 * 16}


def test_traffic_of_all_calls() -> None:
    kernel = parse_kernel("kernel copy(x: u8[16] const, y: u8[16] out)\n  for i:16\n    y[i] = x[i]\n")
    assert tensor_traffic([(kernel, ("a", "b")), (kernel, ("b", "c"))]) == {"a": 16, "b": 32, "c": 16}


# ---------------------------------------------------------------- the checker


def pooled(*pools: Pool) -> Program:
    """in -> a -> b -> c -> out, copies of 16 bytes."""
    return replace(copies({}, 0), plan=MemoryPlan(pools))


def test_the_same_place_in_two_pools() -> None:
    check_plan(pooled(Pool("dtcm", {"a": 0, "c": 0}, 16, 16, limit=16), Pool("sram", {"b": 0}, 16, 16)))


@pytest.mark.parametrize(
    ("dtcm", "sram", "complaint"),
    [
        (Pool("dtcm", {"a": 0, "c": 0}, 32, 16, limit=16), Pool("sram", {"b": 0}, 16, 16), "dtcm takes 32 bytes of 16"),
        (Pool("dtcm", {"a": 0, "c": 16}, 16, 16), Pool("sram", {"b": 0}, 16, 16), r"c lies at 16\.\.32 of 16 in dtcm"),
        (Pool("dtcm", {"a": 0, "b": 16, "c": 0}, 32, 16), Pool("sram", {"b": 0}, 16, 16), "lies in two pools"),
        (Pool("dtcm", {"a": 0}, 16, 16), Pool("sram", {"b": 0, "c": 8}, 32, 16), "overlap too far|belongs to"),
        (Pool("dtcm", {"a": 0}, 16, 16), Pool("sram", {"b": 0, "c": 16, "in": 16}, 32, 16, 32), None),
    ],
)  # fmt: skip
def test_faults(dtcm: Pool, sram: Pool, complaint: str | None) -> None:
    if complaint is None:
        check_plan(pooled(dtcm, sram))
        return
    with pytest.raises(CcmlError, match=complaint):
        check_plan(pooled(dtcm, sram))


def test_a_tensor_was_overwritten_in_its_pool() -> None:
    program = pooled(Pool("dtcm", {"b": 0}, 16, 16), Pool("sram", {"a": 16, "c": 16}, 32, 16))
    with pytest.raises(CcmlError, match="reads a, but byte 16 of sram belongs to c"):
        check_plan(replace(program, body=(*program.body, Call("copy", ("a", "out")))))


# ---------------------------------------------------------------- programs


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("share", [0.3, 0.7])
def test_random_programs(seed: int, share: float) -> None:
    """The checker, which has replayed the plan, agrees; nothing is larger than it may be."""
    graph = random_chain(seed)
    whole = lower_graph(graph, M7).plan
    program = lower_graph(graph, M7, Goal(pools={"dtcm": int(whole.ram * share), "sram": None}))
    dtcm, sram = program.plan.pools
    assert dtcm.ram <= whole.ram * share
    assert sram.ram
    assert program.plan.places.keys() == whole.places.keys()


def test_one_pool_is_the_arena_under_another_name() -> None:
    graph = LARGE["residual"]
    (arena,) = lower_graph(graph, M7).plan.pools
    for limit in (None, arena.ram):
        program = lower_graph(graph, M7, Goal(pools={"sram": limit}))
        assert program.plan.pools == (replace(arena, name="sram", limit=limit),)


def test_what_fits_into_the_first_pool_stays_there() -> None:
    graph = LARGE["residual"]
    (arena,) = lower_graph(graph, M7).plan.pools
    dtcm, sram = lower_graph(graph, M7, Goal(pools={"dtcm": arena.ram, "sram": None})).plan.pools
    assert (dtcm.offsets, sram.ram) == (arena.offsets, 0)


@pytest.mark.parametrize("name", LARGE)
def test_streams_where_pools_are_too_small(name: str) -> None:
    """And only there."""
    plain = lower_graph(LARGE[name], M7)
    third = plain.plan.ram // 3
    small = lower_graph(LARGE[name], M7, Goal(pools={"dtcm": third, "sram": 2 * third}))
    assert len(small.calls) < len(plain.calls)
    assert all(pool.limit is not None and pool.ram <= pool.limit for pool in small.plan.pools)
    assert lower_graph(LARGE[name], M7, Goal(pools={"dtcm": third, "sram": 3 * third + 64})).calls == plain.calls


def test_pools_that_are_too_small() -> None:
    """The error says by how much, which tensors, and what would help."""
    with pytest.raises(CcmlError) as caught:
        lower_graph(LARGE["residual"], M7, Goal(pools={"dtcm": 500, "sram": 600}))
    text = str(caught.value)
    assert caught.value.kind is ErrorCode.BUDGET
    for part in ("500 of dtcm", "600 of sram", "too many", "x (2,688)", "--pool NAME"):
        assert part in text


def test_max_ram_bounds_all_pools() -> None:
    graph = LARGE["residual"]
    ram = lower_graph(graph, M7).plan.ram
    pools = {"dtcm": ram // 2, "sram": None}
    program = lower_graph(graph, M7, Goal(max_ram=ram, pools=pools))
    assert program.plan.ram <= ram
    with pytest.raises(CcmlError, match="2,000 are allowed"):
        lower_graph(graph, M7, Goal(max_ram=2000, pools=pools))
