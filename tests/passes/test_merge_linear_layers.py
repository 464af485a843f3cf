"""Two linear layers become one: the same sums but for rounding."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.ir.graph import Graph
from ccml.ir.graph_text import parse_graph
from ccml.passes.merge_linear_layers import merge_linear_layers
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.frontend_onnx.graphs import checked_import, model, value
from tests.passes.rewriting import assert_rewrites

TOLERANCE = 1e-5

PLAIN = 'stride=[1,1], pad=[0,0,0,0], dilation=[1,1], group=1, layout="channels_last"'
WINDOW = PLAIN.replace("pad=[0,0,0,0]", "pad=[1,0,1,0]")


def test_products_of_matrices_become_one_where_that_has_fewer_elements() -> None:
    before = """
    graph g(%x: f32[3,1]) -> (%y)
      const %v : f32[1,2] = dense<1.0, 2.0>
      const %b : f32[2] = dense<5.0, 6.0>
      const %w : f32[2,1] = dense<3.0, 4.0>
      const %c : f32[1] = dense<7.0>
      %m : f32[3,2] = matmul(%x, %v, %b)
      %y : f32[3,1] = matmul(%m, %w, %c)
    """
    after = """
    graph g(%x: f32[3,1]) -> (%y)
      const %w : f32[1,1] = dense<11.0>
      const %c : f32[1] = dense<46.0>
      %y : f32[3,1] = matmul(%x, %w, %c)
    """
    assert_rewrites(merge_linear_layers, before, after, tolerance=TOLERANCE)


def test_a_product_behind_a_window_goes_into_the_window() -> None:
    before = f"""
    graph g(%x: f32[1,4,4,1]) -> (%y)
      const %v : f32[2,3,1,1] = dense<1.0, 2.0, 3.0, 4.0, 5.0, 6.0>
      const %b : f32[2] = dense<1.0, 2.0>
      const %w : f32[2,1] = dense<1.0, -1.0>
      %m : f32[1,4,4,2] = conv(%x, %v, %b) {{{WINDOW}}}
      %r : f32[16,2] = reshape(%m) {{shape=[16,2]}}
      %y : f32[16,1] = matmul(%r, %w)
    """
    after = f"""
    graph g(%x: f32[1,4,4,1]) -> (%y)
      const %v : f32[1,3,1,1] = dense<-3.0, -3.0, -3.0>
      const %b : f32[1] = dense<-1.0>
      %m : f32[1,4,4,1] = conv(%x, %v, %b) {{{WINDOW}}}
      %y : f32[16,1] = reshape(%m) {{shape=[16,1]}}
    """
    assert_rewrites(merge_linear_layers, before, after, tolerance=TOLERANCE)


def test_the_form_of_the_later_product_stays() -> None:
    before = f"""
    graph g(%x: f32[16,1]) -> (%y)
      const %v : f32[1,2] = dense<1.0, 2.0>
      const %w : f32[1,1,1,2] = dense<1.0, -1.0>
      %m : f32[16,2] = matmul(%x, %v)
      %r : f32[1,4,4,2] = reshape(%m) {{shape=[1,4,4,2]}}
      %y : f32[1,4,4,1] = conv(%r, %w) {{{PLAIN}}}
    """
    after = f"""
    graph g(%x: f32[16,1]) -> (%y)
      const %w : f32[1,1,1,1] = dense<-1.0>
      %r : f32[1,4,4,1] = reshape(%x) {{shape=[1,4,4,1]}}
      %y : f32[1,4,4,1] = conv(%r, %w) {{{PLAIN}}}
    """
    assert_rewrites(merge_linear_layers, before, after, tolerance=TOLERANCE)


NARROW = """
graph g(%x: f32[3,2]) -> ({outputs})
  const %v : f32[2,{middle}] = dense<{ones}>
  const %w : f32[{middle},2] = dense<{ones}>
  %m : f32[3,{middle}] = matmul(%x, %v)
  %y : f32[3,2] = matmul(%m, %w)
"""


@pytest.mark.parametrize(
    ("middle", "outputs", "ones"),
    [(1, "%y", "1.0"), (2, "%y, %m", "1.0"), (2, "%y", "1e30")],
    ids=["a bottleneck is less work", "the middle is an output", "the product overflows"],
)
def test_what_pays_or_is_seen_stays(middle: int, outputs: str, ones: str) -> None:
    text = NARROW.format(middle=middle, outputs=outputs, ones=", ".join([ones] * 2 * middle))
    graph = parse_graph(text)
    assert merge_linear_layers(graph).nodes == graph.nodes


def networks() -> dict[str, onnx.ModelProto]:
    """Models with linear layers one behind the other, as ONNX has them."""
    rng = np.random.default_rng(3)

    def array(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    tokens = [
        helper.make_node("MatMul", ["x", "v"], ["m"]),
        helper.make_node("Add", ["m", "b"], ["a"]),
        helper.make_node("Transpose", ["a"], ["t"], perm=[0, 2, 1]),
        helper.make_node("Reshape", ["t", "shape"], ["r"]),
        helper.make_node("Conv", ["r", "w", "c"], ["y"]),
    ]
    windows = [
        helper.make_node("Conv", ["x", "v", "b"], ["m"], pads=[1, 1, 1, 1], strides=[2, 1]),
        helper.make_node("Conv", ["m", "w", "c"], ["n"]),
        helper.make_node("Relu", ["n"], ["y"]),
    ]
    of_tokens = {"v": array(8, 32), "b": array(32), "shape": np.array([1, 32, 5, 7], np.int64)}
    of_tokens |= {"w": array(16, 32, 1, 1), "c": array(16)}
    of_windows = {"v": array(32, 6, 3, 3), "b": array(32), "w": array(16, 32, 1, 1), "c": array(16)}
    return {
        "tokens": model(tokens, [value("x", (1, 35, 8), TensorProto.FLOAT)], ["y"], of_tokens, 19),
        "windows": model(windows, [value("x", (1, 6, 9, 11), TensorProto.FLOAT)], ["y"], of_windows, 19),
    }


@pytest.mark.parametrize("name", ["tokens", "windows"])
def test_compiled_models_give_what_onnx_defines(name: str) -> None:
    proto = networks()[name]
    shape = [d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim]
    feeds = {"x": np.random.default_rng(4).standard_normal(shape).astype(np.float32)}
    (wanted,) = ReferenceEvaluator(proto).run(None, feeds)
    optimized = optimize(checked_import(proto))
    assert products(optimized) == 1
    (got,) = JitModel(lower_graph(optimized, host_machine())).run(feeds).values()
    np.testing.assert_allclose(got, wanted, rtol=0, atol=TOLERANCE * np.abs(wanted).max())
    assert products(optimize(checked_import(proto), exact=True)) == 2


def products(graph: Graph) -> int:
    bodies = [body for node in graph.nodes if isinstance(body := node.attrs.get("body"), Graph)]
    return sum(node.op in ("conv", "matmul") for body in bodies for node in body.nodes)
