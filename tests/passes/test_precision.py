"""Halves in the place of float32: where they begin, where they go on, where they end."""

from __future__ import annotations

import numpy as np
from ccml.ir.graph import Graph
from ccml.ir.graph_text import parse_graph
from ccml.ir.types import DType
from ccml.ir.verify import verify_graph
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import OPERATORS
from ccml.passes.pipeline import optimize
from ccml.passes.precision import FloatFormat, halves

from tests.passes.rewriting import assert_rewrites
from tests.schedule.graphs import random_inputs

ATTRS = 'dilation=[1,1], group=1, layout="channels_last", pad=[0,0,0,0], stride=[1,1]'


def by_op(graph: Graph) -> dict[str, DType]:
    """The element type of the last result of each operator."""
    return {node.op: node.output.dtype for node in graph.nodes}


def graph_of(text: str) -> Graph:
    graph = parse_graph(text)
    verify_graph(graph, OPERATORS)
    return graph


CHAIN = f"""
graph g(%x: f32[1,4,4,2]) -> (%e)
  const %w : f32[2,1,1,2] = dense<0.5, 1.0, -2.0, 0.25>
  %n : f32[1,4,4,2] = neg(%x)
  %y : f32[1,4,4,2] = conv(%n, %w) {{{ATTRS}}}
  %r : f32[1,4,4,2] = relu(%y)
  %t : f32[1,2,4,4] = transpose(%r) {{perm=[0,3,1,2]}}
  %e : f32[1,2,4,4] = exp(%t)
"""


def test_they_begin_with_products_and_end_before_exponentials() -> None:
    found = by_op(halves(graph_of(CHAIN)))
    assert found == {
        "neg": DType.F32, "conv": DType.F16, "relu": DType.F16, "transpose": DType.F16, "cast": DType.F32,
        "exp": DType.F32,
    }  # fmt: skip


def test_the_interface_keeps_its_types() -> None:
    result = halves(graph_of(CHAIN.replace("(%e)", "(%e, %r)")))
    assert [value.dtype for value in (*result.inputs, *result.outputs)] == 3 * [DType.F32]


def test_a_sum_of_halves_and_floats_is_one_of_floats() -> None:
    text = CHAIN.replace("exp(%t)", "exp(%t)").replace("relu(%y)", "add(%y, %x)")
    assert by_op(halves(graph_of(text)))["add"] is DType.F32


def test_weights_beyond_the_range_of_halves_stay() -> None:
    text = CHAIN.replace("0.25", "70000.0")
    assert_rewrites(halves, text)


def test_values_are_those_of_floats_up_to_their_rounding() -> None:
    graph = graph_of(CHAIN)
    inputs = random_inputs(graph)
    wanted, found = (evaluate_graph(each, inputs)["e"] for each in (graph, halves(graph)))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=0.02)
    assert not np.array_equal(found, wanted)


def test_only_where_it_is_asked_for() -> None:
    types = [
        {value.dtype for value in optimize(graph_of(CHAIN), precision=precision).values()} for precision in FloatFormat
    ]
    assert types == [{DType.F32}, {DType.F32, DType.F16}, {DType.F32, DType.BF16}]
