"""Maxima of large windows on machines with vectors: of the rows of a window first, then of its columns.

    for oh, ow, c:                           for oh:
      for kh, kw:                              for iw, c: line[iw, c] = max over kh of x[oh + kh, iw, c]
        y[oh, ow, c] max= x[...]      ->       for ow, c: y[oh, ow, c] = max over kw of line[ow + kw, c]

A window of 13 x 13 takes 26 comparisons so, instead of 169.
"""

from __future__ import annotations

from math import prod

from ..ir.build import store
from ..ir.graph import Node
from ..ir.loops import Block, Expr
from ..ops.attributes import ints
from ..ops.nest_tools import Index, Lets, accumulate, accumulator, loops, serial_loops
from ..ops.reduction_nest import lowest
from ..ops.windows_nest import tap_loops, window_dims, window_taps
from .generic import NestAdapter
from .kernel import KernelContext, has_vectors

WORTH = 2
"""How many times fewer comparisons are worth a line in memory."""


def is_separate_maxima(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``pool`` of maxima over images, channels last, with many more taps in a window than rows
    for each of its columns and columns."""
    node = ctx.anchor
    assert node is not None
    kernel, x = ints(node.attrs, "kernel"), node.operands[0]
    if not has_vectors(ctx) or node.attrs["kind"] != "max" or len(kernel) != 2 or x.name not in ctx.refs:
        return False
    if node.attrs["layout"] != "channels_last" or 0 in node.output.shape or ctx.by_rows:
        return False
    per_output = kernel[0] * x.shape[2] / node.output.shape[2] + kernel[1]
    return WORTH * per_output <= prod(kernel)


def lower_separate_maxima(ctx: KernelContext) -> Block:
    """``pool``, for which :func:`is_separate_maxima` holds."""
    assert ctx.anchor is not None
    return ctx.vectorized(_Maxima(ctx, ctx.anchor).emit(), once=True)


class _Maxima:
    def __init__(self, ctx: KernelContext, node: Node) -> None:
        self.ctx, self.node, self.nest = ctx, node, NestAdapter(ctx)
        self.ref, self.dtype = ctx.refs[node.operands[0].name], node.operands[0].dtype
        self.rows, self.columns = window_dims(node, ints(node.attrs, "kernel"))
        self.channels = node.output.shape[-1]

    def emit(self) -> Block:
        return loops(self.nest, ("n", "oh"), (self.node.output.shape[0], self.rows.out), lambda at: self._row(*at))

    def _row(self, n: Expr, oh: Expr) -> Block:
        shape, align = (self.columns.size, self.channels), 4 * max(self.ctx.cpu.f32_lanes)
        line, allocated = self.ctx.own_memory("line", self.dtype, shape, prod(shape) * self.dtype.size, align)
        lets = Lets(self.nest)
        taps = (window_taps(self.rows, oh, lets.bind),)

        def fill(at: Index) -> Block:
            acc, start = accumulator(self.nest, "acc", self.dtype, lowest(self.dtype))
            total = tap_loops(
                self.nest, taps, lambda _, row: (accumulate("max", acc, self.ref[(n, row[0], *at)]),)
            )
            return (*start, *total, store(line[at], acc[0]))

        def pixel(at: Index) -> Block:
            own = Lets(self.nest)
            across = (window_taps(self.columns, at[0], own.bind),)

            def channel(c: Index) -> Block:
                acc, start = accumulator(self.nest, "acc", self.dtype, lowest(self.dtype))
                total = tap_loops(
                    self.nest, across, lambda _, column: (accumulate("max", acc, line[(*column, *c)]),)
                )
                return (*start, *total, *self.nest.write(self.node.output, (n, oh, *at, *c), acc[0]))

            return (*own.block, *loops(self.nest, ("c",), (self.channels,), channel))

        filled = serial_loops(self.nest, ("iw", "c"), line.shape, fill)
        return (*allocated, *lets.block, *filled, *loops(self.nest, ("ow",), (self.columns.out,), pixel))
