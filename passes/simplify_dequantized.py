"""Constants that are put together of parts with other integers, as weights of 4 bits with rows of 8 bits among them."""

from __future__ import annotations

import numpy as np

from ..ir.graph import AttrValue, Node, Value
from ..ir.types import DType
from ..ops.attributes import floats, integer, ints
from ..record import record
from .rewrite import Rewriter, Rule

_BYTES = (DType.I8, DType.I4)


@record
class _Rows:
    """A constant behind ``dequantize``, with a scale and a zero point for each row along ``axis``."""

    stored: np.ndarray
    scale: np.ndarray
    zero_point: np.ndarray

    @staticmethod
    def of(rewriter: Rewriter, value: Value, axis: int) -> _Rows | None:
        node = rewriter.producer(value)
        array = None if node is None or node.op != "dequantize" else rewriter.array(node.inputs[0])
        if node is None or array is None or node.operands[0].dtype not in _BYTES:
            return None
        scale, zero_point = np.array(floats(node.attrs, "scale")), np.array(ints(node.attrs, "zero_point"))
        if len(scale) > 1 and integer(node.attrs, "axis") != axis:
            return None
        count = array.shape[axis]
        return _Rows(array.astype(np.int8), np.resize(scale, count), np.resize(zero_point, count))

    def emit(self, rewriter: Rewriter, node: Node, axis: int) -> Value:
        attrs: dict[str, AttrValue] = {
            "scale": tuple(self.scale.tolist()), "zero_point": tuple(self.zero_point.tolist()), "axis": axis,
        }  # fmt: skip
        stored = rewriter.constant(self.stored, f"{node.output.name}.q")
        return rewriter.emit("dequantize", [stored], attrs, loc=node.loc, names=[node.output.name])[0]


def joined_rows(rewriter: Rewriter, node: Node) -> Value | None:
    """concat(dequantize(a), dequantize(b)) is dequantize(concat(a, b)), of constants along the axis of their scales."""
    if node.op != "concat" or not node.operands:
        return None
    axis = integer(node.attrs, "axis")
    parts = [_Rows.of(rewriter, value, axis) for value in node.operands]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    joined = _Rows(
        np.concatenate([part.stored for part in known], axis=axis),
        np.concatenate([part.scale for part in known]),
        np.concatenate([part.zero_point for part in known]),
    )
    return joined.emit(rewriter, node, axis)


def gathered_rows(rewriter: Rewriter, node: Node) -> Value | None:
    """gather(dequantize(a), places) is dequantize(gather(a, places)): of constants, along the axis of the scales."""
    places = rewriter.array(node.operands[1]) if node.op == "gather" else None
    if places is None or places.ndim != 1 or not places.size:
        return None
    axis = integer(node.attrs, "axis")
    rows = _Rows.of(rewriter, node.operands[0], axis)
    if rows is None or places.min() < 0 or places.max() >= len(rows.scale):
        return None
    taken = _Rows(np.take(rows.stored, places, axis=axis), rows.scale[places], rows.zero_point[places])
    return taken.emit(rewriter, node, axis)


DEQUANTIZED_RULES: tuple[Rule, ...] = (joined_rows, gathered_rows)
