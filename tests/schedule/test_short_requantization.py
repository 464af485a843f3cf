"""Requantization of short sums in 32-bit integers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ccml.ir.graph import Graph, GraphBuilder, NameSupply, Value
from ccml.ir.types import DType, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import infer_types
from ccml.passes.fuse import fuse
from ccml.schedule.short_requantization import requantize_short

from tests.schedule.graphs import integer_conv_graph, random_inputs
from tests.schedule.test_packed_elementwise import scaled_product_graph
from tests.schedule.test_sum_pool import POOLS


def operators(graph: Graph) -> list[str]:
    bodies = [body for node in graph.nodes if isinstance(body := node.attrs["body"], Graph)]
    return [inner.op for body in bodies for inner in body.nodes]


def mean_graph(scale: float, reach: int) -> Graph:
    x = Value("x", TensorType(DType.I8, (1, 6, 9)))
    builder = GraphBuilder(infer_types, NameSupply(["x"]))
    acc = builder.emit1("reduce", x, kind="sum", axes=(1,), keepdims=False, zero_point=2)
    factor = builder.constant(np.array(scale, np.float32))
    steps = {"zero_point": 3, "lo": -128, "hi": 127, "to": DType.I8, "y_scale": 0.1}
    y = builder.emit1("requantize", acc, factor, **steps, acc_lo=-reach, acc_hi=reach)  # type: ignore[arg-type]
    return fuse(Graph("g", (x,), (y,), tuple(builder.nodes), builder.constants))


def test_means_with_the_bytes_that_they_had() -> None:
    for graph in (mean_graph(0.0731, 800), *(pool.graph() for pool in POOLS.values())):
        rewritten = requantize_short(graph)
        assert operators(rewritten)[-1] == "rescale_sum"
        feeds, name = random_inputs(graph), graph.outputs[0].name
        np.testing.assert_array_equal(evaluate_graph(rewritten, feeds)[name], evaluate_graph(graph, feeds)[name])


@pytest.mark.parametrize("zeros", [(0, 0), (-128, 127), (5, -5)])
@pytest.mark.parametrize("scale", [0.0147413835, 0.00031, 0.2499])
def test_products_of_bytes_by_upper_words(zeros: tuple[int, int], scale: float) -> None:
    """For all pairs of bytes."""
    graph = scaled_product_graph((256, 256), zeros, scale)
    rewritten = requantize_short(graph)
    assert operators(rewritten) == ["rescale_product"]
    codes = np.arange(-128, 128).astype(np.int8)
    feeds = {"x": np.repeat(codes[:, np.newaxis], 256, axis=1), "r": np.repeat(codes[np.newaxis], 256, axis=0)}
    name = graph.outputs[0].name
    np.testing.assert_array_equal(evaluate_graph(rewritten, feeds)[name], evaluate_graph(graph, feeds)[name])


def test_products_behind_contractions() -> None:
    """Whose own results keep the ``requantize`` that their generators know."""
    graph = integer_conv_graph((1, 5, 5, 4), (4, 1, 1, 4))
    (node,) = graph.nodes
    body, gate = node.attrs["body"], Value("gate", TensorType(DType.I8, (1, 5, 5, 4)))
    assert isinstance(body, Graph)
    builder = GraphBuilder(infer_types, NameSupply([value.name for value in body.values()] + ["gate"]))
    wide = [builder.emit1("cast", value, to=DType.I32) for value in (*body.outputs, gate)]
    zeros = [builder.constant(np.array(zero, np.int32)) for zero in (-7, 3)]
    centred = [builder.emit1("sub", *pair) for pair in zip(wide, zeros, strict=True)]
    bounds = {"lo": -128, "hi": 127, "acc_lo": -20_000, "acc_hi": 20_000}
    steps = {"zero_point": 3, "to": DType.I8, "y_scale": 0.1, **bounds}
    scale = builder.constant(np.array(0.0147413835, np.float32))
    y = builder.emit1("requantize", builder.emit1("mul", *centred), scale, **steps)  # type: ignore[arg-type]
    inputs = (*body.inputs, gate)
    longer = Graph("body", inputs, (y,), (*body.nodes, *builder.nodes), {**body.constants, **builder.constants})
    fused = replace(node, inputs=inputs, outputs=(y,), attrs={"body": longer})
    graph = replace(graph, inputs=(*graph.inputs, gate), outputs=(y,), nodes=(fused,))
    rewritten = requantize_short(graph)
    assert operators(rewritten) == ["conv", "requantize", "rescale_product"]
    feeds = random_inputs(graph)
    np.testing.assert_array_equal(evaluate_graph(rewritten, feeds)[y.name], evaluate_graph(graph, feeds)[y.name])


def test_what_keeps_its_floats() -> None:
    """Halves that go to even, sums that are long, products with large scales, and contractions."""
    for graph in (
        mean_graph(0.25, 800), mean_graph(0.001, 1 << 20), integer_conv_graph((1, 5, 5, 4), (4, 1, 1, 4)),
        scaled_product_graph((3, 5), (0, 0), 0.125), scaled_product_graph((3, 5), (0, 0), 0.3),
    ):  # fmt: skip
        assert operators(requantize_short(graph)) == operators(graph)
