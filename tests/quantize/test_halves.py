"""Models of float16 are quantized like those of float32."""

from dataclasses import replace

import numpy as np
import pytest
from ccml.ir.graph import Graph, Node, Value
from ccml.ir.types import DType, TensorType
from ccml.quantization import quantize_graph
from ccml.quantization.execute import evaluate_samples
from ccml.quantization.quantize import sqnr
from ccml.samples import Samples

from tests.quantize.networks import classifier, samples_for, stored_of


def in_halves(graph: Graph, cast_interface: bool) -> Graph:
    """``graph`` as converters to float16 write it: with casts at the interface, or with halves there too."""

    def half(value: Value | None) -> Value | None:
        if value is None or value.dtype is not DType.F32:
            return value
        return Value(value.name, TensorType(DType.F16, value.shape))

    nodes = [
        replace(node, inputs=tuple(map(half, node.inputs)), outputs=tuple(filter(None, map(half, node.outputs))))
        for node in graph.nodes
    ]
    constants = {n: a.astype(np.float16) if a.dtype == np.float32 else a for n, a in graph.constants.items()}
    inputs, outputs = (tuple(filter(None, map(half, side))) for side in (graph.inputs, graph.outputs))
    if cast_interface:
        outer = [Value(value.name, graph.inputs[n].type) for n, value in enumerate(inputs)]
        swap = {value.name: Value(f"{value.name}.half", value.type) for value in inputs}
        nodes = [replace(node, inputs=tuple(v and swap.get(v.name, v) for v in node.inputs)) for node in nodes]
        casts = [Node("cast", (v,), (swap[v.name],), {"to": DType.F16}) for v in outer]
        results = [Value(f"{value.name}.float", TensorType(DType.F32, value.shape)) for value in outputs]
        back = [Node("cast", (v,), (w,), {"to": DType.F32}) for v, w in zip(outputs, results)]
        nodes = [*casts, *nodes, *back]
        return replace(graph, inputs=tuple(outer), outputs=tuple(results), nodes=tuple(nodes), constants=constants)
    return replace(graph, inputs=inputs, outputs=outputs, nodes=tuple(nodes), constants=constants)


@pytest.mark.parametrize("cast_interface", [True, False])
def test_all_layers_become_integer(cast_interface: bool) -> None:
    graph = classifier()
    halves = in_halves(graph, cast_interface)
    samples = samples_for(graph)
    if not cast_interface:
        inputs = {name: array.astype(np.float16) for name, array in samples.inputs.items()}
        samples = Samples(inputs, {}, samples.count, samples.batching)
    model = quantize_graph(halves, samples)
    own = stored_of(quantize_graph(graph, samples_for(graph)).graph)
    assert len(stored_of(model.graph)) == len(own)
    assert [v.type for v in (*model.graph.inputs, *model.graph.outputs)] == [
        v.type for v in (*halves.inputs, *halves.outputs)
    ]
    (wanted,), (found,) = (evaluate_samples(each, samples).values() for each in (halves, model.graph))
    assert sqnr(found, wanted) > 25
