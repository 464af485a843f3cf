"""Requantization of sums of few bytes (pools, means, interpolation, products) in 32-bit integers.

A float unit of a microcontroller takes a conversion, a product, an addition and two moves between registers for what is
a multiply-add and a shift here. Contractions keep their ``requantize``, which their generators know.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..ir.graph import Graph, Node, Value
from ..ir.types import DType, TensorType
from ..ops.attributes import integer
from ..ops.opdef import Kind
from ..ops.short_scaling import ShortScaling, short_scaling
from ..ops.table import OPS

MOST_SCALES = 16
"""That differ in a tensor, as those of means at borders do."""
_SUMS = frozenset({"pool", "reduce", "interpolate"})
"""Anchors whose results are short enough."""


def requantize_short(graph: Graph) -> Graph:
    """``graph`` with ``requantize`` in fused nodes as ``rescale_sum``, where that is proven to give the same bytes."""
    constants = dict(graph.constants)
    nodes = [_rewritten(node, constants) for node in graph.nodes]
    return replace(graph, nodes=tuple(nodes), constants=constants)


def _rewritten(node: Node, constants: dict[str, np.ndarray]) -> Node:
    body = node.attrs.get("body")
    if not isinstance(body, Graph) or not _is_short(body):
        return node
    inside = dict(body.constants)
    added: list[Value] = []
    nodes: list[Node] = []
    for inner in body.nodes:
        found = _scaling(inner, {**constants, **inside}) if inner.op == "requantize" else None
        if found is None:
            nodes.append(inner)
            continue
        operands = []
        for stem, array in (("factor", found.factors), ("bias", found.biases)):
            value = Value(f"{inner.output.name}_{stem}", TensorType(DType.I32, array.shape))
            (inside if array.size == 1 else constants)[value.name] = array
            added.extend(() if array.size == 1 else (value,))
            operands.append(value)
        attrs = {name: value for name, value in inner.attrs.items() if name not in ("acc_lo", "acc_hi")}
        attrs["shift"] = found.shift
        nodes.append(replace(inner, op="rescale_sum", inputs=(inner.inputs[0], *operands), attrs=attrs))
    read = {value.name for inner in nodes for value in inner.operands}
    inputs = (*(value for value in node.operands if value.name in read), *added)
    inside = {name: array for name, array in inside.items() if name in read}
    rewritten = replace(body, inputs=inputs, nodes=tuple(nodes), constants=inside)
    return replace(node, inputs=inputs, attrs={**node.attrs, "body": rewritten})


def _is_short(body: Graph) -> bool:
    anchors = {node.op for node in body.nodes if OPS[node.op].kind is Kind.ANCHOR}
    return anchors <= _SUMS and any(node.op == "requantize" for node in body.nodes)


def _scaling(node: Node, constants: dict[str, np.ndarray]) -> ShortScaling | None:
    """In the shape of the scales."""
    scales = constants.get(node.operands[1].name)
    if scales is None or "acc_lo" not in node.attrs or scales.size == 0:
        return None
    different, places = np.unique(scales, return_inverse=True)
    if different.size > MOST_SCALES:
        return None
    numbers = (integer(node.attrs, name) for name in ("acc_lo", "acc_hi", "zero_point", "lo", "hi"))
    found = short_scaling(different, *numbers)
    if found is None:
        return None
    factors, biases = (_placed(array, places, scales.shape) for array in (found.factors, found.biases))
    return ShortScaling(factors, biases, found.shift)


def _placed(array: np.ndarray, places: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    result: np.ndarray = np.reshape(array[places.reshape(-1)], shape)
    result.flags.writeable = False
    return result
