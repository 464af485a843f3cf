"""Contractions of bytes whose activations are widened to halfwords ahead: bytes equal those of the definition."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.artifact.emit import Emit
from ccml.emit_llvm.jit import JitModel
from ccml.emulation.run import Build
from ccml.ir.graph import Graph
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import lower_graph
from ccml.program.goal import Goal, Optimize
from ccml.schedule import generators, widened_rows
from ccml.schedule.generators import Generator
from ccml.schedule.widened_rows import Dim, Problem, choose_panels
from ccml.targets import Machine, select
from pytest import MonkeyPatch

from tests.artifacts.built import SANITIZED, WARNINGS, run_artifact
from tests.artifacts.machines import V2, V3, machine_id, runs_here
from tests.schedule.graphs import integer_conv_graph, random_inputs
from tests.schedule.test_winograd import PAD, generators_of
from tests.tools import needs

V4, VNNI = select("x86", cpu="x86-64-v4"), select("x86", cpu="x86-64-v3-vnni")
HERE = [pytest.param(machine, marks=runs_here(machine), id=machine_id(machine)) for machine in (V2, V3, V4)]
NAME = "widened rows"

CONVS = {
    "pixels": integer_conv_graph((1, 9, 7, 33), (70, 1, 1, 33)),
    "unsigned pixels": integer_conv_graph((2, 5, 7, 64), (24, 1, 1, 64), dtype=DType.U8, zero_point=131),
    "every second pixel": integer_conv_graph((1, 9, 11, 20), (37, 1, 1, 20), stride=(2, 2)),
    "rows far apart": integer_conv_graph((1, 3, 5, 1024), (9, 1, 1, 1024)),
    "window": integer_conv_graph((1, 9, 8, 6), (17, 3, 3, 6), pad=PAD, residual=True),
    "steps of two": integer_conv_graph((2, 13, 11, 5), (19, 3, 3, 5), stride=(2, 2), pad=PAD, zero_point=-7),
    "uneven steps and padding": integer_conv_graph((1, 8, 21, 3), (8, 5, 4, 3), stride=(1, 3), pad=(2, 0, 1, 3)),
    "dilated": integer_conv_graph((1, 12, 13, 4), (10, 3, 3, 4), dilation=(2, 3), pad=(2, 3, 2, 3)),
    "dilated rows": integer_conv_graph((1, 12, 9, 4), (10, 3, 2, 4), dilation=(3, 1)),
    "groups": integer_conv_graph((1, 6, 7, 12), (10, 3, 3, 6), group=2, pad=PAD, dtype=DType.U8),
    "groups of pixels": integer_conv_graph((1, 6, 7, 12), (21, 1, 1, 4), group=3),
    "line": integer_conv_graph((2, 29, 7), (18, 5, 7), stride=(2,), pad=(2, 2), dilation=(1,)),
    "volume": integer_conv_graph(
        (1, 4, 5, 6, 3), (9, 2, 3, 3, 3), stride=(1, 2, 1), pad=(0, 1, 1, 1, 1, 1), dilation=(1, 1, 1)
    ),
    "one row": integer_conv_graph((1, 1, 30, 16), (12, 1, 3, 16), pad=(0, 1, 0, 1)),
}  # fmt: skip


def prefer(name: str, monkeypatch: MonkeyPatch) -> None:
    """Has generators of that name taken, whatever they cost."""

    def cheap(each: Generator) -> Generator:
        return replace(each, cost=lambda ctx: 0.0) if each.name == name else each

    monkeypatch.setattr(generators, "GENERATORS", tuple(map(cheap, generators.GENERATORS)))


@pytest.fixture
def preferred(monkeypatch: MonkeyPatch) -> None:
    prefer(NAME, monkeypatch)


def assert_exact(graph: Graph, machine: Machine) -> None:
    program = lower_graph(graph, machine)
    assert generators_of(program) == [NAME]
    inputs = random_inputs(graph)
    expected, actual = evaluate_graph(graph, inputs), JitModel(program, machine).run(inputs)
    for name, array in actual.items():
        assert len(np.unique(expected[name])) > 20, "the case must not saturate everywhere"
        np.testing.assert_array_equal(array, expected[name])


@pytest.mark.usefixtures("preferred")
@pytest.mark.parametrize("machine", HERE)
@pytest.mark.parametrize("name", CONVS)
def test_bytes_of_a_convolution(name: str, machine: Machine) -> None:
    assert_exact(CONVS[name], machine)


@pytest.mark.usefixtures("preferred")
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("name", ["pixels", "window", "steps of two", "uneven steps and padding", "dilated", "groups"])
def test_panels_of_any_size(name: str, size: int, axis: int, monkeypatch: MonkeyPatch) -> None:
    """Along either of the last two dimensions, with and without a rest."""

    def panels(cpu: object, problem: Problem) -> widened_rows.Panels:
        cut = max(0, len(problem.dims) - 2 + axis)
        return replace(choose_panels(V3.cpu, problem), axis=cut, size=min(size, problem.dims[cut].extent))

    monkeypatch.setattr(widened_rows, "choose_panels", panels)
    assert_exact(CONVS[name], V3)


@pytest.mark.usefixtures("preferred")
@needs("gcc")
@pytest.mark.parametrize("how", [SANITIZED, WARNINGS], ids=["sanitized", "without warnings"])
@pytest.mark.parametrize("name", ["unsigned pixels", "uneven steps and padding"])
def test_bytes_of_c(name: str, how: Build, tmp_path: Path) -> None:
    graph, (output,) = CONVS[name], CONVS[name].outputs
    inputs = random_inputs(graph)
    (found,) = run_artifact(lower_graph(graph, V3), V3, Emit.C, tmp_path, [inputs], how)
    np.testing.assert_array_equal(found[output.name], evaluate_graph(graph, inputs)[output.name])


@pytest.mark.parametrize(
    ("columns", "expected"), [(16, "contraction"), (256, NAME)], ids=["few columns", "many columns"]
)
def test_taken_where_many_columns_share_what_is_widened(columns: int, expected: str) -> None:
    graph = integer_conv_graph((1, 28, 28, 64), (columns, 1, 1, 64))
    assert generators_of(lower_graph(graph, V3)) == [expected]


@pytest.mark.parametrize("channels", [12, 16, 32])
def test_fewer_multiplications_are_better_than_faster_ones(channels: int) -> None:
    graph = integer_conv_graph((1, 32, 32, channels), (channels, 3, 3, channels), pad=PAD)
    assert generators_of(lower_graph(graph, V3)) == ["winograd F(4x4,3x3)"]


@pytest.mark.parametrize(
    ("machine", "goal"),
    [
        (VNNI, Goal()), (select("linux-arm64", cpu="armv8-a"), Goal()), (V3, Goal(optimize=Optimize.SIZE)),
        (V3, Goal(optimize=Optimize.RAM)),
    ],
    ids=["products of bytes", "widened by lanes", "size", "RAM"],
)  # fmt: skip
def test_not_taken(machine: Machine, goal: Goal) -> None:
    graph = integer_conv_graph((1, 28, 28, 64), (256, 1, 1, 64))
    assert generators_of(lower_graph(graph, machine, goal)) == ["contraction"]


def test_what_a_panel_reads() -> None:
    """Of 3 taps at steps of 2, four results read 9 elements; of one tap, as many as there are."""
    assert Dim(20, taps=3, stride=2).read(4) == 9
    assert Dim(20, taps=3, dilation=4).read(1) == 9
    assert Dim(20, stride=2).read(4) == 4


def test_rows_do_not_evict_each_other() -> None:
    """A line of the cache lies between rows of 4 KiB."""
    assert Problem((Dim(49),), 1, 2048, 64).between(V3.cpu) == 2048 + 32
    assert Problem((Dim(49),), 1, 2000, 64).between(V3.cpu) == 2000
