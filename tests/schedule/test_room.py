"""Layers that compute in fewer cycles in memory which is free while they run: the same bytes, and no more memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from ccml.ir.graph import Graph
from ccml.ir.program import Program
from ccml.ops.evaluate import evaluate_graph
from ccml.program import build
from ccml.program.build import lower_graph
from ccml.program.goal import Goal, Optimize
from ccml.program.room import Room, layers_with_use_for_room, less_room
from ccml.targets import Target, select
from pytest import MonkeyPatch

from tests.schedule.chains import Layer, chain
from tests.schedule.graphs import random_inputs
from tests.schedule.test_staged import M4, Route, by_c, by_objects
from tests.tools import needs

GRAPHS = {
    "some patches of a column": chain((1, 48, 48, 4), [Layer(16, 1), Layer(64, stride=6), Layer(64), Layer(8, 1)]),
    "columns that overlap": chain((1, 39, 60, 4), [Layer(16, 1), Layer(32, stride=3), Layer(32), Layer(8, 1)]),
    "a sum behind it": chain(
        (1, 32, 32, 16), [Layer(16), Layer(16, add=2), Layer(32, stride=2), Layer(32), Layer(32, add=2)]
    ),
}
by_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=list(GRAPHS))


def generators(program: Program) -> list[str]:
    return [call.generator for call in program.calls]


@by_graph
def test_no_more_memory_is_taken(graph: Graph, monkeypatch: MonkeyPatch) -> None:
    program = lower_graph(graph, M4)
    assert "dsp winograd" in generators(program)
    monkeypatch.setattr(build, "layers_with_use_for_room", lambda graph, machine: [])
    direct = lower_graph(graph, M4)
    assert "dsp winograd" not in generators(direct)
    assert program.plan.ram <= direct.plan.ram
    assert sum(pool.size for pool in program.plan.pools) <= sum(pool.size for pool in direct.plan.pools)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@by_graph
@pytest.mark.parametrize("route", [by_c, by_objects])
def test_emulated(graph: Graph, route: Route, tmp_path: Path) -> None:


    program = lower_graph(graph, M4)
    named = replace(program, outputs=tuple(replace(item, name="y", c_name="y") for item in program.outputs))
    inputs = random_inputs(graph)
    expected = evaluate_graph(graph, inputs)[graph.outputs[0].name]
    assert route(named, M4, inputs, tmp_path).tobytes() == expected.tobytes()


def test_what_takes_too_much_gets_less(monkeypatch: MonkeyPatch) -> None:
    """Direct loops let a result lie almost where the operand is, those of tiles do not."""
    asked: list[Room] = []

    def noted(program: Program, direct: Program, given: Room, target: Target) -> Room:
        asked.append(given)
        return less_room(program, direct, given, target)

    monkeypatch.setattr(build, "less_room", noted)
    graph = chain((1, 44, 44, 4), [Layer(16, 1), Layer(32, stride=2), Layer(32), Layer(32), Layer(8, 1)])
    program = lower_graph(graph, M4)
    monkeypatch.setattr(build, "layers_with_use_for_room", lambda graph, machine: [])
    assert program.plan.ram == lower_graph(graph, M4).plan.ram
    assert len(asked) > 1
    assert all(later.get(name, 0) <= nbytes for name, nbytes in asked[0].items() for later in asked[1:])


def test_an_input_that_is_kept_elsewhere_counts() -> None:
    """What is its memory otherwise, the arena without it would have to have."""
    graph = chain((1, 48, 48, 16), [Layer(64, stride=6), Layer(64), Layer(8, 1)])
    assert layers_with_use_for_room(graph, M4)
    assert "dsp winograd" not in generators(lower_graph(graph, M4))


def test_a_layer_at_the_peak_has_none() -> None:
    graph = chain((1, 16, 16, 32), [Layer(32)])
    assert layers_with_use_for_room(graph, M4)
    assert generators(lower_graph(graph, M4)) == ["dsp contraction"]


@pytest.mark.parametrize(
    "goal",
    [Goal(Optimize.SIZE), Goal(Optimize.RAM), Goal(max_ram=1 << 17), Goal(pools={"fast": None, "slow": None})],
)
def test_other_goals_leave_memory_alone(goal: Goal) -> None:
    assert "dsp winograd" not in generators(lower_graph(GRAPHS["some patches of a column"], M4, goal))


@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m3", "cortex-m55", "x86"])
def test_other_machines_have_no_use_for_it(core: str) -> None:
    assert not layers_with_use_for_room(GRAPHS["some patches of a column"], select(core))
