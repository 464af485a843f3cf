"""What depthwise convolutions on cores with DSP have in common: loops over rows and groups of channels, streams of
weights, and the requantization of accumulators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...blocks.depthwise import COLUMN, LANES
from ...blocks.nibbles import SIGNED_BYTES, WordForm
from ...ir.build import ge, lt, minimum
from ...ir.graph import Node
from ...ir.loops import Block, Buffer, Expr, If, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ops.attributes import ints
from ...record import record
from ..block_depthwise import DepthwiseLayer, InputRow, Order
from ..byte_operands import start
from ..kernel import KernelContext
from ..nibble_weights import StreamLayout, are_nibbles, stored_words
from ..requantization import Fixed, Requantization, fixed_form, rounded_form


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


CHUNK = 0.6
"""What staging and calls take of a chunk of groups, in parts of what a group takes."""


@record
class Place:
    """Where a step of the loops is: batch, first row of outputs, first of the input's channels, the number of the chunk
    of groups, and which of the channels is computed that see the same one of the input."""

    batch: Expr
    row: Expr
    channel: Expr
    chunk: Expr
    phase: Expr


@record
class Span:
    """``count`` columns of outputs from ``first`` on, every ``step``-th."""

    first: int
    count: int
    step: int = 1


@record
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
    four channels; up to ``most`` where results leave ``in_bytes``, by ``factors``, else one. Where channels do not come
    out even, the last groups overlap those before.

    Where several channels of the output see one of the input, groups are of the input's, and there are as many
    *phases*: each computes one channel of the output for every one of a chunk.

    The stream of weights has ``chunk_words`` for each chunk of each phase; where accumulators are computed, with the
    scales of the group at ``scales_at``."""

    chunk_words: int
    scales_at: int

    def __init__(self, layer: DepthwiseLayer, numbers: Numbers, rows: int, most: int) -> None:
        self.layer, self.numbers, self.ctx, self.names, self.rows = layer, numbers, layer.ctx, layer.names, rows
        self.in_bytes = numbers.factors is not None
        groups, whole = -(-layer.inputs // LANES), layer.inputs // LANES
        counts = range(1, (min(whole, most) if self.in_bytes else 1) + 1)
        self.together = min(counts, key=lambda count: -(-groups // count) * (count + CHUNK))
        self.chunks = -(-groups // self.together)
        self.unpack: Block = ()
        """What is done once, before any row."""

    @property
    def zero_point(self) -> int:
        """Of the results."""
        assert self.numbers.requantization is not None
        return self.numbers.requantization.zero_point

    @property
    def behind(self) -> np.ndarray:
        """[phase, channel, word]: what stands behind weights for the requantization: factors, bits of scales, or
        nothing."""
        numbers, count = self.numbers, self.layer.channels
        if numbers.factors is not None:
            return self.phases(numbers.factors.reshape(count, 1))
        if not self.in_rows:
            return self.phases(np.zeros((count, 0), np.int32))
        assert numbers.requantization is not None
        found = numbers.requantization.scale.view(np.int32) if numbers.fixed is None else numbers.fixed.factors
        return self.phases(found.reshape(count, 1))

    @property
    def in_rows(self) -> bool:
        """Whether blocks requantize accumulators, of which those of a group become neighbours."""
        return self.numbers.requantization is not None and self.layer.multiplier == 1

    def phases(self, values: np.ndarray) -> np.ndarray:
        """[phase, channel of the input, ...] of what is [channel of the output, ...]."""
        return values.reshape(self.layer.inputs, self.layer.multiplier, *values.shape[1:]).swapaxes(0, 1)

    def stored(self, words: np.ndarray, layout: StreamLayout, form: WordForm) -> Buffer:
        """The stream of ``words``, stored with 4 bits a weight in some ``form`` where these are enough."""
        nibbles = self.in_bytes and are_nibbles(self.layer.operands.weights)
        weights = stored_words(self.ctx, words.reshape(1, -1).astype(np.int32), layout, form if nibbles else None)
        self.unpack = weights.prepare(as_expr(0))
        return weights.buffer

    # ---- loops

    @property
    def steps(self) -> int:
        return -(-self.layer.out[0] // self.rows)

    def emit(self) -> Block:
        batch, step, chunk = (Var(self.names.fresh(stem)) for stem in ("o", "row", "chunk"))
        lanes, channels = self.together * LANES, self.layer.inputs
        channel: Expr = chunk * lanes
        if channels % lanes:
            channel = minimum(channel, channels - lanes)
        body = self.step(Place(batch, step * self.rows, channel, chunk, as_expr(0)))
        return (*self.unpack, *loop(batch, self.layer.batch, *loop(step, self.steps, *loop(chunk, self.chunks, *body))))

    def step(self, place: Place) -> Block:
        """Stages what the rows of outputs need, and computes them."""
        raise NotImplementedError

    def each_phase(self, place: Place, emit: Callable[[Place], Block]) -> Block:
        """What ``emit`` makes of every phase, in a loop."""
        phase = Var(self.names.fresh("phase"))
        return loop(phase, self.layer.multiplier, *emit(replace(place, phase=phase)))

    def words_at(self, place: Place) -> Expr:
        """Where the stream of weights of a chunk and phase begins."""
        return (place.phase * self.chunks + place.chunk) * self.chunk_words

    def input_row(self, place: Place, number: int) -> InputRow:
        """The row of the input under row ``number`` of the kernel, or of several rows of outputs."""
        return self.layer.input_row(place.row, number, (self.steps - 1) * self.rows)

    # ---- results

    def finish(self, weights: Buffer, sums: Buffer, place: Place, rows: list[Expr], columns: Span) -> Block:
        """Requantizes the accumulators of one group in one or two rows."""
        fixed = self.numbers.fixed
        if not self.in_rows:
            return self._epilogue(sums, place, rows, columns)
        kind, shift = ("finish", ()) if fixed is None else ("fixed", (fixed.shift,))
        at = self.words_at(place) + self.scales_at
        outputs = (self.pixel(place, row, columns.first) for row in rows)
        scalars = (columns.count, self.layer.channels * columns.step, self.zero_point, *shift)
        name = f"depthwise_{kind}_{'two_rows' if len(rows) == 2 else 'row'}"
        return (Invoke(name, (start(weights, at), start(sums), *outputs), scalars),)

    def pixel(self, place: Place, row: Expr, column: int) -> Pointer:
        """Of the output; a row behind the last is the last."""
        layer = self.layer
        if layer.out[0] % self.rows:
            row = minimum(row, layer.out[0] - 1)
        channel = place.channel * layer.multiplier + place.phase
        return layer.pointer(layer.y, layer.place(place.batch, row, column), channel)

    def _epilogue(self, sums: Buffer, place: Place, rows: list[Expr], columns: Span) -> Block:
        """The body behind the convolution, for each accumulator once."""
        layer = self.layer
        out: Block = ()
        for number, row in enumerate(rows):
            column, lane = Var(self.names.fresh("column")), Var(self.names.fresh("lane"))
            channel = place.channel + lane
            acc = sums[column * COLUMN + lane * 2 + number]
            pixel = layer.place(place.batch, row, column * columns.step + columns.first)
            block = self.ctx.store_element((*pixel, channel * layer.multiplier + place.phase), acc)
            if layer.inputs % LANES:
                block = (If(ge(channel, place.chunk * LANES), block),)
            block = loop(column, columns.count, *loop(lane, LANES, *block))
            if number and layer.out[0] % self.rows:
                block = (If(lt(row, layer.out[0]), block),)
            out += block
        return out


def columns_of(blocks: DepthwiseBlocks) -> np.ndarray:
    """[phase, channel, word] of a 3x3 layer: the bias of a channel and a word for each column of its weights
    (``blocks/depthwise.py``)."""
    layer = blocks.layer
    taps = np.ascontiguousarray(layer.taps[:, [0, 1, 1, 2], :].transpose(0, 2, 1).astype(np.int8))
    words = taps.view("<i4").reshape(layer.channels, -1)
    return blocks.phases(np.concatenate([layer.bias.astype(np.int32)[:, None], words], axis=1))


def bytes_stream(blocks: DepthwiseBlocks) -> tuple[Buffer, int]:
    """The weights of a 3x3 layer whose results leave in bytes, phase by phase, each channel with its factor behind, and
    the words of a channel."""
    each = columns_of(blocks)
    words = np.concatenate([each, blocks.behind], axis=2)
    return blocks.stored(words, StreamLayout(1, each.shape[2] - 1, 1), SIGNED_BYTES), words.shape[2]
