"""Reductions over neighbouring last axes become reductions over one: a single loop, whose vectors go on over rows.

    sum over (2, 3) of x[N, C, H, W]    ->    sum over (2,) of x[N, C, H * W]

The elements are combined in the same order. Pointwise work before such a reduction, which may become part of it, works
on the joined dimensions as well.
"""

from __future__ import annotations

from math import prod

from ..ir.graph import Graph, Node, Value
from ..ops.attributes import ints
from ..ops.opdef import Kind
from ..ops.table import OPS
from .rewrite import Rewriter, rewrite
from .views import reshape

_NEAR = 16
"""Pointwise operators in a row that are looked at before a reduction."""


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
    flat = _flattened(rewriter, x, node, first, _NEAR)
    if flat is None:
        flat = reshape(rewriter, x, (*x.shape[:first], prod(x.shape[first:])), loc=node.loc)
    attrs = {**node.attrs, "axes": (*(axis for axis in axes if axis < first), first), "keepdims": False}
    (total,) = rewriter.emit("reduce", [flat], attrs, loc=node.loc)
    return reshape(rewriter, total, node.output.shape, loc=node.loc, name=node.output.name)


def _flattened(rewriter: Rewriter, x: Value, reader: Node, first: int, near: int) -> Value | None:
    """``x`` with the dimensions from ``first`` on joined, where it is made by pointwise work for one reader alone, of
    tensors that have all of these dimensions or none of them; ``None`` elsewhere, and where an anchor comes first."""
    node = rewriter.producer(x)
    if node is None or OPS[node.op].kind is not Kind.POINTWISE or not _for_alone(rewriter, x, reader) or not near:
        return None
    if OPS[node.op].tables or "scale" in node.attrs:
        return None
    joined: dict[str, Value] = {}
    for value in node.operands:
        flat = _joined(rewriter, value, node, first, near - 1)
        if flat is None:
            return None
        joined[value.name] = flat
    inputs = (None if value is None else joined[value.name] for value in node.inputs)
    return rewriter.like(node, *inputs)


def _for_alone(rewriter: Rewriter, value: Value, reader: Node) -> bool:
    return rewriter.uses(value) == sum(operand.name == value.name for operand in reader.operands)


def _joined(rewriter: Rewriter, value: Value, reader: Node, first: int, near: int) -> Value | None:
    """An operand of pointwise work as it broadcasts to the result with joined dimensions."""
    x = reader.output
    if value.type.size == 1:
        return reshape(rewriter, value, ())
    behind = len(x.shape) - first
    outer, inner = value.shape[:-behind], value.shape[-behind:]
    if inner != x.shape[first:] and (len(value.shape) < behind or any(extent != 1 for extent in inner)):
        return None
    if inner == x.shape[first:]:
        flat = _flattened(rewriter, value, reader, first - (len(x.shape) - len(value.shape)), near)
        if flat is not None:
            return flat
        node = rewriter.producer(value)
        if node is not None and OPS[node.op].kind is not Kind.VIEW and _for_alone(rewriter, value, reader):
            return None
    return reshape(rewriter, value, (*outer, prod(inner)))
