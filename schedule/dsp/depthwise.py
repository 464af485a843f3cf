"""Depthwise convolutions of int8 through block instructions; here those of 3x3, two rows of outputs (stride 1) or one
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
from ...blocks.depthwise_rows import PAIR
from ...ir.loops import Block, Buffer, If, Invoke
from ...ir.types import DType
from ...ops.attributes import ints
from ..block_depthwise import DepthwiseLayer
from ..byte_anchors import is_byte_depthwise, is_plain_window
from ..byte_operands import start
from ..kernel import KernelContext
from .depthwise_base import DepthwiseBlocks, Numbers, Place, Span, is_column, order_of
from .depthwise_windows import WindowDepthwise


def is_dsp_depthwise(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` with one input and one output channel per group, of int8 with constant
    weights, that has groups of four channels and steps of one column in some way."""
    if not is_byte_depthwise(ctx, (3, 4)):
        return False
    anchor, _ = ctx.contraction
    stride, dilation = ints(anchor.attrs, "stride"), ints(anchor.attrs, "dilation")
    return anchor.output.shape[-1] >= LANES and (is_column(anchor) or 1 in (stride[-1], dilation[-1]))


def lower_dsp_depthwise(ctx: KernelContext) -> Block:
    """``conv``, for which :func:`is_dsp_depthwise` holds."""
    layer = DepthwiseLayer(ctx, order_of(ctx))
    numbers = Numbers.of(layer)
    if not is_plain_window(layer.node, KERNEL):
        return WindowDepthwise(layer, numbers).emit()
    stride2 = layer.stride == (2, 2) and numbers.factors is not None
    return (Stride2Depthwise if stride2 else ColumnDepthwise)(layer, numbers).emit()


class _PlainDepthwise(DepthwiseBlocks):
    """3x3 from ``count`` rows that are staged together, by the block ``stage``."""

    stage: str
    count: int
    columns: int
    """Staged columns."""
    staged: Buffer

    def _stage(self, place: Place, needed: int) -> Block:
        """The first ``needed`` rows; the others are not looked at."""
        layer, left = self.layer, self.layer.pad[1]
        width = min(layer.extent[1], self.columns - left)
        rows = [self.input_row(place, min(number, needed - 1)) for number in range(self.count)]
        places = (layer.place(place.batch, row.inside, 0) for row in rows)
        pointers = (layer.pointer(layer.x, at, place.channel) for at in places)
        scalars = (self.together, width, layer.channels, left, self.columns - left - width, layer.zero)
        out: Block = (Invoke(self.stage, (*pointers, start(self.staged)), scalars),)
        for number, row in enumerate(rows[:needed]):
            if row.outside is not None:
                out += (If(row.outside, (self.fill(number),)),)
        return out

    def fill(self, number: int) -> Invoke:
        """The zero point in place of a staged row."""
        raise NotImplementedError


class ColumnDepthwise(_PlainDepthwise):
    """From columns of four rows (``blocks/depthwise.py``)."""

    stage, count = "depthwise_stage", 4

    def __init__(self, layer: DepthwiseLayer, numbers: Numbers) -> None:
        self.columns = layer.columns
        super().__init__(layer, numbers, 3 - layer.stride[0], 4 * COLUMN * self.columns)
        words = layer.taps[:, [0, 1, 1, 2], :].transpose(0, 2, 1).astype(np.int8)
        self.weights = self.stream(np.ascontiguousarray(words).view("<i4").reshape(layer.channels, KERNEL))
        shape = (self.together * self.columns * COLUMN,)
        self.staged = self.ctx.temporary("columns", DType.I32, shape, align=8)

    def step(self, place: Place) -> Block:
        width, w = self.layer.out[1], self.words_of(self.weights, place)
        rows = [place.row + number for number in range(self.rows)]
        stage = self._stage(place, KERNEL + self.rows - 1)
        if self.in_bytes:
            outputs = (self.pixel(place, row, 0) for row in rows)
            scalars = (self.together, width, self.layer.channels, self.zero_point)
            return (*stage, Invoke("depthwise_bytes_two_rows", (w, start(self.staged), *outputs), scalars))
        name = "depthwise_two_rows" if self.rows == 2 else "depthwise_stride2"
        multiply = Invoke(name, (w, start(self.staged)), (width,))
        return (*stage, multiply, *self.finish(self.weights, self.staged, place, rows, Span(0, width)))

    def fill(self, number: int) -> Invoke:
        scalars = (self.together * self.columns, number % 2, self.layer.zero)
        return Invoke("depthwise_fill", (start(self.staged, number // 2),), scalars)


class Stride2Depthwise(_PlainDepthwise):
    """Stride 2 from pairs of columns of three rows (``blocks/depthwise_rows.py``)."""

    stage, count = "depthwise_stage_stride2", KERNEL

    def __init__(self, layer: DepthwiseLayer, numbers: Numbers) -> None:
        pairs = layer.out[1] + 1
        self.columns = 2 * pairs
        super().__init__(layer, numbers, 1, 4 * PAIR * pairs)
        self.weights = self.stream(self._words())
        self.staged = self.ctx.temporary("pairs", DType.I32, (self.together * pairs * PAIR,), align=8)

    def _words(self) -> np.ndarray:
        """The stream of ``depthwise_bytes_stride2``, without biases and factors."""
        taps = self.layer.taps.astype(np.int8)
        parts = ([(0, 0), (0, 1), (1, 0), (1, 1)], [(2, 0), (0, 2), (2, 1), (1, 2)])
        fours = [np.stack([taps[:, row, column] for row, column in part], axis=1) for part in parts]
        words = [np.ascontiguousarray(four).view("<i4") for four in fours]
        return np.concatenate([*words, taps[:, 2, 2].astype(np.int32)[:, None]], axis=1)

    def step(self, place: Place) -> Block:
        layer, w = self.layer, self.words_of(self.weights, place)
        scalars = (self.together, layer.out[1], layer.channels, self.zero_point)
        pointers = (w, start(self.staged), self.pixel(place, place.row, 0))
        return (*self._stage(place, KERNEL), Invoke("depthwise_bytes_stride2", pointers, scalars))

    def fill(self, number: int) -> Invoke:
        scalars = (self.together * (self.layer.out[1] + 1), number, self.layer.zero)
        return Invoke("depthwise_fill_stride2", (start(self.staged),), scalars)
