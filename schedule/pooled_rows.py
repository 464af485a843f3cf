"""Pooling of images with few channels on machines with vectors: of the rows of a window first, then along a row, whose
columns and channels are one dimension.

    for oh, ow, c:                         for oh:
      for kh, kw:                            line[:] = what padding counts as
        y[oh, ow, c] += x[...]      ->       for i: line[pad*C + i] = sum over kh of x[oh + kh, i]
                                             for j: y[oh, j] = sum over kw of line[j + kw*C]

Lanes go on over channels and columns, and padding is an element as others are. Along a row of one channel a stride of 2
takes every second lane of two vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce as fold

import numpy as np

from ..ir.build import store
from ..ir.graph import Node
from ..ir.loops import INDEX, Binary, Block, Buffer, Convert, Expr, Load, Shuffle, Splat, Stmt, Type, Var
from ..ir.loops_rewrite import loop, loop_index
from ..ir.types import DType
from ..ops.attributes import flag, ints, text
from ..ops.nest_tools import Index, Lets, accumulate, accumulator, loops, serial_loops, spatial_stems
from ..ops.reduction_nest import lowest
from ..ops.windows_nest import Taps, tap_loops, taps_in_padding, window_dims, window_taps
from .generic import NestAdapter
from .kernel import KernelContext, has_vectors
from .vectorize import stripes

MOST_TAPS = 16
"""Along a row, which are written out where vectors are shuffled."""


def is_pooled_rows(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``pool`` of maxima or means of floats, channels last, with fewer channels than a vector
    has lanes, nothing behind it, and windows between which no columns lie."""
    node = ctx.anchor
    assert node is not None
    x, kind = node.operands[0], text(node.attrs, "kind")
    if not has_vectors(ctx) or ctx.by_rows or x.name not in ctx.refs or node.output.name != ctx.output.name:
        return False
    if node.attrs["layout"] != "channels_last" or not (kind == "max" or (kind == "avg" and x.dtype is DType.F32)):
        return False
    *_, columns = window_dims(node, ints(node.attrs, "kernel"))
    dense = all(ctx.refs[value.name].buffer.shape[-1] == value.shape[-1] for value in (x, node.output))
    few = 0 < x.shape[-1] < max(ctx.cpu.f32_lanes) and 0 not in node.output.shape
    return dense and few and columns.stride <= (columns.kernel - 1) * columns.dilation + 1


def lower_pooled_rows(ctx: KernelContext) -> Block:
    """``pool``, for which :func:`is_pooled_rows` holds."""
    assert ctx.anchor is not None
    return ctx.vectorized(_Rows(ctx, ctx.anchor).emit(), once=True)


class _Rows:
    def __init__(self, ctx: KernelContext, node: Node) -> None:
        self.ctx, self.node, self.nest = ctx, node, NestAdapter(ctx)
        x = node.operands[0]
        self.x, self.y = (ctx.refs[value.name].with_columns_of_channels() for value in (x, node.output))
        *self.outer, self.columns = window_dims(node, ints(node.attrs, "kernel"))
        self.channels, self.dtype, self.greatest = x.shape[-1], x.dtype, node.attrs["kind"] == "max"
        self.op, self.neutral = ("max", lowest(x.dtype)) if self.greatest else ("add", 0.0)
        self.padding_counts = flag(node.attrs, "count_include_pad")
        if not self.greatest:
            self.counts = ctx.pack("counts", self._column_counts())

    def emit(self) -> Block:
        stems = ("n", *spatial_stems("o", len(self.outer)))
        extents = (self.node.output.shape[0], *(dim.out for dim in self.outer))
        return loops(self.nest, stems, extents, self._row)

    def _row(self, at: Index) -> Block:
        dim, align = self.columns, 4 * max(self.ctx.cpu.f32_lanes)
        extent = (dim.out * dim.stride + (dim.kernel - 1) * dim.dilation) * self.channels
        line, allocated = self.ctx.own_memory("line", self.dtype, (extent,), extent * self.dtype.size, align)
        before = dim.pad * self.channels
        inside = min(dim.size * self.channels, extent - before)
        lets = Lets(self.nest)
        taps = tuple(window_taps(outer, o, lets.bind) for outer, o in zip(self.outer, at[1:]))

        def fill(j: Index) -> Block:
            acc, start = accumulator(self.nest, "acc", self.dtype, self.neutral)
            total = tap_loops(
                self.nest, taps, lambda _, tap: (accumulate(self.op, acc, self.x[(at[0], *tap, *j)]),)
            )
            return (*start, *total, store(line[j[0] + before], acc[0]))

        padded = [self._padding(line, 0, before), self._padding(line, before + inside, extent - before - inside)]
        outer = None if self.greatest else self._outer_count(at[1:], taps, lets)
        filled = serial_loops(self.nest, ("i",), (inside,), fill)
        return (*allocated, *lets.block, *padded[0], *filled, *padded[1], *self._along(at, line, outer))

    def _padding(self, line: Buffer, first: int, extent: int) -> Block:
        return serial_loops(self.nest, ("z",), (extent,), lambda z: (store(line[z[0] + first], self.neutral),))

    # ---- along a row

    def _along(self, at: Index, line: Buffer, outer: Expr | None) -> Block:
        dim, every = self.columns, self.columns.stride * self.channels
        if dim.stride > 1 and self.channels > 1:
            return loops(
                self.nest, ("ow", "c"), (dim.out, self.channels),
                lambda i: self._element(at, line, (i[0] * every + i[1], i[0] * self.channels + i[1]), outer),
            )  # fmt: skip
        if dim.stride == 1 or dim.stride > 2 or self.dtype.size != 4 or dim.kernel > MOST_TAPS:
            return loops(
                self.nest, ("j",), (dim.out * self.channels,),
                lambda j: self._element(at, line, (j[0] * dim.stride, j[0]), outer),
            )  # fmt: skip
        out: list[Stmt] = []
        for start, trips, lanes in stripes(dim.out, [width for width in self.ctx.cpu.f32_lanes if width > 1]):
            j = Var(self.nest.fresh("j"))
            place = loop_index(j, trips) * lanes + start
            body = self._element(at, line, (place * 2, place), outer)
            out += loop(j, trips, *(body if lanes == 1 else self._every_second(at, line, place, lanes, outer)))
        return tuple(out)

    def _element(self, at: Index, line: Buffer, places: tuple[Expr, Expr], outer: Expr | None) -> Block:
        """The result of the window that begins at the first of ``places`` in the line, at the second in its row."""
        acc, start = accumulator(self.nest, "acc", self.dtype, self.neutral)
        first, j = places
        step = self.columns.dilation * self.channels
        total = serial_loops(
            self.nest, ("kw",), (self.columns.kernel,),
            lambda k: (accumulate(self.op, acc, line[first + k[0] * step]),),
        )  # fmt: skip
        return (*start, *total, store(self.y[(*at, j)], self._result(acc[0], j, outer)))

    def _every_second(self, at: Index, line: Buffer, j: Expr, lanes: int, outer: Expr | None) -> Block:
        """The results of ``lanes`` windows from ``j`` on, at a stride of 2."""
        picks = tuple(range(0, 2 * lanes, 2))
        places = [j * 2 + tap * self.columns.dilation for tap in range(self.columns.kernel)]
        taps: list[Expr] = [Shuffle(Load(line, (i,), lanes), Load(line, (i + lanes,), lanes), picks) for i in places]
        total = fold(lambda x, y: Binary(self.op, x, y), taps)
        return (store(self.y[(*at, j)], self._result(total, j, outer)),)

    # ---- means

    def _result(self, total: Expr, j: Expr, outer: Expr | None) -> Expr:
        """The result of a window whose elements come to ``total``; ``outer`` is how many rows a mean divides by."""
        if outer is None:
            return total
        lanes = total.type.lanes
        rows = outer if lanes == 1 else Splat(outer, lanes)
        return total / (rows * Load(self.counts, (j,), lanes))

    def _outer_count(self, position: Index, taps: Sequence[Taps], lets: Lets) -> Expr:
        count: Expr = INDEX(1)
        for dim, o, tap in zip(self.outer, position, taps):
            count = count * (taps_in_padding(dim, o, lets.bind) if self.padding_counts else tap.count)
        return lets.bind("rows", Convert(Type(self.dtype), count))

    def _column_counts(self) -> np.ndarray:
        """For each element of a row of results, how many columns a mean divides by."""
        dim = self.columns
        low, high = (-dim.pad, dim.size + dim.pad_end) if self.padding_counts else (0, dim.size)
        first = np.arange(dim.out)[:, None] * dim.stride - dim.pad
        read = first + np.arange(dim.kernel) * dim.dilation
        counts = ((low <= read) & (read < high)).sum(1)
        return np.repeat(counts, self.channels).astype(self.dtype.numpy)
