"""Convolutions in groups of few channels whose lanes are those of several groups, against NumPy in float64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ccml.artifact.emit import Emit
from ccml.emit_llvm.jit import JitModel
from ccml.ir.graph import Graph
from ccml.ops.fused import body_of
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.artifacts.built import SANITIZED, run_artifact
from tests.artifacts.machines import V3
from tests.schedule.graphs import conv_graph, random_inputs
from tests.schedule.test_winograd import PAD, generators_of, levels
from tests.tools import needs

NAME = "lanes of groups"
V2, V4 = select("x86", cpu="x86-64-v2"), select("x86", cpu="x86-64-v4")

CONVS = {
    "pairs": conv_graph((1, 6, 7, 12), (12, 3, 3, 2), group=6, pad=PAD),
    "fours": conv_graph((2, 5, 9, 24), (24, 3, 3, 4), group=6, pad=PAD, epilogue=("relu",)),
    "fours, steps of two": conv_graph(
        (1, 9, 11, 32), (32, 3, 3, 4), group=8, pad=PAD, stride=(2, 2), epilogue=("add",)
    ),
    "eights": conv_graph((1, 7, 6, 16), (16, 5, 3, 8), group=2, pad=(2, 1, 2, 1)),
    "dilated": conv_graph((1, 9, 10, 48), (48, 3, 3, 4), group=12, dilation=(2, 3), bias=False),
    "one tap": conv_graph((1, 5, 3, 40), (40, 1, 1, 4), group=10),
    "one pixel": conv_graph((1, 1, 1, 16), (16, 1, 1, 2), group=8),
}


def expected(graph: Graph, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """By the definition, group by group and tap by tap."""
    (fused,) = graph.nodes
    conv, *behind = body_of(fused.attrs).nodes
    x, w = inputs["x"].astype(np.float64), graph.constants["w"].astype(np.float64)
    pad, (down, right), (far, wide) = conv.attrs["pad"], conv.attrs["stride"], conv.attrs["dilation"]
    group, (filters, height, width, depth) = conv.attrs["group"], w.shape
    framed = np.pad(x, ((0, 0), (pad[0], pad[2]), (pad[1], pad[3]), (0, 0)))
    _, rows, columns, _ = conv.output.shape
    y = np.zeros(conv.output.shape)
    for g in range(group):
        to = slice(g * filters // group, (g + 1) * filters // group)
        for i in range(height):
            for j in range(width):
                seen = framed[:, i * far :: down, j * wide :: right, g * depth : (g + 1) * depth]
                y[..., to] += seen[:, :rows, :columns] @ w[to, i, j].T
    y += graph.constants.get("b", np.zeros(filters)).astype(np.float64)
    for node in behind:
        y = np.maximum(y, 0) if node.op == "relu" else y + inputs["r"]
    return y


def assert_close(found: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("machine", levels(), ids=lambda machine: machine.cpu.name)
@pytest.mark.parametrize("name", CONVS)
def test_floats(name: str, machine: Machine) -> None:
    graph = CONVS[name]
    inputs, program = random_inputs(graph), lower_graph(graph, machine)
    assert_close(JitModel(program, machine).run(inputs)[graph.outputs[0].name], expected(graph, inputs))


@needs("gcc")
@pytest.mark.parametrize("name", ["pairs", "fours, steps of two"])
def test_floats_of_c(name: str, tmp_path: Path) -> None:
    graph, (output,) = CONVS[name], CONVS[name].outputs
    inputs = random_inputs(graph)
    (found,) = run_artifact(lower_graph(graph, V3), V3, Emit.C, tmp_path, [inputs], SANITIZED)
    assert_close(found[output.name], expected(graph, inputs))


@pytest.mark.parametrize(
    ("machine", "share", "channels", "wanted"),
    [
        (V3, 4, 32, NAME), (V4, 8, 64, NAME), (V4, 4, 8, NAME), (V2, 2, 8, NAME), (V2, 4, 32, "contraction"),
        (V3, 8, 64, "contraction"), (V4, 16, 64, "contraction"), (V3, 4, 36, "contraction"),
    ],
    ids=["fours", "eights", "narrower vectors", "pairs", "four lanes", "eight lanes", "sixteen lanes", "odd groups"],
)  # fmt: skip
def test_taken_where_groups_fill_a_part_of_a_vector(machine: Machine, share: int, channels: int, wanted: str) -> None:
    graph = conv_graph((1, 14, 14, channels), (channels, 3, 3, share), group=channels // share, pad=PAD)
    assert generators_of(lower_graph(graph, machine)) == [wanted]
