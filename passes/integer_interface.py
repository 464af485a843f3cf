"""Makes the interface of a quantized model integer: the caller quantizes what goes in and gets integers out.

An input of which nothing is read but its quantized elements becomes these integers, and an output that is made of
dequantized integers becomes those. A dequantize node behind the input and a quantize node before the output say so;
both vanish with their counterparts when the graph is integerized.

    %x.q : i8 = quantize(%x)        becomes    %x.dq : f32 = dequantize(%x)
                                               %x.q  : i8  = quantize(%x.dq)
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

from ..errors import CcmlError, ErrorCode
from ..ir.graph import AttrValue, Graph, NameSupply, Node, Value
from ..ir.types import DType, TensorType
from ..ops.attributes import element_type
from ..ops.opdef import Kind
from ..ops.quantization import quant_params
from ..ops.table import OPS, infer_types

log = logging.getLogger(__name__)

_PARAMETERS = ("scale", "zero_point", "axis")


def integer_interface(graph: Graph) -> Graph:
    """``graph`` with integers for the inputs and outputs that are quantized per tensor; the others stay as they are.

    Raises ``BAD_OPTION`` where no input or output is quantized.
    """
    stored_inputs, stored_outputs = _encodings(graph)
    sides = (*graph.inputs, *graph.outputs)
    floats = [value.name for value in sides if value.name not in {**stored_inputs, **stored_outputs}
              and value.dtype is DType.F32]  # fmt: skip
    if len(floats) == len(sides):
        raise CcmlError(
            ErrorCode.BAD_OPTION,
            "no input or output of the model is quantized, so none can be integer",
            loc=graph.name,
            hint="quantize it on the way: --quantize int8 --calibration DATA --io int8",
        )
    if floats:
        log.warning("stays float, as it is not quantized: %s", ", ".join(floats))
    return _Rewriter(graph, stored_inputs, stored_outputs).run()


def integer_states(graph: Graph) -> Graph:
    """``graph`` with integers for the states that are quantized, and alike where they are read and where they are made;
    everything else stays as it is."""
    kept = {name for state in graph.states for name in (state.input, state.output)}
    if not kept:
        return graph
    inputs, outputs = (
        {name: encoding for name, encoding in found.items() if name in kept} for found in _encodings(graph)
    )
    return _Rewriter(graph, inputs, outputs).run() if inputs else graph


Encoding = Mapping[str, AttrValue]
"""The attributes of a quantize node."""


def _encodings(graph: Graph) -> tuple[dict[str, Encoding], dict[str, Encoding]]:
    """How inputs and outputs are quantized. Those of a state are so only where both are, and alike."""
    uses, producers = graph.uses(), graph.producers()
    names = {value.name for value in graph.outputs}
    inputs = {
        value.name: found for value in graph.inputs
        if value.dtype is DType.F32 and value.name not in names and (found := _stored_as(value, uses, names))
    }  # fmt: skip
    outputs = {
        value.name: found for value in graph.outputs
        if value.dtype is DType.F32 and (found := _made_of(value, producers))
    }  # fmt: skip
    for state in graph.states:
        old, new = inputs.get(state.input), outputs.get(state.output)
        if old is None or new is None or not _same(old, new):
            inputs.pop(state.input, None)
            outputs.pop(state.output, None)
    return inputs, outputs


def _stored_as(value: Value, uses: Mapping[str, list[Node]], outputs: set[str]) -> Encoding | None:
    """How ``value`` is quantized wherever it is read, directly or through views; ``None`` where it is not always."""
    found: list[Encoding] = []
    pending = [value.name]
    while pending:
        name = pending.pop()
        if name in outputs or not uses.get(name):
            return None
        for node in uses[name]:
            if node.op == "quantize":
                found.append(node.attrs)
            elif _is_view(node):
                pending.append(node.output.name)
            else:
                return None
    return found[0] if all(_same(each, found[0]) for each in found) and _per_tensor(found[0]) else None


def _made_of(value: Value, producers: Mapping[str, Node]) -> Encoding | None:
    """How the integers are stored that an output is made of, directly or through views."""
    node = producers.get(value.name)
    while node is not None and _is_view(node):
        node = producers.get(node.operands[0].name)
    if node is None or node.op != "dequantize" or not _per_tensor(node.attrs):
        return None
    return {**node.attrs, "to": node.operands[0].dtype}


def _is_view(node: Node) -> bool:
    return OPS[node.op].kind is Kind.VIEW and len(node.operands) == 1 and len(node.outputs) == 1


def _per_tensor(encoding: Encoding) -> bool:
    scale = encoding["scale"]
    return isinstance(scale, tuple) and len(scale) == 1


def _same(one: Encoding, other: Encoding) -> bool:
    return all(one[name] == other[name] for name in ("scale", "zero_point", "to"))


def _stored(value: Value, encoding: Encoding) -> TensorType:
    return TensorType(element_type(encoding, "to"), value.shape, quant_params(value.type, encoding))


class _Rewriter:
    def __init__(self, graph: Graph, inputs: Mapping[str, Encoding], outputs: Mapping[str, Encoding]) -> None:
        self.graph, self.inputs, self.outputs = graph, inputs, outputs
        self.names = NameSupply.of(graph)
        self.read: dict[str, Value] = {}

    def run(self) -> Graph:
        before = [self._dequantize(value) for value in self.graph.inputs if value.name in self.inputs]
        inputs = [self._stored_input(value) for value in self.graph.inputs]
        floats = {value.name: replace(value, name=self.names.fresh(f"{value.name}.float"))
                  for value in self.graph.outputs if value.name in self.outputs}  # fmt: skip
        self.read |= floats
        nodes = [self._renamed(node, floats) for node in self.graph.nodes]
        after = [self._quantize(value, floats[value.name]) for value in self.graph.outputs if value.name in floats]
        outputs = [next((n.output for n in after if n.output.name == v.name), v) for v in self.graph.outputs]
        return self.graph.with_nodes((*before, *nodes, *after), inputs=tuple(inputs), outputs=tuple(outputs))

    def _stored_input(self, value: Value) -> Value:
        return replace(value, type=_stored(value, self.inputs[value.name])) if value.name in self.inputs else value

    def _dequantize(self, value: Value) -> Node:
        stored = self._stored_input(value)
        attrs = {name: self.inputs[value.name][name] for name in _PARAMETERS}
        (type_,) = infer_types("dequantize", [stored], attrs, value.name)
        self.read[value.name] = Value(self.names.fresh(f"{value.name}.dq"), type_)
        return Node("dequantize", (stored,), (self.read[value.name],), attrs, value.name)

    def _quantize(self, value: Value, real: Value) -> Node:
        encoding = self.outputs[value.name]
        attrs = {name: encoding[name] for name in (*_PARAMETERS, "to")}
        return Node("quantize", (real,), (replace(value, type=_stored(value, encoding)),), attrs, value.name)

    def _renamed(self, node: Node, floats: Mapping[str, Value]) -> Node:
        operands = tuple(None if value is None else self.read.get(value.name, value) for value in node.inputs)
        return replace(node, inputs=operands, outputs=tuple(floats.get(value.name, value) for value in node.outputs))
