"""Which activations an output pixel sees, row of taps by row of taps, and which of them are beyond the border."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Protocol

from ..ir.build import all_of, ge, le
from ..ir.graph import Node
from ..ir.loops import Block, Expr, If, Var, as_expr
from ..ir.loops_rewrite import loop, row_major
from ..ops.attributes import ints
from ..record import record
from .kernel import KernelContext


@record
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

    def parts(self, most: int) -> Iterator[Window]:
        """Windows on at most ``most`` channels at a time, the largest first, where nothing but the pixel is seen; else
        the window itself."""
        if self.kernel:
            yield self
            return
        count = -(-self.depth // most)
        for number in range(count):
            yield Window.pixel((self.depth + count - 1 - number) // count, self.channels)

    @property
    def side_by_side(self) -> bool:
        """Whether the taps of a row of the kernel are neighbours in memory."""
        return self.dilation[-1] == 1 and self.depth == self.channels

    @property
    def pointwise(self) -> bool:
        return prod(self.kernel) == 1 and prod(self.stride) == 1 and not any(self.pad) and self.extent == self.outputs

    @property
    def within(self) -> bool:
        """Whether nothing beyond the border is seen."""
        return not any(self.pad) and all(
            (outputs - 1) * stride + (kernel - 1) * dilation < extent
            for outputs, stride, kernel, dilation, extent in zip(
                self.outputs, self.stride, self.kernel, self.dilation, self.extent, strict=True
            )
        )

    @property
    def size(self) -> int:
        return prod(self.kernel) * self.depth

    def inside(self, dim: int, start: Expr, taps: int) -> Expr | None:
        """Whether ``taps`` taps from ``start`` on are in the input; ``None`` where they always are."""
        reach = (taps - 1) * self.dilation[dim]
        last = (self.outputs[dim] - 1) * self.stride[dim] - self.pad[dim] + (self.kernel[dim] - 1) * self.dilation[dim]
        tests = [ge(start, 0)] if self.pad[dim] else []
        tests += [le(start, self.extent[dim] - 1 - reach)] if last >= self.extent[dim] else []
        return all_of(tests)


class Sink(Protocol):
    """Where taps go: ``copy`` those from ``where`` of the input on, or ``fill`` in the zero point. ``first`` is the
    number of the first tap."""

    def copy(self, first: Expr, taps: int, where: Sequence[Expr]) -> Block: ...

    def fill(self, first: Expr, taps: int) -> Block: ...


def window_rows(ctx: KernelContext, window: Window, position: Sequence[Expr], sink: Sink) -> Block:
    """Every row of taps under the pixel at ``position``: as one run, or tap by tap at the border."""
    if not window.kernel:
        return sink.copy(as_expr(0), 1, position)

    def row(number: Expr, where: Sequence[Expr], start: Expr) -> Block:
        return tap_row(ctx, window, number, where, start, sink)

    return over_rows(ctx, window, position, row, lambda number: sink.fill(number, window.kernel[-1]))


def window_taps(ctx: KernelContext, window: Window, position: Sequence[Expr], sink: Sink) -> Block:
    """Every tap under the pixel at ``position`` by itself, where no row of taps ever lies inside as a whole."""

    def one(number: Expr, where: Sequence[Expr], starts: Sequence[Expr]) -> Block:
        return sink.copy(number, 1, where)

    return _over_taps(ctx, window, position, len(window.kernel), one, lambda number: sink.fill(number, 1))


Row = Callable[[Expr, Sequence[Expr], Expr], Block]
"""What is done with a row of taps: the number of its first tap, where it is but for the column, and that column."""


def over_rows(
    ctx: KernelContext, window: Window, position: Sequence[Expr], row: Row, fill: Callable[[Expr], Block]
) -> Block:
    """``row`` for every row of taps under the pixel at ``position``; ``fill`` for those above or below the input."""

    def whole(number: Expr, where: Sequence[Expr], starts: Sequence[Expr]) -> Block:
        return row(number, where, starts[-1])

    return _over_taps(ctx, window, position, len(window.kernel) - 1, whole, fill)


def _over_taps(
    ctx: KernelContext,
    window: Window,
    position: Sequence[Expr],
    dims: int,
    body: Callable[[Expr, Sequence[Expr], Sequence[Expr]], Block],
    fill: Callable[[Expr], Block],
) -> Block:
    """``body`` for every tap along the first ``dims`` dimensions of the window under the pixel at ``position``: the
    number of the tap, where it is along these, and where the window begins; ``fill`` for those beyond the input."""
    taps = [Var(ctx.names.fresh("k")) for _ in window.kernel[:dims]]
    starts = [p * s - pad for p, s, pad in zip(position[1:], window.stride, window.pad, strict=True)]
    where = [start + tap * d for start, tap, d in zip(starts, taps, window.dilation)]
    number = row_major((*taps, *[as_expr(0)] * (len(window.kernel) - dims)), window.kernel)
    block = body(number, (position[0], *where), starts)
    valid = all_of([test for d, at in enumerate(where) if (test := window.inside(d, at, 1)) is not None])
    if valid is not None:
        block = (If(valid, block, fill(number)),)
    for tap, extent in reversed(list(zip(taps, window.kernel))):
        block = loop(tap, extent, *block)
    return block


def tap_row(
    ctx: KernelContext, window: Window, first: Expr, where: Sequence[Expr], start: Expr, sink: Sink
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
