"""Plain nest of int_softmax."""

from __future__ import annotations

from ..ir.build import convert, maximum, minimum, store
from ..ir.graph import Node
from ..ir.loops import I32, U64, Block, Call, Expr, LoopKind, const
from ..ir.types import DType
from .attributes import integer
from .integer import SOFTMAX_UNIT_BITS, softmax_division, softmax_rounding
from .integer_exprs import dtype_limits
from .nest_tools import AxisSplit, Index, Lets, accumulate, accumulator, operand, read_as, write_as
from .opdef import NestContext


def int_softmax(ctx: NestContext, node: Node, *, keep: bool = False, divide_long: bool = False) -> Block:
    """Three passes over each row: the maximum; the sum of the table's entries; their products with its reciprocal.

    With ``keep`` the entries are looked up once, into working memory: what follows is arithmetic of neighbours. With
    ``divide_long`` the reciprocal is one division of 64 bits, for machines that have it."""
    x, table = operand(node, 0), operand(node, 1)
    split = AxisSplit.of(x, (integer(node.attrs, "axis"),))
    shift, (low, high) = integer(node.attrs, "shift"), dtype_limits(node.output.dtype)
    entries, allocate = ctx.scratch("entries", DType.I32, (x.shape[split.axes[0]],)) if keep else (None, ())

    def row(kept: Index) -> Block:
        def element(along: Index) -> Expr:
            return read_as(ctx, x, split.merge(kept, along), DType.I32)

        def term(along: Index) -> Expr:
            return ctx.read(table, (convert(top[0] - element(along), DType.INDEX),))

        def entry(along: Index) -> Expr:
            return term(along) if entries is None else entries[along]

        def quotient(along: Index) -> Block:
            product = Call("mul_high", (entry(along), factor), I32)
            steps = (product + softmax_rounding(node.attrs)) >> shift
            return write_as(ctx, node.output, split.merge(kept, along), minimum(maximum(steps, low), high))

        top, start = accumulator(ctx, "top", DType.I32, dtype_limits(x.dtype)[0])
        find_top = split.axis_loops(ctx, lambda along: (accumulate("max", top, element(along)),))
        total, start_total = accumulator(ctx, "total", DType.U32, 0)
        look_up = () if entries is None else split.axis_loops(ctx, lambda along: (store(entries[along], term(along)),))
        add = split.axis_loops(ctx, lambda along: (accumulate("add", total, convert(entry(along), DType.U32)),))
        lets = Lets(ctx)
        unit = _unit(total[0], node)
        factor = _long_quotient(unit, shift, lets) if divide_long else _reciprocal(unit, shift, lets)
        multiply = split.axis_loops(ctx, quotient, LoopKind.PARALLEL)
        return (*allocate, *start, *find_top, *look_up, *start_total, *add, *lets.block, *multiply)

    return split.kept_loops(ctx, row)


def _unit(total: Expr, node: Node) -> Expr:
    """total * step / 2^32, rounded."""
    product = convert(total, DType.U64) * integer(node.attrs, "step")
    return convert((product + (1 << 31)) >> 32, DType.U32)


def _long_quotient(unit: Expr, shift: int, lets: Lets) -> Expr:
    """The same as :func:`_reciprocal` by one division."""
    return lets.bind("factor", convert(const(1 << 32 + shift, U64) / convert(unit, DType.U64), DType.I32))


def _reciprocal(unit: Expr, shift: int, lets: Lets) -> Expr:
    """2^(32 + shift) / unit, rounded down, below 2^31; i32. By long division. A zero ``unit`` cannot occur: the
    greatest element contributes the table's first entry."""
    unit = lets.bind("unit", unit)
    start, steps = softmax_division(shift)
    rest: Expr = const(start, unit.type)
    quotient = lets.bind("quotient", rest / unit)
    digit = 32 - SOFTMAX_UNIT_BITS
    for _ in range(steps):
        rest = lets.bind("rest", (rest - (rest / unit) * unit) << digit)
        quotient = lets.bind("quotient", (quotient << digit) + rest / unit)
    return lets.bind("factor", convert(quotient, DType.I32))
