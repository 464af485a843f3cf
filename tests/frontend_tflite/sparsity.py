"""Arrays as the elements that are not 0, level by level, by recursion: what a converter writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np


@dataclass(frozen=True)
class Sparsity:
    """The fields of ``SparsityParameters``. A level is its size, or (segments, indices)."""

    order: Sequence[int]
    block_map: Sequence[int]
    levels: Sequence[int | tuple[Sequence[int], Sequence[int]]]


def encoded(
    array: np.ndarray, outer: Sequence[int], blocks: Mapping[int, int], compressed: Sequence[int]
) -> tuple[np.ndarray, Sparsity]:
    """The elements that are stored, and their places: ``outer`` are the dimensions of ``array`` in the order of levels,
    ``blocks`` the extents of blocks by dimension, ``compressed`` the levels that are not dense."""
    extents = [array.shape[d] // blocks.get(d, 1) for d in outer]
    stored: list[np.generic] = []
    segments = {level: [0] for level in compressed}
    indices: dict[int, list[int]] = {level: [] for level in compressed}

    def block(at: Sequence[int]) -> np.ndarray:
        """What lies below a node at the places ``at``."""
        place = dict(zip(outer, at))
        ranges = [
            slice(place[d] * blocks.get(d, 1), (place[d] + 1) * blocks.get(d, 1)) if d in place else slice(None)
            for d in range(array.ndim)
        ]
        return array[tuple(ranges)]

    def walk(at: tuple[int, ...]) -> None:
        level = len(at)
        if level == len(outer):
            for inside in product(*(range(blocks[d]) for d in blocks)):
                index = [dict(zip(outer, at))[d] * blocks.get(d, 1) for d in range(array.ndim)]
                for d, number in zip(blocks, inside):
                    index[d] += number
                stored.append(array[tuple(index)])
            return
        for number in range(extents[level]):
            if level not in compressed or block((*at, number)).any():
                if level in compressed:
                    indices[level].append(number)
                walk((*at, number))
        if level in compressed:
            segments[level].append(len(indices[level]))

    walk(())
    levels: list[int | tuple[Sequence[int], Sequence[int]]] = [
        (segments[level], indices[level]) if level in compressed else extent for level, extent in enumerate(extents)
    ]
    order = [*outer, *(array.ndim + k for k in range(len(blocks)))]
    return np.array(stored, array.dtype), Sparsity(order, list(blocks), [*levels, *blocks.values()])
