"""Plain nest of gather."""

from __future__ import annotations

from ..ir.build import convert, maximum, minimum
from ..ir.graph import Node
from ..ir.loops import INDEX, Block
from .attributes import integer
from .nest_tools import Index, Lets, dim_stems, loops, operand
from .opdef import NestContext


def gather(ctx: NestContext, node: Node) -> Block:
    """Loops over the output; each index is loaded once, outside of the dimensions behind the axis.

    An index that is out of range, which ONNX forbids, is clamped: nothing outside of the operand is ever read.
    """
    x, indices, axis = operand(node, 0), operand(node, 1), integer(node.attrs, "axis")
    outer_rank = axis + indices.type.rank
    stems, shape = dim_stems(node.output.type.rank), node.output.shape

    def row(outer: Index) -> Block:
        lets = Lets(ctx)
        position = convert(ctx.read(indices, outer[axis:]), INDEX.dtype)
        at = lets.bind("at", maximum(minimum(position, x.shape[axis] - 1), 0))

        def element(inner: Index) -> Block:
            return ctx.write(node.output, (*outer, *inner), ctx.read(x, (*outer[:axis], at, *inner)))

        return (*lets.block, *loops(ctx, stems[outer_rank:], shape[outer_rank:], element))

    return loops(ctx, stems[:outer_rank], shape[:outer_rank], row)
