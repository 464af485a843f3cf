"""Lookups behind lookups become one."""

from __future__ import annotations

from ...ir.graph import Node, Value
from ...ops.integer import BYTES, least
from ..rewrite import Rewriter


def merge_lookups(rewriter: Rewriter, node: Node) -> Value | None:
    """table2[table1[x]] = (table2[table1])[x], where the first result has no other use."""
    inner = rewriter.producer(node.inputs[0]) if node.op == "lookup" else None
    if inner is None or inner.op != "lookup" or not rewriter.used_once(inner.output) or inner.output.dtype not in BYTES:
        return None
    first, second = rewriter.array(inner.operands[1]), rewriter.array(node.operands[1])
    if first is None or second is None:
        return None
    table = rewriter.constant(second[first.astype(int) - least(first.dtype)], node.operands[1].name)
    return rewriter.emit(node.op, [inner.operands[0], table], node.attrs, loc=node.loc, names=[node.output.name])[0]
