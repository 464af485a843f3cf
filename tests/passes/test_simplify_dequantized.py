"""Constants put together of parts with other scales and integers."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.ir.graph import Graph, GraphBuilder, NameSupply, Value
from ccml.ir.types import DType, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import infer_types
from ccml.passes.rewrite import until_stable
from ccml.passes.simplify import simplify


def graph_of(axis: int, parts: int, scales: int, places: tuple[int, ...] | None) -> Graph:
    """x + parts of int8 constants, each with ``scales`` (0: one for each row), concatenated and gathered."""
    rng = np.random.default_rng(4)
    builder = GraphBuilder(infer_types, NameSupply(["x"]))
    made = []
    for part in range(parts):
        shape = [3, 3]
        shape[axis] = part + 2
        count = scales or part + 2
        stored = builder.constant(rng.integers(-100, 100, shape).astype(np.int8), "c")
        scale = tuple(float(np.float32(each)) for each in rng.uniform(0.1, 1, count))
        zero = tuple(rng.integers(-9, 9, count).tolist())
        made.append(builder.emit1("dequantize", stored, scale=scale, zero_point=zero, axis=axis))
    y = builder.emit1("concat", *made, axis=axis) if parts > 1 else made[0]
    if places is not None:
        y = builder.emit1("gather", y, builder.constant(np.array(places, np.int64), "p"), axis=axis)
    x = Value("x", TensorType(DType.F32, y.shape))
    out = builder.emit1("add", x, y)
    return Graph("g", (x,), (out,), tuple(builder.nodes), builder.constants)


@pytest.mark.parametrize("places", [None, (3, 0, 4, 2, 1), (1, 1)])
@pytest.mark.parametrize("scales", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_rows(axis: int, scales: int, places: tuple[int, ...] | None) -> None:
    graph = graph_of(axis, 2, scales, places)
    found = until_stable(graph, simplify)
    assert {node.op for node in found.nodes} == {"dequantize", "add"}
    feeds = {"x": np.ones(graph.inputs[0].shape, np.float32)}
    wanted, made = (evaluate_graph(each, feeds)[each.outputs[0].name] for each in (graph, found))
    np.testing.assert_array_equal(made, wanted)


def test_along_another_axis_nothing_is_joined() -> None:
    """A row would have several scales."""
    graph = graph_of(0, 1, 0, None)
    node = graph.nodes[0]
    builder = GraphBuilder(infer_types, NameSupply.of(graph))
    builder.constants.update(graph.constants)
    builder.nodes.append(node)
    y = builder.emit1("concat", node.output, node.output, axis=1)
    x = Value("x", TensorType(DType.F32, y.shape))
    out = builder.emit1("add", x, y)
    other = Graph("g", (x,), (out,), tuple(builder.nodes), builder.constants)
    assert "concat" in {each.op for each in simplify(other).nodes}
