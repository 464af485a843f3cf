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


def outputs_of(node: Node, rows: np.ndarray, matrices: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    """What a convolution or a matrix product makes of all rows of one input, ``[group, rows, k]``."""
    result = rows @ matrices
    shape = node.output.shape
    if node.op == "conv":
        batch, channels, *counts = shape
        moved = result.reshape(len(result), batch, prod(counts), -1).transpose(1, 0, 3, 2)
        result = moved.reshape(batch, channels, -1) + (0 if bias is None else bias.reshape(-1, 1))
        return result.reshape(shape)
    return result.reshape(shape) if bias is None else result.reshape(shape) + bias


def to_rows(node: Node, x: np.ndarray, most: int) -> np.ndarray:
    """The input as ``[group, rows, k]`` so that ``rows @ matrices`` are the outputs without bias (of
    ``conv_transpose``, the parts that are added up to them). Of more than ``most`` rows, such as lie evenly apart."""
    if node.op == "matmul":
        return _thinned(x.reshape(1, -1, x.shape[-1]), most)
    group, channels = groups_of(node), x.shape[1]
    if node.op == "conv_transpose":
        rows = np.moveaxis(x, 1, -1).reshape(-1, group, channels // group).transpose(1, 0, 2)
        return _thinned(rows, most)
    stride, pad, dilation = (ints(node.attrs, name) for name in ("stride", "pad", "dilation"))
    kernel, spatial = node.operands[1].shape[2:], x.ndim - 2
    counts = window_counts(x.shape[2:], kernel, stride, pad, dilation)
    padded = np.pad(x, [(0, 0), (0, 0), *zip(pad[:spatial], pad[spatial:])])
    patches = windows(padded, kernel, stride, dilation, counts)
    grouped = patches.reshape(x.shape[0], group, channels // group, prod(counts), prod(kernel))
    rows = grouped.transpose(1, 0, 3, 2, 4).reshape(group, x.shape[0] * prod(counts), -1)
    return _thinned(rows, most)


def _thinned(rows: np.ndarray, most: int) -> np.ndarray:
    count = rows.shape[1]
    return rows if count <= most else rows[:, np.linspace(0, count - 1, most).astype(np.int64)]
