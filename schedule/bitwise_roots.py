"""Roots of integers on machines without a float unit: bit by bit."""

from __future__ import annotations

from dataclasses import replace

from ..ir.graph import Graph, Node


def find_roots_bitwise(graph: Graph) -> Graph:
    """``graph`` with every ``int_sqrt`` in fused nodes ``bitwise``."""
    return graph.with_nodes(tuple(_rewritten(node) for node in graph.nodes))


def _rewritten(node: Node) -> Node:
    body = node.attrs.get("body")
    if not isinstance(body, Graph) or all(inner.op != "int_sqrt" for inner in body.nodes):
        return node
    nodes = (
        replace(inner, attrs={**inner.attrs, "bitwise": True}) if inner.op == "int_sqrt" else inner
        for inner in body.nodes
    )
    return replace(node, attrs={**node.attrs, "body": body.with_nodes(tuple(nodes))})
