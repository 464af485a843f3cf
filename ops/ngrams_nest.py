"""Plain nest of count_ngrams."""

from __future__ import annotations

from functools import reduce as fold
from operator import and_

from ..ir.build import convert, eq
from ..ir.graph import Node
from ..ir.loops import Block, Expr, as_expr
from ..ir.types import DType
from .attributes import integer
from .nest_tools import Index, accumulate, accumulator, loops, operand, serial_loop, write_as
from .opdef import NestContext


def count_ngrams(ctx: NestContext, node: Node) -> Block:
    """Loops over rows and grams around those over gaps and places; a gram is compared whole."""
    x, grams = operand(node, 0), operand(node, 1)
    length, extent = grams.shape[1], x.shape[1]
    gaps = 1 + (integer(node.attrs, "skips") if length > 1 else 0)

    def gram(at: Index) -> Block:
        acc, init = accumulator(ctx, "count", DType.I32, 0)

        def place(gap: Expr, start: Expr) -> Block:
            tests = [
                eq(ctx.read(x, (at[0], start + (gap + 1) * j)), ctx.read(grams, (at[1], as_expr(j))))
                for j in range(length)
            ]
            return (accumulate("add", acc, convert(fold(and_, tests), DType.I32)),)

        def places(gap: Expr) -> Block:
            last = (extent - (length - 1)) - gap * (length - 1)
            return serial_loop(ctx, "s", last, lambda start: place(gap, start))

        # From some gap on there are no places.
        fitting = min(gaps, (extent - 1) // (length - 1)) if length > 1 else gaps
        total = serial_loop(ctx, "gap", fitting, places)
        return (*init, *total, *write_as(ctx, node.output, at, acc[0]))

    return loops(ctx, ("b", "g"), node.output.shape, gram)
