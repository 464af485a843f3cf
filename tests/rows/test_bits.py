"""Networks whose image comes by rows compute what they compute of the whole image."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ccml.artifact.emit import Emit
from ccml.driver import preferred_bytes
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.emulation import Build
from ccml.emulation.run import DEFAULT_BUILD
from ccml.ir.graph import Graph
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.by_rows import ONLY, by_rows
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.program.goal import Goal, Optimize
from ccml.targets import Machine, select

from tests.artifacts.built import SANITIZED, WARNINGS, run_artifact
from tests.integerize.building import random_bytes
from tests.rows.stems import KINDS, Stem
from tests.tools import needs

GOALS = (Goal(), Goal(optimize=Optimize.RAM))


def definition(graph: Graph, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    values = evaluate_graph(optimize(graph), feed)
    return {value.name: values[value.name] for value in graph.outputs}


def assert_as_defined(kind: str, found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    for name, array in expected.items():
        if kind == "float":
            np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-4)
        else:
            np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("seed", range(9))
def test_on_this_machine(seed: int) -> None:
    kind, goal, machine = KINDS[seed % 3], GOALS[seed // 3 % 2], host_machine()
    graph = Stem(seed, kind).grown(3)
    model = JitModel(lower_graph(optimize(by_rows(graph, [ONLY]), bytes_as=preferred_bytes(machine)), machine, goal))
    for sample in range(2):
        feed = random_bytes(graph, sample)
        assert_as_defined(kind, model.run(feed), definition(graph, feed))


def check(seed: int, kind: str, machine: Machine, form: Emit, folder: Path, how: Build = DEFAULT_BUILD) -> None:
    graph = Stem(seed, kind).grown(3)
    feeds = [random_bytes(graph, sample) for sample in range(2)]
    optimized = optimize(by_rows(graph, [ONLY]), bytes_as=preferred_bytes(machine))
    program = lower_graph(optimized, machine, GOALS[seed % 2])
    results = run_artifact(program, machine, form, folder, feeds, how)
    for feed, found in zip(feeds, results, strict=True):
        assert_as_defined(kind, found, definition(graph, feed))


@needs("gcc")
@pytest.mark.parametrize("kind", ["bytes", "float"])
def test_c_without_warnings_and_undefined_behaviour(kind: str, tmp_path: Path) -> None:
    check(1, kind, select("generic"), Emit.C, tmp_path, WARNINGS if kind == "bytes" else SANITIZED)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize(("board", "kind", "seed", "form"), [
    ("cortex-m4", "bytes", 3, Emit.C), ("cortex-m4", "float", 5, Emit.OBJECT),
    ("cortex-m0plus", "quantized", 4, Emit.C), ("cortex-m55", "bytes", 7, Emit.OBJECT),
])  # fmt: skip
def test_on_boards(board: str, kind: str, seed: int, form: Emit, tmp_path: Path) -> None:
    check(seed, kind, select(board), form, tmp_path)


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
@pytest.mark.parametrize(("kind", "seed"), [("float", 0), ("bytes", 1)])
def test_with_vectors_of_another_machine(kind: str, seed: int, tmp_path: Path) -> None:
    check(seed, kind, select("linux-arm64"), Emit.OBJECT, tmp_path)
