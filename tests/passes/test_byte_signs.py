from __future__ import annotations

import numpy as np
import pytest
from ccml.frontend_onnx import import_model
from ccml.ir.graph import Graph
from ccml.ir.graph_text import parse_graph
from ccml.ir.types import DType
from ccml.ir.verify import verify_graph
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.opdef import Kind
from ccml.ops.table import OPERATORS as TABLE
from ccml.ops.table import OPS
from ccml.passes.byte_signs import signed_bytes, unsigned_bytes
from ccml.passes.integerize import integerize
from ccml.passes.pipeline import before, clean_up, optimize
from ccml.passes.rewrite import Pass

from tests.integerize.building import random_bytes
from tests.integerize.test_coverage import OPERATORS, Qdq
from tests.integerize.test_random import RandomGraph
from tests.passes.rewriting import assert_rewrites


def test_a_zero_point_moves_with_its_tensor() -> None:
    geometry = 'stride=[1,1], pad=[1,1,1,1], dilation=[1,1], group=1, layout="channels_last"'
    attrs = ("y_scale=0.5, zero_point=120, lo=100, hi=255, to=u8", "y_scale=0.5, zero_point=-8, lo=-28, hi=127, to=i8")
    text = f"""
    graph g(%x: i32[1,2,2,1]) -> (%z)
      const %s : f32[] = dense<0.25>
      const %w : i8[1,1,1,1] = dense<3>
      %y : u8[1,2,2,1] quant(scale=0.5, zero_point=120) = requantize(%x, %s) {{{attrs[0]}}}
      %z : i32[1,4,4,1] = conv(%y, %w, _) {{{geometry}, zero_point=120}}
    """
    after = f"""
    graph g(%x: i32[1,2,2,1]) -> (%z)
      const %s : f32[] = dense<0.25>
      const %w : i8[1,1,1,1] = dense<3>
      %y : i8[1,2,2,1] quant(scale=0.5, zero_point=-8) = requantize(%x, %s) {{{attrs[1]}}}
      %z : i32[1,4,4,1] = conv(%y, %w, _) {{{geometry}, zero_point=-8}}
    """
    assert_rewrites(signed_bytes, text, after)


def test_a_sum_that_would_not_fit_stays() -> None:
    attrs = "m1=4000000, m2=4200000, bias=0, shift=25, y_scale=1.0, zero_point=0, lo=0, hi=255, to=u8"
    text = f"""
    graph g(%x: u8[4], %y: u8[4]) -> (%z)
      %z : u8[4] quant(scale=1.0, zero_point=0) = rescale(%x, %y) {{{attrs}}}
    """
    assert_rewrites(signed_bytes, text)


def same_bytes(first: Graph, second: Graph, seeds: int = 2) -> None:
    for seed in range(seeds):
        feeds = random_bytes(first, seed)
        wanted, got = (evaluate_graph(graph, feeds) for graph in (first, second))
        for value in first.outputs:
            assert wanted[value.name].tobytes() == got[value.name].tobytes()


@pytest.mark.parametrize("change", [signed_bytes, unsigned_bytes])
@pytest.mark.parametrize("seed", range(24))
def test_random_graphs(seed: int, change: Pass) -> None:
    graph = integerize(RandomGraph(seed).grown(12))
    result = change(graph)
    verify_graph(result)
    same_bytes(graph, result)


CHANGES = [("uint8", signed_bytes, DType.U8, {"gather"}), ("int8", unsigned_bytes, DType.I8, {"gather", "matmul"})]


@pytest.mark.parametrize(("quantized", "change", "old", "kept"), CHANGES, ids=["signed", "unsigned"])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_that_compute_take_bytes_of_the_other_sign(
    name: str, quantized: str, change: Pass, old: DType, kept: set[str]
) -> None:
    """But for weights, and second factors that are computed."""
    q = Qdq(quantized)
    integers = integerize(before("integerize", import_model(q.model(OPERATORS[name](q)))))
    result = clean_up(change(integers))
    same_bytes(integers, result)
    activations = {
        (node.op, value.dtype)
        for node in result.nodes
        for value in node.operands
        if OPS[node.op].kind is Kind.ANCHOR and value.name not in result.constants
    }
    assert {op for op, dtype in activations if dtype is old} <= kept


@pytest.mark.parametrize(("bytes_as", "quantized"), [(DType.I8, "uint8"), (DType.U8, "int8")])
def test_only_machines_that_want_them_get_other_bytes(bytes_as: DType, quantized: str) -> None:
    q = Qdq(quantized)
    graph = import_model(q.model(OPERATORS["Conv"](q)))
    kinds = []
    for wanted in (None, bytes_as):
        bodies = [node.attrs["body"] for node in optimize(graph, bytes_as=wanted).nodes if node.op == "fused"]
        (x,) = {n.operands[0].dtype for body in bodies if isinstance(body, Graph) for n in body.nodes if n.op == "conv"}
        kinds.append(x)
    assert kinds == [DType.from_numpy(np.dtype(quantized)), bytes_as]


def test_operators_without_a_rule_follow_what_stands_for_their_operands() -> None:
    """A flip of the sign bit has no quantization, so what only moves such bytes has none, either."""
    attrs = "y_scale=0.5, zero_point=-8, lo=-28, hi=127, to=i8"
    text = f"""
    graph g(%x: i32[2,2]) -> (%w)
      const %at : i64[2] = dense<1, 0>
      const %n : i64[] = dense<1>
      const %s : f32[] = dense<0.25>
      %y : i8[2,2] quant(scale=0.5, zero_point=-8) = requantize(%x, %s) {{{attrs}}}
      %z : i8[2,2] quant(scale=0.5, zero_point=-8) = gather(%y, %at) {{axis=0}}
      %p : i8[4] quant(scale=0.5, zero_point=-8) = pack(%z, %n) {{axes=[0]}}
      %w : i8[2,2] quant(scale=0.5, zero_point=-8) = reshape(%p) {{shape=[2,2]}}
    """
    graph = parse_graph(text)
    verify_graph(graph, TABLE)
    result = unsigned_bytes(graph)
    verify_graph(result, TABLE)
    same_bytes(graph, result)
