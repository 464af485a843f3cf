"""Requantization whose products with the scales are known to be small.

They may be rounded to integers before they are clamped (``ops/requantize_exprs.py``). Integers that are clamped to
what a byte holds are packed by instructions that saturate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..ir.graph import Graph, Node
from ..ops.accumulators import operand_bounds
from ..ops.requantize_exprs import LARGEST_PRODUCT, reach_of


def mark_small_products(graph: Graph) -> Graph:
    """``graph`` with ``small`` at every ``requantize`` in a fused node whose products are below ``LARGEST_PRODUCT``."""
    return replace(graph, nodes=tuple(_marked(node, graph.constants) for node in graph.nodes))


def _marked(node: Node, constants: Mapping[str, np.ndarray]) -> Node:
    body = node.attrs.get("body")
    if not isinstance(body, Graph) or all(inner.op != "requantize" for inner in body.nodes):
        return node
    known = {**constants, **body.constants}
    nodes = [
        replace(inner, attrs={**inner.attrs, "small": True})
        if inner.op == "requantize" and _is_small(body, inner, known)
        else inner
        for inner in body.nodes
    ]
    return replace(node, attrs={**node.attrs, "body": replace(body, nodes=tuple(nodes))})


def _is_small(body: Graph, node: Node, constants: Mapping[str, np.ndarray]) -> bool:
    """By the bounds of all accumulators, or where these do not tell by those of each channel, which take longer."""
    scales = constants.get(node.operands[1].name)
    if scales is None or scales.size == 0:
        return False
    factors, reach = np.abs(scales.reshape(-1).astype(np.float64)), reach_of(node)
    if reach is not None and np.all(reach * factors < LARGEST_PRODUCT):
        return True
    bounds = operand_bounds(body, node, constants)
    if bounds is None or factors.size not in (1, bounds[0].size):
        return False
    return bool(np.all(np.maximum(np.abs(bounds[0]), np.abs(bounds[1])) * factors < LARGEST_PRODUCT))
