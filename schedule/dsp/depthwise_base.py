"""What depthwise convolutions through block instructions have in common: operands, loops over rows, results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...blocks.depthwise import COLUMN, LANES
from ...ir.graph import Node
from ...ir.loops import Binary, Block, Buffer, Expr, If, Invoke, Load, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ops.infer import ints
from ...ops.integer import zero_point
from ..byte_operands import Columns
from ..kernel import KernelContext
from ..requantization import Fixed, Requantization, fixed_form, requantization_of, rounded_form
from ..tensors import TensorRef

STAGED_BYTES = 512
"""Of groups of channels that are staged together, where it is more than one."""


@dataclass(frozen=True)
class DepthwiseLayer:
    """A depthwise convolution: ``taps`` [channel, row, column], biases with the zero point folded in, and how results
    are requantized where nothing follows: best by ``factors`` alone, else in the form ``fixed``, else by floats. One of
    one dimension has a single row, and so has one that is ``upright``, a column of pixels."""

    ctx: KernelContext
    node: Node
    taps: np.ndarray
    bias: np.ndarray
    requantization: Requantization | None
    factors: np.ndarray | None
    fixed: Fixed | None
    upright: bool

    @staticmethod
    def of(ctx: KernelContext, node: Node, weights: np.ndarray) -> DepthwiseLayer:
        columns = Columns.of(ctx, node, weights)
        upright = is_column(node) and _is_dense_column(ctx, node)
        taps = columns.weights.reshape(len(weights), -1, 1 if is_column(node) else weights.shape[-2])
        taps = taps.transpose(0, 2, 1) if upright else taps
        found = requantization_of(ctx, columns.reach)
        if found is None or not found.whole:
            return DepthwiseLayer(ctx, node, taps, columns.bias, None, None, None, upright)
        factors = rounded_form(found, *columns.bounds)
        fixed = fixed_form(found, *columns.bounds, 0) if factors is None else None
        return DepthwiseLayer(ctx, node, taps, columns.bias, found, factors, fixed, upright)

    @property
    def x(self) -> TensorRef:
        assert self.node.inputs[0] is not None
        return self.ctx.refs[self.node.inputs[0].name]

    @property
    def y(self) -> TensorRef:
        return self.ctx.refs[self.ctx.output.name]

    @property
    def extent(self) -> tuple[int, ...]:
        """Height and width of the input."""
        return self._with_rows(self.x.shape)[1:3]

    @property
    def out(self) -> tuple[int, ...]:
        return self._with_rows(self.node.output.shape)

    @property
    def channels(self) -> int:
        return self.out[-1]

    @property
    def kernel(self) -> tuple[int, ...]:
        return self.taps.shape[1:]

    @property
    def zero_point(self) -> int:
        """Of the input."""
        return zero_point(self.node.attrs)

    def attribute(self, name: str) -> tuple[int, ...]:
        found = ints(self.node.attrs, name)
        if is_column(self.node):
            found = (found[0], 0, found[2], 0) if name == "pad" else (found[0], 1)
        if len(self.x.shape) == 3:
            return (0, found[0], 0, found[1]) if name == "pad" else (1, *found)
        if self.upright:
            return (found[1], found[0], found[3], found[2]) if name == "pad" else found[::-1]
        return found

    def index(self, place: Place, row: Expr, column: Expr | int, lane: Expr | int = 0) -> tuple[Expr | int, ...]:
        """Of an element of the input or the output."""
        where = (column,) if len(self.x.shape) == 3 else (column, row) if self.upright else (row, column)
        return (place.batch, *where, place.channel + lane)

    def _with_rows(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if len(shape) == 3:
            return (shape[0], 1, *shape[1:])
        return (shape[0], shape[2], shape[1], shape[3]) if self.upright else shape


def is_column(node: Node) -> bool:
    """Whether a two-dimensional convolution goes from a column to a column by a kernel that is a column."""
    x, w = node.inputs[0], node.inputs[1]
    assert x is not None and w is not None
    if len(x.shape) != 4 or ints(node.attrs, "pad")[1]:
        return False
    return x.shape[2] == w.shape[2] == node.output.shape[2] == 1


def _is_dense_column(ctx: KernelContext, node: Node) -> bool:
    """Whether pixels are neighbours in memory, and the blocks for rows can walk along them."""
    along = (ints(node.attrs, name)[0] for name in ("stride", "dilation"))
    refs = (ctx.refs[node.operands[0].name], ctx.refs[ctx.output.name])
    return 1 in along and all(ref.buffer.shape[2] == 1 for ref in refs)


@dataclass(frozen=True)
class Place:
    """Where a step of the loops is: batch, first row of outputs, first of the channels, and the number of the chunk of
    groups."""

    batch: Expr
    row: Expr
    channel: Expr
    chunk: Expr


@dataclass(frozen=True)
class InputRow:
    """The number of a row, or of the nearest that there is where it is ``outside``; ``None``: it never is."""

    inside: Expr
    outside: Expr | None


class DepthwiseBlocks:
    """The loops around the blocks of a layer: over batch, ``rows`` of outputs, and chunks of ``together`` groups of
    four channels; several where bytes are computed in one pass and staging a group takes little memory."""

    def __init__(self, layer: DepthwiseLayer, rows: int, group_bytes: int, in_bytes: bool) -> None:
        self.layer, self.ctx, self.names, self.rows = layer, layer.ctx, layer.ctx.names, rows
        self.in_bytes = in_bytes
        """Whether blocks go to bytes in one pass, by ``layer.factors``."""
        groups, whole = -(-layer.channels // LANES), layer.channels // LANES
        most = min(whole, max(1, STAGED_BYTES // group_bytes)) if in_bytes else 1
        self.together = min(whole, -(-groups // -(-groups // most)))
        self.chunks = -(-groups // self.together)

    def stream(self, words: np.ndarray) -> Buffer:
        """``words`` [channel, word] of weights, each channel with its bias before them and its factor behind. Where
        accumulators are computed, group by group with the scales of the group behind."""
        layer = self.layer
        each = np.concatenate([layer.bias.astype(np.int32)[:, None], words], axis=1)
        if self.in_bytes and layer.factors is not None:
            each = np.concatenate([each, layer.factors[:, None]], axis=1)
            self.channel_words = each.shape[1]
            return self.ctx.pack("w", each.reshape(-1).astype(np.int32))
        scales = np.zeros((layer.channels, 0), np.int32)
        if layer.requantization is not None:
            found = layer.requantization.scale.view(np.int32) if layer.fixed is None else layer.fixed.factors
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
        return at_word(weights, first * self.channel_words)

    # ---- loops

    @property
    def steps(self) -> int:
        return -(-self.layer.out[1] // self.rows)

    def emit(self) -> Block:
        batch, step, chunk = (Var(self.names.fresh(stem)) for stem in ("o", "row", "chunk"))
        lanes, channels = self.together * LANES, self.layer.channels
        channel: Expr = chunk * lanes
        if channels % lanes:
            channel = Binary("min", channel, as_expr(channels - lanes))
        body = self.step(Place(batch, step * self.rows, channel, chunk))
        return loop(batch, self.layer.out[0], *loop(step, self.steps, *loop(chunk, self.chunks, *body)))

    def step(self, place: Place) -> Block:
        """Stages what the rows of outputs need, and computes them."""
        raise NotImplementedError

    def input_row(self, place: Place, number: int) -> InputRow:
        """The row of the input under row ``number`` of the kernel, or of several rows of outputs."""
        (stride, _), (dilation, _) = self.layer.attribute("stride"), self.layer.attribute("dilation")
        lowest, height = number * dilation - self.layer.attribute("pad")[0], self.layer.extent[0]
        row = inside = place.row * stride + lowest
        tests: list[Expr] = []
        if lowest < 0:
            tests.append(Binary("lt", row, as_expr(0)))
            inside = Binary("max", inside, as_expr(0))
        if lowest + (self.steps - 1) * self.rows * stride >= height:
            tests.append(Binary("ge", row, as_expr(height)))
            inside = Binary("min", inside, as_expr(height - 1))
        return InputRow(inside, Binary("or", *tests) if len(tests) == 2 else tests[0] if tests else None)

    # ---- accumulators

    def finish(self, weights: Buffer, sums: Buffer, place: Place, rows: list[Expr], columns: Span) -> Block:
        """Requantizes the accumulators of one group in one or two rows."""
        layer = self.layer
        if layer.requantization is None:
            return self._store(sums, place, rows, columns)
        kind, shift = ("finish", ()) if layer.fixed is None else ("fixed", (layer.fixed.shift,))
        at = place.chunk * (LANES * self.channel_words) + self.group_words
        outputs = (self.pixel(place, row, columns.first) for row in rows)
        scalars = (columns.count, layer.channels * columns.step, layer.requantization.zero_point, *shift)
        name = f"depthwise_{kind}_{'pair' if len(rows) == 2 else 'row'}"
        return (Invoke(name, (at_word(weights, at), at_word(sums, 0), *outputs), scalars),)

    def pixel(self, place: Place, row: Expr, column: int) -> Pointer:
        """Of the output; a row behind the last is the last."""
        if self.layer.out[1] % self.rows:
            row = Binary("min", row, as_expr(self.layer.out[1] - 1))
        return Pointer(self.layer.y.buffer, self.layer.y.at(self.layer.index(place, row, column)))

    def _store(self, sums: Buffer, place: Place, rows: list[Expr], columns: Span) -> Block:
        """The body behind the convolution, for each accumulator once."""
        out: Block = ()
        for number, row in enumerate(rows):
            column, lane = Var(self.names.fresh("column")), Var(self.names.fresh("lane"))
            channel = place.channel + lane
            acc = Load(sums, (column * COLUMN + lane * 2 + number,))
            index = self.layer.index(place, row, column * columns.step + columns.first, lane)
            block = self.ctx.store_element(tuple(as_expr(each) for each in index), acc)
            if self.layer.channels % LANES:
                block = (If(Binary("ge", channel, place.chunk * LANES), block),)
            block = loop(column, columns.count, *loop(lane, LANES, *block))
            if number and self.layer.out[1] % self.rows:
                block = (If(Binary("lt", row, as_expr(self.layer.out[1])), block),)
            out += block
        return out


@dataclass(frozen=True)
class Span:
    """``count`` columns of outputs from ``first`` on, every ``step``-th."""

    first: int
    count: int
    step: int = 1


def at_word(buffer: Buffer, index: Expr | int) -> Pointer:
    return Pointer(buffer, (as_expr(index),))
