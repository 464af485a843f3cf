"""Integer contractions on cores without packed arithmetic: four pixels staged at a time, multiplied by all channels.

Before::                                  After::

    for o, row, c:                            for o, quad:
      acc = bias[c]                             for slot:4
      for k: acc += x[o, row, k] * w[c, k]        stage the activations of pixel ``quad * 4 + slot``
      y[o, row, c] = requantize(acc)            for chunk of channels:
                                                  invoke quad_words or quad_pairs(bias, weights, staged, acc)
                                                  invoke requantize_i8(acc, factors, four pixels of y)

Where more than a requantization follows, the kernel's own body finishes the accumulators. Pixels come in ascending
order; those that fill no four have a last, shorter turn, so that none is computed twice.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import prod

import numpy as np

from ...blocks import has_block
from ...blocks.plain import (
    PIXELS,
    SINGLE_CHANNELS,
    is_pairable,
    offset_weights,
    paired_bias,
    paired_weights,
    tiled_weights,
)
from ...ir.graph import Node
from ...ir.loops import Block, Buffer, Expr, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ...ops.integer import zero_point
from ...targets.target import Cpu
from ..byte_anchors import is_byte_contraction
from ..byte_operands import Columns, Pixels, start, unflattened
from ..kernel import KernelContext
from .finish import Finish, Turn
from .staging import PackedPixels, WordPixels

DEPTH = 1 << 15
"""Products of an accumulator at most: with the offset of the weights, sums stay in 32 bits."""
PART = 128
"""Activations of a single pixel that are staged at a time."""
SINGLES = 128
"""Channels of a single pixel whose accumulators are kept in memory at a time."""
CHUNK = 32
"""Channels whose accumulators are kept in memory at a time."""


def has_plain_blocks(cpu: Cpu) -> bool:
    """Whether a core has these blocks and none for packed arithmetic or vectors."""
    return has_block("quad_words", cpu.extensions) and not cpu.extensions & {"dsp", "mve"}


def is_quad(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` (one group, channels last) or ``matmul`` of int8 with constant weights, and the
    CPU has the block instructions."""
    anchor, weights = ctx.contraction
    if weights is None or not has_plain_blocks(ctx.cpu) or not is_byte_contraction(anchor):
        return False
    return weights.size <= DEPTH * anchor.output.shape[-1]


def lower_quads(ctx: KernelContext) -> Block:
    """A contraction, for which :func:`is_quad` holds."""
    node, weights = ctx.contraction
    assert weights is not None
    return _Quads(ctx, node, weights).emit()


class _Quads:
    """``channels`` columns [o, k] over the ``shape`` of pixels."""

    def __init__(self, ctx: KernelContext, node: Node, weights: np.ndarray) -> None:
        self.ctx, self.node, self.names = ctx, node, ctx.names
        x = node.inputs[0]
        assert x is not None
        pixels, operands = Pixels.of(ctx, node), Columns.of(ctx, node, weights)
        self.shape, self.window, self.refs = pixels.shape, pixels.window, pixels.refs
        self.x = self.refs[x.name]
        self.columns, self.bias = operands.weights, operands.bias
        self.channels, self.steps = self.columns.shape
        self.finish = Finish(ctx, self.refs, operands.reach)

    @property
    def _paired(self) -> bool:
        return has_block("quad_pairs", self.ctx.cpu.extensions) and is_pairable(self.columns)

    # ---- loops

    def emit(self) -> Block:
        return self._single() if prod(self.shape) == 1 else self._quads()

    def _single(self) -> Block:
        """One pixel: some channels at a time, and of what they see a part at a time."""
        origin = tuple(as_expr(0) for _ in self.shape)
        windows = [*self.window.parts(PART)]
        staging = WordPixels(self.ctx, self.x, windows[0], zero_point(self.node.attrs), pixels=1)
        firsts = [0, *accumulate(window.size for window in windows)]
        parts = [staging.part(window, first) for window, first in zip(windows, firsts)]
        size = -(-min(self.channels, SINGLES) // SINGLE_CHANNELS) * SINGLE_CHANNELS
        padded = -(-self.channels // SINGLE_CHANNELS) * SINGLE_CHANNELS
        bias = np.zeros(padded, np.int32)
        bias[: self.channels] = self.bias
        b = self.ctx.pack("b", bias)
        seen = (self.columns[:, first : first + window.size] for first, window in zip(firsts, windows))
        weights = [self.ctx.pack("w", tiled_weights(columns)) for columns in seen]
        acc = [self.ctx.temporary("acc", DType.I32, (size, 1)) for _ in windows[:2]]

        def some(first: Expr, channels: int) -> Block:
            block: Block = ()
            tiled, sums = -(-channels // SINGLE_CHANNELS) * SINGLE_CHANNELS, Pointer(b, (first,))
            for number, (part, w) in enumerate(zip(parts, weights)):
                steps, result = part.window.size, start(acc[number % 2])
                multiply = (sums, Pointer(w, (first * steps,)), start(part.words), result)
                block += part.stage(origin, as_expr(0)) if len(parts) > 1 else ()
                block += (Invoke("single_words", multiply, (steps, tiled)),)
                sums = result
            return (*block, *self.finish.pixels(sums.buffer, first, channels, Turn(lambda _: origin, 1)))

        chunk, full, rest = Var(self.names.fresh("chunk")), self.channels // SINGLES, self.channels % SINGLES
        block = loop(chunk, full, *some(chunk * SINGLES, SINGLES))
        last = some(as_expr(full * SINGLES), rest) if rest else ()
        staged = parts[0].stage(origin, as_expr(0)) if len(parts) == 1 else ()
        return (*staged, *block, *last)

    def _quads(self) -> Block:
        """Four neighbours of a row at a time, or of all pixels where rows do not have fours."""
        nested = len(self.shape) == 1 or self.shape[-1] % PIXELS == 0 or not self._dense()
        outer = [Var(self.names.fresh("o")) for _ in self.shape[:-1]] if nested else []
        pixels = self.shape[-1] if nested else prod(self.shape)
        kind = PackedPixels if self._paired else WordPixels
        staging = kind(self.ctx, self.x, self.window, zero_point(self.node.attrs), PIXELS)
        multiply = self._multiplier(staging.words)

        def some(first: Expr, count: int) -> Block:
            def position(slot: Expr) -> tuple[Expr, ...]:
                return (*outer, first + slot) if nested else unflattened(first + slot, self.shape)

            staged = (s for slot in range(count) for s in staging.stage(position(as_expr(slot)), as_expr(slot)))
            return (*staged, *multiply(Turn(position, count, None if nested else first)))

        quad, full = Var(self.names.fresh("quad")), pixels // PIXELS
        block = loop(quad, full, *some(quad * PIXELS, PIXELS)) if full else ()
        if pixels % PIXELS:
            block = (*block, *some(as_expr(full * PIXELS), pixels % PIXELS))
        for var, extent in reversed(list(zip(outer, self.shape))):
            block = loop(var, extent, *block)
        return (*staging.prepare(), *block)

    def _dense(self) -> bool:
        """Whether neighbours in the output are as far from one another across the ends of rows."""
        return self.refs[self.ctx.output.name].dense

    def _multiplier(self, staged: Buffer) -> Callable[[Turn], Block]:
        """All channels, chunk by chunk, of some staged pixels."""
        name, b, w = self._packed() if self._paired else self._plain()
        acc = self.ctx.temporary("acc", DType.I32, (min(self.channels, CHUNK), PIXELS))

        def chunk(first: Expr, channels: int, turn: Turn) -> Block:
            pointers = (Pointer(b, (first, as_expr(0))), Pointer(w, (first, as_expr(0))), start(staged), start(acc))
            return (Invoke(name, pointers, (self.steps, channels)), *self.finish.pixels(acc, first, channels, turn))

        def multiply(turn: Turn) -> Block:
            var, full = Var(self.names.fresh("chunk")), self.channels // CHUNK
            block = loop(var, full, *chunk(var * CHUNK, CHUNK, turn)) if full else ()
            rest = self.channels % CHUNK
            return (*block, *chunk(as_expr(full * CHUNK), rest, turn)) if rest else block

        return multiply

    def _plain(self) -> tuple[str, Buffer, Buffer]:
        bias = self.bias.astype(np.int32)[:, None]
        return "quad_words", self.ctx.pack("b", bias), self.ctx.pack("w", offset_weights(self.columns))

    def _packed(self) -> tuple[str, Buffer, Buffer]:
        bias, weights = paired_bias(self.bias, self.columns), paired_weights(self.columns)
        return "quad_pairs", self.ctx.pack("b", bias), self.ctx.pack("w", weights)
