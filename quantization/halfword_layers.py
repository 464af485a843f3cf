"""Layers with weights of 16 bits: rounded to nearest, for what that costs is far below what 8-bit weights do."""

from __future__ import annotations

import numpy as np

from ..ir.graph import Graph, Node
from ..ir.types import DType
from .encoding import Encoding
from .insert import StoredConstant
from .linear import output_axis, scale_axis, scale_numbers, to_matrices
from .recurrent_weights import HALFWORD_LEVELS

BIAS_ROOM = 2**29
"""The largest bias in steps of an accumulator."""
TINY = float(np.finfo(np.float32).tiny) * 2**24
"""The least step of a sum of products: products of two scales are normal numbers with room to be divided."""


def halfword_weights(
    graph: Graph, node: Node, x: Encoding, per_channel: bool, coarser: float = 1.0
) -> StoredConstant:
    """The weights of a convolution or matrix product whose input is stored as ``x``, with a scale for each output
    channel or one, ``coarser`` times as large as 16 bits need. The bias fits 32 bits in steps of both scales."""
    array = graph.constants[node.operands[1].name]
    matrices = np.abs(to_matrices(node, array.astype(np.float64)))
    numbers = scale_numbers(node, matrices) if per_channel else np.zeros_like(matrices[:, 0], np.int64)
    peaks, largest = np.zeros(numbers.max(initial=-1) + 1), np.zeros(numbers.max(initial=-1) + 1)
    np.maximum.at(peaks, numbers, matrices.max(axis=1, initial=0.0))
    bias = float_bias(graph, node)
    if bias is not None:
        np.maximum.at(largest, np.resize(np.unique(numbers), bias.size), np.abs(bias, dtype=np.float64))
    steps = np.where(peaks > 0, coarser * peaks / HALFWORD_LEVELS, 1.0)
    steps = np.maximum(steps, np.maximum(largest / BIAS_ROOM, TINY) / x.scale[0])
    scales = tuple(steps.astype(np.float32).astype(float).tolist())
    encoding = Encoding(DType.I16, scales, (0,) * len(scales), scale_axis(node))
    return StoredConstant(encoding.quantize(array), encoding)


def float_bias(graph: Graph, node: Node) -> np.ndarray | None:
    """One float an output channel; ``None`` where there is none, it is computed, or it differs within a channel."""
    value = node.inputs[2] if len(node.inputs) > 2 else None
    array = None if value is None else graph.constant(value)
    return array.reshape(-1) if array is not None and array.size == node.output.shape[output_axis(node)] else None
