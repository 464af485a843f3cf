"""Scores that a mask hides from a softmax: found in what the float model computes, wherever the mask comes from.

A softmax gives ``exp(x - max)``: a score far below the largest of its row gives nothing, whether it is -40, -10000 or
-infinity. A range that held such a number would leave no steps for the scores that count. So what has such numbers, and
the softmax that reads them, stay in float: scores come from their matrix product as floats, without being rounded.
What is infinite anywhere else has no range at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from ..ir.graph import Graph, Node, Value
from ..ops.attributes import integer
from ..ops.opdef import Kind
from ..ops.table import OPS
from ..verification.runner import Arrays
from .partition import key
from .roles import Role, is_real, role_of

_SOFTMAX = frozenset({"softmax", "log_softmax"})

HIDDEN = 40.0
"""How far a score is below the largest of its row if a mask put it there: exp(-40) is 4e-18. Scores that differ as much
by themselves have no use for steps of a byte either."""


def softmaxes(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes if node.op in _SOFTMAX]


def float_nodes(graph: Graph, runs: Iterable[Arrays]) -> frozenset[str]:
    """The nodes (``key``) that are to stay in float, by the values of the float model on some samples, in batches
    ``[samples, ...]``: each softmax with hidden scores, and the pointwise operators and views before it whose results
    hold such numbers."""
    waiting = {key(node): node for node in softmaxes(graph)}
    masked: dict[str, Node] = {}
    hiding: set[str] = set()
    names = [value.name for value in graph.values() if is_real(value)]
    for values in runs:
        known = {**graph.constants, **values}
        masked.update({name: node for name, node in waiting.items() if _hides_scores(node, known)})
        if waiting:
            hiding.update(name for name in names if name in known and _spans(known[name]))
    found: set[str] = set()
    for node in masked.values():
        found.add(key(node))
        found.update(_above(graph, node.operands[0], hiding, graph.producers()))
    return frozenset(found)


def infinite_nodes(graph: Graph, names: Collection[str]) -> frozenset[str]:
    """The nodes (``key``) that make or read the values ``names``, which hold infinities for some samples, such as the
    scores that a choice leaves out. Layers are not among them: nothing good comes of their sums."""
    return frozenset(
        key(node) for node in graph.nodes
        if role_of(graph, node) is not Role.CORE and any(v.name in names for v in (*node.operands, *node.outputs))
    )  # fmt: skip


def _hides_scores(node: Node, known: Mapping[str, np.ndarray]) -> bool:
    scores = known[node.operands[0].name]
    with np.errstate(invalid="ignore", over="ignore"):
        largest = scores.max(axis=integer(node.attrs, "axis") + 1, keepdims=True)
        return bool((scores < largest - HIDDEN).any())


def _spans(array: np.ndarray) -> bool:
    return bool(array.size and (array.max() > HIDDEN or array.min() < -HIDDEN))


def _above(graph: Graph, value: Value, hiding: set[str], producers: Mapping[str, Node]) -> set[str]:
    """From a masked value upwards, as long as results hold numbers that could hide others."""
    found: set[str] = set()
    waiting = [value]
    while waiting:
        current = waiting.pop()
        node = producers.get(current.name)
        if node is None or key(node) in found or current.name not in hiding:
            continue
        if OPS[node.op].kind in (Kind.POINTWISE, Kind.VIEW):
            found.add(key(node))
            waiting += [operand for operand in node.operands if is_real(operand)]
    return found
