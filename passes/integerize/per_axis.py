"""What is left of ``quantize`` and ``dequantize`` along an axis: plain arithmetic with the parameters as operands."""

from __future__ import annotations

import numpy as np

from ...ir.graph import Node, Value
from ...ir.types import DType
from ...ops.attributes import element_type, integer
from ..rewrite import Rewriter


def spell_out(rewriter: Rewriter, node: Node) -> Value | None:
    """The same bits (but that of NaN, quantize makes 0)."""
    scale = node.attrs.get("scale") if node.op in ("quantize", "dequantize") else None
    if not isinstance(scale, tuple) or len(scale) == 1 or rewriter.is_constant(node.operands[0]):
        return None
    return _quantize(rewriter, node) if node.op == "quantize" else _dequantize(rewriter, node)


def _dequantize(rewriter: Rewriter, node: Node) -> Value:
    """(float32(x) - zero_point) * scale"""
    real = rewriter.emit1("cast", node.operands[0], loc=node.loc, to=DType.F32)
    centred = rewriter.emit1("sub", real, _parameter(rewriter, node, "zero_point"), loc=node.loc)
    scale = _parameter(rewriter, node, "scale")
    return rewriter.emit1("mul", centred, scale, loc=node.loc, name=node.output.name)


def _quantize(rewriter: Rewriter, node: Node) -> Value:
    """round(x / scale) + zero_point, saturated; what is rounded and saturated first has an exact sum."""
    to = element_type(node.attrs, "to")
    limits, zero_point = np.iinfo(to.numpy), np.asarray(node.attrs["zero_point"])
    quotient = rewriter.emit1("div", node.operands[0], _parameter(rewriter, node, "scale"), loc=node.loc)
    steps = rewriter.emit1("round", quotient, loc=node.loc)
    low = rewriter.constant(_shaped(node, limits.min - zero_point), f"{node.output.name}.low")
    high = rewriter.constant(_shaped(node, limits.max - zero_point), f"{node.output.name}.high")
    bounded = rewriter.emit1("min", rewriter.emit1("max", steps, low, loc=node.loc), high, loc=node.loc)
    shifted = rewriter.emit1("add", bounded, _parameter(rewriter, node, "zero_point"), loc=node.loc)
    return rewriter.emit1("cast", shifted, loc=node.loc, name=node.output.name, to=to)


def _parameter(rewriter: Rewriter, node: Node, name: str) -> Value:
    return rewriter.constant(_shaped(node, np.asarray(node.attrs[name])), f"{node.output.name}.{name}")


def _shaped(node: Node, parameters: np.ndarray) -> np.ndarray:
    """float32, along the axis."""
    axis, rank = integer(node.attrs, "axis"), len(node.output.shape)
    return parameters.astype(np.float32).reshape(tuple(-1 if d == axis else 1 for d in range(rank)))
