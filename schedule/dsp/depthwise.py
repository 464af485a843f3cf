"""Depthwise 3x3 convolutions of int8 through block instructions: two rows of outputs (stride 1) or one at a time.

Before::                                      After::

    for o, row, column, c:                      for o, rows, some groups of four channels:
      acc = bias[c]                               stage their input rows as pairs of halfwords
      for k: acc += x[o, .., c] * w[c, k]         multiply them to bytes, or to accumulators that are requantized then
      y[o, row, column, c] = requantize(acc)

Rows beyond the border are staged as the zero point; no halo is needed. Where channels do not come out even, the last
groups overlap those before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...ir.blocks.depthwise import COLUMN, KERNEL, LANES, STREAM, WEIGHTS
from ...ir.blocks.depthwise_bytes import CHANNEL
from ...ir.graph import Node
from ...ir.loops import Binary, Block, Buffer, Expr, If, Invoke, Load, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ...ops.infer import ints
from ...ops.integer import zero_point
from ...targets.target import Cpu
from ..byte_anchors import is_byte_depthwise, is_plain_window
from ..kernel import KernelContext
from ..requantization import Requantization, fixed_form, requantization_of, rounded_form

STAGED_BYTES = 1024
"""Of groups of channels that are staged together, where it is more than one."""


def is_row_depthwise(cpu: Cpu, anchor: Node) -> bool:
    """Whether a convolution (with constant weights) goes through these block instructions; then it needs no halo."""
    if "depthwise_pair" not in cpu.features or not is_byte_depthwise(anchor):
        return False
    return anchor.output.shape[-1] >= LANES and is_plain_window(anchor, KERNEL)


def lower_row_depthwise(ctx: KernelContext) -> Block | None:
    """``conv`` with one input and one output channel per group, on CPUs with the blocks."""
    node = ctx.anchor
    assert node is not None
    weights = ctx.constant(node.inputs[1])
    if weights is None or not is_row_depthwise(ctx.cpu, node):
        return None
    return _RowDepthwise(ctx, node, weights).emit()


@dataclass(frozen=True)
class _Place:
    """Where a step of the loops is: batch, first row of outputs, first of the channels, and the number of the chunk of
    groups."""

    batch: Expr
    row: Expr
    channel: Expr
    chunk: Expr


class _RowDepthwise:
    def __init__(self, ctx: KernelContext, node: Node, weights: np.ndarray) -> None:
        self.ctx, self.node, self.names = ctx, node, ctx.names
        x = node.inputs[0]
        assert x is not None
        self.x, self.extent = ctx.refs[x.name], x.shape[1:3]
        self.out, self.channels = node.output.shape, node.output.shape[-1]
        self.stride, self.pad = ints(node.attrs, "stride")[0], ints(node.attrs, "pad")
        self.rows = 2 if self.stride == 1 else 1
        """Rows of outputs that are computed together."""
        self.zero_point = zero_point(node.attrs)
        taps = weights.reshape(self.channels, KERNEL, KERNEL).astype(np.int64)
        given = ctx.constant(node.inputs[2]) if len(node.inputs) > 2 else None
        bias = np.zeros(self.channels, np.int64) if given is None else given.astype(np.int64).reshape(-1)
        self.bias = bias - self.zero_point * taps.sum(axis=(1, 2))
        self.columns = (self.out[2] - 1) * self.stride + KERNEL
        self.requantization = self._requantization(taps)
        self.fixed = self.factors = None
        if self.requantization is not None:
            spread = 128 * np.abs(taps).sum(axis=(1, 2))
            bounds = self.bias - spread, self.bias + spread
            self.factors = rounded_form(self.requantization, *bounds) if self.rows == 2 else None
            self.fixed = fixed_form(self.requantization, *bounds, 0) if self.factors is None else None
        self.together, self.chunks = self._chunks()
        self.weights = self._stream(taps)
        self.staged = ctx.temporary("columns", DType.I32, (self.together * self.columns * COLUMN,), align=8)

    def _chunks(self) -> tuple[int, int]:
        """Groups of four channels that are staged and multiplied together, and how many times."""
        groups = -(-self.channels // LANES)
        whole = self.channels // LANES
        most = min(whole, max(1, STAGED_BYTES // (4 * COLUMN * self.columns))) if self.factors is not None else 1
        chunks = -(-groups // most)
        together = min(whole, -(-groups // chunks))
        return together, -(-groups // together)

    def _requantization(self, taps: np.ndarray) -> Requantization | None:
        found = requantization_of(self.ctx, np.abs(self.bias) + 128 * np.abs(taps).sum(axis=(1, 2)))
        return found if found is not None and found.whole else None

    def _stream(self, taps: np.ndarray) -> Buffer:
        """The weights as ``ir/blocks/depthwise.py`` describes them."""
        columns = taps[:, [0, 1, 1, 2], :].transpose(0, 2, 1).astype(np.int8)
        words = np.ascontiguousarray(columns).view("<i4").reshape(self.channels, KERNEL)
        each = np.concatenate([self.bias.astype(np.int32)[:, None], words], axis=1)
        if self.factors is not None:
            each = np.concatenate([each, self.factors[:, None]], axis=1)
        parts = []
        for chunk in range(self.chunks):
            lanes = slice(self._first(chunk), self._first(chunk) + LANES * self.together)
            parts.append(each[lanes].reshape(-1))
            if self.fixed is not None:
                parts.append(self.fixed.factors[lanes])
            elif self.requantization is not None and self.factors is None:
                parts.append(np.ascontiguousarray(self.requantization.scale[lanes]).view(np.int32))
        return self.ctx.pack("w", np.concatenate(parts).astype(np.int32))

    def _first(self, chunk: int) -> int:
        return min(chunk * self.together * LANES, self.channels - self.together * LANES)

    # ---- loops

    def emit(self) -> Block:
        batch, step, chunk = (Var(self.names.fresh(stem)) for stem in ("o", "row", "chunk"))
        steps, lanes = -(-self.out[1] // self.rows), self.together * LANES
        channel: Expr = chunk * lanes
        if self.channels % lanes:
            channel = Binary("min", channel, as_expr(self.channels - lanes))
        place = _Place(batch, step * self.rows, channel, chunk)
        body = (*self._stage(place, steps), *self._multiply(place))
        return loop(batch, self.out[0], *loop(step, steps, *loop(chunk, self.chunks, *body)))

    def _stage(self, place: _Place, steps: int) -> Block:
        left, width = self.pad[1], min(self.extent[1], self.columns - self.pad[1])
        right = self.columns - left - width
        needed = KERNEL + (self.rows - 1) * self.stride
        fills: Block = ()
        pointers = []
        for number in range(4):
            lowest = min(number, needed - 1) - self.pad[0]
            row = place.row * self.stride + lowest
            before, after = lowest < 0, lowest + (steps - 1) * self.rows * self.stride >= self.extent[0]
            inside = Binary("max", row, as_expr(0)) if before else row
            inside = Binary("min", inside, as_expr(self.extent[0] - 1)) if after else inside
            pointers.append(Pointer(self.x.buffer, self.x.at((place.batch, inside, 0, place.channel))))
            if number < needed:
                fill = self._fill(number, row, before, after)
                fills += fill
        scalars = (self.together, width, self.channels, left, right, self.zero_point)
        return (Invoke("depthwise_stage", (*pointers, _at(self.staged, 0)), scalars), *fills)

    def _fill(self, number: int, row: Expr, before: bool, after: bool) -> Block:
        """The zero point in place of a row beyond the border."""
        tests = [Binary("lt", row, as_expr(0))] if before else []
        tests += [Binary("ge", row, as_expr(self.extent[0]))] if after else []
        if not tests:
            return ()
        scalars = (self.together * self.columns, number % 2, self.zero_point)
        outside = tests[0] if len(tests) == 1 else Binary("or", *tests)
        return (If(outside, (Invoke("depthwise_fill", (_at(self.staged, number // 2),), scalars),)),)

    def _multiply(self, place: _Place) -> Block:
        rows = [place.row + number for number in range(self.rows)]
        if self.requantization is None:
            return (*self._accumulate(place, WEIGHTS), *self._store(place, rows))
        y, width, zero = self.ctx.refs[self.ctx.output.name], self.out[2], self.requantization.zero_point
        if self.out[1] % self.rows:
            rows[1] = Binary("min", rows[1], as_expr(self.out[1] - 1))
        outputs = [Pointer(y.buffer, y.at((place.batch, row, 0, place.channel))) for row in rows]
        if self.factors is not None:
            pointers = (_at(self.weights, place.chunk * (CHANNEL * LANES * self.together)), _at(self.staged, 0))
            scalars: tuple[int, ...] = (self.together, width, self.channels, zero)
            return (Invoke("depthwise_bytes_pair", (*pointers, *outputs), scalars),)
        name = "depthwise_finish" if self.fixed is None else "depthwise_fixed"
        pointers = (_at(self.weights, place.chunk * STREAM + WEIGHTS), _at(self.staged, 0))
        scalars = (width, self.channels, zero, *(() if self.fixed is None else (self.fixed.shift,)))
        finish = Invoke(f"{name}_pair" if self.rows == 2 else f"{name}_row", (*pointers, *outputs), scalars)
        return (*self._accumulate(place, STREAM), finish)

    def _accumulate(self, place: _Place, stream: int) -> Block:
        """Accumulators of one group in place of its staged columns."""
        name = "depthwise_pair" if self.rows == 2 else "depthwise_stride2"
        return (Invoke(name, (_at(self.weights, place.chunk * stream), _at(self.staged, 0)), (self.out[2],)),)

    def _store(self, place: _Place, rows: Sequence[Expr]) -> Block:
        """The body behind the convolution, for each accumulator once."""
        out: Block = ()
        for number, row in enumerate(rows):
            column, lane = Var(self.names.fresh("column")), Var(self.names.fresh("lane"))
            channel = place.channel + lane
            acc = Load(self.staged, (column * COLUMN + lane * 2 + number,))
            block = self.ctx.store_element((place.batch, row, column, channel), acc)
            if self.channels % LANES:
                block = (If(Binary("ge", channel, place.chunk * LANES), block),)
            block = loop(column, self.out[2], *loop(lane, LANES, *block))
            if number and self.out[1] % self.rows:
                block = (If(Binary("lt", row, as_expr(self.out[1])), block),)
            out += block
        return out


def _at(buffer: Buffer, index: Expr | int) -> Pointer:
    return Pointer(buffer, (as_expr(index),))
