"""Sparse constants: the elements that are stored, and where they are.

The format is that of TACO ("The Tensor Algebra Compiler", Kjolstad and others, 2017), as TensorFlow Lite's
``SparsityParameters`` have it: a tensor is a tree with a level for each of its dimensions, in any order, and behind
these for each dimension of its blocks. A dense level has all places; a compressed one (CSR) lists those of each node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Level:
    """``size`` places in each node; or where there are ``segments``, those of ``indices`` from the node's segment on to
    the next one."""

    size: int
    segments: np.ndarray | None = None
    indices: np.ndarray | None = None


def dense(
    shape: Sequence[int], order: Sequence[int], block_map: Sequence[int], levels: Sequence[Level], stored: np.ndarray
) -> np.ndarray:
    """The tensor of ``shape`` with the ``stored`` elements, 0 elsewhere. ``order`` are the dimensions by level;
    dimension ``rank + k`` is that of the blocks along dimension ``block_map[k]``.

    Raises ``ValueError`` where these contradict each other, before more places are counted than elements or segments
    are stored: memory is within a multiple of the file.
    """
    rank, count = len(shape), len(levels)
    if sorted(order) != list(range(count)) or count != rank + len(block_map) or set(order[:rank]) != set(range(rank)):
        raise ValueError(f"its levels {list(order)} are not those of {rank} dimensions and {len(block_map)} of blocks")
    blocks = _block_sizes(shape, order, block_map, levels)
    most = max(len(stored), *(0 if level.segments is None else len(level.segments) for level in levels), 0)
    places = _places(levels, most)
    if places.shape[1] != len(stored):
        raise ValueError(f"it has {places.shape[1]} places for {len(stored)} elements")
    found = np.zeros((rank, len(stored)), np.int64)
    for level, dimension in enumerate(order):
        if dimension < rank:
            found[dimension] = places[level]
        else:
            along = block_map[dimension - rank]
            found[along] = found[along] * blocks[dimension - rank] + places[level]
    if any(len(row) and not 0 <= row.min() <= row.max() < extent for row, extent in zip(found, shape)):
        raise ValueError("an element lies outside of the tensor")
    out = np.zeros(shape, stored.dtype)
    out[tuple(found)] = stored
    return out


def _block_sizes(
    shape: Sequence[int], order: Sequence[int], block_map: Sequence[int], levels: Sequence[Level]
) -> list[int]:
    rank = len(shape)
    sizes = [0] * len(block_map)
    for dimension, level in zip(order[rank:], levels[rank:]):
        along = block_map[dimension - rank]
        if level.segments is not None or not 0 <= along < rank or level.size < 1 or shape[along] % level.size:
            raise ValueError(f"its blocks have no size along dimension {along}")
        sizes[dimension - rank] = level.size
    return sizes


def _places(levels: Sequence[Level], most: int) -> np.ndarray:
    """The place in each level [levels, elements] of every element, in the order in which they are stored."""
    places, nodes = np.zeros((0, 1), np.int64), np.zeros(1, np.int64)
    for level in levels:
        first, counts = _children(level, nodes)
        if int(counts.sum()) > most:
            raise ValueError("it has more places than elements")
        parent = np.repeat(np.arange(len(nodes)), counts)
        number = np.arange(len(parent)) - np.repeat(np.cumsum(counts) - counts, counts)
        nodes = first[parent] + number
        own = number if level.indices is None else level.indices[nodes]
        places = np.concatenate([places[:, parent], own[None]])
    return places


def _children(level: Level, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each node the number of the first child and how many there are."""
    if level.segments is None or level.indices is None:
        if level.size < 0:
            raise ValueError("a dimension has a negative size")
        return nodes * level.size, np.full(len(nodes), level.size)
    segments = level.segments
    if len(nodes) and nodes.max() + 1 >= len(segments):
        raise ValueError("a dimension has too few segments")
    first, counts = segments[nodes], segments[nodes + 1] - segments[nodes]
    if len(nodes) and (first.min() < 0 or counts.min() < 0 or (first + counts).max() > len(level.indices)):
        raise ValueError("a segment lies outside of its indices")
    return first, counts
