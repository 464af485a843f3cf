"""Plain nest of det: elimination with partial pivoting on a copy of the matrix."""

from __future__ import annotations

from ..ir.build import absolute, convert, eq, gt, ne, select, store
from ..ir.graph import Node
from ..ir.loops import INDEX, Block, Buffer, Expr, If
from ..ir.types import DType
from .nest_tools import (
    Index,
    Lets,
    accumulator,
    accumulator_dtype,
    dim_stems,
    loops,
    operand,
    read_as,
    serial_loop,
    serial_loops,
    write_as,
)
from .opdef import NestContext


def det(ctx: NestContext, node: Node) -> Block:
    """The product of the pivots, with the sign of the exchanges. A column of zeros gives 0."""
    x = operand(node, 0)
    n, dtype, outer = x.shape[-1], accumulator_dtype(x.dtype), x.type.rank - 2

    def matrix(batch: Index) -> Block:
        work, alloc = ctx.scratch("work", dtype, (n, n))
        copy = serial_loops(
            ctx, ("i", "j"), (n, n),
            lambda at: (store(work[at], read_as(ctx, x, (*batch, *at), dtype)),),
        )  # fmt: skip
        result, init = accumulator(ctx, "det", dtype, 1)
        steps = serial_loop(ctx, "k", n, lambda k: _eliminate(ctx, work, n, result, k))
        return (*alloc, *copy, *init, *steps, *write_as(ctx, node.output, batch, result[0]))

    return loops(ctx, dim_stems(outer), x.shape[:-2], matrix)


def _eliminate(ctx: NestContext, a: Buffer, n: int, result: Buffer, k: Expr) -> Block:
    """Brings the row with the greatest element of column k to row k, and takes it off the rows below."""
    pivot_row, init = accumulator(ctx, "row", DType.I32, convert(k, DType.I32))

    def compare_row(i: Expr) -> Block:
        lets = Lets(ctx)
        best = lets.bind("best", absolute(a[convert(pivot_row[0], INDEX.dtype), k]))
        greater = gt(absolute(a[k + 1 + i, k]), best)
        return (*lets.block, If(greater, (store(pivot_row[0], convert(k + 1 + i, DType.I32)),)))

    found = Lets(ctx)
    row = found.bind("row", convert(pivot_row[0], INDEX.dtype))

    def exchange(j: Expr) -> Block:
        lets = Lets(ctx)
        upper, lower = lets.bind("upper", a[k, j]), lets.bind("lower", a[row, j])
        return (*lets.block, store(a[k, j], lower), store(a[row, j], upper))

    swap = If(ne(row, k), (*serial_loop(ctx, "j", n, exchange), store(result[0], -result[0])))
    lets = Lets(ctx)
    pivot = lets.bind("pivot", a[k, k])

    def below(i: Expr) -> Block:
        scaled = Lets(ctx)
        quotient = a[k + 1 + i, k] / pivot
        factor = scaled.bind("factor", select(eq(pivot, 0), 0, quotient))

        def element(j: Expr) -> Block:
            at = (k + 1 + i, k + 1 + j)
            return (store(a[at], a[*at] - factor * a[k, k + 1 + j]),)

        return (*scaled.block, *serial_loop(ctx, "j", n - 1 - k, element))

    search = serial_loop(ctx, "i", n - 1 - k, compare_row)
    rows = serial_loop(ctx, "i", n - 1 - k, below)
    return (*init, *search, *found.block, swap, *lets.block, store(result[0], result[0] * pivot), *rows)
