"""Depthwise convolutions of int8 with any kernel, one row of outputs and up to sixteen channels at a time, from windows
that are staged as neighbouring cells (``blocks/depthwise_windows.py``).

With dilation d, outputs that are d apart are computed by themselves, from columns that are d apart. Wide rows are
computed in parts, so that staging takes little memory.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...blocks.depthwise_windows import CELL, COLUMN, FAR, GROUPS, LANES, NINE_TAPS, pairs_of
from ...blocks.nibbles import HALFWORDS
from ...ir.loops import Block, Buffer, Expr, If, Invoke
from ...ir.types import DType
from ...record import record
from ..block_depthwise import DepthwiseLayer
from ..byte_operands import start
from ..nibble_weights import StreamLayout
from .depthwise_base import DepthwiseBlocks, Numbers, Place, Span

PART_BYTES = 1280
"""Of staged rows, where the outputs of a row are not computed in parts."""
LEAST_PART = 4
"""Outputs."""


@record
class _Columns:
    """Staged columns: ``left`` beyond the border, then ``count`` of the input from ``first`` on, then ``right``."""

    first: int
    left: int
    count: int
    right: int


class WindowDepthwise(DepthwiseBlocks):
    def __init__(self, layer: DepthwiseLayer, numbers: Numbers) -> None:
        dilated = layer.dilation[1] > 1
        self.step_in, self.step_out = (layer.dilation[1], 1) if dilated else (1, layer.stride[1])
        """Columns of the input from one staged column to the next, and staged columns from a window to the next."""
        self.rows_under, columns = layer.kernel
        taps = self.rows_under * columns
        self.pairs = pairs_of(taps)
        self.columns_under = columns + -(-(2 * self.pairs + 1 - taps) // self.rows_under)
        """Staged columns of a window, with those that only taps of zero see."""
        super().__init__(layer, numbers, 1, GROUPS)
        self.spans = self._spans(layer.out[1])
        most = max(span.count for span in self.spans)
        self.weights = self._stream()
        self.staged = self.ctx.temporary("rows", DType.I8, (self._width(most) * self._apart,), align=8)
        if not self.in_bytes:
            self.sums = self.ctx.temporary("sums", DType.I32, (most * COLUMN,), align=8)

    @property
    def _apart(self) -> int:
        """Bytes of a staged column."""
        return self.rows_under * CELL

    def _width(self, outputs: int) -> int:
        """Staged columns under so many outputs."""
        return (outputs - 1) * self.step_out + self.columns_under

    def _spans(self, width: int) -> list[Span]:
        """Outputs that are computed together."""
        most = max(LEAST_PART, (PART_BYTES // self._apart - self.columns_under) // self.step_out + 1)
        out = []
        for first in range(min(self.step_in, width)):
            count = -(-(width - first) // self.step_in)
            each = -(-count // -(-count // most))
            for begin in range(0, count, each):
                out.append(Span(first + begin * self.step_in, min(each, count - begin), self.step_in))
        return out

    # ---- weights

    def _stream(self) -> Buffer:
        """The stream of ``blocks/depthwise_windows.py``, phase by phase and chunk by chunk; where accumulators are
        computed, with the scales of a chunk behind it."""
        layer, behind, lanes = self.layer, self.behind, self.together * LANES
        taps = layer.taps.transpose(0, 2, 1).reshape(layer.channels, -1).astype("<i2")
        padded = np.zeros((layer.channels, 2 * self.pairs + 1), "<i2")
        padded[:, : taps.shape[1]] = taps
        weights, bias = self.phases(padded), self.phases(layer.bias)
        parts = []
        for phase in range(layer.multiplier):
            for chunk in range(self.chunks):
                first = min(chunk * lanes, layer.inputs - lanes)
                for channel in range(first, first + lanes, LANES):
                    four = (phase, slice(channel, channel + LANES))
                    pairs = np.ascontiguousarray(weights[four][:, :-1]).view("<i4").T
                    last = np.ascontiguousarray(weights[four][:, -1].reshape(2, 2).T).view("<i4")
                    parts += [bias[four], pairs, last, behind[four]]
        words = np.concatenate([part.reshape(-1).astype(np.int32) for part in parts])
        self.chunk_words = len(words) // (layer.multiplier * self.chunks)
        self.scales_at = self.chunk_words - LANES * behind.shape[2]
        layout = StreamLayout(LANES, self.pairs * LANES + 2, LANES)
        return self.stored(words, layout, HALFWORDS)

    # ---- loops

    def step(self, place: Place) -> Block:
        out: Block = ()
        for span in self.spans:
            out += self._stage(place, span)
            out += self.each_phase(place, partial(self._multiply, span))
        return out

    def _stage(self, place: Place, span: Span) -> Block:
        columns = self._columns(span)
        nothing = _Columns(0, self._width(span.count), 0, 0)
        out: Block = ()
        for number in range(self.rows_under):
            row = self.input_row(place, number)
            fill = self._stage_row(place, row.inside, nothing, number)
            stage = self._stage_row(place, row.inside, columns, number)
            out += (stage,) if row.outside is None or not columns.count else (If(row.outside, (fill,), (stage,)),)
        return out

    def _columns(self, span: Span) -> _Columns:
        layer, width = self.layer, self._width(span.count)
        first = span.first * layer.stride[1] - layer.pad[1]
        left = min(max(0, -(first // self.step_in)), width)
        first += left * self.step_in
        count = max(0, min(-(-(layer.extent[1] - first) // self.step_in), width - left))
        return _Columns(first, left, count, width - left - count) if count else _Columns(0, width, 0, 0)

    def _stage_row(self, place: Place, row: Expr, columns: _Columns, number: int) -> Invoke:
        layer = self.layer
        x = layer.pointer(layer.x, layer.place(place.batch, row, columns.first), place.channel)
        step, borders = layer.inputs * self.step_in, (columns.left, columns.right)
        scalars = (self.together, columns.count, step, *borders, self._apart, layer.zero)
        return Invoke("depthwise_stage_row", (x, start(self.staged, number * CELL)), scalars)

    def _multiply(self, span: Span, place: Place) -> Block:
        layer, staged, advance = self.layer, start(self.staged), self.step_out * self._apart
        w = start(self.weights, self.words_at(place))
        if not self.in_bytes:
            sums = Invoke("depthwise_window_sums", (w, staged, start(self.sums)), (span.count, self.pairs, advance))
            return (sums, *self.finish(self.weights, self.sums, place, [place.row], span))
        y, step = self.pixel(place, place.row, span.first), layer.channels * span.step
        many, rest = (self.together, span.count), (advance, step, self.zero_point)
        if layer.multiplier > 1:
            scalars = (*many, self.pairs, *rest, layer.multiplier)
            return (Invoke("depthwise_window_bytes_apart", (w, staged, y), scalars),)
        if self.pairs == NINE_TAPS and max(advance, step) < FAR:
            return (Invoke("depthwise_window_bytes_9", (w, staged, y), (*many, *rest)),)
        return (Invoke("depthwise_window_bytes", (w, staged, y), (*many, self.pairs, *rest)),)
