"""Depthwise convolutions of int8 with three neighbouring taps along lines, one channel of a line at a time
(``blocks/depthwise_line.py``).

Before::                                     After::

    for o, line, column, c:                    for o, line:
      acc = bias[c]                              invoke the block for all channels
      for k: acc += x[o, line, .., c] * w[c, k]
      y[o, line, column, c] = requantize(acc)

Nothing is staged: elements are read where they are, and there is no scratch memory.
"""

from __future__ import annotations

import numpy as np

from ...blocks.depthwise_line import LEAST, TAPS
from ...blocks.nibbles import SIGNED_BYTES
from ...ir.loops import Block, Invoke, Var, as_expr
from ...ir.loops_rewrite import loop
from ..block_depthwise import DepthwiseLayer
from ..byte_operands import start
from ..nibble_weights import StreamLayout, are_nibbles, stored_words
from .depthwise_base import Numbers


def is_line(layer: DepthwiseLayer, numbers: Numbers) -> bool:
    """Whether a layer has three neighbouring taps along its lines, at most one of them beyond an end, a step of one in
    all, and factors alone for the requantization."""
    if layer.kernel != (1, TAPS) or layer.stride[1] != 1 or layer.dilation[1] != 1 or layer.multiplier != 1:
        return False
    rows_inside = layer.pad[0] == 0 and (layer.out[0] - 1) * layer.stride[0] < layer.extent[0]
    left, right = layer.pad[1], _right(layer)
    ends = left <= 1 and 0 <= right <= 1 and layer.extent[1] >= LEAST
    return numbers.factors is not None and rows_inside and ends


def _right(layer: DepthwiseLayer) -> int:
    """Elements beyond the right end."""
    return layer.columns - layer.pad[1] - layer.extent[1]


def lower_line(layer: DepthwiseLayer, numbers: Numbers) -> Block:
    """A layer for which :func:`is_line` holds."""
    ctx, channels, rq, factors = layer.ctx, layer.channels, numbers.requantization, numbers.factors
    assert rq is not None and factors is not None
    taps = np.ascontiguousarray(layer.taps[:, 0, [0, 1, 1, 2]].astype(np.int8)).view("<i4")
    words = np.concatenate([layer.bias.reshape(-1, 1), taps, factors.reshape(-1, 1)], axis=1).astype(np.int32)
    form = SIGNED_BYTES if are_nibbles(layer.operands.weights) else None
    weights = stored_words(ctx, words.reshape(1, -1), StreamLayout(1, 1, 1), form)
    batch, row = (Var(layer.names.fresh(stem)) for stem in ("o", "row"))
    x = layer.pointer(layer.x, layer.place(batch, row * layer.stride[0], 0))
    y = layer.pointer(layer.y, layer.place(batch, row, 0))
    ends = (layer.pad[1], _right(layer))
    scalars = (channels, layer.extent[1], channels, *ends, layer.zero, rq.zero_point)
    invoke = Invoke("depthwise_line", (start(weights.buffer), x, y), scalars)
    return (*weights.prepare(as_expr(0)), *loop(batch, layer.batch, *loop(row, layer.out[0], invoke)))
