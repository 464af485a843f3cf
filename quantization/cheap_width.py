"""Tensors that can have 16 bits, and those that have them by default because that costs next to nothing.

The latter are what the matrix products of recurrences read: vectors of some hundred elements beside matrices of their
square. Rounding errors of a state would return in each step. And they are single tensors that make much of the noise at
the model's outputs, but are small and read by a small part of the multiply-accumulates: the input of a model whose
first numbers are far larger than the others, say.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ..ir.graph import Graph, Node
from ..ops.table import OPS
from .encoding import WEIGHT_LEVELS
from .linear import to_matrices
from .partition import Partition, key
from .roles import LINEAR, activations, weight_positions

_LOUD, _FEW = 1 / 8, 1 / 6
"""Parts of the noise, and of the multiply-accumulates."""
_WORTH = 40
"""Decibels that are to be won where all multiply-accumulates would be of halfwords, and of a part of them that part:
where vectors of bytes are fast, those of halfwords take twice as long and more."""
_TINY = 1 << 10
"""Elements that take little memory in any model; four times as many where they are quantized from floats."""

_LARGEST_SUM = 2**15 - 2**12
"""Of the magnitudes of a column of int8 weights: times 2^15 that fits 31 bits, with room for weights whose scale is
chosen finer, and for a bias."""


def of_recurrences(parts: Partition, products: Collection[str], fixed: Collection[str]) -> frozenset[str]:
    """The groups, by the first member, that nothing but ``products`` compute with, and that hold none of ``fixed``."""
    found = set()
    for head in parts.sources:
        if not set(fixed).isdisjoint(parts.members(head)):
            continue
        readers = readers_of(parts, head)
        if readers and all(key(node) in products for node in readers) and can_be_wide(parts, head):
            found.add(head)
    return frozenset(found)


def of_noise(parts: Partition, noise: Mapping[str, float], fixed: Collection[str]) -> frozenset[str]:
    """The groups, by the first member, that make more than :data:`_LOUD` of the noise that is left without those
    before, the noisiest first, and cost little: :data:`_FEW` of the multiply-accumulates at most, and so few of them as
    :data:`_WORTH` says. ``noise`` has that of each group alone at the model's outputs; those that hold any of
    ``fixed`` stay as they are."""
    found: set[str] = set()
    left, macs = sum(noise.values()), sum(_macs(node) for node in parts.graph.nodes if parts.is_integer(node))
    sizes = {value.name: value.type.size for value in parts.graph.values()}
    room, largest = _FEW * macs, max((sizes[name] for name in parts.stored), default=0)
    for head in sorted(noise, key=lambda name: -noise[name]):
        if left <= 0 or noise[head] <= _LOUD * left:
            break
        members = parts.members(head)
        cost = sum(map(_macs, [*readers_of(parts, head), *_depthwise(parts, members)]))
        tiny = _TINY if _is_made_of_integers(parts, head) else 4 * _TINY
        small = max(sizes[name] for name in members) <= max(tiny, largest // 4)
        gain = 10 * np.log10(left / max(left - noise[head], 1e-9 * left))
        cheap = small and cost <= room and cost <= macs * gain / _WORTH
        if cheap and set(fixed).isdisjoint(members) and can_be_wide(parts, head):
            found.add(head)
            room, left = room - cost, left - noise[head]
    return frozenset(found)


def _is_made_of_integers(parts: Partition, head: str) -> bool:
    """Whether a value of the group is the result of an integer layer, which so would have to give 16 bits; inputs and
    states of recurrences come as floats."""
    return any(parts.is_integer(node) for name in parts.sources[head] for node in parts.unit_of(name))


def _depthwise(parts: Partition, members: Sequence[str]) -> list[Node]:
    """The convolutions in groups that make one of the values: cores have block instructions for those that give
    bytes."""
    nodes = (node for name in members for node in parts.unit_of(name))
    return [node for node in nodes if node.op == "conv" and node.attrs["group"] != 1]


def _macs(node: Node) -> int:
    count = OPS[node.op].macs
    return 0 if count is None else count(node)


def readers_of(parts: Partition, head: str) -> list[Node]:
    """The integer nodes that compute with members of a group; moves within it do not."""
    members = set(parts.members(head))
    return [
        node for node in parts.graph.nodes
        if parts.is_integer(node) and key(node) not in members
        and any(value.name in members for value in activations(parts.graph, node))
    ]  # fmt: skip


def can_be_wide(parts: Partition, head: str) -> bool:
    """Whether all sums of products with 16-bit members of a group are sure to fit 32 bits."""
    return all(node.op not in LINEAR or _fits(parts.graph, node) for node in readers_of(parts, head))


def _fits(graph: Graph, node: Node) -> bool:
    if not weight_positions(graph, node):
        return False
    matrices = np.abs(to_matrices(node, graph.constants[node.operands[1].name].astype(np.float64)))
    peaks = np.maximum(matrices.max(axis=1), np.finfo(np.float32).tiny)
    return bool((matrices.sum(axis=1) / peaks).max(initial=0.0) * WEIGHT_LEVELS <= _LARGEST_SUM)
