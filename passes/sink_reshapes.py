"""Moves reshapes behind pointwise operators, so that these meet the anchor whose result was reshaped.

``relu(reshape(conv(x)))`` becomes ``reshape(relu(conv(x)))``, and conv and relu become one kernel. A reshape moves no
element, so every element meets the same operands as before.
"""

from __future__ import annotations

from ..ir.graph import Graph, Node, Value
from ..ops.attributes import integer
from ..ops.opdef import Kind
from ..ops.table import OPS
from .rewrite import Rewriter, rewrite, until_stable
from .views import Shape, reshape, without_units

ALONG_AXIS = ("softmax", "int_softmax")
"""Operators whose results depend on the elements along the axis alone."""


def sink_reshapes(graph: Graph) -> Graph:
    """Sinks reshapes through pointwise operators whose other operands are numbers, constants or reshaped alike, and
    through softmax where they leave the dimensions from its axis on as they are."""
    return until_stable(graph, lambda g: rewrite(g, _sink))


def _sink(rewriter: Rewriter, node: Node) -> Value | None:
    if node.op in ALONG_AXIS:
        return _sink_behind_axis(rewriter, node)
    if OPS[node.op].kind is not Kind.POINTWISE or _per_axis(node):
        return None
    tables = OPS[node.op].tables
    bases = [
        value if position in tables else _base(rewriter, value, node.output.shape)
        for position, value in enumerate(node.operands)
    ]
    shapes = {base.shape for position, base in enumerate(bases) if base is not None and position not in tables}
    if len(shapes) != 1:
        return None
    (shape,) = shapes
    target = node.output.shape
    operands = [
        _before(rewriter, value, shape, target) if base is None else base for value, base in zip(node.operands, bases)
    ]
    if any(operand is None for operand in operands):
        return None
    return reshape(rewriter, rewriter.like(node, *operands), target, loc=node.loc, name=node.output.name)


def _sink_behind_axis(rewriter: Rewriter, node: Node) -> Value | None:
    x, *others = node.operands
    base, axis = _base(rewriter, x, node.output.shape), integer(node.attrs, "axis")
    if base is None:
        return None
    behind = len(x.shape) - axis
    if len(base.shape) < behind or base.shape[-behind:] != x.shape[-behind:]:
        return None
    result = rewriter.like(node, base, *others, axis=len(base.shape) - behind)
    return reshape(rewriter, result, node.output.shape, loc=node.loc, name=node.output.name)


def _per_axis(node: Node) -> bool:
    scale = node.attrs.get("scale")
    return isinstance(scale, tuple) and len(scale) > 1


def _base(rewriter: Rewriter, value: Value, target: Shape) -> Value | None:
    """What ``value`` is a reshape of, if it is one and does not broadcast."""
    producer = rewriter.producer(value)
    return producer.operands[0] if producer is not None and producer.op == "reshape" and value.shape == target else None


def _before(rewriter: Rewriter, value: Value, shape: Shape, target: Shape) -> Value | None:
    """A constant as it broadcasts to ``shape`` what it broadcast to ``target``; ``None`` if it cannot."""
    array = rewriter.array(value)
    if array is None:
        return None
    if value.type.size == 1:
        return reshape(rewriter, value, ())
    if without_units(shape) != without_units(target):
        return None
    aligned = (1,) * (len(target) - array.ndim) + array.shape
    real = iter([extent for extent, full in zip(aligned, target) if full != 1])
    return reshape(rewriter, value, tuple(1 if full == 1 else next(real) for full in shape))
