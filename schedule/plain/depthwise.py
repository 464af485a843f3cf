"""Depthwise 3x3 convolutions of int8 on cores without packed arithmetic: a channel of a band as words.

Before::                                      After::

    for o, row, column, c:                      for o, band:
      acc = bias[c]                               fill scratch memory with the zero point, where there are borders
      for k: acc += x[o, .., c] * w[c, k]         for c:
      y[o, row, column, c] = requantize(acc)        stage the input rows of the band as words
                                                    invoke depthwise3x3: accumulators of all outputs of the band
                                                    invoke requantize_i8

No halo is needed: what lies beyond a border is the same for all channels. Bands come in ascending order.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ...blocks.plain_depthwise import KERNEL, channel_words
from ...ir.loops import Block, Expr, If, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ..block_depthwise import DepthwiseLayer
from ..byte_anchors import is_byte_depthwise, is_plain_window
from ..byte_operands import start
from ..kernel import KernelContext
from ..nibble_weights import ByteTiles, KernelWeights, are_nibbles, unpacked_bytes
from ..window import Window
from .contraction import has_plain_blocks
from .finish import Finish, PixelRun

STAGED_BYTES = 1536
"""Of a channel at most, unless a single row of outputs takes more."""
BAND = 5
"""Rows of outputs in a band at most: the result may overwrite its operand that far behind, and streams hold as many.
Two rows of each band are staged again for the next."""
LARGE_BAND = 13
"""The same where memory may be spent."""


def is_plain_depthwise(ctx: KernelContext) -> bool:
    """Whether the anchor is a 3x3 ``conv`` with one input and one output channel per group, of int8 with constant
    weights, and the CPU has the block instructions."""
    return has_plain_blocks(ctx.cpu) and is_byte_depthwise(ctx) and is_plain_window(ctx.contraction[0], KERNEL)


def lower_plain_depthwise(ctx: KernelContext) -> Block:
    """``conv``, for which :func:`is_plain_depthwise` holds."""
    return _PlainDepthwise(DepthwiseLayer(ctx)).emit()


class _PlainDepthwise:
    def __init__(self, layer: DepthwiseLayer) -> None:
        self.layer, self.ctx, self.stride, self.row = layer, layer.ctx, layer.stride[0], layer.columns
        self.rows, self.columns = layer.out
        self.window = Window.of(layer.node)
        self.finish = Finish(self.ctx, self.ctx.refs, layer.operands.reach)
        self.bias = self.ctx.pack("b", layer.bias.astype(np.int32))
        self.weights = self._weights()
        self.band = self._band()
        words = channel_words(self.band, self.columns, self.stride, self.row)
        self.staged = self.ctx.temporary("staged", DType.I32, (-(-words // self.row), self.row))
        self.acc = self.ctx.temporary("acc", DType.I32, (1, self.band * self.columns))

    def _weights(self) -> KernelWeights:
        """[channel, tap]."""
        weights = self.layer.operands.weights
        if not are_nibbles(weights):
            return KernelWeights(self.ctx.pack("w", weights.astype(np.int8)), 0, lambda part: ())
        return unpacked_bytes(self.ctx, ByteTiles(weights[None], 1, 0))

    def _band(self) -> int:
        """Rows of outputs that are computed at a time: all, or an even share of them, as memory and the layout of the
        output allow."""
        if not self.layer.y.dense:
            return 1
        most = min(self.rows, LARGE_BAND if self.ctx.cpu.spends_memory else BAND)
        fits = [n for n in range(1, most + 1) if 4 * self.row * ((n - 1) * self.stride + KERNEL) <= STAGED_BYTES]
        bands = -(-self.rows // max(fits, default=1))
        return -(-self.rows // bands)

    def emit(self) -> Block:
        names = self.ctx.names
        o, band = Var(names.fresh("o")), Var(names.fresh("band"))
        full, rest = self.rows // self.band, self.rows % self.band
        block = loop(band, full, *self._channels(o, band * self.band, (0, (full - 1) * self.band), self.band))
        if rest:
            begin = full * self.band
            block = (*block, *self._channels(o, as_expr(begin), (begin, begin), rest))
        return (*self.weights.prepare(as_expr(0)), *loop(o, self.layer.batch, *block))

    def _channels(self, o: Expr, first: Expr, firsts: tuple[int, int], rows: int) -> Block:
        """``rows`` of outputs from ``first`` on, which is one of ``firsts``, channel by channel."""
        c = Var(self.ctx.names.fresh("c"))
        staged_rows = (rows - 1) * self.stride + KERNEL
        always = [row for row in range(staged_rows) if all(self._is_inside(each, row) for each in firsts)]
        words, complete = staged_rows * self.row, self.layer.inner == self.row and len(always) == staged_rows
        others = sorted({*range(staged_rows)} - {*always}) if firsts[0] < firsts[1] else []
        staged = self._stage(o, first, c, always, others)
        fill = () if complete else (Invoke("channel_fill", (start(self.staged),), (words, self.layer.zero)),)
        weights = (Pointer(self.bias, (c,)), Pointer(self.weights.buffer, (c, as_expr(0))))
        pointers = (*weights, start(self.staged), start(self.acc))
        multiply = Invoke("depthwise3x3", pointers, (rows, self.columns, self.stride, self.row))

        def position(slot: Expr) -> tuple[Expr, ...]:
            return self.layer.place(o, first + slot // self.columns, slot % self.columns)

        finish = self.finish.pixels(self.acc, c, 1, PixelRun(position, rows * self.columns))
        return (*fill, *loop(c, self.layer.channels, *staged, multiply, *finish))

    def _is_inside(self, first: int, number: int) -> bool:
        """Whether row ``number`` of those under some rows of outputs, from ``first`` on, is one of the input."""
        return 0 <= first * self.stride + number - self.layer.pad[0] < self.layer.extent[0]

    def _stage(self, o: Expr, first: Expr, c: Expr, always: list[int], others: list[int]) -> Block:
        """The words of the input's rows: those with numbers that are ``always`` inside at once, where they need not
        come one by one, and of ``others`` those that are."""
        ctx, r = self.ctx, Var(self.ctx.names.fresh("r"))
        if ctx.cpu.in_rows or ctx.by_rows:
            out = loop(r, len(always), *self._copy(o, first, r + always[0], 1, c)) if always else ()
        else:
            out = self._copy(o, first, as_expr(always[0]), len(always), c) if always else ()
        numbers: list[Expr] = [as_expr(number) for number in others]
        if len(others) == 2:
            numbers = [r * (others[1] - others[0]) + others[0]]
        for number in numbers:
            inside = self.window.inside(0, first * self.stride + number - self.layer.pad[0], 1)
            copy = self._copy(o, first, number, 1, c)
            out += loop(r, len(others) // len(numbers), *(copy if inside is None else (If(inside, copy),)))
        return out

    def _copy(self, o: Expr, first: Expr, number: Expr, rows: int, c: Expr) -> Block:
        """``rows`` rows from ``number`` on."""
        layer = self.layer
        row = first * self.stride + number - layer.pad[0]
        x, y = layer.pointer(layer.x, layer.place(o, row, 0), c), Pointer(self.staged, (number, as_expr(layer.pad[1])))
        if rows == 1:
            return (Invoke("channel_row", (x, y), (layer.inner, layer.channels)),)
        apart = prod(layer.x.buffer.shape[2:])
        return (Invoke("channel_rows", (x, y), (rows, layer.inner, layer.channels, apart, self.row)),)
