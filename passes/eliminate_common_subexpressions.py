"""Computes once what is computed twice."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ..ir.graph import Graph, Node, Value
from ..ops.control import BODIES
from .rewrite import Rewriter, rewrite


def eliminate_common_subexpressions(graph: Graph) -> Graph:
    """Nodes with the same operator, operands and attributes become one; so do constants with the same content.

    Every operator is a function of its operands, so equal nodes have equal results, bit for bit. Attributes and
    constants are compared as they are written: 0.0 and -0.0 differ, a NaN equals itself. Control flow is left alone.
    """
    constants: dict[Hashable, list[Value]] = {}
    known: dict[Hashable, tuple[Value, ...]] = {}

    def merge(rewriter: Rewriter, node: Node) -> tuple[Value, ...] | None:
        if node.op in BODIES:
            return None
        inputs = tuple(_same(rewriter, value, constants) for value in node.inputs)
        key = (node.op, inputs, tuple(sorted((name, repr(value)) for name, value in node.attrs.items())))
        if key in known:
            return known[key]
        known[key] = node.outputs
        if inputs == node.inputs:
            return None
        rewriter.keep(Node(node.op, inputs, node.outputs, node.attrs, node.loc))
        return node.outputs

    return rewrite(graph, merge)


def _same(rewriter: Rewriter, value: Value | None, constants: dict[Hashable, list[Value]]) -> Value | None:
    """The first constant with the content and the type of ``value``, or ``value`` itself where it is no constant."""
    array = rewriter.array(value)
    if value is None or array is None:
        return value
    content = array.reshape(-1)
    alike = constants.setdefault((value.type, content[:16].tobytes()), [])
    for other in alike:
        stored = rewriter.constants[other.name]
        if stored is array or np.array_equal(content.view(np.uint8), stored.reshape(-1).view(np.uint8)):
            return other
    alike.append(value)
    return value
