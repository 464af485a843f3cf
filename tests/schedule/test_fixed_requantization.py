"""Requantization in integers, with the bits of the float definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.ir.graph import Graph
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import lower_graph
from ccml.schedule.fixed_requantization import requantize_in_integers

from tests.schedule.graphs import integer_conv_graph, random_inputs


def bounded(graph: Graph, scale: float) -> Graph:
    """The same with one scale for all channels, and the bounds of the accumulator on the requantization."""
    body = graph.nodes[0].attrs["body"]
    assert isinstance(body, Graph)
    conv, requantize = body.nodes
    weights = np.abs(graph.constants["w"].astype(np.int64)).reshape(graph.constants["w"].shape[0], -1).sum(axis=1).max()
    bound = int(weights) * 131 + 5000
    tail = requantize.with_attrs(acc_lo=-bound, acc_hi=bound)
    scales = np.full_like(graph.constants["scale"], scale)
    scales.flags.writeable = False
    node = graph.nodes[0].with_attrs(body=replace(body, nodes=(conv, tail)))
    return replace(graph, nodes=(node,), constants={**graph.constants, "scale": scales})


def operators(graph: Graph) -> list[str]:
    body = graph.nodes[0].attrs["body"]
    assert isinstance(body, Graph)
    return [node.op for node in body.nodes]


@pytest.mark.parametrize(
    ("scale", "multiplied"),
    [
        (0.01133719, True),
        # acc = 256 (2 k + 1) lies between two results: halves go to even, which no multiplication does.
        (2.0**-9, False),
    ],
)
def test_multiplied_only_where_the_bits_stay(scale: float, multiplied: bool) -> None:
    graph = bounded(integer_conv_graph((1, 5, 5, 16), (8, 3, 3, 16), pad=(1, 1, 1, 1)), scale)
    rewritten = requantize_in_integers(graph)
    assert operators(rewritten) == ["conv", "requantize_fixed"]
    body = rewritten.nodes[0].attrs["body"]
    assert isinstance(body, Graph)
    shifts = {**rewritten.constants, **body.constants}[body.nodes[1].operands[2].name]
    assert np.all(shifts > 0) == multiplied
    inputs = random_inputs(graph)
    meaning = evaluate_graph(graph, inputs)[graph.outputs[0].name]
    np.testing.assert_array_equal(evaluate_graph(rewritten, inputs)[graph.outputs[0].name], meaning)
    compiled = JitModel(lower_graph(rewritten, host_machine()), host_machine()).run(inputs)
    np.testing.assert_array_equal(compiled[graph.outputs[0].name], meaning)
