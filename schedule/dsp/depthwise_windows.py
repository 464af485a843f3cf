"""Depthwise convolutions of int8 with any kernel, one row of outputs at a time from rows that are staged one by one.

Along a row everything is a convolution of stride 1 without dilation: at stride s, columns that are s apart make a row
of their own (a *phase*) under every s-th column of the kernel; with dilation d, outputs that are d apart are computed
by themselves, from columns that are d apart. Wide rows are computed in parts, so that staging takes little memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...blocks.depthwise import COLUMN, LANES
from ...blocks.depthwise_rows import pairs_under, whole
from ...ir.build import store
from ...ir.loops import I32, Block, Expr, If, Invoke, Var
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ..block_depthwise import DepthwiseLayer
from ..byte_operands import start
from .depthwise_base import DepthwiseBlocks, Numbers, Place, Span

PART_BYTES = 4096
"""Of staged rows of four channels, where the outputs of a row are not computed in parts."""
LEAST_PART = 8
"""Outputs."""


@dataclass(frozen=True)
class _Columns:
    """Columns of an input row: ``left`` beyond the border, then ``count`` from ``first`` on."""

    first: int
    left: int
    count: int


class WindowDepthwise(DepthwiseBlocks):
    def __init__(self, layer: DepthwiseLayer, numbers: Numbers) -> None:
        self.stride, self.dilation = layer.stride[1], layer.dilation[1]
        self.phases = 1 if self.dilation > 1 else min(self.stride, layer.kernel[1])
        self.words = -(-layer.kernel[1] // (1 if self.dilation > 1 else self.stride)) // 2 + 1
        """Pairs of columns under a pair of outputs."""
        self.staged_rows = layer.kernel[0] * self.phases
        self.spans = self._spans(layer.out[1])
        most = max(span.count for span in self.spans)
        group = self.staged_rows * pairs_under(most, self.words) * LANES
        super().__init__(layer, numbers, 1, 4 * group)
        self.weights = self.stream(self._words())
        self.staged = self.ctx.temporary("rows", DType.I32, (self.together * group,), align=8)
        if not self.in_bytes:
            self.sums = self.ctx.temporary("sums", DType.I32, (whole(most) * COLUMN,), align=8)

    def _spans(self, width: int) -> list[Span]:
        """Outputs that are computed together."""
        most = PART_BYTES // (4 * LANES * self.staged_rows)
        most = max(LEAST_PART, 2 * (most - self.words))
        out = []
        for first in range(min(self.dilation, width)):
            count = -(-(width - first) // self.dilation)
            parts = -(-count // most)
            each = -(-count // parts)
            for begin in range(0, count, each):
                span = Span(first + begin * self.dilation, min(each, count - begin), self.dilation)
                out.append(span)
        return out

    def _words(self) -> np.ndarray:
        """The stream of ``blocks/depthwise_window.py``, without biases."""
        channels, rows, columns = self.layer.taps.shape
        padded = np.zeros((channels, rows, self.phases, 2 * self.words + 1), np.int8)
        for column in range(columns):
            padded[:, :, column % self.phases, 1 + column // self.phases] = self.layer.taps[:, :, column]
        starts = 2 * np.arange(self.words)[:, None] + np.array([1, 0, 2, 1])
        return np.ascontiguousarray(padded[..., starts]).view("<i4").reshape(channels, -1)

    # ---- loops

    def step(self, place: Place) -> Block:
        out: Block = ()
        for span in self.spans:
            out += (*self._stage(place, span), *self._multiply(place, span))
        return out

    def _stage(self, place: Place, span: Span) -> Block:
        pairs = pairs_under(span.count, self.words)
        out: Block = ()
        for number in range(self.staged_rows):
            at = number * self.together * pairs * LANES
            columns, fill = self._columns(span, pairs, number % self.phases), self._fill(at, pairs)
            row = self.input_row(place, number // self.phases)
            stage = fill if columns.count <= 0 else self._stage_row(place, row.inside, columns, at, pairs)
            outside = None if stage is fill else row.outside
            out += stage if outside is None else (If(outside, fill, stage),)
        return out

    @property
    def _apart(self) -> int:
        """Columns from one staged column to the next."""
        return self.stride * self.dilation

    def _columns(self, span: Span, pairs: int, phase: int) -> _Columns:
        first = span.first * self.stride + phase - self.layer.pad[1]
        left = max(0, -(first // self._apart))
        first += left * self._apart
        count = -(-(self.layer.extent[1] - first) // self._apart)
        return _Columns(first, left, min(count, 2 * pairs - left))

    def _stage_row(self, place: Place, row: Expr, columns: _Columns, at: int, pairs: int) -> Block:
        layer = self.layer
        right = 2 * pairs - columns.left - columns.count
        x = layer.pointer(layer.x, layer.place(place.batch, row, columns.first), place.channel)
        step = layer.channels * self._apart
        scalars = (self.together, columns.count, step, columns.left, right, layer.zero)
        return (Invoke("depthwise_stage_row", (x, start(self.staged, at)), scalars),)

    def _fill(self, at: int, pairs: int) -> Block:
        """The zero point in place of a row beyond the border."""
        word, zero = Var(self.names.fresh("word")), self.layer.zero
        both = I32((zero << 16) + (zero & 0xFFFF))
        return loop(word, self.together * pairs * LANES, store(self.staged[word + at], both))

    def _multiply(self, place: Place, span: Span) -> Block:
        layer, staged = self.layer, start(self.staged)
        w = self.words_of(self.weights, place)
        if not self.in_bytes:
            sums = Invoke(
                "depthwise_window_sums",
                (w, staged, start(self.sums)),
                (whole(span.count), self.staged_rows, self.words),
            )
            return (sums, *self.finish(self.weights, self.sums, place, [place.row], span))
        y, step = self.pixel(place, place.row, span.first), layer.channels * span.step
        scalars = (self.together, span.count, self.staged_rows, self.words, step, self.zero_point)
        return (Invoke("depthwise_window_bytes", (w, staged, y), scalars),)
