"""The walk that passes share: names, outputs, uses."""

from __future__ import annotations

import pytest
from ccml.ir.graph import Graph, Node, Value, join_locs
from ccml.ir.graph_text import parse_graph
from ccml.passes.rewrite import Rewriter, rewrite, until_stable

from tests.passes.rewriting import assert_rewrites

CHAIN = """
graph g(%x: f32[2]) -> (%z)
  %y : f32[2] = neg(%x)
  %z : f32[2] = neg(%y)
"""


def double_negation(rewriter: Rewriter, node: Node) -> Value | None:
    inner = rewriter.producer(node.inputs[0])
    return inner.inputs[0] if inner is not None and node.op == inner.op == "neg" else None


def as_product(rewriter: Rewriter, node: Node) -> Value | None:
    return rewriter.emit1("sub", *node.inputs, *node.inputs, loc=node.loc) if node.op == "abs" else None


def test_new_values_take_the_names_of_those_they_replace() -> None:
    graph = rewrite(parse_graph(CHAIN.replace("= neg(%x)", "= abs(%x)")), as_product)
    assert [node.output.name for node in graph.nodes] == ["y", "z"]
    assert [node.op for node in graph.nodes] == ["sub", "neg"]


def test_an_input_that_is_an_output_passes_through_a_reshape() -> None:
    expected = """
    graph g(%x: f32[2]) -> (%z)
      %z : f32[2] = reshape(%x) {shape=[2]}
    """
    result = assert_rewrites(lambda graph: rewrite(graph, double_negation), CHAIN, expected)
    assert until_stable(result, lambda graph: rewrite(graph, double_negation)) == result


def test_two_outputs_of_one_value_keep_their_names() -> None:
    before = """
    graph g(%x: f32[2]) -> (%p, %q)
      %p : f32[2] = exp(%x)
      %n : f32[2] = neg(%p)
      %q : f32[2] = neg(%n)
    """
    expected = """
    graph g(%x: f32[2]) -> (%p, %q)
      %p : f32[2] = exp(%x)
      %q : f32[2] = reshape(%p) {shape=[2]}
    """
    assert_rewrites(lambda graph: rewrite(graph, double_negation), before, expected)


def test_an_output_takes_the_value_that_stands_for_it() -> None:
    before = """
    graph g(%x: f32[2]) -> (%z)
      %a : f32[2] = exp(%x)
      %n : f32[2] = neg(%a)
      %z : f32[2] = neg(%n)
    """
    expected = """
    graph g(%x: f32[2]) -> (%z)
      %z : f32[2] = exp(%x)
    """
    assert_rewrites(lambda graph: rewrite(graph, double_negation), before, expected)


def test_a_replacement_of_another_type_is_refused() -> None:
    def to_bool(rewriter: Rewriter, node: Node) -> Value:
        return rewriter.emit1("isnan", *node.inputs)

    with pytest.raises(TypeError, match=r"y is f32\[2\], its replacement is bool\[2\]"):
        rewrite(parse_graph(CHAIN), to_bool)


def test_uses_count_operand_positions_and_graph_outputs() -> None:
    text = """
    graph g(%x: f32[2]) -> (%z, %once)
      %y : f32[2] = exp(%x)
      %z : f32[2] = mul(%y, %y)
      %once : f32[2] = neg(%z)
    """
    seen: dict[str, bool] = {}

    def record(rewriter: Rewriter, node: Node) -> None:
        seen.update((value.name, rewriter.used_once(value)) for value in node.operands)

    graph = parse_graph(text)
    assert rewrite(graph, record) == graph
    assert seen == {"x": True, "y": False, "z": False}


def test_until_stable_ends_at_its_limit() -> None:
    calls: list[Graph] = []

    def step(graph: Graph) -> Graph:
        calls.append(graph)
        return graph.with_nodes([]) if len(calls) % 2 else parse_graph(CHAIN)

    until_stable(parse_graph(CHAIN), step, limit=7)
    assert len(calls) == 7


def test_locations_are_joined_once_each() -> None:
    assert join_locs("conv + bn", "", "bn", "relu") == "conv + bn + relu"
