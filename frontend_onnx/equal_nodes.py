"""Nodes that compute the same as others: results as long as a run finds have the same extent then, and can be combined.

A mask that selects from several tensors is exported once for each of them, with what it is computed of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..ir.graph import AttrValue, Node, Value
from ..ops.control import bodies_of
from ..ops.custom import CUSTOM

MAX_NODES = 100
"""Nodes of a mask that are compared."""


def equal_node(
    nodes: Iterable[Node],
    op: str,
    operands: Sequence[Value | None],
    attrs: Mapping[str, AttrValue],
    constants: Mapping[str, np.ndarray],
    producers: Mapping[str, Node],
) -> Node | None:
    """The one of ``nodes`` that gives the results of ``op``, by what its operands are computed of."""
    for node in nodes:
        if node.op == op and dict(node.attrs) == dict(attrs) and _same(node.inputs, operands, constants, producers):
            return node
    return None


def _same(
    mine: Sequence[Value | None],
    others: Sequence[Value | None],
    constants: Mapping[str, np.ndarray],
    producers: Mapping[str, Node],
) -> bool:
    pairs, compared = [(mine, others)], 0
    while pairs:
        first, second = pairs.pop()
        if len(first) != len(second):
            return False
        for a, b in zip(first, second):
            if a is None or b is None or a.type != b.type:
                if a is not b:
                    return False
            elif a.name != b.name and not _is_equal_constant(constants.get(a.name), constants.get(b.name)):
                one, other = producers.get(a.name), producers.get(b.name)
                compared += 1
                if one is None or other is None or compared > MAX_NODES or not _is_same_result(one, a, other, b):
                    return False
                pairs.append((one.inputs, other.inputs))
    return True


def _is_equal_constant(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return one is not None and other is not None and np.array_equal(one, other)


def _is_same_result(one: Node, a: Value, other: Node, b: Value) -> bool:
    """Whether both values are the same result of an operator that depends on nothing but its operands."""
    places = [[value.name for value in node.outputs].index(x.name) for node, x in ((one, a), (other, b))]
    alike = one.op == other.op and places[0] == places[1] and dict(one.attrs) == dict(other.attrs)
    return alike and one.op != CUSTOM and not bodies_of(one)
