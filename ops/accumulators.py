"""What the sums of an integer contraction can be."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..ir.graph import Graph, Node
from .integer import BYTES, zero_point

Bounds = tuple[np.ndarray, np.ndarray]
"""Least and greatest accumulators of each channel."""


def channel_bounds(node: Node, constants: Mapping[str, np.ndarray]) -> Bounds | None:
    """Of a convolution or matrix product of bytes with constant weights and biases; ``None`` for others."""
    if node.op not in ("conv", "matmul") or len(node.operands) < 2:
        return None
    x, w = node.operands[0], constants.get(node.operands[1].name)
    bias = constants.get(node.operands[2].name) if len(node.operands) > 2 else np.zeros(1)
    if w is None or bias is None or x.dtype not in BYTES or node.attrs.get("rhs_zero_point", 0) != 0:
        return None
    if w.ndim != 2 and node.op == "matmul":
        return None
    columns = (w.T if node.op == "matmul" else w.reshape(w.shape[0], -1)).astype(np.int64)
    zero, limits = zero_point(node.attrs), np.iinfo(x.dtype.numpy)
    ends = np.stack([columns * (int(limits.min) - zero), columns * (int(limits.max) - zero)])
    start = np.broadcast_to(bias.astype(np.int64).reshape(-1), (len(columns),))
    return start + ends.min(axis=0).sum(axis=1), start + ends.max(axis=0).sum(axis=1)


def operand_bounds(body: Graph, node: Node, constants: Mapping[str, np.ndarray]) -> Bounds | None:
    """Of the first operand of ``node``, where a contraction of bytes in ``body`` makes it."""
    anchor = body.producers().get(node.operands[0].name)
    return None if anchor is None else channel_bounds(anchor, constants)
