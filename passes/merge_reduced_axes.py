"""Reductions over neighbouring last axes become reductions over one: a single loop, whose vectors go on over rows.

    sum over (2, 3) of x[N, C, H, W]    ->    sum over (2,) of x[N, C, H * W]

The elements are combined in the same order.
"""

from __future__ import annotations

from math import prod

from ..ir.graph import Graph, Node, Value
from ..ops.attributes import ints
from .rewrite import Rewriter, rewrite
from .views import reshape


def merge_reduced_axes(graph: Graph) -> Graph:
    """The graph with reductions over one last axis in the place of several."""
    return rewrite(graph, _merged)


def _merged(rewriter: Rewriter, node: Node) -> Value | None:
    if node.op != "reduce":
        return None
    (x,), axes = node.operands, ints(node.attrs, "axes")
    first = len(x.shape)
    while first and first - 1 in axes:
        first -= 1
    if sum(extent != 1 for extent in x.shape[first:]) < 2:
        return None
    flat = reshape(rewriter, x, (*x.shape[:first], prod(x.shape[first:])), loc=node.loc)
    attrs = {**node.attrs, "axes": (*(axis for axis in axes if axis < first), first), "keepdims": False}
    (total,) = rewriter.emit("reduce", [flat], attrs, loc=node.loc)
    return reshape(rewriter, total, node.output.shape, loc=node.loc, name=node.output.name)
