"""Convolutions and products with constant matrices take bfloat16, and add up in float32.

    %y : f32 = conv(%x, %w)          %y : f32 = conv(%x16, %w16)
    %r : f32 = relu(%y)        ->    %r : f32 = relu(%y)
    %z : f32 = conv(%r, %v)          %b : bf16 = cast(%r)
                                     %z : f32 = conv(%b, %v16)

A tensor that such a node reads is rounded where it is made, and all others read the rounded one, too, so that it is in
memory once. Views between the two move what is rounded already. Depthwise convolutions, for which no processor has
instructions, products of two computed matrices, and the interface keep float32. Casts dissolve into the kernels around
them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..ir.graph import Graph, GraphBuilder, NameSupply, Node, Value
from ..ir.types import DType
from ..ops.opdef import Kind
from ..ops.table import OPS, infer_types


def bfloats(graph: Graph) -> Graph:
    """``graph`` with bfloat16 in the place of float32 where the rules above say so."""
    return _Rounding(graph).run()


class _Rounding:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.producers = graph.producers()
        self.building = GraphBuilder(infer_types, NameSupply.of(graph))
        self.building.constants.update(graph.constants)
        self.products = {node.output.name for node in graph.nodes if self._is_product(node)}
        self.rounded: dict[str, Value] = {}
        self.weights: dict[str, Value] = {}
        self.wanted = {
            self._source(node.operands[0]).name for node in graph.nodes if node.outputs[0].name in self.products
        }

    def run(self) -> Graph:
        for node in self.graph.nodes:
            self.building.nodes.append(self._product(node) if self._in_products(node) else self._other(node))
            for value in node.outputs:
                if value.name in self.wanted:
                    self._round(value)
        read = {value.name for node in self.building.nodes for value in node.operands}
        read |= {value.name for value in self.graph.outputs}
        constants = {name: array for name, array in self.building.constants.items() if name in read}
        return self.graph.with_nodes(self.building.nodes, constants=constants)

    def _in_products(self, node: Node) -> bool:
        return node.outputs[0].name in self.products

    def _is_product(self, node: Node) -> bool:
        """Whether the node is one of those that take bfloat16, with weights that these hold."""
        if node.op not in ("conv", "matmul") or node.output.dtype is not DType.F32:
            return False
        weights = self.graph.constant(node.inputs[1])
        if weights is None or self.graph.constant(node.inputs[0]) is not None:
            return False
        if (node.op == "matmul" and weights.ndim != 2) or (node.op == "conv" and _is_depthwise(node, weights)):
            return False
        with np.errstate(over="ignore"):
            return bool(np.isfinite(weights.astype(DType.BF16.numpy).astype(np.float32)).all())

    def _source(self, value: Value) -> Value:
        """What a chain of views shows."""
        while True:
            node = self.producers.get(value.name)
            if node is None or not _is_view(node):
                return value
            value = node.operands[0]

    def _product(self, node: Node) -> Node:
        x, w, *others = node.inputs
        assert x is not None and w is not None
        if w.name not in self.weights:
            nearest = self.graph.constants[w.name].astype(DType.BF16.numpy)
            self.weights[w.name] = self.building.constant(nearest, w.name)
        return replace(node, inputs=(self._round(x), self.weights[w.name], *others))

    def _other(self, node: Node) -> Node:
        """The same on what is rounded; each node has casts of its own, which become part of its kernel."""
        return replace(node, inputs=tuple(self._widened(value) for value in node.inputs))

    def _widened(self, value: Value | None) -> Value | None:
        known = None if value is None or value.name not in self.wanted else self.rounded.get(value.name)
        return value if known is None else self.building.emit1("cast", known, to=DType.F32)

    def _round(self, value: Value) -> Value:
        """``value`` in bfloat16."""
        known = self.rounded.get(value.name)
        if known is None:
            node = self.producers.get(value.name)
            if node is not None and _is_view(node):
                (known,) = self.building.emit(node.op, (self._round(node.operands[0]),), node.attrs, loc=node.loc)
            else:
                known = self.building.emit1("cast", value, to=DType.BF16)
            self.rounded[value.name] = known
        return known


def _is_view(node: Node) -> bool:
    return OPS[node.op].kind is Kind.VIEW and len(node.inputs) == 1


def _is_depthwise(node: Node, weights: np.ndarray) -> bool:
    """Whether there are groups of one input channel each."""
    channels = weights.shape[-1 if node.attrs["layout"] == "channels_last" else 1]
    return channels == 1 and node.attrs["group"] != 1
