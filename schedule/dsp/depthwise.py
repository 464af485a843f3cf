"""Depthwise convolutions of int8 through block instructions; here those of 3x3 with steps of one, two rows of outputs
at a time.

Before::                                      After::

    for o, row, column, c:                      for o, rows, some groups of four channels:
      acc = bias[c]                               stage their input rows as pairs of halfwords
      for k: acc += x[o, .., c] * w[c, k]         multiply them to bytes, or to accumulators that are requantized then
      y[o, row, column, c] = requantize(acc)

Rows beyond the border are staged as the zero point; no halo is needed. Where channels do not come out even, the last
groups overlap those before.
"""

from __future__ import annotations

import numpy as np

from ...blocks.depthwise import COLUMN, KERNEL, LANES
from ...ir.loops import Block, Buffer, If, Invoke
from ...ir.types import DType
from ...ops.attributes import ints
from ..block_depthwise import DepthwiseLayer
from ..byte_anchors import is_byte_depthwise, is_plain_window
from ..byte_operands import start
from ..cycles import predicted_cycles
from ..kernel import KernelContext
from .depthwise_base import (
    DepthwiseBlocks,
    Numbers,
    Place,
    Span,
    bytes_stream,
    columns_of,
    is_column,
    order_of,
)
from .depthwise_line import is_line, lower_line
from .depthwise_maps import MapDepthwise, is_map
from .depthwise_windows import WindowDepthwise

STAGED_BYTES = 512
"""Of groups of channels that are staged together, where it is more than one."""


def is_dsp_depthwise(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` with one input channel per group, of int8 with constant weights, whose input has
    groups of four channels, and steps of one column in some way."""
    if not is_byte_depthwise(ctx, (3, 4), None):
        return False
    anchor, _ = ctx.contraction
    stride, dilation = ints(anchor.attrs, "stride"), ints(anchor.attrs, "dilation")
    return anchor.operands[0].shape[-1] >= LANES and (is_column(anchor) or 1 in (stride[-1], dilation[-1]))


def lower_dsp_depthwise(ctx: KernelContext) -> Block:
    """``conv``, for which :func:`is_dsp_depthwise` holds."""
    layer = DepthwiseLayer(ctx, order_of(ctx))
    numbers = Numbers.of(layer)
    if is_line(layer, numbers):
        return lower_line(layer, numbers)
    if not is_plain_window(layer.node, KERNEL) or layer.stride != (1, 1):
        return WindowDepthwise(layer, numbers).emit()
    if not is_map(layer, numbers):
        return ColumnDepthwise(layer, numbers).emit()

    ways: tuple[type[MapDepthwise] | type[ColumnDepthwise], ...] = (MapDepthwise, ColumnDepthwise)

    def cycles(way: type[MapDepthwise] | type[ColumnDepthwise]) -> float:
        trial = DepthwiseLayer(ctx.trial(), layer.order)
        return predicted_cycles(way(trial, numbers).emit(), ctx.cpu)

    return min(ways, key=cycles)(layer, numbers).emit()


class ColumnDepthwise(DepthwiseBlocks):
    """3x3, two rows of outputs from columns of four rows (``blocks/depthwise.py``)."""

    def __init__(self, layer: DepthwiseLayer, numbers: Numbers) -> None:
        super().__init__(layer, numbers, 2, max(1, STAGED_BYTES // (4 * COLUMN * layer.columns)))
        if self.in_bytes:
            self.weights, self.channel_words = bytes_stream(self)
        else:
            self.weights = self._stream()
        shape = (self.together * layer.columns * COLUMN,)
        self.staged = self.ctx.temporary("columns", DType.I32, shape, align=8)

    def _stream(self) -> Buffer:
        """The stream of weights group by group, with the scales of the group behind, where accumulators are
        computed."""
        layer, each, behind = self.layer, columns_of(self), self.behind
        self.chunk_words, self.scales_at = LANES * (each.shape[2] + behind.shape[2]), LANES * each.shape[2]
        parts = []
        for phase in range(layer.multiplier):
            for group in range(self.chunks):
                first = min(group * LANES, layer.inputs - LANES)
                parts += [part[phase, first : first + LANES].reshape(-1) for part in (each, behind)]
        return self.ctx.pack("w", np.concatenate(parts).astype(np.int32))

    def step(self, place: Place) -> Block:
        stage = self._stage(place, KERNEL + self.rows - 1)
        if self.in_bytes:
            return (*stage, *self.each_phase(place, self._bytes))
        return self.each_phase(place, lambda place: (*stage, *self._sums(place)))

    def _bytes(self, place: Place) -> Block:
        layer = self.layer
        w = start(self.weights, (place.phase * layer.inputs + place.channel) * self.channel_words)
        outputs = (self.pixel(place, place.row + number, 0) for number in range(self.rows))
        scalars = (self.together, layer.out[1], layer.channels, layer.multiplier, self.zero_point)
        return (Invoke("depthwise_bytes_two_rows", (w, start(self.staged), *outputs), scalars),)

    def _sums(self, place: Place) -> Block:
        """Accumulators, which replace what is staged."""
        width, rows = self.layer.out[1], [place.row + number for number in range(self.rows)]
        w = start(self.weights, self.words_at(place))
        multiply = Invoke("depthwise_two_rows", (w, start(self.staged)), (width,))
        return (multiply, *self.finish(self.weights, self.staged, place, rows, Span(0, width)))

    def _stage(self, place: Place, needed: int) -> Block:
        layer, left = self.layer, self.layer.pad[1]
        width = min(layer.extent[1], layer.columns - left)
        rows = [self.input_row(place, number) for number in range(needed)]
        places = (layer.place(place.batch, row.inside, 0) for row in rows)
        pointers = (layer.pointer(layer.x, at, place.channel) for at in places)
        scalars = (self.together, width, layer.inputs, left, layer.columns - left - width, layer.zero)
        out: Block = (Invoke("depthwise_stage", (*pointers, start(self.staged)), scalars),)
        for number, row in enumerate(rows):
            if row.outside is not None:
                out += (If(row.outside, (self._fill(number),)),)
        return out

    def _fill(self, number: int) -> Invoke:
        """The zero point in place of a staged row."""
        scalars = (self.together * self.layer.columns, number % 2, self.layer.zero)
        return Invoke("depthwise_fill", (start(self.staged, number // 2),), scalars)
