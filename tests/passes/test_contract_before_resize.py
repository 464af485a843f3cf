"""Products over channels on the smaller side of a resize: the same sums, rounded in another order."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.ir.graph import Graph
from ccml.passes.contract_before_resize import contract_before_resize
from ccml.passes.pipeline import before, optimize
from ccml.program.build import lower_graph
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.frontend_onnx.graphs import checked_import, model, value
from tests.passes.rewriting import assert_rewrites, assert_same_meaning

TOLERANCE = 1e-5
"""Of the largest output: a few dozen products, and the four of a resize."""

CONV = 'stride=[1,1], pad=[0,0,0,0], dilation=[1,1], group=1, layout="channels_last"'
NETWORK = """
graph g(%x: f32[1,2,3,2], %skip: f32[1,4,3,1]) -> (%y)
  const %at : i64[4] = dense<0, 0, 1, 1>
  const %next : i64[4] = dense<0, 1, 1, 1>
  const %half : f32[1,4,1,1] = dense<0.25, 0.75, 0.25, 0.75>
  const %other : f32[1,4,1,1] = dense<0.75, 0.25, 0.75, 0.25>
  const %w : f32[2,1,1,3] = dense<1.0, 2.0, 3.0, 4.0, 5.0, 6.0>
  const %b : f32[2] = dense<10.0, 20.0>
  %g0 : f32[1,4,3,2] = gather(%x, %at) {{axis=1}}
  %g1 : f32[1,4,3,2] = gather(%x, %next) {{axis=1}}
  %m0 : f32[1,4,3,2] = mul(%g0, {factor})
  %m1 : f32[1,4,3,2] = mul(%other, %g1)
  %large : f32[1,4,3,2] = add(%m0, %m1)
  %both : f32[1,4,3,3] = concat(%skip, %large) {{axis=3}}
  %y : f32[1,4,3,2] = conv(%both, %w, %b) {{{conv}}}
  {more}
"""


def test_the_resized_part_of_a_concatenation_is_multiplied_before() -> None:
    after = f"""
    graph g(%x: f32[1,2,3,2], %skip: f32[1,4,3,1]) -> (%y)
      const %w0 : f32[2,2] = dense<2.0, 5.0, 3.0, 6.0>
      const %at : i64[4] = dense<0, 0, 1, 1>
      const %half : f32[1,4,1,1] = dense<0.25, 0.75, 0.25, 0.75>
      const %next : i64[4] = dense<0, 1, 1, 1>
      const %other : f32[1,4,1,1] = dense<0.75, 0.25, 0.75, 0.25>
      const %w1 : f32[2,1,1,1] = dense<1.0, 4.0>
      const %b : f32[2] = dense<10.0, 20.0>
      %pixels : f32[6,2] = reshape(%x) {{shape=[6,2]}}
      %product : f32[6,2] = matmul(%pixels, %w0)
      %small : f32[1,2,3,2] = reshape(%product) {{shape=[1,2,3,2]}}
      %g0 : f32[1,4,3,2] = gather(%small, %at) {{axis=1}}
      %m0 : f32[1,4,3,2] = mul(%g0, %half)
      %g1 : f32[1,4,3,2] = gather(%small, %next) {{axis=1}}
      %m1 : f32[1,4,3,2] = mul(%other, %g1)
      %large : f32[1,4,3,2] = add(%m0, %m1)
      %rest : f32[1,4,3,2] = conv(%skip, %w1, %b) {{{CONV}}}
      %y : f32[1,4,3,2] = add(%rest, %large)
    """
    text = NETWORK.format(factor="%half", conv=CONV, more="")
    graph = assert_rewrites(lambda g: _in_use_order(contract_before_resize(g)), text, after, tolerance=TOLERANCE)
    assert len(graph.nodes) == 10


def _in_use_order(graph: Graph) -> Graph:
    """``graph`` with its gathers right before what reads them, as the expected text has them."""
    nodes = list(graph.nodes)
    gathers = [node for node in nodes if node.op == "gather"]
    for gather in gathers:
        nodes.remove(gather)
        reader = next(n for n, node in enumerate(nodes) if gather.output in node.operands)
        nodes.insert(reader, gather)
    return graph.with_nodes(nodes)


@pytest.mark.parametrize(
    "change",
    [
        {"more": "%z : f32[1,4,3,2] = relu(%large)", "outputs": "%y, %z"},
        {"factor": "%scale"},
        {"wide": True},
    ],
    ids=["the resize has another reader", "its factors differ by channel", "the result has more channels"],
)
def test_what_would_be_other_sums_or_more_work_stays(change: dict[str, Any]) -> None:
    text = NETWORK.format(factor=change.get("factor", "%half"), conv=CONV, more=change.get("more", ""))
    text = text.replace("-> (%y)", f"-> ({change.get('outputs', '%y')})")
    text = text.replace("const %at", "const %scale : f32[2] = dense<2.0, 3.0>\n  const %at")
    if change.get("wide"):
        text = text.replace("%w : f32[2,1,1,3] = dense<", "%w : f32[3,1,1,3] = dense<7.0, 8.0, 9.0, ")
        text = text.replace("%b : f32[2] = dense<10.0, 20.0>", "%b : f32[3] = dense<1.0, 2.0, 3.0>")
        text = text.replace("%y : f32[1,4,3,2]", "%y : f32[1,4,3,3]")
    assert_rewrites(contract_before_resize, text)


CHANNELS = (12, 16, 24)
SIZE = 16


def head(mode: str, sizes: tuple[int, ...], **attrs: Any) -> onnx.ModelProto:
    """A 1x1 convolution of three feature maps of :data:`CHANNELS`, or fewer, enlarged to :data:`SIZE`."""
    rng = np.random.default_rng(1)
    inputs, nodes, parts = [], [], []
    constants = {"b": rng.standard_normal(10).astype(np.float32)}
    constants["w"] = rng.standard_normal((10, sum(CHANNELS[: len(sizes)]), 1, 1)).astype(np.float32)
    for n, (channels, size) in enumerate(zip(CHANNELS, sizes)):
        inputs.append(value(f"x{n}", (1, 3, size, size), TensorProto.FLOAT))
        constants[f"w{n}"] = rng.standard_normal((channels, 3, 3, 3)).astype(np.float32)
        nodes.append(helper.make_node("Conv", [f"x{n}", f"w{n}"], [f"c{n}"], pads=[1] * 4))
        nodes.append(helper.make_node("Relu", [f"c{n}"], [f"f{n}"]))
        parts.append(f"f{n}")
        if size != SIZE:
            constants[f"size{n}"] = np.array([1, channels, SIZE, SIZE], np.int64)
            nodes.append(helper.make_node("Resize", [f"f{n}", "", "", f"size{n}"], [f"r{n}"], mode=mode, **attrs))
            parts[-1] = f"r{n}"
    nodes.append(helper.make_node("Concat", parts, ["all"], axis=1))
    nodes += [helper.make_node("Conv", ["all", "w", "b"], ["c"]), helper.make_node("Relu", ["c"], ["y"])]
    return model(nodes, inputs, ["y"], constants, 19)


@pytest.mark.parametrize(
    ("mode", "attrs"),
    [
        ("linear", {}),
        ("linear", {"coordinate_transformation_mode": "align_corners"}),
        ("nearest", {}),
        ("cubic", {"cubic_coeff_a": -0.5}),
    ],
)
@pytest.mark.parametrize("sizes", [(8,), (16, 8), (4, 16, 8), (8, 8, 5)])
def test_compiled_heads_give_what_onnx_defines(mode: str, attrs: dict[str, Any], sizes: tuple[int, ...]) -> None:
    proto = head(mode, sizes, **attrs)
    rng = np.random.default_rng(2)
    feeds = {
        i.name: rng.standard_normal([d.dim_value for d in i.type.tensor_type.shape.dim]).astype(np.float32)
        for i in proto.graph.input
    }
    (wanted,) = ReferenceEvaluator(proto).run(None, feeds)
    graph = checked_import(proto)
    (got,) = JitModel(lower_graph(optimize(graph), host_machine())).run(feeds).values()
    np.testing.assert_allclose(got, wanted, rtol=0, atol=TOLERANCE * np.abs(wanted).max())
    features = sum(27 * c * s * s for c, s in zip(CHANNELS, sizes))
    assert macs(optimize(graph)) == features + 10 * sum(c * s * s for c, s in zip(CHANNELS, sizes))
    assert macs(optimize(graph, exact=True)) == features + 10 * sum(CHANNELS[: len(sizes)]) * SIZE * SIZE


def macs(graph: Graph) -> int:
    """Multiplications of the convolutions and matrix products."""
    bodies = [body for node in graph.nodes if isinstance(body := node.attrs.get("body"), Graph)]
    products = [node for body in bodies for node in body.nodes if node.op in ("conv", "matmul")]
    return sum(
        node.output.type.size * node.operands[1].type.size // node.output.shape[-1] for node in products
    )


def test_the_pass_alone_keeps_the_meaning_of_the_graph() -> None:
    graph = before("contract_before_resize", checked_import(head("linear", (4, 16, 8))))
    moved = contract_before_resize(graph)
    assert [node.op for node in moved.nodes].count("matmul") == 2
    assert_same_meaning(graph, moved, TOLERANCE)
