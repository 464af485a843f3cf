"""Sums of neighbours with constant weights, as Resize writes interpolation, become one operator of one or two axes.

::

    g0 = gather(x, i0)  m0 = mul(g0, w0)                  y = interpolate(x, [i0 i1], [w0 w1])
    g1 = gather(x, i1)  m1 = mul(g1, w1)          ->
    y = add(m0, m1)

Each product and each sum is the same as before, so that results are. Integers have become ``interpolate`` in
``passes/integerize``, by other weights.
"""

from __future__ import annotations

import numpy as np

from ..ir.graph import Graph, Node, Value
from ..ir.types import DType
from ..ops.attributes import integer, ints
from ..record import record
from .rewrite import Rewriter, rewrite


def join_taps(graph: Graph) -> Graph:
    """The graph with ``interpolate`` of floats in the place of gathers, products and sums."""
    return rewrite(rewrite(graph, _joined), _along_both)


@record
class _Taps:
    """What is gathered from, along which axis, and for each tap the indices and weights of all outputs."""

    x: Value
    axis: int
    indices: tuple[np.ndarray, ...]
    weights: tuple[np.ndarray, ...]


def _joined(rewriter: Rewriter, node: Node) -> Value | None:
    if node.op != "add" or node.output.dtype not in (DType.F32, DType.F64):
        return None
    first, last = (_taps(rewriter, value) for value in node.operands)
    if first is None or last is None or len(last.indices) != 1 or first.x.name != last.x.name:
        return None
    if first.axis != last.axis or node.output.shape != node.operands[0].shape:
        return None
    indices = np.stack((*first.indices, *last.indices), axis=1).astype(np.int32)
    weights = np.stack((*first.weights, *last.weights), axis=1)
    tables = [rewriter.constant(array, f"{node.output.name}.taps") for array in (indices, weights)]
    operands, names = (first.x, *tables), [node.output.name]
    return rewriter.emit("interpolate", operands, {"axes": (first.axis,)}, loc=node.loc, names=names)[0]


def _taps(rewriter: Rewriter, value: Value) -> _Taps | None:
    """The taps that ``value``, which nothing else reads, is the sum of."""
    node = rewriter.producer(value)
    if node is None or not rewriter.used_once(value):
        return None
    if node.op == "interpolate" and node.output.dtype.is_float and len(node.operands) == 3:
        indices, weights = (rewriter.array(table) for table in node.operands[1:])
        (axis,) = ints(node.attrs, "axes")
        if indices is None or weights is None:
            return None
        return _Taps(node.operands[0], axis, tuple(indices.T), tuple(weights.T))
    gather = rewriter.producer(node.operands[0]) if node.op == "mul" else None
    if gather is None or gather.op != "gather" or gather.output.shape != value.shape:
        return None
    (x, places), weights = gather.operands, rewriter.array(node.operands[1])
    indices, axis = rewriter.array(places), integer(gather.attrs, "axis")
    if indices is None or weights is None or indices.ndim != 1 or not rewriter.used_once(gather.output):
        return None
    along = [1] * len(value.shape)
    along[axis] = len(indices)
    rank = len(value.shape) - weights.ndim
    if rank < 0 or weights.shape != tuple(along[rank:]) or any(extent != 1 for extent in along[:rank]):
        return None
    inside = not indices.size or (indices.min() >= 0 and indices.max() < x.shape[axis])
    return _Taps(x, axis, (indices,), (weights.reshape(-1),)) if inside else None


def _along_both(rewriter: Rewriter, node: Node) -> Value | None:
    """One operator of two axes, of sums along the second of sums along the first."""
    if node.op != "interpolate" or len(node.operands) != 3 or not node.output.dtype.is_float:
        return None
    x, *tables = node.operands
    before = rewriter.producer(x)
    if before is None or before.op != "interpolate" or len(before.operands) != 3 or not rewriter.used_once(x):
        return None
    axes = (*ints(before.attrs, "axes"), *ints(node.attrs, "axes"))
    if axes != tuple(sorted({*axes})) or len(axes) != 2:
        return None
    operands = (*before.operands, *tables)
    return rewriter.emit("interpolate", operands, {"axes": axes}, loc=node.loc, names=[node.output.name])[0]
