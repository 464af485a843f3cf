"""Inputs that come row by row: the kernel that fetches all rows of one, as long as it is no part of a stream."""

from __future__ import annotations

from ..ir.graph import Graph, Node
from ..ir.loops import INDEX, Access, Buffer, Fetch, Kernel, Pointer, Space, Type, Var
from ..ir.loops_rewrite import loop
from ..ops.attributes import integer
from ..ops.movement import FETCH
from ..schedule.borders import anchor_of


def row_axes(graph: Graph) -> dict[str, int]:
    """The inputs of an optimized graph that come by rows, with the axes that count these."""
    fetches = (anchor for node in graph.nodes if (anchor := anchor_of(node)) is not None and anchor.op == FETCH)
    return {fetch.operands[0].name: integer(fetch.attrs, "axis") for fetch in fetches}


def values_in_rows(graph: Graph) -> set[str]:
    """What is fetched, and what is only moved or converted of it: there is a row of these at a time."""
    found: set[str] = set()
    for node in graph.nodes:
        anchor = anchor_of(node)
        moved = anchor is None and node.op in ("fused", "reshape") and any(v.name in found for v in node.operands)
        if moved or (anchor is not None and anchor.op == FETCH):
            found |= {value.name for value in node.outputs}
    return found


def fetch_kernel(fetch: Node) -> Kernel:
    """One row after the other, to memory for all of them."""
    type_, shape = Type(fetch.output.dtype.stored), fetch.output.shape
    source = Buffer("x", type_, shape, Space.ROWS, Access.READ)
    target = Buffer("y", type_, shape, access=Access.WRITE)
    row = Var("row")
    first = Pointer(target, (row, *[INDEX(0)] * (len(shape) - 1)))
    return Kernel("", (source, target), loop(row, shape[0], Fetch(source, row, first)))
