"""Computes at compile time what depends on constants only."""

from __future__ import annotations

import numpy as np

from ..ir.graph import Graph, Node, Value
from ..ops.custom import CUSTOM
from ..ops.evaluate import evaluation_work
from ..ops.table import OPS
from .rewrite import Rewriter, rewrite

_DEQUANTIZE = ("dequantize", "dequantize_blocks")
SIZE_LIMIT = 64 << 20
"""Bytes of the largest constant that is made."""


MAX_CONSTANT_BYTES = 128 << 20
"""All constants may take so many bytes, and besides ``CONSTANTS_PER_STORED`` times those that are stored in the model:
themselves, and what is computed from them. What has no room stays in the graph."""

CONSTANTS_PER_STORED = 5

WORK_LIMIT = 1 << 30
"""Multiplications that one constant may take, and elements that it may be computed from."""


def fold_constants(graph: Graph, *, dequantize: bool = True) -> Graph:
    """Replaces nodes whose operands are all constants by their value, ``OPS[op].evaluate``.

    A constant that is merely repeated (``expand``) is not stored expanded; its users still fold. Without
    ``dequantize`` the integers behind a ``dequantize`` node stay visible, as quantization needs them. A reshape that
    gives a constant out as a graph output stays, and so do custom operators and what there is no room for.
    """
    repeated: dict[str, np.ndarray] = {}
    room = MAX_CONSTANT_BYTES + CONSTANTS_PER_STORED * sum(array.nbytes for array in graph.constants.values())

    def fold(rewriter: Rewriter, node: Node) -> list[Value] | None:
        kept = (node.op in _DEQUANTIZE and not dequantize) or node.op == CUSTOM
        if kept or (node.op == "reshape" and node.output in graph.outputs):
            return None
        arrays = [None if value is None else _known(rewriter, value, repeated) for value in node.inputs]
        known = all(value is None or array is not None for value, array in zip(node.inputs, arrays))
        if not known or any(value.type.nbytes > SIZE_LIMIT for value in node.outputs):
            return None
        if evaluation_work(node.op, node.inputs, [value.type for value in node.outputs], node.attrs) > WORK_LIMIT:
            return None
        if node.op == "expand" and arrays[0] is not None and arrays[0].size < node.output.type.size:
            repeated[node.output.name] = np.broadcast_to(arrays[0], node.output.shape)
            return None
        nonlocal room
        size = sum(value.type.nbytes for value in node.outputs)
        if size > room:
            return None
        room -= size
        with np.errstate(all="ignore"):
            results = OPS[node.op].evaluate(arrays, node.attrs)
        return [rewriter.constant(array, value.name, value.type) for value, array in zip(node.outputs, results)]

    return rewrite(graph, fold)


def _known(rewriter: Rewriter, value: Value, repeated: dict[str, np.ndarray]) -> np.ndarray | None:
    array = rewriter.array(value)
    return repeated.get(value.name) if array is None else array
