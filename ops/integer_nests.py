"""Plain nest of int_softmax."""

from __future__ import annotations

from ..ir.build import convert, eq, gt, maximum, minimum, select
from ..ir.graph import Node
from ..ir.loops import Block, Expr, LoopKind, const
from ..ir.types import DType
from .attributes import integer
from .integer_exprs import dtype_limits
from .nest_tools import AxisSplit, Index, Lets, accumulate, accumulator, operand, read_as, write_as
from .opdef import NestContext


def int_softmax(ctx: NestContext, node: Node) -> Block:
    """Three passes over each row: the maximum; the sum of the table's entries; the quotients, a division for each."""
    x, table = operand(node, 0), operand(node, 1)
    split = AxisSplit.of(x, (integer(node.attrs, "axis"),))

    def row(kept: Index) -> Block:
        def element(along: Index) -> Expr:
            return read_as(ctx, x, split.merge(kept, along), DType.I32)

        def term(along: Index) -> Expr:
            return ctx.read(table, (convert(top[0] - element(along), DType.INDEX),))

        def quotient(along: Index) -> Block:
            lets = Lets(ctx)
            value = _divided(term(along), unit, node, lets)
            return (*lets.block, *write_as(ctx, node.output, split.merge(kept, along), value))

        top, start = accumulator(ctx, "top", DType.I32, dtype_limits(x.dtype)[0])
        find_top = split.axis_loops(ctx, lambda along: (accumulate("max", top, element(along)),))
        total, start_total = accumulator(ctx, "total", DType.U32, 0)
        find_total = split.axis_loops(ctx, lambda along: (accumulate("add", total, term(along)),))
        units = Lets(ctx)
        unit = units.bind("unit", _unit(total[0], node))
        divide = split.axis_loops(ctx, quotient, LoopKind.PARALLEL)
        return (*start, *find_top, *start_total, *find_total, *units.block, *divide)

    return split.kept_loops(ctx, row)


def _unit(total: Expr, node: Node) -> Expr:
    """total * step / 2^32, rounded."""
    product = convert(total, DType.U64) * integer(node.attrs, "step")
    return convert((product + (1 << 31)) >> 32, DType.U32)


def _divided(term: Expr, unit: Expr, node: Node, lets: Lets) -> Expr:
    """term / unit + zero_point, halves to even, clamped to the type of the result; as i32.

    A zero ``unit`` cannot occur: the maximum contributes the table's first entry.
    """
    term = lets.bind("term", term)
    quotient = lets.bind("quotient", term / unit)
    twice = lets.bind("twice", (term - quotient * unit) * 2)
    odd = eq(quotient & 1, 1)
    up = gt(twice, unit) | (eq(twice, unit) & odd)
    steps = convert(quotient + select(up, const(1, term.type), 0), DType.I32)
    low, high = dtype_limits(node.output.dtype)
    return minimum(maximum(steps + integer(node.attrs, "zero_point"), low), high)
