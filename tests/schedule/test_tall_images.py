"""Convolutions of images of one column: their rows of results go down the image, as those of lines go along it."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.ir.graph import Graph
from ccml.ir.loops_rewrite import walk_stmts
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import lower_graph
from ccml.targets import select

from tests.schedule.graphs import conv_graph, random_inputs

PAIRS = {
    "taps": (conv_graph((1, 61, 1, 8), (24, 5, 1, 8)), conv_graph((1, 1, 61, 8), (24, 1, 5, 8))),
    "strides and padding": (
        conv_graph((2, 40, 1, 8), (24, 3, 1, 8), stride=(2, 1), pad=(1, 0, 1, 0), epilogue=("relu",)),
        conv_graph((2, 1, 40, 8), (24, 1, 3, 8), stride=(1, 2), pad=(0, 1, 0, 1), epilogue=("relu",)),
    ),
}


def statements(graph: Graph) -> int:
    kernels = lower_graph(graph, select("x86", cpu="x86-64-v3")).kernels
    return sum(1 for kernel in kernels for _ in walk_stmts(kernel.body))


@pytest.mark.parametrize("name", PAIRS)
def test_as_many_results_at_a_time_as_along_a_line(name: str) -> None:
    tall, wide = PAIRS[name]
    assert abs(statements(tall) - statements(wide)) < 4


@pytest.mark.parametrize(
    "graph",
    [
        *(tall for tall, _ in PAIRS.values()),
        conv_graph((1, 30, 7, 4), (20, 3, 7, 4)),
        conv_graph((2, 30, 1, 12), (20, 3, 1, 6), group=2, pad=(1, 0, 1, 0)),
        conv_graph((1, 9, 12, 1, 4), (20, 2, 3, 1, 4), pad=(0, 1, 0, 0, 1, 0), stride=(1, 1, 1), dilation=(1, 1, 1)),
        conv_graph((3, 1, 1, 4), (20, 1, 1, 4), pad=(1, 0, 1, 0), stride=(2, 1)),
    ],
    ids=["taps", "strides", "words of a text", "groups", "volume", "one pixel"],
)
def test_results_are_those_of_the_definition(graph: Graph) -> None:
    inputs = random_inputs(graph)
    found = JitModel(lower_graph(graph, host_machine())).run(inputs)
    wanted = evaluate_graph(graph, inputs)
    for output in graph.outputs:
        np.testing.assert_allclose(found[output.name], wanted[output.name], rtol=1e-4, atol=1e-5)
