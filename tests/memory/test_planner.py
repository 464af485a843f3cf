"""Placement in the arena, and the checker that trusts nobody."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from ccml.errors import CcmlError
from ccml.ir.loops import Access, Buffer, Kernel, Type
from ccml.ir.program import BufferDecl, Call, MemoryPlan, Program, Storage
from ccml.ir.types import DType
from ccml.memory.check import check_plan
from ccml.memory.planner import Request, place
from hypothesis import given, settings
from hypothesis import strategies as st

REQUESTS = st.lists(
    st.tuples(st.integers(1, 100), st.integers(0, 8), st.integers(0, 4)).map(
        lambda t: Request("", t[0], t[1], t[1] + t[2])
    ),
    max_size=12,
).map(lambda found: [Request(f"t{i}", r.nbytes, r.first, r.last) for i, r in enumerate(found)])


@settings(max_examples=200, deadline=None)
@given(REQUESTS, st.sampled_from([1, 4, 16]))
def test_contemporaries_never_share_bytes(requests: list[Request], align: int) -> None:
    plan = place(requests, align)
    for request in requests:
        assert plan.offsets[request.name] % align == 0
        assert plan.offsets[request.name] + request.nbytes <= plan.size
    for a, b in combinations(requests, 2):
        if a.first <= b.last and b.first <= a.last:
            first, second = sorted((plan.offsets[r.name], r.nbytes) for r in (a, b))
            assert first[0] + first[1] <= second[0]


def test_dead_memory_is_used_again() -> None:
    plan = place([Request("a", 100, 0, 1), Request("b", 60, 1, 2), Request("c", 100, 2, 3)], 4)
    assert plan.size == 160


def copies(offsets: dict[str, int], size: int) -> Program:
    """in -> a -> b -> c -> out, each call a copy of 16 bytes, under a given plan."""
    kernel = Kernel(
        "copy",
        (
            Buffer("x", Type(DType.U8), (16,), access=Access.READ),
            Buffer("y", Type(DType.U8), (16,), access=Access.WRITE),
        ),
        (),
    )
    storage = {"in": Storage.INPUT, "out": Storage.OUTPUT}
    names = ["in", "a", "b", "c", "out"]
    buffers = {n: BufferDecl(n, DType.U8, (16,), storage.get(n, Storage.ARENA)) for n in names}
    calls = tuple(Call("copy", pair) for pair in pairwise(names))
    return Program("m", "generic", (), (), buffers, {}, (kernel,), calls, MemoryPlan(offsets, size, 16))


def test_checker_accepts_a_sound_plan() -> None:
    check_plan(copies({"a": 0, "b": 16, "c": 0}, 32))


@pytest.mark.parametrize(
    ("offsets", "size", "complaint"),
    [
        ({"a": 0, "b": 0, "c": 16}, 32, "overlap"),
        ({"a": 0, "b": 16, "c": 8}, 32, "8..24"),
        ({"a": 0, "b": 16, "c": 32}, 32, "32..48"),
    ],
)
def test_checker_refuses(offsets: dict[str, int], size: int, complaint: str) -> None:
    with pytest.raises(CcmlError, match=complaint):
        check_plan(copies(offsets, size))


def test_checker_sees_that_a_tensor_was_overwritten() -> None:
    program = copies({"a": 0, "b": 16, "c": 0}, 32)
    late = Program(
        "m", "generic", (), (), program.buffers, {}, program.kernels,
        (*program.calls, Call("copy", ("a", "out"))), program.plan,
    )  # fmt: skip
    with pytest.raises(CcmlError, match="belongs to c"):
        check_plan(late)
