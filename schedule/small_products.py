"""Requantization whose products with the scales are known to be small.

They may be rounded to integers before they are clamped (``ops/requantize_exprs.py``). Integers that are clamped to
what a byte holds are packed by instructions that saturate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..ir.graph import Graph, Node
from ..ops.accumulators import channel_bounds
from ..ops.attributes import integer
from ..ops.requantize_exprs import LARGEST_PRODUCT


def mark_small_products(graph: Graph) -> Graph:
    """``graph`` with ``small`` at every ``requantize`` in a fused node whose products are below ``LARGEST_PRODUCT``."""
    return replace(graph, nodes=tuple(_marked(node, graph.constants) for node in graph.nodes))


def _marked(node: Node, constants: Mapping[str, np.ndarray]) -> Node:
    body = node.attrs.get("body")
    if not isinstance(body, Graph) or all(inner.op != "requantize" for inner in body.nodes):
        return node
    known, producers = {**constants, **body.constants}, body.producers()
    nodes = [
        replace(inner, attrs={**inner.attrs, "small": True})
        if inner.op == "requantize" and _is_small(inner, producers.get(inner.operands[0].name), known)
        else inner
        for inner in body.nodes
    ]
    return replace(node, attrs={**node.attrs, "body": replace(body, nodes=tuple(nodes))})


def _is_small(node: Node, anchor: Node | None, constants: Mapping[str, np.ndarray]) -> bool:
    """By the bounds of the accumulators of each channel, or those of all."""
    scales = constants.get(node.operands[1].name)
    if scales is None or scales.size == 0:
        return False
    found = None if anchor is None else channel_bounds(anchor, constants)
    if found is not None and scales.size in (1, found[0].size):
        reach: np.ndarray | int = np.maximum(np.abs(found[0]), np.abs(found[1]))
    elif "acc_lo" in node.attrs:
        reach = max(abs(integer(node.attrs, name)) for name in ("acc_lo", "acc_hi"))
    else:
        return False
    return bool(np.all(reach * np.abs(scales.reshape(-1).astype(np.float64)) < LARGEST_PRODUCT))
