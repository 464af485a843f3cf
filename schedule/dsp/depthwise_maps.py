"""Depthwise 3x3 convolutions of int8 with steps of one over small maps, four channels over all rows at a time
(``blocks/depthwise_map.py``).

Before::                                      After::

    for o, row, column, c:                      for o, some four channels:
      acc = bias[c]                               stage pairs of rows of the input as pairs of halfwords
      for k: acc += x[o, .., c] * w[c, k]         multiply all rows to bytes
      y[o, row, column, c] = requantize(acc)

Each row is staged once, and what a channel is prepared by is done once. Borders stay in what is staged. No row is
finished before the last channel, so there are no streams of such layers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from math import prod

import numpy as np

from ...blocks.common import both
from ...blocks.depthwise import LANES
from ...ir.build import store
from ...ir.loops import Block, Expr, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ..block_depthwise import DepthwiseLayer
from ..byte_operands import start
from .depthwise_base import DepthwiseBlocks, Numbers, Place, bytes_stream

MOST_STAGED = 2048
"""Bytes of pairs of rows."""


def is_map(layer: DepthwiseLayer, numbers: Numbers) -> bool:
    """Whether all rows of a 3x3 layer with steps of one are computed channel by channel: requantized by factors alone,
    small, and not to go row by row. Groups of channels that overlapped could not take the place of their operand."""
    fours = layer.multiplier == 1 and layer.channels % LANES == 0
    staged = _pairs(layer) * layer.columns * LANES * DType.I32.size
    small = layer.out[0] > 1 and staged <= MOST_STAGED
    return numbers.factors is not None and fours and small and not layer.ctx.cpu.in_rows


def _pairs(layer: DepthwiseLayer) -> int:
    """Of rows of the input under all rows of outputs."""
    return (layer.out[0] + 1) // 2 + 1


class MapDepthwise(DepthwiseBlocks):
    """A layer for which :func:`is_map` holds."""

    def __init__(self, layer: DepthwiseLayer, numbers: Numbers) -> None:
        super().__init__(layer, numbers, layer.out[0], 1)
        self.weights, self.channel_words = bytes_stream(self)
        self.pairs = _pairs(layer)
        self.staged = self.ctx.temporary("pairs", DType.I32, (self.pairs * layer.columns * LANES,), align=8)
        self.border = self.ctx.pack("border", np.full(LANES, layer.zero, np.int8))
        at = Var(self.names.fresh("at"))
        self.unpack += loop(at, self.staged.shape[0], store(self.staged[at], both(layer.zero)))

    def step(self, place: Place) -> Block:
        layer, w = self.layer, start(self.weights, place.channel * self.channel_words)
        scalars = (*layer.out, prod(layer.y.buffer.shape[2:]), layer.channels, self.zero_point)
        multiply = Invoke("depthwise_map", (w, start(self.staged), self.pixel(place, as_expr(0), 0)), scalars)
        return (*self._stage(place), multiply)

    def _runs(self) -> Iterator[tuple[int, int, tuple[bool, bool]]]:
        """Pairs of rows of which the same ones are inside the input: the first, how many, and which."""
        layer = self.layer

        def inside(pair: int) -> tuple[bool, bool]:
            first = 2 * pair - layer.pad[0]
            return 0 <= first < layer.extent[0], 0 <= first + 1 < layer.extent[0]

        for found, pairs in groupby(range(self.pairs), inside):
            first, *rest = pairs
            yield first, 1 + len(rest), found

    def _stage(self, place: Place) -> Block:
        layer, apart = self.layer, 2 * prod(self.layer.x.buffer.shape[2:])
        block: Block = ()
        for first, count, inside in self._runs():
            if not any(inside):
                continue
            rows = [2 * first - layer.pad[0] + n for n in range(2)]
            pointers = [self._row(place, number, there) for number, there in zip(rows, inside, strict=True)]
            target = start(self.staged, (first * layer.columns + layer.pad[1]) * LANES)
            steps = (layer.inputs if there else 0 for there in inside)
            scalars = (count, layer.inner, *steps, apart, layer.columns)
            block += (Invoke("depthwise_stage_pairs", (*pointers, target), scalars),)
        return block

    def _row(self, place: Place, row: int, inside: bool) -> Pointer:
        """Where a row of the input is, or what stands for one beyond the border."""
        if not inside:
            return start(self.border)
        at: tuple[Expr, ...] = self.layer.place(place.batch, as_expr(row), 0)
        return self.layer.pointer(self.layer.x, at, place.channel)
