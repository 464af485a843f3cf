"""``fused``, a kernel to be: its types and meaning are those of its body's nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..ir.graph import Graph, Node
from ..ir.types import TensorType
from .attributes import subgraph
from .opdef import Arrays, Attrs, OpDef, Types


def body_of(attrs: Attrs) -> Graph:
    return subgraph(attrs, "body")


def inner_nodes(node: Node) -> Sequence[Node]:
    """The nodes of a ``fused`` one, or another node itself."""
    return body_of(node.attrs).nodes if node.op == "fused" else (node,)


def infer_fused(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    body = body_of(attrs)
    expected = tuple(value.type for value in body.inputs)
    if tuple(types) != expected:
        raise ValueError(f"operands {', '.join(map(str, types))} do not fit the body's {', '.join(map(str, expected))}")
    return tuple(value.type for value in body.outputs)


def evaluate_fused(arrays: Arrays, attrs: Attrs, ops: Mapping[str, OpDef]) -> tuple[np.ndarray, ...]:
    body = body_of(attrs)
    inputs = {value.name: array for value, array in zip(body.inputs, arrays, strict=True) if array is not None}
    values = run_nodes(body, inputs, ops)
    return tuple(values[value.name] for value in body.outputs)


def run_nodes(graph: Graph, inputs: Mapping[str, np.ndarray], ops: Mapping[str, OpDef]) -> dict[str, np.ndarray]:
    """Evaluates every node in order. Returns the arrays of all values, constants included."""
    values: dict[str, np.ndarray] = {**graph.constants, **inputs}
    for node in graph.nodes:
        operands = [None if value is None else values[value.name] for value in node.inputs]
        results = ops[node.op].evaluate(operands, node.attrs)
        values.update((value.name, result) for value, result in zip(node.outputs, results, strict=True))
    return values


def fused_macs(node: Node, ops: Mapping[str, OpDef]) -> int:
    """The sum over the body."""
    return sum(count(inner) for inner in body_of(node.attrs).nodes if (count := ops[inner.op].macs) is not None)
