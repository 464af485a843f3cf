"""Plain nests of square_distance and couple_probabilities."""

from __future__ import annotations

from ..ir.build import absolute, eq, lt, maximum, select, store
from ..ir.graph import Node
from ..ir.loops import F32, Block, Buffer, Expr, If, const
from ..ir.types import DType
from .nest_tools import Lets, accumulate, accumulator, loops, operand, serial_loop, serial_loops
from .opdef import NestContext
from .svm import ROUNDS, TOLERANCE


def square_distance(ctx: NestContext, node: Node) -> Block:
    """A sum over features for each pair of rows."""
    x, s = operand(node, 0), operand(node, 1)

    def pair(n: Expr, m: Expr) -> Block:
        acc, init = accumulator(ctx, "acc", x.dtype, 0)

        def feature(f: Expr) -> Block:
            lets = Lets(ctx)
            difference = lets.bind("d", ctx.read(x, (n, f)) - ctx.read(s, (m, f)))
            return (*lets.block, accumulate("add", acc, difference * difference))

        total = serial_loop(ctx, "f", x.shape[1], feature)
        return (*init, *total, *ctx.write(node.output, (n, m), acc[0]))

    return loops(ctx, ("n", "m"), node.output.shape, lambda at: pair(*at))


def couple_probabilities(ctx: NestContext, node: Node) -> Block:
    """Rounds of improvements until the error is small; then the remaining rounds do nothing."""
    r = operand(node, 0)
    count = r.shape[1]

    def row(n: Expr) -> Block:
        q, alloc_q = ctx.scratch("q", DType.F32, (count, count))
        p, alloc_p = ctx.scratch("p", DType.F32, (count,))
        product, alloc_product = ctx.scratch("product", DType.F32, (count,))
        going, init = accumulator(ctx, "going", DType.I32, 1)
        matrix = serial_loops(ctx, ("i", "j"), (count, count), lambda at: _entry(ctx, node, n, q, *at))
        start = serial_loop(ctx, "i", count, lambda i: (store(p[i], const(1 / count, F32)),))
        rounds = serial_loop(
            ctx, "round", ROUNDS, lambda _: (If(eq(going[0], 1), _round(ctx, count, q, p, product, going)),)
        )
        results = serial_loop(ctx, "i", count, lambda i: ctx.write(node.output, (n, i), p[i]))
        return (*alloc_q, *alloc_p, *alloc_product, *init, *matrix, *start, *rounds, *results)

    return loops(ctx, ("n",), r.shape[:1], lambda at: row(*at))


def _entry(ctx: NestContext, node: Node, n: Expr, q: Buffer, i: Expr, j: Expr) -> Block:
    """q[i, j] = -r[i, j] r[j, i]; on the diagonal the sum of the squares of r[k, i] of the others."""
    r = operand(node, 0)
    acc, init = accumulator(ctx, "acc", DType.F32, 0)

    def square(k: Expr) -> Block:
        lets = Lets(ctx)
        value = lets.bind("r", ctx.read(r, (n, k, i)))
        return (*lets.block, accumulate("add", acc, select(eq(k, i), 0.0, value * value)))

    diagonal = (*init, *serial_loop(ctx, "k", r.shape[1], square), store(q[i, j], acc[0]))
    other = (store(q[i, j], -(ctx.read(r, (n, i, j)) * ctx.read(r, (n, j, i)))),)
    return (If(eq(i, j), diagonal, other),)


def _round(ctx: NestContext, count: int, q: Buffer, p: Buffer, product: Buffer, going: Buffer) -> Block:
    """product = q p and its product with p; one step for each class unless the greatest error is small."""
    square, init_square = accumulator(ctx, "square", DType.F32, 0)
    error, init_error = accumulator(ctx, "error", DType.F32, 0)

    def line(i: Expr) -> Block:
        acc, init = accumulator(ctx, "acc", DType.F32, 0)
        terms = serial_loop(ctx, "j", count, lambda j: (accumulate("add", acc, q[i, j] * p[j]),))
        return (*init, *terms, store(product[i], acc[0]), accumulate("add", square, p[i] * acc[0]))

    def worst(i: Expr) -> Block:
        return (store(error[0], maximum(error[0], absolute(product[i] - square[0]))),)

    def improve(t: Expr) -> Block:
        lets = Lets(ctx)
        step = lets.bind("step", (square[0] - product[t]) / q[t, t])
        whole = lets.bind("whole", step + 1.0)
        moved = (square[0] + step * (step * q[t, t] + product[t] * 2.0)) / whole / whole

        def scale(j: Expr) -> Block:
            return (store(product[j], (product[j] + step * q[t, j]) / whole), store(p[j], p[j] / whole))

        return (*lets.block, store(p[t], p[t] + step), store(square[0], moved), *serial_loop(ctx, "j", count, scale))

    small = lt(error[0], const(TOLERANCE / count, F32))
    return (
        *init_square, *init_error, *serial_loop(ctx, "i", count, line), *serial_loop(ctx, "i", count, worst),
        If(small, (store(going[0], 0),), serial_loop(ctx, "t", count, improve)),
    )  # fmt: skip
