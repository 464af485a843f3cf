"""Contractions on cores with Helium: rows of pixels by blocks that read activations in place, or as copies of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial

import numpy as np

from ...blocks.helium import EIGHT_STEPS, FEW_STEPS, GEMM_4X2, GEMM_8X1, SHORT_RUN, STEP, pad
from ...blocks.nibbles import SIGNED_BYTES
from ...blocks.tiles import Stream
from ...ir.graph import Node, Value
from ...ir.loops import Block, Expr, Invoke, Pointer, as_expr
from ...ir.types import DType
from ...ops.attributes import integer
from ...record import record
from ..block_contraction import Contraction, Tiling, lower_by_cheapest, merges, number_of_groups
from ..byte_anchors import is_byte_contraction, is_byte_group_contraction
from ..byte_operands import start
from ..contraction_results import Position
from ..kernel import KernelContext
from ..nibble_weights import StreamLayout, stored_words
from ..requantization import MOST_PRODUCT
from ..transposed import is_transposed, lower_transposed
from ..window import Window
from .finish import finish_pixels, made_pixels
from .numbers import helium_numbers
from .rows import Rows, copy_of, ways_to_read

CHUNK = 32
"""Pixels that are computed at a time where a row has many."""


def is_helium_contraction(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` (channels last) or ``matmul`` of int8 with constant weights."""
    known = is_byte_contraction(ctx) or is_byte_group_contraction(ctx)
    return known and _are_rows_of_images(ctx)


def is_helium_transposed(ctx: KernelContext) -> bool:
    """Whether :func:`is_transposed` holds, of lines and images."""
    return is_transposed(ctx) and _are_rows_of_images(ctx)


def _are_rows_of_images(ctx: KernelContext) -> bool:
    """Whether windows are some rows of taps, as :class:`Rows` reads them."""
    return len(ctx.contraction[0].operands[1].shape) <= 4


def lower_helium_contraction(ctx: KernelContext) -> Block:
    """A contraction, for which :func:`is_helium_contraction` holds."""
    anchor, _ = ctx.contraction
    other = residual(ctx) if number_of_groups(anchor) == 1 else None
    depth, joins = anchor.operands[1].shape[-1] if anchor.op == "conv" else anchor.operands[0].shape[-1], other is None
    works = [
        Contraction(ctx, merged=count, joined=joins and depth * count % STEP == 0, limit=MOST_PRODUCT, least=None)
        for count in merges(anchor, STEP)
    ]
    return _lower([*works, *(each for work in works for each in _pixels_together(work))], other)


def _pixels_together(work: Contraction) -> Iterator[Contraction]:
    """The same results as those of fewer pixels of some neighbours each, with zeros among the weights, where a step of
    activations holds these and fewer channels are left that fill no tile. Short rows are joined to ``CHUNK`` pixels,
    unless the input comes by rows."""
    rq, tile, depth = work.requantization, GEMM_4X2.tile, work.depth
    dense = work.x.dense and work.y.dense and work.x.shape[:-1] == work.y.shape[:-1] == work.shape
    if rq is None or not rq.whole or not dense or work.groups > 1 or work.nibbles or not work.window.pointwise:
        return
    *rows, pixels = work.shape
    height = rows.pop() if rows else 1
    for count in range(2, min(STEP // depth, tile) + 1):
        channels, size = count * work.channels, pixels // count
        if pixels % count == 0 and pad(channels, tile) < count * pad(work.channels, tile):
            made = copy(work)
            most = 1 if work.ctx.by_rows else max(1, CHUNK // size)
            joined = max(number for number in range(1, min(most, height) + 1) if height % number == 0)
            made.shape = (*rows, height // joined, joined * size)
            made.depth, made.channels, made.window = depth * count, channels, Window.pixel(depth * count)
            made.x, made.y = (ref.reshaped((*made.shape, n)) for ref, n in ((work.x, made.depth), (work.y, channels)))
            made.columns = np.kron(np.eye(count, dtype=work.columns.dtype), work.columns)
            made.bias = np.tile(work.bias, count)
            made.requantization = replace(rq, scale=np.tile(np.broadcast_to(rq.scale, work.bias.shape), count))
            yield made


def lower_helium_transposed(ctx: KernelContext) -> Block:
    """``conv_transpose``, for which :func:`is_helium_transposed` holds."""
    return lower_transposed(ctx, lambda phase: _lower([phase], None), MOST_PRODUCT, None)


def _lower(works: Sequence[Contraction], other: Residual | None) -> Block:
    """The cheapest of several forms of one contraction."""
    for work in works:
        work.settle()
    ways: list[tuple[Contraction, Callable[[Contraction], Tiling[Contraction]]]] = []
    for work in works:
        for gathered in ways_to_read(work.window, work.shape[-1]):
            rows = [row for row in ROWS if row.applies(work, _rows(work, gathered))]
            ways += [(work, partial(_HeliumTiling, row=row, gathered=gathered, other=other)) for row in rows]
    return lower_by_cheapest(ways)


def _rows(work: Contraction, gathered: bool) -> Rows:
    return Rows(work.ctx, work.x, work.window, work.zero, work.shape[-1], gathered)


@record
class Residual:
    """A ``rescale`` of the result (operand number ``position``) and of another tensor of its shape."""

    node: Node
    position: int

    @property
    def other(self) -> Value:
        return self.node.operands[1 - self.position]


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


@record
class _Row:
    """A block: its name without that of its results, the stream of its weights, where it ``applies``, its scalars for
    some pixels, before those of a requantization, and whether one of these is how many bytes the results of pixels are
    ``apart``."""

    block: str
    stream: Stream
    applies: Callable[[Contraction, Rows], bool]
    scalars: Callable[[Rows, int, int], tuple[int, ...]]
    apart: bool = False


def _always(work: Contraction, rows: Rows) -> bool:
    return True


def _one_pixel(work: Contraction, rows: Rows) -> bool:
    return rows.pixels == 1


def _eight_steps(work: Contraction, rows: Rows) -> bool:
    if rows.pixels != 1 or rows.runs * rows.vectors != EIGHT_STEPS:
        return False
    return helium_numbers(work.requantization, work.operands, fixed=True).kind == "fixed"


def _short_runs(work: Contraction, rows: Rows) -> bool:
    return _in_fours(work) and rows.vectors <= SHORT_RUN


def _one_run(work: Contraction, rows: Rows) -> bool:
    return _in_fours(work) and rows.runs == 1 and rows.vectors <= FEW_STEPS


def _one_step(work: Contraction, rows: Rows) -> bool:
    """Whether bytes are wanted of pixels of one step. They are read for each tile of channels, so that results cannot
    overwrite them; that loses memory where they are no copies, and no other group needs them."""
    kept = rows.copied or rows.gathered or work.groups > 1
    return work.requantization is not None and rows.runs * rows.vectors == 1 and kept


def _in_fours(work: Contraction) -> bool:
    """Whether bytes are wanted of channels that fill tiles."""
    return work.requantization is not None and work.channels % GEMM_4X2.tile == 0


def _all_scalars(rows: Rows, pixels: int, channels: int) -> tuple[int, ...]:
    return (rows.runs, rows.vectors, rows.run_step, pixels, rows.pixel_step, channels)


def _one_run_scalars(rows: Rows, pixels: int, channels: int) -> tuple[int, ...]:
    return (rows.vectors, pixels, rows.pixel_step, channels)


def _one_step_scalars(rows: Rows, pixels: int, channels: int) -> tuple[int, ...]:
    return (pixels, rows.pixel_step, channels)


def _one_pixel_scalars(rows: Rows, pixels: int, channels: int) -> tuple[int, ...]:
    return (rows.runs * rows.vectors, channels)


def _one_pixel_channels(rows: Rows, pixels: int, channels: int) -> tuple[int, ...]:
    return (channels,)


ROWS: tuple[_Row, ...] = (
    _Row("helium_gemm_8x1", GEMM_8X1, _one_pixel, _one_pixel_scalars),
    _Row("helium_gemm_8x1_eight", GEMM_8X1, _eight_steps, _one_pixel_channels),
    _Row("helium_gemm_4x2", GEMM_4X2, _always, _all_scalars),
    _Row("helium_gemm_4x2_short_runs", GEMM_4X2, _short_runs, _all_scalars),
    _Row("helium_gemm_4x2_one_run", GEMM_4X2, _one_run, _one_run_scalars),
    _Row("helium_gemm_4x1", GEMM_4X2, _one_step, _one_step_scalars, apart=True),
)


class _HeliumTiling(Tiling[Contraction]):
    """The pixels of a row of the output: all, in pieces, or two at a time where accumulators stay as they are.

    They read their activations where they lie, or where ``windows`` copies them at the beginning of the row.
    """

    rows = True

    def __init__(self, work: Contraction, row: _Row, gathered: bool, other: Residual | None) -> None:
        super().__init__(work)
        rq, pixels = work.requantization, work.shape[-1]
        self.row, self.residual = row, None if rq is None or work.groups > 1 else other
        if rq is None:
            self.pixels = min(2, pixels)
        elif pixels <= 2 * CHUNK or self.residual is not None:
            self.pixels = pixels
        else:
            self.pixels = _chunk(work.node.output.shape[-2])
        self.windows = _rows(work, gathered)
        self.numbers = helium_numbers(rq, work.operands, fixed=True)
        form = SIGNED_BYTES if work.nibbles else None
        groups = self.windows.runs * self.windows.vectors
        layout = StreamLayout.of(replace(row.stream, factors=self.numbers.factors is not None), groups)
        self.weights = stored_words(work.ctx, self._stream(), layout, form)

    def _stream(self) -> np.ndarray:
        """Weights whose runs fill whole steps, [group, word]."""
        work, runs, vectors = self.work, self.windows.runs, self.windows.vectors
        flat = work.columns.reshape(len(work.columns), runs, -1)
        data = np.zeros((len(flat), runs, vectors * STEP), np.int8)
        data[:, :, : flat.shape[2]] = flat
        words = data.reshape(len(flat), -1).view("<i4")
        factors, pack = self.numbers.factors, self.row.stream.pack
        parts = ((work.bias[s], words[s], None if factors is None else factors[s]) for s in work.parts)
        return np.stack([pack(*part) for part in parts])

    # ---- loops

    def prepare(self) -> Block:
        return (*self.weights.prepare(self.work.group), *self.windows.prepare())

    def enter(self, position: Sequence[Expr]) -> Block:
        before, self.x = self.windows.stage(position)
        return before

    def tile(self, position: Position, count: int, first: Expr, again: Expr | None) -> Block:
        work, rq = self.work, self.work.requantization

        def place(slot: Expr) -> tuple[Expr, ...]:
            return work.place(position(slot))

        x = Pointer(self.x.buffer, (*self.x.index[:-1], self.x.index[-1] + first * self.windows.pixel_step))
        (out,) = work.outputs(position, 1)
        if rq is None:
            shape = (self.pixels, pad(work.channels, self.row.stream.tile))
            acc = work.ctx.temporary("acc", DType.I32, shape, align=16)
            return (self._invoke("i32", x, start(acc), count, ()), *work.epilogue(acc, count, position))
        kind, limits = self.numbers.kind, self.numbers.scalars
        if self.residual is not None:
            return self._sum(self.residual, place(as_expr(0)), x, out)
        apart = work.step * work.y.buffer.shape[-1]
        if rq.whole and (work.neighbours or self.row.apart):
            return (self._invoke(kind, x, out, count, limits, apart),)
        made = made_pixels(work.ctx, count, work.channels)
        multiply = self._invoke(kind, x, start(made), count, limits)
        if rq.whole:
            return (multiply, copy_of(start(made), out, count, work.channels, work.channels, apart))
        if work.neighbours:
            return (multiply, *finish_pixels(work.ctx, work.refs, made, (0, count), rq.value, place))
        return (multiply, *work.epilogue(made, count, position))

    def _sum(self, found: Residual, place: Sequence[Expr], x: Pointer, out: Pointer) -> Block:
        """The requantized row, and its sum with the other tensor, from ``place`` on."""
        work = self.work
        size = self.pixels * work.channels
        own = Pointer(work.ctx.temporary("row", DType.I8, (size,), align=STEP), (as_expr(0),))
        ref = work.refs[found.other.name]
        other = Pointer(ref.buffer, ref.at((*place, 0)))
        operands = (own, other) if found.position == 0 else (other, own)
        scalars = (integer(found.node.attrs, name) for name in ("m1", "m2", "bias", "shift", "lo", "hi"))
        multiply = self._invoke(self.numbers.kind, x, own, self.pixels, self.numbers.scalars)
        return (multiply, Invoke("helium_rescale", (*operands, out), (size, *scalars)))

    def _invoke(self, kind: str, x: Pointer, y: Pointer, pixels: int, more: tuple[int, ...], apart: int = 0) -> Invoke:
        """``apart`` are the results of pixels; 0: neighbours."""
        channels = self.work.channels
        scalars = self.row.scalars(self.windows, pixels, channels)
        if self.row.apart:
            scalars += (apart or channels,)
        weights = start(self.weights.buffer, self.work.group * self.weights.apart)
        return Invoke(f"{self.row.block}_{kind}", (weights, x, y), (*scalars, *more))


def _chunk(width: int) -> int:
    """About ``CHUNK`` pixels: whole rows of the output, or where these are long, even shares of them."""
    if width <= CHUNK:
        return CHUNK // width * width
    shares = -(-width // CHUNK)
    return width // shares if width % shares == 0 else CHUNK
