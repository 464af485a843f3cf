"""Steps of programs: the walks over branches and loops."""

from __future__ import annotations

import pytest
from ccml.errors import CcmlError
from ccml.ir.program_verify import verify_program
from ccml.ir.steps import (
    Body,
    Branch,
    Call,
    Repeat,
    Step,
    at_most,
    buffers_of,
    circumstances,
    has_control_flow,
    map_calls,
    outline,
    walk_calls,
)

from tests.memory.flow_programs import counting, program


def call(name: str, macs: int = 0) -> Call:
    return Call(name, (f"{name}_arg",), macs=macs)


NESTED: Body = (
    call("a", 1),
    Branch("c", (call("b", 10), call("c", 10)), (call("d", 30),), "choice"),
    Repeat((call("e", 100), Branch("p", (), (call("f", 1000),), "inner")), limit=3, number="n", loc="rounds"),
    Repeat((call("g", 10_000),), condition="going", loc="search"),
    call("h", 5),
)


def test_calls_are_in_the_order_of_the_text() -> None:
    assert [step.kernel for step in walk_calls(NESTED)] == list("abcdefgh")
    assert has_control_flow(NESTED) and not has_control_flow(tuple(walk_calls(NESTED)))
    assert buffers_of(NESTED) == {"c", "p", "n", "going"} | {f"{name}_arg" for name in "abcdefgh"}


def test_an_outline() -> None:
    """Numbers of calls: a 0, b 1, c 2, d 3, e 4, f 5, g 6, h 7."""
    found = outline(NESTED)
    assert found.runs == ((0, 1), (1, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8))
    assert found.loops == ((4, 5), (6, 6))
    assert found.tests == ((1, "c"), (4, "n"), (5, "p"), (6, "going"))


def test_what_a_run_costs_at_most() -> None:
    """The dearer branch, three passes, and one pass of what has no bound."""
    assert at_most(NESTED, lambda _, step: step.macs) == 1 + 30 + 3 * 1100 + 10_000 + 5
    numbered = at_most((call("a"), Branch("c", (call("b"),), (call("d"),))), lambda number, _: number)
    assert numbered == 0 + 2


def test_when_calls_are_made() -> None:
    assert list(circumstances(NESTED)) == [
        "", "then of choice", "then of choice", "else of choice", "up to 3 passes of rounds",
        "up to 3 passes of rounds; else of inner", "passes of search", "",
    ]  # fmt: skip


def test_calls_are_replaced_and_empty_bodies_dropped() -> None:
    kept = map_calls(NESTED, lambda number, step: [step] if number in (0, 3) else [])
    assert kept == (NESTED[0], Branch("c", (), (call("d", 30),), "choice"))


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        (Branch("flag", (), ()), "holds no step"),
        (Branch("s", (Call("step", ("n", "s")),), ()), "s is not one bool"),
        (Repeat((Call("step", ("n", "s")),)), "nothing ends it"),
        (Repeat((Call("step", ("n", "s")),), limit=-1), "-1 passes"),
        (Repeat((Call("step", ("n", "s")),), count="flag"), "flag is not one i64"),
        (Repeat((Call("step", ("n", "s")),), condition="n"), "n is not one bool"),
    ],
)
def test_control_flow_is_verified(step: Step, complaint: str) -> None:
    verify_program(counting())
    with pytest.raises(CcmlError, match=f"invariant 8.*{complaint}"):
        verify_program(program((*counting().body, step), {"s": 0, "n": 32, "flag": 40}))
