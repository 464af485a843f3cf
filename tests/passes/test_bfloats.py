"""Bfloat16 as the operands of convolutions and of products with constant matrices."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from ccml.ir.graph import Graph
from ccml.ir.graph_text import parse_graph
from ccml.ir.types import DType
from ccml.ir.verify import verify_graph
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import OPERATORS
from ccml.passes.bfloats import bfloats

from tests.passes.rewriting import assert_rewrites
from tests.schedule.graphs import random_inputs

CONV = 'dilation=[1,1], group=1, layout="channels_last", pad=[0,0,0,0], stride=[1,1]'
WEIGHTS = "const %w : f32[2,1,1,2] = dense<0.5, 1.0, -2.0, 0.25>"
CHAIN = f"""
graph g(%x: f32[1,4,4,2]) -> (%e)
  {WEIGHTS}
  %y : f32[1,4,4,2] = conv(%x, %w) {{{CONV}}}
  %r : f32[1,4,4,2] = relu(%y)
  %z : f32[1,4,4,2] = conv(%r, %w) {{{CONV}}}
  %e : f32[1,4,4,2] = add(%z, %r)
"""


def graph_of(text: str) -> Graph:
    graph = parse_graph(text)
    verify_graph(graph, OPERATORS)
    return graph


def test_operands_are_rounded_and_sums_are_floats() -> None:
    """What is rounded for one is rounded for all that read it."""
    assert_rewrites(bfloats, CHAIN, f"""
graph g(%x: f32[1,4,4,2]) -> (%e)
  const %w : bf16[2,1,1,2] = dense<16128, 16256, 49152, 16000>
  %cast : bf16[1,4,4,2] = cast(%x) {{to=bf16}}
  %y : f32[1,4,4,2] = conv(%cast, %w) {{{CONV}}}
  %r : f32[1,4,4,2] = relu(%y)
  %cast_1 : bf16[1,4,4,2] = cast(%r) {{to=bf16}}
  %z : f32[1,4,4,2] = conv(%cast_1, %w) {{{CONV}}}
  %cast_2 : f32[1,4,4,2] = cast(%cast_1) {{to=f32}}
  %e : f32[1,4,4,2] = add(%z, %cast_2)
""", tolerance=0.02)  # fmt: skip


def operand_types(text: str) -> list[DType]:
    """Those of the first operands of contractions."""
    result = bfloats(graph_of(text))
    verify_graph(result, OPERATORS)
    return [node.operands[0].dtype for node in result.nodes if node.op in ("conv", "matmul")]


def test_views_move_what_is_rounded() -> None:
    text = f"""
graph g(%x: f32[1,4,4,2]) -> (%z)
  {WEIGHTS}
  %r : f32[1,4,4,2] = relu(%x)
  %t : f32[1,4,4,2] = transpose(%r) {{perm=[0,2,1,3]}}
  %z : f32[1,4,4,2] = conv(%t, %w) {{{CONV}}}
"""
    result = bfloats(graph_of(text))
    (transpose,) = (node for node in result.nodes if node.op == "transpose" and node.output.dtype is DType.BF16)
    assert transpose.operands[0].dtype is DType.BF16 and operand_types(text) == [DType.BF16]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            """
graph g(%a: f32[3,4], %b: f32[4,5]) -> (%y)
  %y : f32[3,5] = matmul(%a, %b)
""", id="both operands computed",
        ),
        pytest.param(
            f"""
graph g(%x: f32[1,4,4,2]) -> (%y)
  const %w : f32[2,1,1,1] = dense<0.5, 1.0>
  %y : f32[1,4,4,2] = conv(%x, %w) {{{CONV.replace("group=1", "group=2")}}}
""", id="depthwise",
        ),
        pytest.param(CHAIN.replace("0.25", "3.4e38"), id="weights that bfloat16 do not hold"),
    ],
)  # fmt: skip
def test_what_stays_float32(text: str) -> None:
    assert set(operand_types(text)) == {DType.F32}


def test_the_interface_keeps_its_types() -> None:
    result = bfloats(graph_of(CHAIN.replace("(%e)", "(%e, %r)")))
    assert [value.dtype for value in (*result.inputs, *result.outputs)] == 3 * [DType.F32]


def test_sums_of_exact_products() -> None:
    """The convolution of an input of the graph is that of the rounded input, whose products floats hold."""
    graph = graph_of(CHAIN.replace("(%e)", "(%y)"))
    (x,) = random_inputs(graph).values()
    found = evaluate_graph(bfloats(graph), {"x": x})["y"]
    nearest = x.astype(ml_dtypes.bfloat16).astype(np.float64)
    wanted = np.einsum("nhwc,oc->nhwo", nearest, [[0.5, 1.0], [-2.0, 0.25]])
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2.0**-22)
