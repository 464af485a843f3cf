"""Which operators of a quantized model stay in float, and why."""

from __future__ import annotations

from collections.abc import Mapping

from ...ir.graph import Graph, Node
from ...ops.opdef import Kind
from ...ops.recurrent import RECURRENCES
from ...ops.table import OPS
from ...record import record

_BOUNDARY = ("quantize", "dequantize", "cast")
_OTHERWISE = "what it belongs to has no integer form"
_REASONS = {
    "weight_matmul": "its operand is not quantized; its weights are stored as integers",
    "log_softmax": "its logarithms are computed in float",
    "softmax": "its result is not quantized",
    **dict.fromkeys(("normalize", "rms_normalize"), "its result is not quantized"),
    **dict.fromkeys(RECURRENCES, "its gates are computed in float"),
}


@record
class Kept:
    """An operator that is computed in float: its kind, the ONNX nodes it comes from, and the reason."""

    op: str
    loc: str
    reason: str


Place = tuple[str, str]
"""Where a node comes from, and what it does: the pass may put others in its place."""


def place_of(node: Node) -> Place:
    return node.loc or node.outputs[0].name, node.op


def kept_in_float(graph: Graph, reasons: Mapping[Place, str]) -> tuple[Kept, ...]:
    """The float operators of an integerized graph, in order, the first of each ONNX node.

    Left out are the borders between integers and floats (``quantize`` and ``dequantize``, an accumulator times its
    scale), views, and what depends on constants only.
    """
    producers, fixed = graph.producers(), set(graph.constants)
    kept: dict[str, Kept] = {}
    for node in graph.nodes:
        if all(value.name in fixed for value in node.operands):
            fixed.update(value.name for value in node.outputs)
        elif _is_float_work(node) and not _scales_accumulator(node, producers):
            place = place_of(node)
            reason = reasons.get(place) or _REASONS.get(node.op, _OTHERWISE)
            kept.setdefault(place[0], Kept(node.op, place[0], reason))
    return tuple(kept.values())


def _is_float_work(node: Node) -> bool:
    floats = any(value.dtype.is_float for value in (*node.operands[:1], *node.outputs))
    return floats and node.op not in _BOUNDARY and node.op != "lookup" and OPS[node.op].kind is not Kind.VIEW


def _scales_accumulator(node: Node, producers: Mapping[str, Node]) -> bool:
    source = producers.get(node.operands[0].name)
    if node.op != "mul" or source is None or source.op != "cast":
        return False
    return source.operands[0].dtype.is_integer
