"""Lookups by unsigned bytes on cores that load these with a zero above them at no cost.

    y = table[x + 128]    ->    y = turned[u8(x)]

The bits of a signed byte are the index into a table whose halves changed places, so that nothing is added to it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..ir.graph import Graph, Node, Value
from ..ir.types import DType, TensorType


def look_up_unsigned(graph: Graph) -> Graph:
    """``graph`` with every ``lookup`` of signed bytes in fused nodes as one of unsigned bytes."""
    constants = dict(graph.constants)
    nodes = [_rewritten(node, constants) for node in graph.nodes]
    return replace(graph, nodes=tuple(nodes), constants=constants)


def _rewritten(node: Node, constants: dict[str, np.ndarray]) -> Node:
    body = node.attrs.get("body")
    if not isinstance(body, Graph):
        return node
    nodes: list[Node] = []
    turned: dict[str, Value] = {}
    for inner in body.nodes:
        x, table = (*inner.operands, *inner.operands)[:2]
        if inner.op != "lookup" or x.dtype is not DType.I8 or table.name not in constants:
            nodes.append(inner)
            continue
        bits = Value(f"{inner.output.name}_bits", TensorType(DType.U8, x.shape))
        turned[table.name] = replace(table, name=f"{table.name}_turned")
        constants[turned[table.name].name] = _turned(constants[table.name])
        nodes.append(Node("bitcast", (x,), (bits,), {"to": DType.U8}, inner.loc))
        nodes.append(replace(inner, inputs=(bits, turned[table.name])))
    if not turned:
        return node
    read = {value.name for inner in nodes for value in inner.operands}
    inputs = (*(value for value in node.operands if value.name in read), *turned.values())
    return replace(node, inputs=inputs, attrs={**node.attrs, "body": replace(body, inputs=inputs, nodes=tuple(nodes))})


def _turned(table: np.ndarray) -> np.ndarray:
    result: np.ndarray = np.roll(table, len(table) // 2)
    result.flags.writeable = False
    return result
