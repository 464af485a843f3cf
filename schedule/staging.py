"""Activations of one pixel in the order in which block instructions read them.

What lies side by side in the input (neighbouring taps of a row of the kernel, where nothing is padded) is taken at
once; beyond the border stands the zero point. Channels that fill no groups of four are gathered in a column of bytes
first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Protocol

from ..ir.blocks.pair import STAGED_STEP
from ..ir.blocks.quad import PIXELS, STEP
from ..ir.graph import Node
from ..ir.loops import (
    Binary,
    Block,
    Buffer,
    Const,
    Expr,
    If,
    Invoke,
    Load,
    LoopKind,
    Pointer,
    Store,
    Type,
    Var,
    as_expr,
)
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..ops.infer import ints
from .kernel import KernelContext
from .tensors import TensorRef

I8 = Type(DType.I8)
UNROLLED = 16
"""Bytes of a run that are copied without a loop."""


@dataclass(frozen=True)
class Window:
    """What a pixel sees of its input: ``kernel`` taps of ``depth`` channels over spatial dimensions of ``extent``."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    pad: tuple[int, ...]
    extent: tuple[int, ...]
    outputs: tuple[int, ...]
    depth: int
    channels: int
    """Of the input: more than ``depth`` where a group of them is convolved."""

    @staticmethod
    def of(node: Node) -> Window:
        x, w = node.inputs[0], node.inputs[1]
        assert x is not None and w is not None
        if node.op == "matmul":
            return Window.pixel(x.shape[-1])
        rank = len(w.shape) - 2
        stride, dilation, pad = (ints(node.attrs, name)[:rank] for name in ("stride", "dilation", "pad"))
        extents = (x.shape[1:-1], node.output.shape[1:-1])
        return Window(w.shape[1:-1], stride, dilation, pad, *extents, w.shape[-1], x.shape[-1])

    @staticmethod
    def pixel(depth: int, channels: int | None = None) -> Window:
        """One element of the input for each of the output."""
        return Window((), (), (), (), (), (), depth, depth if channels is None else channels)

    @property
    def side_by_side(self) -> bool:
        """Whether the taps of a row of the kernel are neighbours in memory."""
        return self.dilation[-1] == 1 and self.depth == self.channels

    @property
    def pointwise(self) -> bool:
        return prod(self.kernel) == 1 and prod(self.stride) == 1 and not any(self.pad) and self.extent == self.outputs

    @property
    def size(self) -> int:
        return prod(self.kernel) * self.depth

    def inside(self, dim: int, start: Expr, taps: int) -> Expr | None:
        """Whether ``taps`` taps from ``start`` on are in the input; ``None`` where they always are."""
        reach = (taps - 1) * self.dilation[dim]
        last = (self.outputs[dim] - 1) * self.stride[dim] - self.pad[dim] + (self.kernel[dim] - 1) * self.dilation[dim]
        tests = [Binary("ge", start, as_expr(0))] if self.pad[dim] else []
        tests += [Binary("le", start, as_expr(self.extent[dim] - 1 - reach))] if last >= self.extent[dim] else []
        return _all(tests)


@dataclass(frozen=True)
class Layout:
    """Where staged pixels are: the words of a group of four k, of which pixel ``slot`` has the first at
    ``slot * between``; the block instructions that ``copy`` and ``fill`` a slot, and the one that copies ``all``."""

    pixels: int
    words: int
    between: int
    copy: str
    fill: str
    all: str | None


PAIR = Layout(2, STAGED_STEP, STAGED_STEP // 2, "stage", "stage_fill", None)
QUAD = Layout(PIXELS, STEP, 1, "quad_stage_pixel", "quad_fill", "quad_stage")


class Staging:
    """``pixels`` holds the staged activations of as many pixels as the layout has."""

    def __init__(self, ctx: KernelContext, x: TensorRef, window: Window, zero_point: int, layout: Layout) -> None:
        self.ctx, self.x, self.window, self.zero_point, self.layout = ctx, x, window, zero_point, layout
        self.groups = -(-window.size // 4)
        self.pixels = ctx.temporary("pixels", DType.I32, (self.groups, layout.words), align=8)
        self.column: Buffer | None = None

    def prepare(self) -> Block:
        """What is done once, before any pixel: the bytes that fill the last group of a column."""
        if self.column is None:
            return ()
        rest = range(self.window.size, 4 * self.groups)
        return tuple(Store(self.column, (as_expr(at),), Const(0, I8)) for at in rest)

    def stage(self, position: Sequence[Expr], slot: Expr) -> Block:
        """The activations of the pixel at ``position`` into ``slot`` of the pair."""
        if self.window.depth % 4 == 0:
            return window_rows(self.ctx, self.window, position, _Groups(self, slot))
        column = self._new_column()
        gathered = window_rows(self.ctx, self.window, position, _Bytes(self, column))
        return (*gathered, Invoke(self.layout.copy, (_first(column), self.slot(as_expr(0), slot)), (self.groups,)))

    def stage_all(self, position: Callable[[Expr], Sequence[Expr]], neighbours: bool) -> Block:
        """The activations of as many pixels as there are slots; ``position`` of a slot. ``neighbours`` of a row are
        staged together where nothing is padded."""
        slot, window = Var(self.ctx.names.fresh("slot")), self.window
        each = loop(slot, self.layout.pixels, *self.stage(position(slot), slot))
        if self.layout.all is None or window.depth % 4 or not neighbours:
            return each
        first = position(as_expr(0))
        if not window.kernel:
            return self._run(as_expr(0), first, 1, window.channels)
        if window.dilation[-1] != 1:
            return each
        width = window.kernel[-1]
        step = window.stride[-1]
        taps, where, start = _taps(self.ctx, window, first)
        number = _number(window, taps) * width
        if window.side_by_side:
            block = self._run(number, (first[0], *where, start), width, step * window.channels)
        else:
            tap = Var(self.ctx.names.fresh("tap"))
            block = self._run(number + tap, (first[0], *where, start + tap), 1, step * window.channels)
            block = loop(tap, width, *block)
        valid = _valid(window, where)
        if valid is not None:
            slot = Var(self.ctx.names.fresh("slot"))
            block = (If(valid, block, loop(slot, self.layout.pixels, *_Groups(self, slot).fill(number, width))),)
        block = _over_taps(window, taps, block)
        interior = window.inside(len(window.kernel) - 1, start, (self.layout.pixels - 1) * step + width)
        return block if interior is None else (If(interior, block, each),)

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
        column = self._new_column()
        return (*self.prepare(), *window_rows(self.ctx, self.window, position, _Bytes(self, column))), _first(column)

    def _new_column(self) -> Buffer:
        self.column = self.ctx.temporary("column", DType.I8, (4 * self.groups,), align=4)
        return self.column

    def slot(self, group: Expr, slot: Expr) -> Pointer:
        return Pointer(self.pixels, (group, slot * self.layout.between))


def window_rows(ctx: KernelContext, window: Window, position: Sequence[Expr], sink: _Sink) -> Block:
    """Every row of taps under the pixel at ``position``: as one run, or tap by tap at the border."""
    if not window.kernel:
        return sink.copy(as_expr(0), 1, position)
    taps, where, start = _taps(ctx, window, position)
    number = _number(window, taps) * window.kernel[-1]
    block = _row(ctx, window, number, (position[0], *where), start, sink)
    valid = _valid(window, where)
    if valid is not None:
        block = (If(valid, block, sink.fill(number, window.kernel[-1])),)
    return _over_taps(window, taps, block)


def _taps(ctx: KernelContext, window: Window, position: Sequence[Expr]) -> tuple[list[Var], list[Expr], Expr]:
    """Variables for the taps but along the width, where they read, and the column of the first tap of a row."""
    taps = [Var(ctx.names.fresh("k")) for _ in window.kernel[:-1]]
    starts = [p * s - pad for p, s, pad in zip(position[1:], window.stride, window.pad, strict=True)]
    return taps, [start + tap * d for start, tap, d in zip(starts, taps, window.dilation)], starts[-1]


def _number(window: Window, taps: Sequence[Expr]) -> Expr:
    """Which row of taps it is."""
    number: Expr = as_expr(0)
    for tap, extent in zip(taps, window.kernel):
        number = number * extent + tap
    return number


def _valid(window: Window, where: Sequence[Expr]) -> Expr | None:
    """Whether a row of taps is in the input."""
    return _all([test for d, at in enumerate(where) if (test := window.inside(d, at, 1)) is not None])


def _over_taps(window: Window, taps: Sequence[Var], block: Block) -> Block:
    for tap, extent in reversed(list(zip(taps, window.kernel))):
        block = loop(tap, extent, *block)
    return block


def _row(
    ctx: KernelContext, window: Window, first: Expr, where: Sequence[Expr], start: Expr, sink: _Sink
) -> Block:
    """The taps along the width, of which the first has number ``first`` and lies at column ``start``."""
    width = window.kernel[-1]
    tap = Var(ctx.names.fresh("tap"))
    column = start + tap * window.dilation[-1]
    one = sink.copy(first + tap, 1, (*where, column))
    valid = window.inside(len(window.kernel) - 1, column, 1)
    if valid is not None:
        one = (If(valid, one, sink.fill(first + tap, 1)),)
    single = loop(tap, width, *one)
    if not window.side_by_side or width == 1:
        return single
    run = sink.copy(first, width, (*where, start))
    interior = window.inside(len(window.kernel) - 1, start, width)
    return run if interior is None else (If(interior, run, single),)


class _Sink(Protocol):
    """Where taps go: ``copy`` those from ``where`` of the input on, or ``fill`` in the zero point. ``first`` is the
    number of the first tap."""

    def copy(self, first: Expr, taps: int, where: Sequence[Expr]) -> Block: ...

    def fill(self, first: Expr, taps: int) -> Block: ...


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class _Bytes:
    """Into a column of bytes."""

    staging: Staging
    column: Buffer

    def copy(self, first: Expr, taps: int, where: Sequence[Expr]) -> Block:
        x = self.staging.x
        *at, channel = x.at((*where, 0))
        if not self.staging.window.kernel:
            return self._each(first, taps, lambda i: Load(x.buffer, (*at, channel + i)))
        *lead, width, channels = x.buffer.shape
        flat = replace(x.buffer, shape=(*lead, width * channels))
        return self._each(first, taps, lambda i: Load(flat, (*at[:-1], at[-1] * channels + channel + i)))

    def fill(self, first: Expr, taps: int) -> Block:
        return self._each(first, taps, lambda _: Const(self.staging.zero_point, I8))

    def _each(self, first: Expr, taps: int, value: Callable[[Expr], Expr]) -> Block:
        size = taps * self.staging.window.depth
        i = Var(self.staging.ctx.names.fresh("i"))
        store = Store(self.column, (first * self.staging.window.depth + i,), value(i))
        return loop(i, size, store, kind=LoopKind.UNROLL if size <= UNROLLED else LoopKind.SERIAL)


def _all(tests: Sequence[Expr]) -> Expr | None:
    """The conjunction, or ``None`` of nothing."""
    found: Expr | None = None
    for test in tests:
        found = test if found is None else Binary("and", found, test)
    return found


def _first(buffer: Buffer) -> Pointer:
    return Pointer(buffer, tuple(as_expr(0) for _ in buffer.shape))
