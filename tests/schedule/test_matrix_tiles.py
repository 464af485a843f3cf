"""Contractions of bytes by tiles: bytes equal those of the definition, by AMX and by what its blocks mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.artifact.emit import Emit
from ccml.blocks.matrix_tiles import LINE
from ccml.emit_llvm.jit import JitModel
from ccml.ir.chunks import chunk_count
from ccml.ir.graph import Graph
from ccml.ir.loops import Block, For, Invoke, Var
from ccml.ir.loops_rewrite import walk_stmts
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.program import chunking
from ccml.program.build import lower_graph
from ccml.program.goal import Goal
from ccml.schedule import matrix_tiles
from ccml.targets import Machine, select
from ccml.targets.target import ElementKind, alike
from pytest import MonkeyPatch

from tests.artifacts.built import SANITIZED, run_artifact
from tests.artifacts.machines import V3, runs_here
from tests.schedule.graphs import integer_conv_graph, random_inputs
from tests.schedule.test_prefetch import value
from tests.schedule.test_widened_rows import CONVS as WIDENED
from tests.schedule.test_widened_rows import prefer
from tests.schedule.test_winograd import PAD, generators_of
from tests.tools import needs

AMX, VNNI = select("x86", cpu="x86-64-v4-amx"), select("x86", cpu="x86-64-v4-vnni")
MEANING = replace(V3, cpu=replace(V3.cpu, extensions=AMX.cpu.extensions), abi=replace(V3.abi, machine_code=""))
"""A machine without tiles, which computes what they mean."""
MACHINES = [pytest.param(AMX, marks=runs_here(AMX), id="tiles"), pytest.param(MEANING, id="meaning")]
NAME = "tiles"

CONVS = {name: graph for name, graph in WIDENED.items() if "groups" not in name} | {
    "many columns": integer_conv_graph((1, 5, 7, 20), (141, 1, 1, 20), residual=True),
    "one pixel": integer_conv_graph((1, 1, 1, 40), (21, 1, 1, 40)),
    "tiles of one row": integer_conv_graph((3, 1, 1, 5), (33, 1, 1, 5)),
    "long runs": integer_conv_graph((1, 3, 5, 1030), (9, 1, 1, 1030)),
    "even lines": integer_conv_graph((1, 8, 40, 7), (32, 3, 3, 7), pad=PAD, residual=True, dtype=DType.U8),
    "stem": integer_conv_graph((1, 33, 37, 3), (16, 7, 7, 3), stride=(2, 2), pad=(3, 3, 3, 3)),
}


@pytest.fixture
def preferred(monkeypatch: MonkeyPatch) -> None:
    prefer(NAME, monkeypatch)


def assert_exact(graph: Graph, machine: Machine, threads: int = 0) -> None:
    program = lower_graph(graph, machine, Goal(threads=threads))
    assert generators_of(program) == [NAME]
    inputs = random_inputs(graph)
    expected, model = evaluate_graph(graph, inputs), JitModel(program, machine)
    with model.threads(max(threads, 1)):
        actual = model.run(inputs)
    for name, array in actual.items():
        assert len(np.unique(expected[name])) > 15, "the case must not saturate everywhere"
        np.testing.assert_array_equal(array, expected[name])


@pytest.mark.usefixtures("preferred")
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", CONVS)
def test_bytes_of_a_convolution(name: str, machine: Machine) -> None:
    assert_exact(CONVS[name], machine)


@pytest.mark.usefixtures("preferred")
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("weights", ["few", "many"])
@pytest.mark.parametrize("name", ["many columns", "even lines", "one pixel", "tiles of one row", "volume", "stem"])
def test_bytes_by_threads(name: str, weights: str, machine: Machine, monkeypatch: MonkeyPatch) -> None:
    """Rows in panels, for which tiles are configured one by one, so that chunks are of whole panels."""
    monkeypatch.setattr(matrix_tiles, "_LEAST_WORK", 1)
    monkeypatch.setattr(chunking, "SMALLEST_PHASE", 1)
    monkeypatch.setattr(chunking, "SMALLEST_CHUNK", 1)
    if weights == "many":
        monkeypatch.setattr(matrix_tiles, "_KEPT_WEIGHTS", 0)
    assert_exact(CONVS[name], machine, threads=3)


@pytest.mark.usefixtures("preferred")
def test_products_are_in_chunks() -> None:
    graph = integer_conv_graph((1, 28, 28, 64), (64, 3, 3, 64), pad=PAD)
    kernels = lower_graph(graph, AMX, Goal(threads=2)).kernels
    products = [kernel for kernel in kernels if any(isinstance(stmt, Invoke) for stmt in walk_stmts(kernel.body))]
    assert [chunk_count(kernel) >= 4 for kernel in products] == [True]


def products(block: Block, names: dict[Var, int]) -> Iterator[tuple[range, range]]:
    """The bytes of weights that each product reads, and those that it fetches."""
    for stmt in block:
        if isinstance(stmt, For):
            for count in range(value(stmt.extent, names)):
                yield from products(stmt.body, {**names, stmt.var: count})
        elif isinstance(stmt, Invoke) and stmt.pointers:
            weights, ahead = (value(stmt.pointers[number].index[-1], names) for number in (2, 5))
            _, _, steps, width, _, outer, _, taps, _, lines = stmt.numbers
            each = steps * outer * taps
            columns = 32 if stmt.block.endswith("2x2") else 16
            yield range(weights, weights + each * width * columns), range(ahead, ahead + each * lines * LINE)


@pytest.mark.usefixtures("preferred")
@pytest.mark.parametrize("kept", [0, 1 << 30], ids=["columns first", "rows first"])
@pytest.mark.parametrize("depth", [64, 300])
def test_weights_are_fetched_before_they_are_read(depth: int, kept: int, monkeypatch: MonkeyPatch) -> None:
    """But for those of the first block of columns, and a few at the ends of blocks."""
    monkeypatch.setattr(matrix_tiles, "_KEPT_WEIGHTS", kept)
    graph = integer_conv_graph((1, 12, 20, depth), (128, 3, 3, depth), pad=PAD)
    kernel = next(kernel for kernel in lower_graph(graph, AMX).kernels if "tiles" in str(kernel.body))
    near, missed, first = set[int](), set[int](), set[int]()
    for read, fetched in products(kernel.body, {}):
        first = first or set(read)
        missed |= set(read) - near
        near |= {*read, *fetched}
    assert len(first) >= 9 * depth * 32
    assert len(missed - first) < 0.02 * len(first)


@pytest.mark.usefixtures("preferred")
@needs("gcc")
@pytest.mark.parametrize("name", ["window", "uneven steps and padding"])
def test_bytes_of_portable_c(name: str, tmp_path: Path) -> None:
    graph, (output,) = CONVS[name], CONVS[name].outputs
    inputs = random_inputs(graph)
    (found,) = run_artifact(lower_graph(graph, MEANING), V3, Emit.C, tmp_path, [inputs], SANITIZED)
    np.testing.assert_array_equal(found[output.name], evaluate_graph(graph, inputs)[output.name])


@pytest.mark.usefixtures("preferred")
@runs_here(AMX)
@needs("gcc")
@pytest.mark.parametrize("emit", [Emit.C, Emit.OBJECT], ids=["C", "objects"])
def test_bytes_of_artifacts(emit: Emit, tmp_path: Path) -> None:
    """What asks Linux for the registers of tiles at its first call."""
    graph, (output,) = CONVS["even lines"], CONVS["even lines"].outputs
    inputs = random_inputs(graph)
    (found,) = run_artifact(lower_graph(graph, AMX), AMX, emit, tmp_path, [inputs])
    np.testing.assert_array_equal(found[output.name], evaluate_graph(graph, inputs)[output.name])


@pytest.mark.parametrize(
    ("machine", "channels", "expected"),
    [(AMX, 64, "tiles"), (AMX, 3, "contraction"), (VNNI, 64, "contraction")],
    ids=["tiles", "runs too short", "no tiles"],
)
def test_taken_where_it_is_faster(machine: Machine, channels: int, expected: str) -> None:
    graph = integer_conv_graph((1, 28, 28, channels), (64, 1, 1, channels))
    assert generators_of(lower_graph(graph, machine)) == [expected]


def test_floats_ask_for_no_tiles() -> None:
    """A library of floats has no code of its own for processors with tiles."""
    bfloats = select("x86", cpu="x86-64-v4-bf16")
    assert alike(AMX.cpu, bfloats.cpu, {ElementKind.F32, ElementKind.BF16})
    assert not alike(AMX.cpu, bfloats.cpu, {ElementKind.F32, ElementKind.U8})
