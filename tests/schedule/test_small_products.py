"""Requantization: products that are known to be small are rounded before they are clamped, others are not."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel
from ccml.emit_llvm.objects import emit_assembly
from ccml.ir.graph import Graph
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import lower_graph
from ccml.schedule.small_products import mark_small_products
from ccml.targets import select

from tests.schedule.graphs import integer_conv_graph, random_inputs
from tests.schedule.test_winograd import levels

V3 = select("x86", cpu="x86-64-v3")


def layer(scale: float, dtype: DType = DType.U8) -> Graph:
    return integer_conv_graph((1, 5, 9, 24), (40, 1, 1, 24), dtype=dtype, scale=scale)


def is_marked(graph: Graph) -> bool:
    (node,) = mark_small_products(graph).nodes
    body = node.attrs["body"]
    assert isinstance(body, Graph)
    return any(inner.attrs.get("small") is True for inner in body.nodes)


def test_marks_follow_the_bounds() -> None:
    """24 products of bytes are below 2^20 together, their scales about a tenth or a hundred."""
    assert is_marked(layer(0.1))
    assert not is_marked(layer(100.0))


@pytest.mark.parametrize("scale", [0.002, 1.0, 100.0, 1e5])
@pytest.mark.parametrize("machine", levels(), ids=lambda m: m.cpu.name)
def test_bytes_with_any_scale(machine: object, scale: float) -> None:
    """With 1e5, products are beyond what an integer holds."""
    graph = layer(scale)
    inputs, (output,) = random_inputs(graph), graph.outputs
    found = JitModel(lower_graph(graph, machine), machine).run(inputs)[output.name]  # type: ignore[arg-type]
    np.testing.assert_array_equal(found, evaluate_graph(graph, inputs)[output.name])


def test_vectors_are_packed_by_instructions_that_saturate() -> None:
    text = emit_assembly(lower_graph(layer(0.002), V3), V3)
    assert "vpackss" in text and "vpshufb" not in text and "vminps" not in text


def test_words_are_clamped_by_instructions_that_saturate() -> None:
    machine = select("cortex-m4")
    text = emit_assembly(lower_graph(layer(0.002), machine), machine)
    assert "ssat" in text and "vcmp" not in text
