"""Gathers along the last dimension that repeat each element become views: what loops can store in vectors.

::

    y = gather(x, [0, 0, 1, 1, ...])    ->    y = reshape(expand(x[..., W, 1], [..., W, 2]), [..., 2 * W])

So Resize writes the nearest element of an image with channels first. Where other dimensions lie behind the axis, a
gather moves whole runs of elements, and what comes behind it is part of its kernel.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ..ir.graph import Graph, Node, Value
from ..ops.attributes import integer
from .rewrite import Rewriter, rewrite
from .views import quantized_along_axis, reshape


def repeat_elements(graph: Graph) -> Graph:
    """The graph without gathers that repeat all elements along the last dimension equally often, each in its place."""
    return rewrite(graph, _repeated)


def _repeated(rewriter: Rewriter, node: Node) -> Value | None:
    if node.op != "gather":
        return None
    x, indices = node.operands[0], rewriter.array(node.operands[1])
    axis = integer(node.attrs, "axis")
    if indices is None or indices.ndim != 1 or prod(x.shape[axis + 1 :]) != 1 or quantized_along_axis(x):
        return None
    extent = x.shape[axis]
    times = len(indices) // extent if extent else 0
    if times < 2 or not np.array_equal(indices, np.repeat(np.arange(extent), times)):
        return None
    outer = x.shape[:axis]
    apart = reshape(rewriter, x, (*outer, extent, 1), loc=node.loc)
    (wide,) = rewriter.emit("expand", [apart], {"shape": (*outer, extent, times)}, loc=node.loc)
    return reshape(rewriter, wide, node.output.shape, loc=node.loc, name=node.output.name)
