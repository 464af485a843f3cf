"""Writes a quantization down: the graph with ``quantize`` and ``dequantize`` nodes, as ONNX has them.

A stored value v becomes ``v -> quantize -> dequantize``, and everything that read v reads the result. Weights and biases
become integer constants behind ``dequantize``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...ir.graph import Graph, GraphBuilder, NameSupply, Node, Value
from ...ir.types import QuantParams, TensorType
from ...ops.table import infer_types
from ..eliminate_dead_code import eliminate_dead_code
from .encoding import Encoding
from .partition import key


@dataclass(frozen=True)
class StoredConstant:
    """Integers and what they mean."""

    array: np.ndarray
    encoding: Encoding


Parameters = Mapping[str, Mapping[int, StoredConstant]]
"""Of each node (by the name of its first output) the operands, by position, that become integer constants."""


def insert_qdq(
    graph: Graph, encodings: Mapping[str, Encoding], parameters: Parameters, integer_interface: bool = False
) -> Graph:
    """``encodings`` names every stored value. With ``integer_interface`` stored inputs and outputs are integers."""
    return _Inserter(graph, encodings, parameters, integer_interface).run()


class _Inserter(GraphBuilder):
    def __init__(
        self, graph: Graph, encodings: Mapping[str, Encoding], parameters: Parameters, integer_interface: bool
    ) -> None:
        super().__init__(infer_types, NameSupply.of(graph))
        self.graph, self.encodings, self.stored_constants = graph, encodings, parameters
        self.integer_interface = integer_interface
        self.constants.update(graph.constants)
        self.outputs = {value.name for value in graph.outputs}
        self.read: dict[str, Value] = {}
        """What stands for a value of the float graph."""

    def run(self) -> Graph:
        inputs = tuple(self._input(value) for value in self.graph.inputs)
        for node in self.graph.nodes:
            self._node(node)
        outputs = tuple(self._output(value) for value in self.graph.outputs)
        nodes = tuple(self.nodes)
        return eliminate_dead_code(Graph(self.graph.name, inputs, outputs, nodes, self.constants))

    def _input(self, value: Value) -> Value:
        encoding = self.encodings.get(value.name)
        if encoding is None:
            return value
        if not self.integer_interface:
            self._store(value, value.name, value.name, encoding)
            return value
        stored = replace(value, type=_stored_type(value, encoding))
        self.read[value.name] = self._dequantize(stored, value.name, f"{value.name}.dq", encoding)
        return stored

    def _node(self, node: Node) -> None:
        operands = [None if value is None else self.read.get(value.name, value) for value in node.inputs]
        for position, constant in self.stored_constants.get(key(node), {}).items():
            operands[position:] = [self._constant(node, position, constant), *operands[position + 1 :]]
        made = [self._made(value) for value in node.outputs]
        self.nodes.append(replace(node, inputs=tuple(operands), outputs=tuple(made)))
        for old, new in zip(node.outputs, made):
            encoding = self.encodings.get(old.name)
            if encoding is not None:
                self._store(new, old.name, node.loc, encoding)

    def _made(self, value: Value) -> Value:
        """A stored output makes way for what the graph puts out under its name."""
        if value.name in self.encodings and value.name in self.outputs:
            return replace(value, name=self.names.fresh(f"{value.name}.float"))
        return value

    def _store(self, value: Value, name: str, loc: str, encoding: Encoding) -> None:
        is_output = name in self.outputs and value.name != name
        stems = [f"{name}.q", f"{name}.dq"]
        if is_output:
            stems[0 if self.integer_interface else 1] = name
        stored = Value(self._name(stems[0], name), _stored_type(value, encoding))
        self.nodes.append(Node("quantize", (value,), (stored,), encoding.attrs, loc))
        self.read[name] = self._dequantize(stored, loc, stems[1], encoding, given=stems[1] == name)

    def _name(self, stem: str, output: str) -> str:
        return stem if stem == output else self.names.fresh(stem)

    def _dequantize(self, stored: Value, loc: str, stem: str, encoding: Encoding, given: bool = False) -> Value:
        (type_,) = infer_types("dequantize", [stored], encoding.parameters, loc)
        value = Value(stem if given else self.names.fresh(stem), type_)
        self.nodes.append(Node("dequantize", (stored,), (value,), encoding.parameters, loc))
        return value

    def _constant(self, node: Node, position: int, constant: StoredConstant) -> Value:
        old = node.inputs[position] if position < len(node.inputs) else None
        stem = f"{key(node)}.bias" if old is None else old.name
        stored = self.constant(constant.array, f"{stem}.q")
        return self._dequantize(stored, node.loc, f"{stem}.dq", constant.encoding)

    def _output(self, value: Value) -> Value:
        if value.name not in self.encodings:
            return value
        if self.integer_interface:
            return replace(value, type=_stored_type(value, self.encodings[value.name]))
        return self.read[value.name]


def _stored_type(value: Value, encoding: Encoding) -> TensorType:
    return TensorType(encoding.dtype, value.shape, QuantParams(encoding.scale, encoding.zero_point))
