"""Outputs of the model need memory of their own: the caller's."""

from __future__ import annotations

from dataclasses import replace

from ..ir.graph import Graph, GraphBuilder, NameSupply, Node, Value
from ..ops.table import infer_types


def storage_owners(graph: Graph) -> dict[str, str]:
    """Value name -> name of the value whose memory it shares: a reshape sees its operand's memory."""
    owner = {value.name: value.name for value in graph.inputs}
    for node in graph.nodes:
        for value in node.outputs:
            operand = node.operands[0].name if node.op == "reshape" else value.name
            owner[value.name] = owner.get(operand, operand)
    return owner


def separate_outputs(graph: Graph) -> Graph:
    """Copies an output that is an input, a constant, or shares its memory with another output."""
    owner = storage_owners(graph)
    taken = {value.name for value in graph.inputs} | set(graph.constants)
    builder = GraphBuilder(infer_types, NameSupply.of(graph))
    outputs = []
    for value in graph.outputs:
        root = owner.get(value.name, value.name)
        if root in taken:
            value = copy_value(builder, value, f"{value.name}_copy", f"output {value.name}")
        taken.add(root)
        outputs.append(value)
    return replace(graph, nodes=(*graph.nodes, *builder.nodes), outputs=tuple(outputs))


def copy_value(builder: GraphBuilder, value: Value, name: str, loc: str) -> Value:
    """Appends a fused node that copies ``value``."""
    inner = GraphBuilder(infer_types, NameSupply([value.name]))
    copied = inner.emit1("expand", value, shape=value.shape, name=builder.names.fresh(name))
    body = Graph("copy", (value,), (copied,), tuple(inner.nodes))
    builder.nodes.append(Node("fused", (value,), (copied,), {"body": body}, loc))
    return copied
