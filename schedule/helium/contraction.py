"""Integer contractions on cores with Helium: rows of pixels by block instructions that read the activations in place.

Before::                                  After::

    for o, row, c:                            for o:
      acc = bias[c]                             copy the rows under the window, with their borders   (where needed)
      for k: acc += x[o, row, k] * w[c, k]      invoke helium_pixels_i8(weights, rows, y[o])
      y[o, row, c] = requantize(acc)

Where more than an exact requantization follows, some pixels at a time leave its bytes in scratch memory (or two pixels
their accumulators, where there is none), and the kernel's own body finishes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...blocks import has_block
from ...blocks.helium import FEW_STEPS, PIXEL, PIXELS, SHORT_RUN, STEP, pad
from ...blocks.tiles import Stream
from ...ir.graph import Node, Value
from ...ir.loops import Block, Buffer, Expr, Invoke, Load, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ...ops.infer import integer
from ...ops.integer import zero_point
from ..byte_anchors import is_byte_contraction
from ..byte_operands import Columns, Pixels
from ..kernel import KernelContext
from ..requantization import byte_scales
from .finish import finish_pixels, made_pixels
from .rows import Rows

CHUNK = 32
"""Pixels that are computed at a time where a row has many."""


def is_helium_contraction(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` (one group, channels last) or ``matmul`` of int8 with constant weights, and the
    CPU has the block instructions."""
    anchor, weights = ctx.contraction
    if weights is None or not has_block("helium_pixels_i8", ctx.cpu.extensions) or not is_byte_contraction(anchor):
        return False
    return weights.ndim in ((3, 4) if anchor.op == "conv" else (2,))


def lower_helium(ctx: KernelContext) -> Block:
    """A contraction, for which :func:`is_helium_contraction` holds."""
    node, weights = ctx.contraction
    assert weights is not None
    return _Contraction(ctx, node, weights).emit()


@dataclass(frozen=True)
class Requantization:
    """The scale of each channel, and the zero point, the least value and the name of the result."""

    scale: np.ndarray
    zero_point: int
    lo: int
    value: str

    @property
    def scalars(self) -> tuple[int, int]:
        return self.zero_point, self.lo


@dataclass(frozen=True)
class Residual:
    """A ``rescale`` of the result (operand number ``position``) and of another tensor of its shape."""

    node: Node
    position: int

    @property
    def other(self) -> Value:
        return self.node.operands[1 - self.position]


def exact_requantization(ctx: KernelContext, reach: np.ndarray) -> Requantization | None:
    """What follows the anchor, where that begins with a requantization that the blocks compute exactly for accumulators
    up to ``reach`` in each channel."""
    node, body = ctx.anchor, ctx.body
    if node is None or len(body.nodes) < 2:
        return None
    first = body.nodes[1]
    users = [n for n in body.nodes if any(value.name == node.output.name for value in n.operands)]
    if first.op != "requantize" or users != [first]:
        return None
    scales = byte_scales(ctx, first, reach, 2**21)
    if scales is None:
        return None
    return Requantization(scales, integer(first.attrs, "zero_point"), integer(first.attrs, "lo"), first.output.name)


def residual(ctx: KernelContext) -> Residual | None:
    """The sum with another tensor that is all that follows the anchor and its requantization."""
    nodes = ctx.body.nodes
    if len(nodes) != 3 or nodes[2].op != "rescale" or nodes[2].attrs["to"] is not DType.I8:
        return None
    operands = nodes[2].operands
    places = [n for n, operand in enumerate(operands) if operand.name == nodes[1].output.name]
    if len(operands) != 2 or len(places) != 1:
        return None
    found = Residual(nodes[2], places[0])
    plain = found.other.dtype is DType.I8 and found.other.shape == ctx.output.shape and found.other.name in ctx.refs
    return found if plain else None


class _Contraction:
    """Columns of weights over the ``shape`` of pixels."""

    def __init__(self, ctx: KernelContext, node: Node, weights: np.ndarray) -> None:
        self.ctx, self.node, self.names = ctx, node, ctx.names
        x = node.inputs[0]
        assert x is not None
        self.residual = residual(ctx)
        pixels = Pixels.of(ctx, node, joined=x.shape[-1] % STEP == 0 and self.residual is None)
        self.shape, self.refs = pixels.shape, pixels.refs
        self.operands = Columns.of(ctx, node, weights)
        self.channels = len(self.operands.bias)
        self.single = self.shape[-1] == 1
        self.rows = Rows(ctx, self.refs[x.name], pixels.window, zero_point(node.attrs), self.shape[-1], self.channels)
        self.requantization = exact_requantization(ctx, self.operands.reach)
        self.stream = self._stream(PIXEL if self.single else PIXELS)

    def _stream(self, stream: Stream) -> Buffer:
        """Weights whose runs fill whole steps."""
        runs, vectors = self.rows.runs, self.rows.vectors
        flat = self.operands.weights.reshape(self.channels, runs, -1)
        data = np.zeros((self.channels, runs, vectors * STEP), np.int8)
        data[:, :, : flat.shape[2]] = flat
        words = data.reshape(self.channels, -1).view("<i4")
        rq = self.requantization
        scales = None if rq is None else rq.scale.astype(np.float32)
        return self.ctx.pack("w", stream.pack(self.operands.bias, words, scales))

    # ---- loops

    def emit(self) -> Block:
        outer = [Var(self.names.fresh("o")) for _ in self.shape[:-1]]
        position = tuple(as_expr(0) if extent == 1 else var for var, extent in zip(outer, self.shape))
        before, x = self.rows.stage(position)
        block: Block = (*before, *self._row(position, x))
        for var, extent in reversed(list(zip(outer, self.shape))):
            block = loop(var, extent, *block)
        return block

    def _row(self, position: Sequence[Expr], x: Pointer) -> Block:
        """The pixels of a row."""
        y, rq = self.refs[self.ctx.output.name], self.requantization
        if rq is not None:
            if self.residual is not None:
                return self._sum(self.residual, rq, position, x, Pointer(y.buffer, y.at((*position, 0, 0))))
            return self._chunks(position, x, rq)
        tile = (PIXEL if self.single else PIXELS).tile
        acc = self.ctx.temporary("acc", DType.I32, (2, pad(self.channels, tile)), align=16)
        out = Pointer(acc, (as_expr(0), as_expr(0)))
        pair = Var(self.names.fresh("pair"))
        block: Block = ()
        for first, trips, pixels in ((0, self.shape[-1] // 2, 2), (self.shape[-1] // 2 * 2, self.shape[-1] % 2, 1)):
            start = pair * 2 + first
            moved = Pointer(x.buffer, (*x.index[:-1], x.index[-1] + start * self.rows.pixel_step))
            slot, c = Var(self.names.fresh("slot")), Var(self.names.fresh("c"))
            index = (*position, start + slot, c)
            finish = loop(c, self.channels, *self.ctx.store_element(index, Load(acc, (slot, c)), self.refs))
            multiply = self._invoke("i32", moved, out, pixels, ())
            block += loop(pair, trips, multiply, *loop(slot, pixels, *finish))
        return block

    def _chunks(self, position: Sequence[Expr], x: Pointer, rq: Requantization) -> Block:
        """The requantized pixels of a row, a long one in pieces: what is read and written at a time stays small."""
        y, pixels = self.refs[self.ctx.output.name], self.shape[-1]
        size = pixels if pixels <= 2 * CHUNK else _chunk(self.node.output.shape[-2])
        chunk = Var(self.names.fresh("chunk"))
        block: Block = ()
        for first, trips, count in ((0, pixels // size, size), (pixels // size * size, 1, pixels % size)):
            start = chunk * size + first
            source = Pointer(x.buffer, (*x.index[:-1], x.index[-1] + start * self.rows.pixel_step))
            if count:
                out = Pointer(y.buffer, y.at((*position, start, 0)))
                multiply: Block = (self._invoke("i8", source, out, count, rq.scalars),)
                if len(self.ctx.body.nodes) > 2:
                    multiply = self._finished((*position, start), source, count, rq)
                block += loop(chunk, trips, *multiply)
        return block

    def _finished(self, position: Sequence[Expr], source: Pointer, count: int, rq: Requantization) -> Block:
        """``count`` requantized pixels from ``position`` on, and what of the body follows."""
        made = made_pixels(self.ctx, count, self.channels)
        finish = finish_pixels(
            self.ctx, self.refs, made, (0, count), rq.value, lambda slot: (*position[:-1], position[-1] + slot)
        )
        return (self._invoke("i8", source, Pointer(made, (as_expr(0),) * 2), count, rq.scalars), *finish)

    def _sum(
        self, found: Residual, rq: Requantization, position: Sequence[Expr], x: Pointer, out: Pointer
    ) -> Block:
        """The requantized row, and its sum with the other tensor."""
        size = self.shape[-1] * self.channels
        own = Pointer(self.ctx.temporary("row", DType.I8, (size,), align=STEP), (as_expr(0),))
        ref = self.refs[found.other.name]
        other = Pointer(ref.buffer, ref.at((*position, 0, 0)))
        operands = (own, other) if found.position == 0 else (other, own)
        scalars = (integer(found.node.attrs, name) for name in ("m1", "m2", "bias", "shift", "lo", "hi"))
        multiply = self._invoke("i8", x, own, self.shape[-1], rq.scalars)
        return (multiply, Invoke("helium_rescale", (*operands, out), (size, *scalars)))

    def _invoke(self, kind: str, x: Pointer, y: Pointer, pixels: int, more: tuple[int, ...]) -> Invoke:
        rows, w = self.rows, Pointer(self.stream, (as_expr(0),))
        if self.single:
            return Invoke(f"helium_pixel_{kind}", (w, x, y), (rows.runs * rows.vectors, self.channels, *more))
        name, runs = f"helium_pixels_{kind}", (rows.runs, rows.vectors, rows.run_step)
        scalars = (*runs, pixels, rows.pixel_step, self.channels, *more)
        if kind == "i8" and self.channels % PIXELS.tile == 0:
            if rows.runs == 1 and rows.vectors <= FEW_STEPS:
                name, scalars = "helium_few_pixels_i8", (rows.vectors, *scalars[len(runs) :])
            elif rows.vectors <= SHORT_RUN:
                name = "helium_runs_of_pixels_i8"
        return Invoke(name, (w, x, y), scalars)


def _chunk(width: int) -> int:
    """About ``CHUNK`` pixels: whole rows of the output, or where these are long, even shares of them."""
    if width <= CHUNK:
        return CHUNK // width * width
    shares = -(-width // CHUNK)
    return width // shares if width % shares == 0 else CHUNK
