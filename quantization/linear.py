"""Layers with weights as matrix products: ``output[n] = rows[n, k] @ matrix[k, :]`` for each group of channels.

All that tunes weights (scales, rounding) works on this form, whatever the operator.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ..ir.graph import Node
from ..ops.attributes import integer, ints
from ..ops.windows import window_counts, windows


def groups_of(node: Node) -> int:
    return integer(node.attrs, "group") if node.op in ("conv", "conv_transpose") else 1


def output_axis(node: Node) -> int:
    """The axis of the output's channels."""
    return len(node.output.shape) - 1 if node.op == "matmul" else 1


def scale_axis(node: Node) -> int:
    """The axis of the weights along which they have one scale each: output channels."""
    return 0 if node.op == "conv" else 1


def input_taps(node: Node) -> int:
    """Rows of the matrix that belong to one input channel."""
    return prod(node.operands[1].shape[2:]) if node.op == "conv" else 1


def output_taps(node: Node) -> int:
    """Columns of the matrix that belong to one output channel."""
    return prod(node.operands[1].shape[2:]) if node.op == "conv_transpose" else 1


def to_matrices(node: Node, weights: np.ndarray) -> np.ndarray:
    """Weights as ``[group, k, columns]``."""
    if node.op == "matmul":
        return weights[np.newaxis]
    rows = weights.reshape(groups_of(node), weights.shape[0] // groups_of(node), -1)
    return rows.transpose(0, 2, 1) if node.op == "conv" else rows


def from_matrices(node: Node, matrices: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The inverse of :func:`to_matrices`."""
    if node.op == "conv":
        matrices = matrices.transpose(0, 2, 1)
    return np.ascontiguousarray(matrices.reshape(shape))


def scale_numbers(node: Node, matrices: np.ndarray) -> np.ndarray:
    """Which scale of the weights each column has, ``[group, columns]``. Groups of ``conv_transpose`` share them."""
    group, _, columns = matrices.shape
    if node.op == "conv_transpose":
        return np.tile(np.arange(columns) // output_taps(node), (group, 1))
    return np.arange(group * columns).reshape(group, columns)


def channel_scales(node: Node, scales: np.ndarray) -> np.ndarray:
    """The weights' scale for each output channel."""
    channels = node.output.shape[output_axis(node)]
    return np.resize(scales, channels)


def to_rows(node: Node, x: np.ndarray, most: int) -> np.ndarray:
    """Inputs ``[samples, ...]`` as ``[group, rows, k]``, one sample after the other, so that ``rows @ matrices`` are
    the outputs without bias (of ``conv_transpose``, the parts that are added up to them). Of more than ``most`` rows of
    a sample, such as lie evenly apart."""
    samples, group = len(x), groups_of(node)
    if node.op == "matmul":
        return _thinned(x.reshape(samples, -1, x.shape[-1]), most).reshape(1, -1, x.shape[-1])
    merged = x.reshape(-1, *x.shape[2:])
    channels, spatial = merged.shape[1], merged.ndim - 2
    if node.op == "conv_transpose":
        rows = _thinned(np.moveaxis(merged, 1, -1).reshape(samples, -1, channels), most)
        return rows.reshape(-1, group, channels // group).transpose(1, 0, 2)
    stride, pad, dilation = (ints(node.attrs, name) for name in ("stride", "pad", "dilation"))
    kernel = node.operands[1].shape[2:]
    counts = window_counts(merged.shape[2:], kernel, stride, pad, dilation)
    padded = np.pad(merged, [(0, 0), (0, 0), *zip(pad[:spatial], pad[spatial:])])
    patches = np.moveaxis(windows(padded, kernel, stride, dilation, counts), 1, spatial + 1)
    own = len(merged) // samples * prod(counts)
    if own > most:
        places = np.arange(samples)[:, np.newaxis] * own + _evenly(own, most)
        patches = patches[np.unravel_index(places.reshape(-1), (len(merged), *counts))]
    rows = patches.reshape(samples * min(own, most), group, -1)
    return np.ascontiguousarray(rows.transpose(1, 0, 2))


def _evenly(count: int, most: int) -> np.ndarray:
    return np.linspace(0, count - 1, most).astype(np.int64)


def _thinned(rows: np.ndarray, most: int) -> np.ndarray:
    count = rows.shape[1]
    return rows if count <= most else rows[:, _evenly(count, most)]
