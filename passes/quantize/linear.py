"""Layers with weights as matrix products: ``y[n] = rows[n, k] @ matrix[k, :]`` for each group of channels.

All of what tunes weights (scales, rounding, bias) works on this form, whatever the operator.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ...ir.graph import Node
from ...ops.infer import integer, ints
from ...ops.windows import window_counts, windows
from ..views import int_attr


def groups_of(node: Node) -> int:
    return 1 if node.op == "matmul" else int_attr(node, "group")


def channel_axis(node: Node) -> int:
    """The axis of the weights along which they have one scale each: output channels (of one group, transposed)."""
    return 0 if node.op == "conv" else 1


def to_matrices(node: Node, weights: np.ndarray) -> np.ndarray:
    """Weights as ``[group, k, columns]``; the columns are output channels (times taps for ``conv_transpose``)."""
    if node.op == "matmul":
        return weights[np.newaxis]
    group = groups_of(node)
    if node.op == "conv":
        return weights.reshape(group, weights.shape[0] // group, -1).transpose(0, 2, 1)
    return weights.reshape(group, weights.shape[0] // group, -1)


def from_matrices(node: Node, matrices: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The inverse of :func:`to_matrices`."""
    if node.op == "conv":
        matrices = matrices.transpose(0, 2, 1)
    return np.ascontiguousarray(matrices.reshape(shape))


def to_rows(node: Node, x: np.ndarray) -> np.ndarray:
    """The input as ``[group, rows, k]`` so that ``rows @ matrices`` are the outputs without bias."""
    if node.op == "matmul":
        return x.reshape(1, -1, x.shape[-1])
    group = groups_of(node)
    channels = x.shape[1]
    if node.op == "conv_transpose":
        return np.moveaxis(x, 1, -1).reshape(-1, group, channels // group).transpose(1, 0, 2)
    weights = node.operands[1]
    stride, pad, dilation = (ints(node.attrs, name) for name in ("stride", "pad", "dilation"))
    kernel, spatial = weights.shape[2:], x.ndim - 2
    counts = window_counts(x.shape[2:], kernel, stride, pad, dilation)
    padded = np.pad(x, [(0, 0), (0, 0), *zip(pad[:spatial], pad[spatial:])])
    patches = windows(padded, kernel, stride, dilation, counts)
    patches = patches.reshape(x.shape[0], group, channels // group, prod(counts), prod(kernel))
    return patches.transpose(1, 0, 3, 2, 4).reshape(group, x.shape[0] * prod(counts), -1)
