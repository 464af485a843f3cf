"""Plain nests of softmax, log_softmax, normalize and rms_normalize: several passes over each row.

A row is what the axes span; the dimensions that stay are the loops around it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir.build import convert, store
from ..ir.graph import Node
from ..ir.loops import Alloc, Block, Buffer, Expr, LoopKind
from ..ir.types import DType
from ..record import record
from .attributes import integer, ints, number
from .math_exprs import exp, log, sqrt
from .nest_tools import (
    AxisSplit,
    Index,
    Lets,
    accumulate,
    accumulator,
    accumulator_dtype,
    operand,
    read_as,
    scratch,
    write_as,
)
from .opdef import Bind, NestContext
from .reduction_nest import lowest

ROW_LIMIT = 4096
"""A row of up to so many exponentials is kept on the stack; those of a longer one are computed twice."""
ROWS_TOGETHER = 16
"""Where neighbours in memory are of other rows, of which vectors have one each, so many are kept beside each other."""

Term = Callable[[Index, Bind], Expr]


@record
class _Row:
    """One row of operand 0, at an index of the dimensions that stay."""

    ctx: NestContext
    node: Node
    split: AxisSplit
    kept: Index

    @property
    def dtype(self) -> DType:
        return accumulator_dtype(operand(self.node, 0).dtype)

    def read(self, along: Index) -> Expr:
        return read_as(self.ctx, operand(self.node, 0), self.split.merge(self.kept, along), self.dtype)

    def total(self, stem: str, op: str, start: float, term: Term, keep: Buffer | None = None) -> tuple[Block, Expr]:
        """A pass that combines ``term`` of every element by ``op``: its statements, and the result's name. The terms
        are stored in ``keep``, if given."""
        acc, init = accumulator(self.ctx, stem, self.dtype, start)

        def step(along: Index) -> Block:
            lets = Lets(self.ctx)
            value = term(along, lets.bind)
            if keep is None:
                return (*lets.block, accumulate(op, acc, value))
            value = lets.bind("term", value)
            return (*lets.block, store(keep[along], value), accumulate(op, acc, value))

        steps = self.split.axis_loops(self.ctx, step)
        lets = Lets(self.ctx)
        result = lets.bind(stem, acc[0])
        return (*init, *steps, *lets.block), result

    def write(self, element: Term) -> Block:
        """The pass that stores the result."""

        def step(along: Index) -> Block:
            lets = Lets(self.ctx)
            value = element(along, lets.bind)
            return (*lets.block, *write_as(self.ctx, self.node.output, self.split.merge(self.kept, along), value))

        return self.split.axis_loops(self.ctx, step, LoopKind.PARALLEL)


def _rows(ctx: NestContext, node: Node, axes: Sequence[int], body: Callable[[_Row], Block]) -> Block:
    split = AxisSplit.of(operand(node, 0), axes)
    return split.kept_loops(ctx, lambda kept: body(_Row(ctx, node, split, kept)))


# ---------------------------------------------------------------- softmax


def softmax(ctx: NestContext, node: Node) -> Block:
    """Three passes: the maximum; the exponentials, kept in a row on the stack, and their sum; the quotients.

    Of half floats differences, exponentials and sum are rounded, as ONNX defines the operator by those steps.
    """
    half = node.output.dtype is DType.F16

    def rounded(x: Expr) -> Expr:
        return convert(convert(x, DType.F16), x.type.dtype) if half else x

    def body(row: _Row) -> Block:
        find_top, top = row.total("top", "max", lowest(row.dtype), lambda along, bind: row.read(along))

        def power(along: Index, bind: Bind) -> Expr:
            return rounded(exp(rounded(row.read(along) - top), bind))

        fits = row.split.count * (1 if row.split.innermost else ROWS_TOGETHER) <= ROW_LIMIT
        kept_row = scratch(ctx, "row", row.dtype, row.split.count) if fits else None
        find_total, total = row.total("total", "add", 0, power, kept_row)
        lets = Lets(ctx)
        scale = lets.bind("total", rounded(total)) if half else lets.bind("scale", 1.0 / total)

        def quotient(x: Expr) -> Expr:
            return x / scale if half else x * scale

        if kept_row is None:
            divide = row.write(lambda along, bind: quotient(power(along, bind)))
            return (*find_top, *find_total, *lets.block, *divide)
        divide = row.write(lambda along, bind: quotient(kept_row[*along]))
        return (*find_top, Alloc(kept_row), *find_total, *lets.block, *divide)

    return _rows(ctx, node, (integer(node.attrs, "axis"),), body)


def log_softmax(ctx: NestContext, node: Node) -> Block:
    """x - max - log(sum of e^(x - max))."""

    def body(row: _Row) -> Block:
        find_top, top = row.total("top", "max", lowest(row.dtype), lambda along, bind: row.read(along))
        find_total, total = row.total("total", "add", 0, lambda along, bind: exp(row.read(along) - top, bind))
        lets = Lets(ctx)
        log_total = lets.bind("log_total", log(total, lets.bind))
        subtract = row.write(lambda along, bind: (row.read(along) - top) - log_total)
        return (*find_top, *find_total, *lets.block, *subtract)

    return _rows(ctx, node, (integer(node.attrs, "axis"),), body)


# ---------------------------------------------------------------- normalization


def normalize(ctx: NestContext, node: Node) -> Block:
    """Three passes: the mean; the mean square of the deviations; the deviations over their root mean square."""

    def body(row: _Row) -> Block:
        find_sum, total = row.total("total", "add", 0, lambda along, bind: row.read(along))
        means = Lets(ctx)
        mean = means.bind("mean", total / row.split.count)

        def square(along: Index, bind: Bind) -> Expr:
            deviation = bind("deviation", row.read(along) - mean)
            return deviation * deviation

        find_squares, squares = row.total("squares", "add", 0, square)
        scales, scale = _inverse_root(row, squares)
        write = row.write(lambda along, bind: (row.read(along) - mean) * scale)
        return (*find_sum, *means.block, *find_squares, *scales, *write)

    return _rows(ctx, node, ints(node.attrs, "axes"), body)


def rms_normalize(ctx: NestContext, node: Node) -> Block:
    """Two passes: the mean square; the elements over its root."""

    def body(row: _Row) -> Block:
        def square(along: Index, bind: Bind) -> Expr:
            value = bind("value", row.read(along))
            return value * value

        find_squares, squares = row.total("squares", "add", 0, square)
        scales, scale = _inverse_root(row, squares)
        return (*find_squares, *scales, *row.write(lambda along, bind: row.read(along) * scale))

    return _rows(ctx, node, ints(node.attrs, "axes"), body)


def _inverse_root(row: _Row, squares: Expr) -> tuple[Block, Expr]:
    """1 / sqrt(squares / count + epsilon), named."""
    lets = Lets(row.ctx)
    mean = squares / row.split.count
    scale = lets.bind("scale", 1.0 / sqrt(mean + number(row.node.attrs, "epsilon"), lets.bind))
    return lets.block, scale
