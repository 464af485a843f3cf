"""Which concatenations rescale their operands.

Integers are joined as they are where all have one encoding: that costs nothing, but the encoding has to hold the widest
operand. Where others also read a much narrower operand, they would get it in steps made for another tensor. Such an
operand keeps an encoding of its own, and the concatenation brings it to that of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..ir.graph import Node
from .histogram import TensorStats
from .partition import Partition, key
from .roles import activations

_NARROW = 0.7
"""A part of the common range below which an operand is better off with its own."""


def rescaling_concats(
    partition: Callable[[frozenset[str]], Partition], stats: Mapping[str, TensorStats]
) -> frozenset[str]:
    """The concatenations (``key``) for which ``partition``, of those that rescale, is better. They are joined one by
    one, in order, as long as that gives no tensor with other readers steps that are too large."""
    joined = partition(frozenset())
    apart = {key(node) for node in joined.graph.nodes if node.op == "concat" and joined.is_integer(node)}
    for name in sorted(apart, key=[key(node) for node in joined.graph.nodes].index):
        together = partition(frozenset(apart - {name}))
        if not _loses(partition(frozenset(apart)), together, name, stats):
            apart.discard(name)
    return frozenset(apart)


def _loses(apart: Partition, together: Partition, name: str, stats: Mapping[str, TensorStats]) -> bool:
    if name not in together.stored:
        return False
    node = apart.graph.producers()[name]
    common = _span(together, together.stored[name], stats)
    groups = {apart.stored[value.name] for value in activations(apart.graph, node) if value.name in apart.stored}
    return any(_span(apart, head, stats) < _NARROW * common and _has_others(apart, head, node) for head in groups)


def _span(parts: Partition, head: str, stats: Mapping[str, TensorStats]) -> float:
    found = [stats[name] for name in parts.sources[head]]
    return max(each.high for each in found) - min(each.low for each in found)


def _has_others(parts: Partition, head: str, concat: Node) -> bool:
    """Whether another than ``concat`` computes with members of a group, rather than moving them."""
    members, uses = set(parts.members(head)), parts.graph.uses()
    readers = (user for name in members for user in uses.get(name, ()) if parts.is_integer(user))
    return any(user is not concat and key(user) not in members for user in readers)
