"""Writes a quantization down: the graph with ``quantize`` and ``dequantize`` nodes, as ONNX has them.

A stored value v becomes ``v -> quantize -> v.q -> dequantize -> v.dq``, and everything that read v reads v.dq. Weights
and biases become integer constants behind ``dequantize``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..ir.graph import Graph, GraphBuilder, NameSupply, Node, Value
from ..ir.types import QuantParams, TensorType
from ..ops.table import infer_types
from ..passes.eliminate_dead_code import eliminate_dead_code
from ..record import record
from .encoding import Encoding
from .partition import Partition, key


@record
class StoredConstant:
    """Integers and what they mean; of an operand of another ``shape``, if there is one."""

    array: np.ndarray
    encoding: Encoding
    shape: tuple[int, ...] | None = None

    @property
    def real(self) -> np.ndarray:
        """The numbers, in the operand's shape."""
        return self.encoding.dequantize(self.array).reshape(self.shape or self.array.shape)


Parameters = Mapping[str, Mapping[int, StoredConstant]]
"""Of each node (:func:`key`) the operands, by position, that become integer constants."""


def insert_qdq(
    partition: Partition, encodings: Mapping[str, Encoding], parameters: Parameters, integer_io: bool
) -> Graph:
    """``encodings`` has every stored value. With ``integer_io`` stored inputs and outputs are integers, but for those
    of a state of which only one is stored."""
    return _Inserter(partition, encodings, parameters, integer_io).run()


class _Inserter(GraphBuilder):
    def __init__(
        self, partition: Partition, encodings: Mapping[str, Encoding], parameters: Parameters, integer_io: bool
    ) -> None:
        super().__init__(infer_types, NameSupply.of(partition.graph))
        self.graph, self.factors = partition.graph, partition.factors
        self.encodings, self.parameters, self.integer_io = encodings, parameters, integer_io
        self.constants.update(self.graph.constants)
        self.outputs = {value.name for value in self.graph.outputs}
        states = [{state.input, state.output} for state in self.graph.states]
        self.floats = {name for both in states if not both <= encodings.keys() for name in both}
        self.read: dict[str, Value] = {}
        """What stands for a value of the float graph."""
        self.constants_made: dict[tuple[str, Encoding, bytes], Value] = {}

    def run(self) -> Graph:
        inputs = tuple(self._input(value) for value in self.graph.inputs)
        for node in self.graph.nodes:
            self._node(node)
        outputs = tuple(self._output(value) for value in self.graph.outputs)
        nodes = tuple(self.nodes)
        return eliminate_dead_code(
            replace(self.graph, inputs=inputs, outputs=outputs, nodes=nodes, constants=self.constants)
        )

    def _input(self, value: Value) -> Value:
        encoding = self.encodings.get(value.name)
        if encoding is None:
            return value
        if not self._is_integer(value.name):
            self._store(value, value.name, encoding, value.name)
            return value
        stored = replace(value, type=_stored_type(value, encoding))
        self.read[value.name] = self._dequantize(stored, self.names.fresh(f"{value.name}.dq"), encoding, value.name)
        return stored

    def _output(self, value: Value) -> Value:
        if value.name in self.encodings and self._is_integer(value.name):
            return replace(value, type=_stored_type(value, self.encodings[value.name]))
        return self.read.get(value.name, value)

    def _is_integer(self, name: str) -> bool:
        """Whether a stored input or output goes in or out as integers."""
        return self.integer_io and name not in self.floats

    def _node(self, node: Node) -> None:
        name = key(node)
        if name in self.factors and name in self.encodings:
            self._store_multiple(node, self.encodings[name])
            return
        operands = [None if value is None else self.read.get(value.name, value) for value in node.inputs]
        for position, constant in self.parameters.get(name, {}).items():
            operands[position : position + 1] = [self._constant(node, position, constant)]
        made = [self._made(value) for value in node.outputs]
        self.nodes.append(replace(node, inputs=tuple(operands), outputs=tuple(made)))
        for old, new in zip(node.outputs, made):
            if old.name in self.encodings:
                self._store(new, old.name, self.encodings[old.name], node.loc)

    def _made(self, value: Value) -> Value:
        """A stored output makes way for what the graph puts out under its name."""
        if value.name in self.encodings and value.name in self.outputs:
            return replace(value, name=self.names.fresh(f"{value.name}.float"))
        return value

    def _store(self, value: Value, name: str, encoding: Encoding, loc: str) -> None:
        """Value ``name`` of the float graph, computed as ``value``, is stored and read again."""
        self._pair(value, name, encoding, encoding, loc)

    def _store_multiple(self, node: Node, encoding: Encoding) -> None:
        """c * x is stored as x is with 1/c times the scale; the node itself is not needed."""
        x, factor = self.factors[key(node)]
        scale = float(np.float32(encoding.scale[0] / factor))
        self._pair(self.read.get(x.name, x), key(node), replace(encoding, scale=(scale,)), encoding, node.loc)

    def _pair(self, value: Value, name: str, stored_as: Encoding, read_as: Encoding, loc: str) -> None:
        """An output's own name goes to what the graph puts out: the integers, or the floats read again."""
        is_output = name in self.outputs and value.name != name
        names = [self.names.fresh(f"{name}.q"), self.names.fresh(f"{name}.dq")]
        if is_output:
            names[0 if self._is_integer(name) else 1] = name
        stored = Value(names[0], _stored_type(value, stored_as))
        self.nodes.append(Node("quantize", (value,), (stored,), stored_as.attrs, loc))
        self.read[name] = self._dequantize(stored, names[1], read_as, loc)

    def _dequantize(self, stored: Value, name: str, encoding: Encoding, loc: str) -> Value:
        (type_,) = infer_types("dequantize", [stored], encoding.parameters, loc)
        value = Value(name, type_)
        self.nodes.append(Node("dequantize", (stored,), (value,), encoding.parameters, loc))
        return value

    def _constant(self, node: Node, position: int, constant: StoredConstant) -> Value:
        """Steps of a recurrence share theirs."""
        old = node.inputs[position] if position < len(node.inputs) else None
        stem = f"{key(node)}.bias" if old is None else old.name
        content = stem, constant.encoding, constant.array.tobytes()
        if content not in self.constants_made:
            self.constants_made[content] = self._new_constant(node, stem, constant)
        return self.constants_made[content]

    def _new_constant(self, node: Node, stem: str, constant: StoredConstant) -> Value:
        stored = self.constant(constant.array, f"{stem}.q")
        name = self.names.fresh(f"{stem}.dq")
        if constant.shape is None:
            return self._dequantize(stored, name, constant.encoding, node.loc)
        flat = self._dequantize(stored, self.names.fresh(f"{stem}.flat"), constant.encoding, node.loc)
        whole = Value(name, TensorType(flat.dtype, constant.shape))
        self.nodes.append(Node("reshape", (flat,), (whole,), {"shape": constant.shape}, node.loc))
        return whole


def _stored_type(value: Value, encoding: Encoding) -> TensorType:
    return TensorType(encoding.dtype, value.shape, QuantParams(encoding.scale, encoding.zero_point))
