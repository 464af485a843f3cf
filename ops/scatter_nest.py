"""Plain nest of scatter."""

from __future__ import annotations

from ..ir.build import convert, ge, lt, ne, select
from ..ir.graph import Node
from ..ir.loops import INDEX, Binary, Block, Expr, If
from .attributes import text
from .nest_tools import Index, Lets, dim_stems, loops, operand, serial_loops
from .opdef import Bind, NestContext


def scatter(ctx: NestContext, node: Node) -> Block:
    """A copy, then the updates in order. Rows whose place is out of range are left out: nothing else is written."""
    x, places, updates = (operand(node, position) for position in range(3))
    y, reduction = node.output, text(node.attrs, "reduction")
    copy = loops(ctx, dim_stems(x.type.rank), x.shape, lambda at: ctx.write(y, at, ctx.read(x, at)))

    def row(outer: Index) -> Block:
        lets = Lets(ctx)
        place = lets.bind("place", ctx.read(places, outer))
        inside = ge(place, 0) & lt(place, x.shape[0])
        at = Lets(ctx)
        first = at.bind("at", convert(place, INDEX.dtype))

        def element(inner: Index) -> Block:
            values = Lets(ctx)
            new = ctx.read(updates, (*outer, *inner))
            if reduction != "none":
                new = _combined(reduction, ctx.read(y, (first, *inner)), new, values.bind)
            return (*values.block, *ctx.write(y, (first, *inner), new))

        body = loops(ctx, [f"r{d}" for d in range(1, x.type.rank)], x.shape[1:], element)
        return (*lets.block, If(inside, (*at.block, *body)))

    return (*copy, *serial_loops(ctx, [f"m{d}" for d in range(places.type.rank)], places.shape, row))


def _combined(reduction: str, old: Expr, new: Expr, bind: Bind) -> Expr:
    """NaN stays NaN in extremes."""
    if reduction in ("add", "mul"):
        return Binary(reduction, old, new)
    if not old.type.dtype.is_float:
        return Binary(reduction, old, new)
    old = bind("old", old)
    return select(ne(old, old), old, Binary(reduction, old, bind("new", new)))
