"""Tensors that can have 16 bits, and those that have them by default because that costs next to nothing.

The latter are what the matrix products of recurrences read: vectors of some hundred elements beside matrices of their
square. Rounding errors of a state would return in each step.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ..ir.graph import Graph, Node
from .encoding import WEIGHT_LEVELS
from .linear import to_matrices
from .partition import Partition, key
from .roles import LINEAR, activations, weight_positions

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
