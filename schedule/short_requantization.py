"""Requantization of sums of few bytes (pools, means, interpolation, products) in 32-bit integers.

A float unit of a microcontroller takes a conversion, a product, an addition and two moves between registers for what is
a multiply-add and a shift here. Contractions keep their ``requantize``, which their generators know. Products of two
bytes, for most scales of which 32 bits are too few, become a ``rescale_product`` by upper words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..ir.graph import Graph, Node, Value
from ..ir.types import DType, TensorType
from ..ops.attributes import integer
from ..ops.opdef import Kind
from ..ops.short_scaling import ShortScaling, short_scaling, upper_factor
from ..ops.table import OPS

MOST_SCALES = 16
"""That differ in a tensor, as those of means at borders do."""
_SUMS = frozenset({"pool", "reduce", "interpolate"})
"""Anchors whose results are short enough."""
_Byte = tuple[Value, int]
"""A tensor x of bytes and a number z, of which x - z is made in 32 bits."""


def requantize_short(graph: Graph) -> Graph:
    """``graph`` with ``requantize`` in fused nodes as ``rescale_sum``, where that is proven to give the same bytes."""
    constants, widened = dict(graph.constants), _widened(graph)
    nodes = [_rewritten(node, constants, widened) for node in graph.nodes]
    read = {value.name for node in nodes for value in node.operands} | {value.name for value in graph.outputs}
    kept = [node for node in nodes if not (_widens(node) and read.isdisjoint(value.name for value in node.outputs))]
    return replace(graph, nodes=tuple(kept), constants=constants)


def _widened(graph: Graph) -> dict[str, _Byte]:
    """What is made by nodes that do no more than to widen bytes and to take their zero points off: a tensor that is
    broadcast in a product has a node of its own."""
    found: dict[str, _Byte] = {}
    for node in graph.nodes:
        body = node.attrs["body"] if _widens(node) else None
        if isinstance(body, Graph):
            makers = {value.name: inner for inner in body.nodes for value in inner.outputs}
            centred = ((value.name, _centred_byte(value, makers, body.constants)) for value in body.outputs)
            found |= {name: each for name, each in centred if each is not None}
    return found


def _widens(node: Node) -> bool:
    body = node.attrs.get("body")
    return isinstance(body, Graph) and {inner.op for inner in body.nodes} == {"cast", "sub"}


def _rewritten(node: Node, constants: dict[str, np.ndarray], widened: Mapping[str, _Byte]) -> Node:
    body = node.attrs.get("body")
    if not isinstance(body, Graph) or not any(inner.op == "requantize" for inner in body.nodes):
        return node
    is_short = {inner.op for inner in body.nodes if OPS[inner.op].kind is Kind.ANCHOR} <= _SUMS
    inside = dict(body.constants)
    nodes: list[Node] = []
    makers = {value.name: inner for inner in body.nodes for value in inner.outputs}
    for inner in body.nodes:
        product = found = None
        if inner.op == "requantize":
            product = _product_of_bytes(inner, makers, inside, widened)
            found = _scaling(inner, {**constants, **inside}) if is_short and product is None else None
        nodes.append(product or inner if found is None else _rescaled_sum(inner, found, constants, inside))
    nodes = _live(nodes, body)
    known = {value.name for inner in nodes for value in inner.outputs} | set(inside)
    read = {value.name: value for inner in nodes for value in inner.operands}
    before = {value.name for value in node.operands}
    inputs = [value for value in node.operands if value.name in read]
    inputs += [value for name, value in read.items() if name not in known | before]
    inside = {name: array for name, array in inside.items() if name in read}
    rewritten = replace(body, inputs=tuple(inputs), nodes=tuple(nodes), constants=inside)
    return replace(node, inputs=tuple(inputs), attrs={**node.attrs, "body": rewritten})


def _rescaled_sum(
    node: Node, found: ShortScaling, constants: dict[str, np.ndarray], inside: dict[str, np.ndarray]
) -> Node:
    """A ``requantize`` as ``rescale_sum``, whose numbers become constants: single ones those of the body."""
    operands = []
    for stem, array in (("factor", found.factors), ("bias", found.biases)):
        value = Value(f"{node.output.name}_{stem}", TensorType(DType.I32, array.shape))
        (inside if array.size == 1 else constants)[value.name] = array
        operands.append(value)
    attrs = {name: value for name, value in node.attrs.items() if name not in ("acc_lo", "acc_hi")}
    attrs["shift"] = found.shift
    return replace(node, op="rescale_sum", inputs=(node.inputs[0], *operands), attrs=attrs)


def _product_of_bytes(
    node: Node, makers: Mapping[str, Node], constants: Mapping[str, np.ndarray], widened: Mapping[str, _Byte]
) -> Node | None:
    """A ``requantize`` of (x1 - z1) * (x2 - z2) as one node."""
    product, scale = makers.get(node.operands[0].name), constants.get(node.operands[1].name)
    if product is None or product.op != "mul" or scale is None or scale.size != 1 or "acc_lo" not in node.attrs:
        return None
    sides = [widened.get(value.name) or _centred_byte(value, makers, constants) for value in product.operands]
    numbers = [integer(node.attrs, name) for name in ("acc_lo", "acc_hi", "zero_point", "lo", "hi")]
    m = None if None in sides else upper_factor(np.float32(scale.reshape(-1)[0]), *numbers)
    if m is None:
        return None
    (x1, z1), (x2, z2) = (side for side in sides if side is not None)
    attrs = {name: value for name, value in node.attrs.items() if name in OPS["rescale_product"].attrs}
    scaling = {"m": m, "bias": 2 * numbers[2] + 1, "shift": 1, "upper": True}
    return replace(node, op="rescale_product", inputs=(x1, x2), attrs={**attrs, "z1": z1, "z2": z2, **scaling})


def _centred_byte(
    value: Value, makers: Mapping[str, Node], constants: Mapping[str, np.ndarray]
) -> _Byte | None:
    """``None`` where the value is no byte in 32 bits."""
    node = makers.get(value.name)
    zero = 0
    if node is not None and node.op == "sub":
        point = constants.get(node.operands[1].name)
        if point is None or point.size != 1:
            return None
        zero, node = int(point.reshape(-1)[0]), makers.get(node.operands[0].name)
    is_byte = node is not None and node.op == "cast" and node.operands[0].dtype in (DType.I8, DType.U8)
    return (node.operands[0], zero) if node is not None and is_byte else None


def _live(nodes: Sequence[Node], body: Graph) -> list[Node]:
    """Those of which something is read."""
    read, kept = {value.name for value in body.outputs}, []
    for node in reversed(nodes):
        if any(value.name in read for value in node.outputs):
            kept.append(node)
            read |= {value.name for value in node.operands}
    return kept[::-1]


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
