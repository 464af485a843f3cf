"""Unsigned halfwords between ``quantize`` and ``dequantize`` become signed ones, 32768 less.

    %q : u16 = quantize(%x) {zero_point=z}        ->    %q : i16 = quantize(%x) {zero_point=z-32768}
    %y : f32 = dequantize(%q) {zero_point=z}            %y : f32 = dequantize(%q) {zero_point=z-32768}

Both types have as many steps below and above, so that every real number stays what it was, saturation included. Kernels
are for signed halfwords. What else reads or makes unsigned ones, and inputs and outputs, keep them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..ir.graph import Graph, Node, Value
from ..ir.types import DType, QuantParams
from ..ops.attributes import ints

OFFSET = 1 << 15


def signed_halfwords(graph: Graph) -> Graph:
    """``graph`` with signed halfwords where unsigned ones are but stored and read again."""
    moved = _moved(graph)
    if not moved:
        return graph
    nodes = [_lowered(node, moved) for node in graph.nodes]
    constants = {name: _signed(array) if name in moved else array for name, array in graph.constants.items()}
    return graph.with_nodes(nodes, constants=constants)


def _moved(graph: Graph) -> dict[str, Value]:
    """The values that become signed, by their names."""
    uses, producers = graph.uses(), graph.producers()
    outputs = {value.name for value in graph.outputs}
    found: dict[str, Value] = {}
    for node in graph.nodes:
        value = node.operands[0] if node.op == "dequantize" else None
        if value is None or value.dtype is not DType.U16 or value.name in outputs:
            continue
        maker = producers.get(value.name)
        known = value.name in graph.constants or (maker is not None and maker.op == "quantize")
        if known and all(user.op == "dequantize" for user in uses[value.name]):
            quant = value.type.quant
            if quant is not None:
                quant = QuantParams(quant.scale, tuple(z - OFFSET for z in quant.zero_point), quant.axis)
            found[value.name] = Value(value.name, replace(value.type, dtype=DType.I16, quant=quant))
    return found


def _lowered(node: Node, moved: dict[str, Value]) -> Node:
    if node.op == "dequantize" and node.operands[0].name in moved:
        return replace(node, inputs=(moved[node.operands[0].name],), attrs={**node.attrs, "zero_point": _points(node)})
    if node.op == "quantize" and node.output.name in moved:
        attrs = {**node.attrs, "zero_point": _points(node), "to": DType.I16}
        return replace(node, outputs=(moved[node.output.name],), attrs=attrs)
    return node


def _points(node: Node) -> tuple[int, ...]:
    return tuple(point - OFFSET for point in ints(node.attrs, "zero_point"))


def _signed(array: np.ndarray) -> np.ndarray:
    signed = np.array(array.astype(np.int32) - OFFSET, np.int16)
    signed.flags.writeable = False
    return signed
