from __future__ import annotations

import pytest
from ccml.frontend_onnx import import_model
from ccml.ir.graph import Graph
from ccml.ir.types import DType
from ccml.ir.verify import verify_graph
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.opdef import Kind
from ccml.ops.table import OPS
from ccml.passes.integerize import integerize
from ccml.passes.pipeline import before, clean_up, optimize
from ccml.passes.signed_bytes import signed_bytes

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


@pytest.mark.parametrize("seed", range(24))
def test_random_graphs(seed: int) -> None:
    graph = integerize(RandomGraph(seed).grown(12))
    result = signed_bytes(graph)
    verify_graph(result)
    same_bytes(graph, result)


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_that_compute_take_signed_bytes(name: str) -> None:
    q = Qdq("uint8")
    integers = integerize(before("integerize", import_model(q.model(OPERATORS[name](q)))))
    result = clean_up(signed_bytes(integers))
    same_bytes(integers, result)
    read = {(n.op, value.dtype) for n in result.nodes for value in n.operands if OPS[n.op].kind is Kind.ANCHOR}
    assert {op for op, dtype in read if dtype is DType.U8} <= {"gather"}


def test_only_machines_that_want_them_get_signed_bytes() -> None:
    q = Qdq("uint8")
    graph = import_model(q.model(OPERATORS["Conv"](q)))
    kinds = []
    for wanted in (False, True):
        bodies = [node.attrs["body"] for node in optimize(graph, signed_bytes=wanted).nodes if node.op == "fused"]
        (x,) = {n.operands[0].dtype for body in bodies if isinstance(body, Graph) for n in body.nodes if n.op == "conv"}
        kinds.append(x)
    assert kinds == [DType.U8, DType.I8]
