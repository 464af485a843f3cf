"""What depthwise convolutions on cores with DSP have in common: loops over rows and groups of channels, streams of
weights, and the requantization of accumulators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...blocks.depthwise import COLUMN, LANES
from ...blocks.nibbles import SIGNED_BYTES
from ...ir.build import ge, lt, minimum
from ...ir.graph import Node
from ...ir.loops import Block, Buffer, Expr, If, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ops.attributes import ints
from ..block_depthwise import DepthwiseLayer, InputRow, Order
from ..byte_operands import start
from ..kernel import KernelContext
from ..nibble_weights import StreamLayout, are_nibbles, stored_words
from ..requantization import Fixed, Requantization, fixed_form, rounded_form

STAGED_BYTES = 512
"""Of groups of channels that are staged together, where it is more than one."""


def order_of(ctx: KernelContext) -> Order:
    """A layer of one dimension has a single row. So has a column of pixels, where these are neighbours in memory and
    the blocks for rows can walk along them."""
    node, _ = ctx.contraction
    if len(node.output.shape) == 3:
        return None, 0
    if not is_column(node):
        return 0, 1
    along = (ints(node.attrs, name)[0] for name in ("stride", "dilation"))
    refs = (ctx.refs[node.operands[0].name], ctx.refs[ctx.output.name])
    dense = 1 in along and all(ref.buffer.shape[2] == 1 for ref in refs)
    return (None, 0) if dense else (0, None)


def is_column(node: Node) -> bool:
    """Whether a two-dimensional convolution goes from a column to a column by a kernel that is a column."""
    x, w = node.operands[:2]
    if len(x.shape) != 4 or ints(node.attrs, "pad")[1]:
        return False
    return x.shape[2] == w.shape[2] == node.output.shape[2] == 1


@dataclass(frozen=True)
class Place:
    """Where a step of the loops is: batch, first row of outputs, first of the channels, and the number of the chunk of
    groups."""

    batch: Expr
    row: Expr
    channel: Expr
    chunk: Expr


@dataclass(frozen=True)
class Span:
    """``count`` columns of outputs from ``first`` on, every ``step``-th."""

    first: int
    count: int
    step: int = 1


@dataclass(frozen=True)
class Numbers:
    """How results are requantized, where nothing follows: best by ``factors`` alone, in one pass with the
    multiplication; else in the form ``fixed``, else by floats."""

    requantization: Requantization | None
    factors: np.ndarray | None = None
    fixed: Fixed | None = None

    @staticmethod
    def of(layer: DepthwiseLayer) -> Numbers:
        rq, bounds = layer.requantization, layer.operands.bounds
        if rq is None or not rq.whole:
            return Numbers(None)
        factors = rounded_form(rq, *bounds)
        return Numbers(rq, factors, fixed_form(rq, *bounds, 0) if factors is None else None)


class DepthwiseBlocks:
    """The loops around the blocks of a layer: over batch, ``rows`` of outputs, and chunks of ``together`` groups of
    four channels; several where results leave ``in_bytes``, by ``factors``, and staging a group takes little memory.
    Where channels do not come out even, the last groups overlap those before."""

    def __init__(self, layer: DepthwiseLayer, numbers: Numbers, rows: int, group_bytes: int) -> None:
        self.layer, self.numbers, self.ctx, self.names, self.rows = layer, numbers, layer.ctx, layer.names, rows
        self.in_bytes = numbers.factors is not None
        groups, whole = -(-layer.channels // LANES), layer.channels // LANES
        most = min(whole, max(1, STAGED_BYTES // group_bytes)) if self.in_bytes else 1
        self.together = min(whole, -(-groups // -(-groups // most)))
        self.chunks = -(-groups // self.together)
        self.unpack: Block = ()
        """What is done once, before any row."""

    @property
    def zero_point(self) -> int:
        """Of the results."""
        assert self.numbers.requantization is not None
        return self.numbers.requantization.zero_point

    def stream(self, words: np.ndarray) -> Buffer:
        """``words`` [channel, word] of weights, each channel with its bias before them and its factor behind. Where
        accumulators are computed, group by group with the scales of the group behind."""
        layer, numbers = self.layer, self.numbers
        each = np.concatenate([layer.bias.astype(np.int32)[:, None], words], axis=1)
        if numbers.factors is not None:
            each = np.concatenate([each, numbers.factors[:, None]], axis=1)
            self.channel_words = each.shape[1]
            form = SIGNED_BYTES if are_nibbles(layer.operands.weights) else None
            layout = StreamLayout(1, words.shape[1], 1)
            stored = stored_words(self.ctx, each.reshape(1, -1).astype(np.int32), layout, form)
            self.unpack = stored.prepare(as_expr(0))
            return stored.buffer
        scales = np.zeros((layer.channels, 0), np.int32)
        if numbers.requantization is not None:
            found = numbers.requantization.scale.view(np.int32) if numbers.fixed is None else numbers.fixed.factors
            scales = found.reshape(-1, 1)
        parts = []
        for group in range(self.chunks):
            lanes = slice(min(group * LANES, layer.channels - LANES), None)
            parts += [each[lanes][:LANES].reshape(-1), scales[lanes][:LANES].reshape(-1)]
        self.group_words = each.shape[1] * LANES
        """Of weights."""
        self.channel_words = each.shape[1] + scales.shape[1]
        return self.ctx.pack("w", np.concatenate(parts).astype(np.int32))

    def words_of(self, weights: Buffer, place: Place) -> Pointer:
        """What blocks read of the stream."""
        first = place.channel if self.in_bytes else place.chunk * LANES
        return start(weights, first * self.channel_words)

    # ---- loops

    @property
    def steps(self) -> int:
        return -(-self.layer.out[0] // self.rows)

    def emit(self) -> Block:
        batch, step, chunk = (Var(self.names.fresh(stem)) for stem in ("o", "row", "chunk"))
        lanes, channels = self.together * LANES, self.layer.channels
        channel: Expr = chunk * lanes
        if channels % lanes:
            channel = minimum(channel, channels - lanes)
        body = self.step(Place(batch, step * self.rows, channel, chunk))
        return (*self.unpack, *loop(batch, self.layer.batch, *loop(step, self.steps, *loop(chunk, self.chunks, *body))))

    def step(self, place: Place) -> Block:
        """Stages what the rows of outputs need, and computes them."""
        raise NotImplementedError

    def input_row(self, place: Place, number: int) -> InputRow:
        """The row of the input under row ``number`` of the kernel, or of several rows of outputs."""
        return self.layer.input_row(place.row, number, (self.steps - 1) * self.rows)

    # ---- results

    def finish(self, weights: Buffer, sums: Buffer, place: Place, rows: list[Expr], columns: Span) -> Block:
        """Requantizes the accumulators of one group in one or two rows."""
        fixed = self.numbers.fixed
        if self.numbers.requantization is None:
            return self._epilogue(sums, place, rows, columns)
        kind, shift = ("finish", ()) if fixed is None else ("fixed", (fixed.shift,))
        at = place.chunk * (LANES * self.channel_words) + self.group_words
        outputs = (self.pixel(place, row, columns.first) for row in rows)
        scalars = (columns.count, self.layer.channels * columns.step, self.zero_point, *shift)
        name = f"depthwise_{kind}_{'two_rows' if len(rows) == 2 else 'row'}"
        return (Invoke(name, (start(weights, at), start(sums), *outputs), scalars),)

    def pixel(self, place: Place, row: Expr, column: int) -> Pointer:
        """Of the output; a row behind the last is the last."""
        layer = self.layer
        if layer.out[0] % self.rows:
            row = minimum(row, layer.out[0] - 1)
        return layer.pointer(layer.y, layer.place(place.batch, row, column), place.channel)

    def _epilogue(self, sums: Buffer, place: Place, rows: list[Expr], columns: Span) -> Block:
        """The body behind the convolution, for each accumulator once."""
        layer = self.layer
        out: Block = ()
        for number, row in enumerate(rows):
            column, lane = Var(self.names.fresh("column")), Var(self.names.fresh("lane"))
            channel = place.channel + lane
            acc = sums[column * COLUMN + lane * 2 + number]
            pixel = layer.place(place.batch, row, column * columns.step + columns.first)
            block = self.ctx.store_element((*pixel, channel), acc)
            if layer.channels % LANES:
                block = (If(ge(channel, place.chunk * LANES), block),)
            block = loop(column, columns.count, *loop(lane, LANES, *block))
            if number and layer.out[0] % self.rows:
                block = (If(lt(row, layer.out[0]), block),)
            out += block
        return out
