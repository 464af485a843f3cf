"""Integer inputs of a graph say what they stand for."""

from __future__ import annotations

from dataclasses import replace

from ...ir.graph import Graph, Node, Value
from ...ir.types import QuantParams


def with_input_quantization(graph: Graph) -> Graph:
    """An input that only ``dequantize`` nodes with one and the same scale and zero point read gets these."""
    uses = graph.uses()
    known: dict[str, Value] = {}
    for value in graph.inputs:
        found = {_parameters(node) for node in uses.get(value.name, ())}
        quant = found.pop() if len(found) == 1 and value not in graph.outputs else None
        if value.type.quant is None and quant is not None:
            known[value.name] = replace(value, type=replace(value.type, quant=quant))
    if not known:
        return graph

    def renewed(value: Value | None) -> Value | None:
        return None if value is None else known.get(value.name, value)

    nodes = [replace(node, inputs=tuple(renewed(value) for value in node.inputs)) for node in graph.nodes]
    return graph.with_nodes(nodes, inputs=tuple(known.get(value.name, value) for value in graph.inputs))


def _parameters(node: Node) -> QuantParams | None:
    scale, zero_point = node.attrs.get("scale"), node.attrs.get("zero_point")
    if node.op != "dequantize" or not isinstance(scale, tuple) or not isinstance(zero_point, tuple) or len(scale) != 1:
        return None
    return QuantParams((float(scale[0]),), (int(zero_point[0]),))
