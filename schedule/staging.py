"""Activations of one pixel in the order in which block instructions read them.

What lies side by side in the input (neighbouring taps of a row of the kernel, where nothing is padded) is taken at
once; beyond the border stands the zero point. Channels that fill no groups of four are gathered in a column of bytes
first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from ..blocks.dsp_gemm import STAGED_STEP
from ..blocks.dsp_packed_gemm import PIXELS, STEP, TAPS
from ..ir.build import maximum, minimum, store
from ..ir.loops import I8, Block, Buffer, Expr, If, Invoke, LoopKind, Pointer, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..record import record
from .kernel import KernelContext
from .tensors import TensorRef
from .window import Row, Sink, Window, over_rows, tap_row, window_rows

UNROLLED = 16
"""Bytes of a run that are stored without a loop."""
EDGE = PIXELS + TAPS - 2
"""Elements of a row that four neighbours at its end see."""
COPIED = 4
"""Bytes of a run that are copied as words, from this number on."""
LONG_RUN = 32
"""Bytes of a run that are copied by a function, from this number on."""


@record
class Layout:
    """Where staged pixels are: the words of a group of four k, of which pixel ``slot`` has the first at
    ``slot * between``; the block instructions that ``copy`` and ``fill`` a slot, and the one that copies ``all``."""

    pixels: int
    words: int
    between: int
    copy: str
    fill: str
    all: str | None


TWO_PIXELS = Layout(2, STAGED_STEP, STAGED_STEP // 2, "im2col_x2", "im2col_x2_fill", None)
FOUR_PIXELS = Layout(PIXELS, STEP, 1, "im2col_x4_pixel", "im2col_x4_fill", "im2col_x4")


def run_copy(source: Pointer, target: Pointer, count: int) -> Invoke:
    """A copy of ``count`` bytes that lie side by side."""
    return Invoke("copy_run" if count >= LONG_RUN else "copy_bytes", (source, target), (count,))


class Staging:
    """``pixels`` holds the staged activations of as many pixels as the layout has."""

    def __init__(self, ctx: KernelContext, x: TensorRef, window: Window, zero_point: int, layout: Layout) -> None:
        self.ctx, self.x, self.window, self.zero_point, self.layout = ctx, x, window, zero_point, layout
        self.groups = -(-window.size // 4)
        self.pixels = ctx.temporary("pixels", DType.I32, (self.groups, layout.words), align=8)
        self.column: Buffer | None = None
        self.edge: Buffer | None = None

    def prepare(self) -> Block:
        """What is done once, before any pixel: the bytes that fill the last groups of columns, the borders of edges."""
        if self.edge is not None:
            k = Var(self.ctx.names.fresh("k"))
            borders = (store(self.edge[at, k], I8(self.zero_point)) for at in (0, EDGE + 1))
            return loop(k, self.window.depth, *borders)
        if self.column is None:
            return ()
        rest = [(n, at) for n in range(self.column.shape[0]) for at in range(self.window.size, 4 * self.groups)]
        return tuple(store(self.column[n, at], 0) for n, at in rest)

    def stage(self, position: Sequence[Expr], slot: Expr) -> Block:
        """The activations of the pixel at ``position`` into ``slot``."""
        if self.window.depth % 4 == 0:
            return window_rows(self.ctx, self.window, position, _Groups(self, slot))
        column = self._columns(1)
        gathered = window_rows(self.ctx, self.window, position, _Bytes(self, column, as_expr(0)))
        return (*gathered, Invoke(self.layout.copy, (_first(column), self.slot(as_expr(0), slot)), (self.groups,)))

    def stage_all(self, position: Callable[[Expr], Sequence[Expr]], neighbours: bool) -> Block:
        """The activations of as many pixels as there are slots; ``position`` of a slot. ``neighbours`` are of a row."""
        pixels, window, whole = self.layout.pixels, self.window, self.window.depth % 4 == 0
        slot, origin = Var(self.ctx.names.fresh("slot")), as_expr(0)
        if self.layout.all is None:
            return loop(slot, pixels, *self.stage(position(slot), slot))
        if whole and neighbours and not window.kernel:
            return self._run(origin, position(origin), 1, window.channels)
        several_rows = len(window.kernel) == 2 and window.kernel[0] > 1
        if several_rows and whole and neighbours and window.within and window.side_by_side:
            return self._all_rows(position(origin))
        column = None if whole else self._columns(pixels)
        sink: Sink = _Groups(self, slot) if column is None else _Bytes(self, column, slot)
        if neighbours and window.kernel and window.dilation[-1] == 1:
            block = self._neighbours(position, slot, sink)
        else:
            block = loop(slot, pixels, *window_rows(self.ctx, window, position(slot), sink))
        if column is None:
            return block
        operands = (_first(column), self.slot(origin, origin))
        return (*block, Invoke(self.layout.all, operands, (self.groups, 4 * self.groups)))

    def _neighbours(self, position: Callable[[Expr], Sequence[Expr]], slot: Var, sink: Sink) -> Block:
        """Row of taps by row of taps, for all pixels at once where none is at the border."""
        window, pixels = self.window, self.layout.pixels
        step = window.stride[-1]

        def run(number: Expr, where: Sequence[Expr], start: Expr) -> Block:
            if self._in_threes:
                return self._threes(number, (*where, start), 1, 0)
            side = window.side_by_side
            taps, tap = (window.kernel[-1], as_expr(0)) if side else (1, Var(self.ctx.names.fresh("tap")))
            if isinstance(sink, _Groups):
                block = self._run(number + tap, (*where, start + tap), taps, step * window.channels)
            else:
                block = loop(slot, pixels, *sink.copy(number + tap, taps, (*where, start + slot * step + tap)))
            return loop(tap, window.kernel[-1], *block) if isinstance(tap, Var) else block

        edges = self._edge if self._in_threes and self._one_beyond else None
        return neighbours(self.ctx, window, position(as_expr(0)), pixels, slot, sink, run, edges)

    @property
    def _one_beyond(self) -> bool:
        """Whether of what four neighbours of a row see at most one element is beyond its ends."""
        window, columns = self.window, self.window.extent[-1]
        ends = window.pad[-1] == 1 and window.outputs[-1] == columns and columns % PIXELS == 0
        return ends and columns >= 2 * PIXELS and window.depth == window.channels

    def _edge(self, number: Expr, where: Sequence[Expr], start: Expr) -> Block:
        """Three taps of four pixels of which one sees what is beyond an end of the row: on a copy between borders."""
        if self.edge is None:
            self.edge = self.ctx.temporary("edge", DType.I8, (EDGE + 2, self.window.depth), align=4)
        depth, origin = self.window.depth, as_expr(0)
        source = Pointer(self.x.buffer, self.x.at((*where, maximum(start, 0), origin)))
        copy = run_copy(source, Pointer(self.edge, (as_expr(1), origin)), EDGE * depth)
        pointers = (Pointer(self.edge, (minimum(start + 1, 1), origin)), self.slot(number * (depth // 4), origin))
        return (copy, Invoke("im2col_x4_three", pointers, (depth // 4, depth, 1, 0)))

    def _all_rows(self, position: Sequence[Expr]) -> Block:
        """All rows of taps of all pixels, where none is at a border."""
        window, origin = self.window, as_expr(0)
        batch, *places = position
        first = (batch, *(place * stride for place, stride in zip(places, window.stride)), origin)
        pitch = window.dilation[0] * prod(self.x.buffer.shape[2:])
        if self._in_threes:
            return self._threes(origin, first[:-1], window.kernel[0], pitch)
        scalars = (window.kernel[1] * window.depth // 4, window.stride[1] * window.channels, window.kernel[0], pitch)
        pointers = (Pointer(self.x.buffer, self.x.at(first)), self.slot(origin, origin))
        return (Invoke("im2col_x4_rows", pointers, scalars),)

    @property
    def _in_threes(self) -> bool:
        """Whether neighbouring pixels see elements of a row that the block takes for all three taps."""
        window = self.window
        three = window.kernel[-1] == TAPS and window.stride[-1] == window.dilation[-1] == 1
        return three and self.layout is FOUR_PIXELS and window.depth % 4 == 0

    def _threes(self, first: Expr, where: Sequence[Expr], rows: int, pitch: int) -> Block:
        """``rows`` of three taps, from tap number ``first`` on, which for the first pixel is at ``where``."""
        words = self.window.depth // 4
        pointers = (Pointer(self.x.buffer, self.x.at((*where, 0))), self.slot(first * words, as_expr(0)))
        return (Invoke("im2col_x4_three", pointers, (words, self.window.channels, rows, pitch)),)

    def _run(self, first: Expr, where: Sequence[Expr], taps: int, step: int) -> Block:
        """``taps`` taps from number ``first`` on of all pixels, of which the first pixel reads at ``where`` and the
        others ``step`` bytes apart."""
        assert self.layout.all is not None
        groups = taps * self.window.depth // 4
        pointers = (
            Pointer(self.x.buffer, self.x.at((*where, 0))),
            self.slot(first * (self.window.depth // 4), as_expr(0)),
        )
        return (Invoke(self.layout.all, pointers, (groups, step)),)

    def bytes(self, position: Sequence[Expr]) -> tuple[Block, Pointer]:
        """The activations of a single pixel as bytes, in place where they lie side by side."""
        if not self.window.kernel and self.window.depth % 4 == 0:
            return (), Pointer(self.x.buffer, self.x.at((*position, 0)))
        column = self._columns(1)
        gathered = window_rows(self.ctx, self.window, position, _Bytes(self, column, as_expr(0)))
        return (*self.prepare(), *gathered), _first(column)

    def _columns(self, count: int) -> Buffer:
        """Room for the bytes of ``count`` pixels; what is there is used again for fewer."""
        if self.column is None:
            self.column = self.ctx.temporary("column", DType.I8, (count, 4 * self.groups), align=4)
        assert count <= self.column.shape[0]
        return self.column

    def slot(self, group: Expr, slot: Expr) -> Pointer:
        return Pointer(self.pixels, (group, slot * self.layout.between))


def neighbours(
    ctx: KernelContext, window: Window, position: Sequence[Expr], pixels: int, slot: Var, sink: Sink, run: Row,
    edge: Row | None = None,
) -> Block:  # fmt: skip
    """What some pixels of a row see, of which the first is at ``position``: a row of taps by ``run`` for all of them
    where none is at the border, else by ``edge``, or by ``sink`` for each ``slot``. There is no dilation along the
    row."""
    width, step = window.kernel[-1], window.stride[-1]

    def row(number: Expr, where: Sequence[Expr], start: Expr) -> Block:
        block = run(number, where, start)
        interior = window.inside(len(window.kernel) - 1, start, (pixels - 1) * step + width)
        if interior is None:
            return block
        if edge is not None:
            return (If(interior, block, edge(number, where, start)),)
        each = loop(slot, pixels, *tap_row(ctx, window, number, where, start + slot * step, sink))
        return (If(interior, block, each),)

    def fill(number: Expr) -> Block:
        return loop(slot, pixels, *sink.fill(number, width), kind=LoopKind.ROLLED)

    return over_rows(ctx, window, position, row, fill)


@record
class _Groups:
    """Into a slot of the staged pixels."""

    staging: Staging
    slot: Expr

    def copy(self, first: Expr, taps: int, where: Sequence[Expr]) -> Block:
        x = self.staging.x
        return (
            Invoke(
                self.staging.layout.copy,
                (Pointer(x.buffer, x.at((*where, 0))), self._at(first)),
                (self._groups(taps),),
            ),
        )

    def fill(self, first: Expr, taps: int) -> Block:
        return (Invoke(self.staging.layout.fill, (self._at(first),), (self._groups(taps), self.staging.zero_point)),)

    def _groups(self, taps: int) -> int:
        return taps * self.staging.window.depth // 4

    def _at(self, first: Expr) -> Pointer:
        return self.staging.slot(first * self._groups(1), self.slot)


@record
class _Bytes:
    """Into a column of bytes, the one with this ``number``."""

    staging: Staging
    column: Buffer
    number: Expr

    def copy(self, first: Expr, taps: int, where: Sequence[Expr]) -> Block:
        x, depth = self.staging.x, self.staging.window.depth
        if taps * depth >= COPIED:
            y = Pointer(self.column, (self.number, first * depth))
            return (run_copy(Pointer(x.buffer, x.at((*where, 0))), y, taps * depth),)
        *at, channel = x.at((*where, 0))
        if not self.staging.window.kernel:
            return self._each(first, taps, lambda i: x.buffer[*at, channel + i])
        *lead, width, channels = x.buffer.shape
        flat = replace(x.buffer, shape=(*lead, width * channels))
        return self._each(first, taps, lambda i: flat[*at[:-1], at[-1] * channels + channel + i])

    def fill(self, first: Expr, taps: int) -> Block:
        return self._each(first, taps, lambda _: I8(self.staging.zero_point))

    def _each(self, first: Expr, taps: int, value: Callable[[Expr], Expr]) -> Block:
        size = taps * self.staging.window.depth
        i = Var(self.staging.ctx.names.fresh("i"))
        stored = store(self.column[self.number, first * self.staging.window.depth + i], value(i))
        return loop(i, size, stored, kind=LoopKind.UNROLL if size <= UNROLLED else LoopKind.SERIAL)


def _first(buffer: Buffer) -> Pointer:
    return Pointer(buffer, tuple(as_expr(0) for _ in buffer.shape))
