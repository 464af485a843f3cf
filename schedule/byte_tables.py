"""Tables of 256 bytes looked up sixteen at a time, where an instruction picks bytes of four vectors by number (TBX).

A quarter of the table, 64 bytes, lies in four vectors. Numbers beyond 63 leave what is there, so the quarters follow
each other; with a number's upper two bits turned around, those of quarter q are 0 to 63::

    picked = pick_bytes(0,      number ^ 0x00.., quarter 0)
    picked = pick_bytes(picked, number ^ 0x40.., quarter 1)
    picked = pick_bytes(picked, number ^ 0x80.., quarter 2)
    picked = pick_bytes(picked, number ^ 0xc0.., quarter 3)

What is looked up behind sums comes four at a time, in words, so it is a kernel of its own (:func:`separate_lookups`).
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ..ir.graph import Graph, Node
from ..ir.loops import I32, Bitcast, Block, Buffer, Call, Const, Convert, Expr, Load, Store, Type, as_expr
from ..ir.types import DType
from ..ops.opdef import Kind
from ..ops.table import OPS
from .lookups import table_place

LANES = 16
ENTRIES = 256
FEWEST = 256
"""Elements for which it is worth a call."""

_BYTES = (DType.I8, DType.U8)
_WORDS = I32.with_lanes(LANES // 4)
_QUARTER = 64


def number_of(table: Buffer, place: Expr) -> Expr | None:
    """The byte that is the number of an element, of the integer ``place`` that it is an index of."""
    if table.shape != (ENTRIES,) or table.dtype not in _BYTES:
        return None
    while isinstance(place, Convert) and place.x.type.dtype.is_integer:
        place = place.x
    return place if place.type.dtype in _BYTES else None


def only_lookups(body: Block) -> bool:
    """Whether a loop does nothing but to store elements of such tables, whose numbers are bytes in memory."""
    return all(isinstance(stmt, Store) and isinstance(_looked_up(stmt.value), Load) for stmt in body)


def _looked_up(value: Expr) -> Expr | None:
    """The number of the element of a table that ``value`` is."""
    found = table_place(value) if isinstance(value, Load) else None
    return None if found is None or not isinstance(value, Load) else number_of(value.buffer, found[0])


def looked_up_bytes(table: Buffer, number: Expr, offset: int) -> Expr:
    """The elements at ``number + offset`` for a vector of bytes and an ``offset`` of 0 or 128."""
    words: Expr = Bitcast(_WORDS, number)
    picked: Expr = Const(0, _WORDS)
    for first in range(0, ENTRIES, _QUARTER):
        turned = (first ^ offset) * 0x01010101
        numbers = words ^ (turned - (turned >> 31 << 32)) if turned else words
        vectors = (Bitcast(_WORDS, Load(table, (as_expr(at),), LANES)) for at in range(first, first + _QUARTER, LANES))
        picked = Call("pick_bytes", (picked, numbers, *vectors), _WORDS)
    return Bitcast(Type(table.dtype, LANES), picked)


def separate_lookups(graph: Graph) -> Graph:
    """``graph`` with lookups of bytes by bytes that end a fused node around an anchor as fused nodes of their own."""
    return replace(graph, nodes=tuple(part for node in graph.nodes for part in _separated(node, graph)))


def _separated(node: Node, graph: Graph) -> tuple[Node, ...]:
    body = node.attrs.get("body")
    if node.op != "fused" or not isinstance(body, Graph) or len(body.nodes) < 2 or len(body.outputs) != 1:
        return (node,)
    *first, last = body.nodes
    anchored = any(OPS[inner.op].kind is Kind.ANCHOR for inner in first)
    if not anchored or last.op != "lookup" or last.output != body.outputs[0]:
        return (node,)
    x, table = last.operands
    known = table.name in graph.constants and table.type.shape == (ENTRIES,)
    alone = sum(operand.name == x.name for inner in body.nodes for operand in inner.operands) == 1
    made = any(x in inner.outputs for inner in first)
    if not (known and alone and made) or {x.dtype, table.dtype} - set(_BYTES) or prod(x.shape) < FEWEST:
        return (node,)
    read = {value.name for inner in first for value in inner.operands}
    inputs = tuple(value for value in body.inputs if value.name in read)
    before = replace(body, inputs=inputs, outputs=(x,), nodes=tuple(first))
    behind = Graph(last.output.name, (x, table), (last.output,), (last,), {})
    return (
        replace(node, inputs=inputs, outputs=(x,), attrs={**node.attrs, "body": before}),
        Node("fused", (x, table), (last.output,), {"body": behind}, last.loc),
    )


