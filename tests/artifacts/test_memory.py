"""Tensors that share memory: the bytes of the result stay, with inputs and outputs in the arena or outside of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.driver import read, run_passes
from ccml.emit_c.artifact import write_c
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.emit_llvm.objects import emit_objects
from ccml.emulation import Build, build_and_run
from ccml.ir.graph import Graph
from ccml.ir.program import Program
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.program.goal import Goal, Optimize
from ccml.samples import random_samples
from ccml.targets import Machine, select

from tests.artifacts.zoo import INT8
from tests.integerize.test_random import RandomGraph as RandomIntegerGraph
from tests.models import needs_models
from tests.passes.random_graphs import RandomGraph
from tests.schedule.graphs import integer_conv_graph, random_inputs
from tests.tools import needs

BOARD = needs("arm-none-eabi-gcc", "qemu-system-arm")
M4 = select("cortex-m4")
HOST = replace(host_machine(), cpu=replace(host_machine().cpu, ample_ram=False))
"""This machine, with the loops that take no memory of their own."""
SHARING = replace(HOST, target=replace(HOST.target, scarce_ram=True))
"""This machine, if its RAM were scarce: vectors and overlapping tensors together."""

GRAPHS = {
    "3x3": integer_conv_graph((1, 9, 8, 16), (16, 3, 3, 16), pad=(1, 1, 1, 1)),
    "residual": integer_conv_graph((1, 7, 5, 8), (8, 3, 3, 8), pad=(1, 1, 1, 1), residual=True),
    "wider": integer_conv_graph((1, 8, 6, 8), (20, 1, 1, 8)),
    "stride": integer_conv_graph((1, 11, 9, 4), (8, 3, 3, 4), stride=(2, 2), pad=(0, 0, 1, 1)),
    "depthwise": integer_conv_graph((1, 8, 9, 12), (12, 3, 3, 1), pad=(1, 1, 1, 1), group=12),
}
GRAPHS = {name: replace(graph, name="layer") for name, graph in GRAPHS.items()}


def overlaps(program: Program) -> bool:
    """Whether some call writes where it reads."""
    spans = {n: (o, o + program.buffers[n].nbytes) for n, (_, o) in program.plan.places.items()}
    pairs = [(a, b) for call in program.calls for a in call.args for b in call.args if a < b]
    return any(a in spans and b in spans and spans[a][0] < spans[b][1] and spans[b][0] < spans[a][1] for a, b in pairs)


def test_some_of_these_overlap() -> None:
    assert sum(overlaps(lower_graph(graph, M4)) for graph in GRAPHS.values()) >= 4


@BOARD
@pytest.mark.parametrize("in_arena", [False, True], ids=["apart", "in-arena"])
@pytest.mark.parametrize("route", ["c", "llvm"])
@pytest.mark.parametrize("name", GRAPHS)
def test_single_layers(name: str, route: str, in_arena: bool, tmp_path: Path) -> None:
    graph = GRAPHS[name]
    x = random_inputs(graph)
    assert_same(graph, run(lower_graph(graph, M4), M4, route, in_arena, x, tmp_path), x)


def run(
    program: Program, machine: Machine, route: str, in_arena: bool, x: dict[str, np.ndarray], folder: Path
) -> dict[str, np.ndarray]:
    """The outputs of the C or LLVM artifact under emulation."""
    files = [path for path in write_c(program, machine, folder) if path.suffix == ".c"]
    if route == "llvm":
        files = []
        for name, image in emit_objects(program, machine):
            files.append(folder / name)
            files[-1].write_bytes(image)
    return build_and_run(program, machine, files, [x, x], include=folder, how=Build(in_arena=in_arena))[1]


def assert_same(graph: Graph, found: dict[str, np.ndarray], x: dict[str, np.ndarray]) -> None:
    """The bytes are those of the operators' meaning."""
    for name, expected in evaluate_graph(graph, x).items():
        if name in found:
            assert found[name].tobytes() == expected.tobytes(), name


@pytest.mark.parametrize("seed", range(24))
def test_random_float_graphs(seed: int) -> None:
    """As with tensors apart, to the bit: the same kernels run."""
    graph = optimize(RandomGraph(seed).grow(10))
    apart, sharing = (lower_graph(graph, machine) for machine in (HOST, SHARING))
    x = random_inputs(graph)
    expected, found = JitModel(apart).run(x), JitModel(sharing).run(x)
    assert {name: array.tobytes() for name, array in found.items()} == {n: a.tobytes() for n, a in expected.items()}


@pytest.mark.parametrize("seed", range(16))
def test_random_integer_graphs(seed: int) -> None:
    graph = optimize(RandomIntegerGraph(seed).grown(8))
    x = random_inputs(graph)
    assert_same(graph, JitModel(lower_graph(graph, SHARING)).run(x), x)


def test_random_graphs_do_share() -> None:
    """Otherwise the tests above would show nothing."""
    graphs = [optimize(RandomGraph(seed).grow(10)) for seed in range(8)]
    assert sum(overlaps(lower_graph(graph, SHARING)) for graph in graphs) >= 4


@BOARD
@needs_models
@pytest.mark.parametrize("route", ["c", "llvm"])
@pytest.mark.parametrize("goal", [Goal(), Goal(Optimize.RAM)], ids=["balanced", "ram"])
def test_a_model_in_its_arena(goal: Goal, route: str, tmp_path: Path) -> None:
    """Keyword spotting: no tensor is anywhere else, and streams need less."""
    model = next(model for model in INT8 if model.name == "kws8")
    optimized = run_passes(read(model.path, model.options))
    program = lower_graph(optimized, M4, goal)
    assert program.plan.ram <= (17_000 if goal.optimize is Optimize.BALANCED else 11_000)
    x = next(iter(random_samples(program.inputs, 1)))
    assert_same(optimized, run(program, M4, route, True, x, tmp_path), x)
