"""Plain nest of interpolate: along the first axis into a line, from there along the second.

    for o0:                                   # of the first axis
      for i1, c: line[i1, c] = sum over t of w0[o0, t] * (x[i0[o0, t], i1, c] - zero_point)
      for o1, c: y[o0, o1, c] = sum over t of w1[o1, t] * line[i1[o1, t], c]

Places and weights are loaded once a place, for all that lies behind the axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce as fold
from operator import add

from ..ir.build import convert, maximum, minimum, store
from ..ir.graph import Node, Value
from ..ir.loops import INDEX, Block, Expr
from .attributes import ints
from .integer import zero_point
from .nest_tools import Index, Lets, dim_stems, loops, operand, read_as, serial_loops, write_as
from .opdef import NestContext

Read = Callable[[Expr], Expr]
"""The element with that index along an axis, in the type of the sums."""


def interpolate(ctx: NestContext, node: Node) -> Block:
    """Loops over the output; of two axes, over what lies between them once more for each line."""
    axes, x, stems = ints(node.attrs, "axes"), operand(node, 0), dim_stems(node.output.type.rank)
    first, shape, zero = axes[0], node.output.shape, zero_point(node.attrs)
    dtype = node.output.dtype
    if len(axes) == 1:

        def place(outer: Index) -> Block:
            taps = Taps(ctx, node, 0, outer[first])

            def element(inner: Index) -> Block:
                total = taps.total(lambda at: read_as(ctx, x, (*outer[:first], at, *inner), dtype, zero))
                return write_as(ctx, node.output, (*outer, *inner), total)

            return (*taps.block, *loops(ctx, stems[first + 1 :], shape[first + 1 :], element))

        return loops(ctx, stems[: first + 1], shape[: first + 1], place)

    second = axes[1]
    extents = (x.shape[second], *shape[second + 1 :])

    def row(outer: Index) -> Block:
        line, start = ctx.scratch("line", dtype, extents)
        down = Taps(ctx, node, 0, outer[first])

        def fill(inner: Index) -> Block:
            def read(at: Expr) -> Expr:
                return read_as(ctx, x, (*outer[:first], at, *outer[first + 1 :], *inner), dtype, zero)

            return (store(line[inner], down.total(read)),)

        def place(position: Index) -> Block:
            across = Taps(ctx, node, 1, position[0])

            def element(inner: Index) -> Block:
                total = across.total(lambda at: line[(at, *inner)])
                return write_as(ctx, node.output, (*outer, *position, *inner), total)

            return (*across.block, *loops(ctx, stems[second + 1 :], shape[second + 1 :], element))

        filled = serial_loops(ctx, ("i", *stems[second + 1 :]), extents, fill)
        return (*start, *down.block, *filled, *loops(ctx, stems[second : second + 1], (shape[second],), place))

    return loops(ctx, stems[:second], shape[:second], row)


class Taps:
    """Places and weights of one output along axis ``number``: ``taps``, which ``block`` names."""

    def __init__(self, ctx: NestContext, node: Node, number: int, output: Expr) -> None:
        lets, indices, weights = Lets(ctx), operand(node, 1 + 2 * number), operand(node, 2 + 2 * number)
        extent = operand(node, 0).shape[ints(node.attrs, "axes")[number]]
        self.taps = [
            (
                lets.bind("at", _inside(_entry(ctx, indices, output, t), extent)),
                lets.bind("w", _entry(ctx, weights, output, t)),
            )
            for t in range(indices.shape[1])
        ]
        self.block = lets.block

    def total(self, read: Read) -> Expr:
        return fold(add, [read(at) * weight for at, weight in self.taps])


def _entry(ctx: NestContext, table: Value, output: Expr, tap: int) -> Expr:
    where: Sequence[Expr] = (output, INDEX(tap))
    return ctx.read(table, where)


def _inside(place: Expr, extent: int) -> Expr:
    return maximum(minimum(convert(place, INDEX.dtype), extent - 1), 0)
