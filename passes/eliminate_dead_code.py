"""Drops what no graph output needs."""

from __future__ import annotations

from ..ir.graph import Graph


def eliminate_dead_code(graph: Graph) -> Graph:
    """Drops nodes and constants that no output depends on. The inputs all stay: they are the model's signature."""
    needed = {value.name for value in graph.outputs}
    kept = []
    for node in reversed(graph.nodes):
        if any(value.name in needed for value in node.outputs):
            kept.append(node)
            needed.update(value.name for value in node.operands)
    constants = {name: array for name, array in graph.constants.items() if name in needed}
    return graph.with_nodes(reversed(kept), constants=constants)
