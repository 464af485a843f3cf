"""Models of float16, as converters write them: computed in float32 before they are quantized.

Integers stand for real numbers; that a model rounded these to halves on its way is nothing that they have to follow.
The interface keeps its types: a cast behind an input, and one before an output.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..ir.graph import Graph, GraphBuilder, NameSupply, Node, Value
from ..ir.types import DType
from ..ops.table import infer_types


def widen_halves(graph: Graph) -> Graph:
    """``graph`` with float32 in place of float16, but at its inputs and outputs. Control flow is left as it is."""
    if any(isinstance(attr, Graph) for node in graph.nodes for attr in node.attrs.values()):
        return graph
    if all(value.dtype is not DType.F16 for value in graph.values()):
        return graph
    return _Widener(graph).run()


class _Widener(GraphBuilder):
    def __init__(self, graph: Graph) -> None:
        super().__init__(infer_types, NameSupply.of(graph))
        self.graph = graph
        self.read: dict[str, Value] = {}
        """What stands for a value of the graph of halves."""

    def run(self) -> Graph:
        graph = self.graph
        for name, array in graph.constants.items():
            wide = array.astype(np.float32) if array.dtype == np.float16 else array
            wide.flags.writeable = False
            self.constants[name] = wide
        for value in graph.inputs:
            if value.dtype is DType.F16:
                self.read[value.name] = self.emit1("cast", value, name=f"{value.name}.wide", to=DType.F32)
        for node in graph.nodes:
            self._node(node)
        outputs = tuple(map(self._output, graph.outputs))
        return replace(graph, outputs=outputs, nodes=tuple(self.nodes), constants=self.constants)

    def _operand(self, value: Value | None) -> Value | None:
        if value is None or value.name in self.read:
            return None if value is None else self.read[value.name]
        return _widened(value) if value.name in self.graph.constants else value

    def _node(self, node: Node) -> None:
        operands = tuple(map(self._operand, node.inputs))
        attrs = dict(node.attrs)
        if attrs.get("to") is DType.F16 and node.op == "cast":
            attrs["to"] = DType.F32
        first = operands[0] if operands else None
        if node.op == "cast" and first is not None and first.dtype is DType.F32 and attrs["to"] is DType.F32:
            self.read[node.output.name] = first
            return
        outputs = tuple(_widened(value) for value in node.outputs)
        self.read.update((value.name, value) for value in outputs)
        self.nodes.append(replace(node, inputs=operands, outputs=outputs, attrs=attrs))

    def _output(self, value: Value) -> Value:
        """An output has its own name and type: it is cast to halves, or what was computed under another name."""
        found = self.read.get(value.name, value)
        if value.dtype is not DType.F16 and found.name == value.name:
            return found
        if found.name == value.name:
            found = self._renamed(found)
        attrs = {"to": value.dtype} if value.dtype is DType.F16 else {"shape": value.shape}
        self.nodes.append(Node("cast" if value.dtype is DType.F16 else "reshape", (found,), (value,), attrs))
        return value

    def _renamed(self, value: Value) -> Value:
        """A value that the graph computes, under another name."""
        other = replace(value, name=self.names.fresh(f"{value.name}.wide"))
        swap = {value.name: other}
        self.nodes = [
            replace(
                node,
                inputs=tuple(None if each is None else swap.get(each.name, each) for each in node.inputs),
                outputs=tuple(swap.get(each.name, each) for each in node.outputs),
            )
            for node in self.nodes
        ]
        return other


def _widened(value: Value) -> Value:
    return replace(value, type=replace(value.type, dtype=DType.F32)) if value.dtype is DType.F16 else value
