"""What a kernel depends on, so that equal nodes of a graph are scheduled once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..ir.graph import Node, Value
from ..ops.fused import body_of
from ..schedule.tensors import Halo

NodeKey = tuple[object, ...]


def constants_key(node: Node, constants: Mapping[str, np.ndarray]) -> NodeKey:
    """Equal for nodes with the same constants of the graph, which count by identity."""
    return tuple(id(constants.get(value.name)) for value in node.operands)


def structure_key(node: Node, halos: Sequence[Halo], constants: Mapping[str, np.ndarray]) -> NodeKey:
    """Equal for fused nodes with the same body on operands of the same types and ``halos``, of which the same are
    constants of the graph, whatever these are.

    ``halos`` are those of operands and outputs. Values count by the order in which they occur, constants of the body
    by their bytes; attributes by their text, which tells 0.0 from -0.0.
    """
    body = body_of(node.attrs)
    numbers: dict[str, int] = {}

    def number(value: Value | None) -> int:
        return -1 if value is None else numbers.setdefault(value.name, len(numbers))

    outside = tuple((number(v), v.type, v.name in constants) for v in (*node.operands, *node.outputs))
    nodes = tuple(
        (
            inner.op,
            tuple(map(number, inner.inputs)),
            tuple((number(value), value.type) for value in inner.outputs),
            repr(sorted(inner.attrs.items())),
        )
        for inner in body.nodes
    )
    inside = tuple((number(v), v.type) for v in (*body.inputs, *body.outputs))
    own = tuple(sorted((numbers[n], a.dtype.str, a.shape, a.tobytes()) for n, a in body.constants.items()))
    return (outside, tuple(halos), nodes, inside, own)
