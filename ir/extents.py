"""Dimensions of a model's inputs and outputs whose extent is an argument or a result of each run.

Shapes are the bounds. The elements within the extents lie one behind the other at the beginning of the tensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np


@dataclass(frozen=True)
class Extent:
    """``value`` is the input (an argument) or the output (a result) that holds the extent: one i64, ``least`` to
    ``bound``. ``dims`` are the dimensions that have it, each as the name of an input or output and an axis."""

    value: str
    dims: tuple[tuple[str, int], ...]
    bound: int
    least: int = 0


def axes_of(extents: Iterable[Extent], name: str) -> dict[int, Extent]:
    """The extents of an input or output by its axes."""
    return {axis: extent for extent in extents for tensor, axis in extent.dims if tensor == name}


def dense_shape(
    extents: Sequence[Extent], name: str, shape: Sequence[int], counts: Mapping[str, np.ndarray]
) -> tuple[int, ...]:
    """The shape that a tensor has in a run; ``counts`` holds the values of the extents."""
    axes = axes_of(extents, name)
    return tuple(int(counts[axes[axis].value]) if axis in axes else size for axis, size in enumerate(shape))


def cropped(extents: Sequence[Extent], arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Outputs in the shapes that they have in a run, without the values of extents."""
    counts = {extent.value for extent in extents}
    found = {}
    for name, array in arrays.items():
        if name not in counts:
            shape = dense_shape(extents, name, array.shape, arrays)
            found[name] = array if shape == array.shape else array.reshape(-1)[: prod(shape)].reshape(shape)
    return found
