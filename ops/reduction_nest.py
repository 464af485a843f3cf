"""Plain nests of reduce, arg_reduce, cumsum and cumprod."""

from __future__ import annotations

from ..ir.build import convert, ge, gt, le, lt, select, store
from ..ir.graph import Node
from ..ir.loops import I32, Block, Expr
from ..ir.types import DType
from .attributes import integer, ints, text
from .integer import zero_point
from .integer_exprs import dtype_limits
from .nest_tools import (
    ZERO,
    AxisSplit,
    Index,
    Lets,
    accumulate,
    accumulator,
    accumulator_dtype,
    operand,
    read_as,
    serial_loop,
    write_as,
)
from .opdef import NestContext


def lowest(dtype: DType) -> float | int:
    """The neutral element of max."""
    return float("-inf") if dtype.is_float else dtype_limits(dtype)[0]


def highest(dtype: DType) -> float | int:
    """The neutral element of min."""
    return float("inf") if dtype.is_float else dtype_limits(dtype)[1]


def reduce(ctx: NestContext, node: Node) -> Block:
    """Loops over the dimensions that stay, then over those that are reduced, each in order."""
    x, kind = operand(node, 0), text(node.attrs, "kind")
    split = AxisSplit.of(x, ints(node.attrs, "axes"))
    dtype, zero = _reduction_dtype(x.dtype, kind, split.count), zero_point(node.attrs)
    op = {"sum": "add", "mean": "add", "prod": "mul"}.get(kind, kind)
    start = {"max": lowest(dtype), "min": highest(dtype), "prod": 1}.get(kind, 0)

    def element(kept: Index) -> Block:
        acc, init = accumulator(ctx, "acc", dtype, start)

        def step(along: Index) -> Block:
            computed, value = ctx.computed(x, split.merge(kept, along))
            value = convert(value, dtype)
            return (*computed, accumulate(op, acc, value - zero if zero else value))

        total = split.axis_loops(ctx, step)
        result = acc[0] / split.count if kind == "mean" else acc[0]
        return (*init, *total, *write_as(ctx, node.output, _output_index(node, split, kept), result))

    return split.kept_loops(ctx, element)


def _reduction_dtype(dtype: DType, kind: str, count: int) -> DType:
    """Extremes need no more than the type itself; a sum that is divided afterwards must not wrap around."""
    if kind in ("max", "min"):
        return dtype
    if kind == "mean" and dtype.is_integer and (dtype.size > 2 or count > 1 << 15):
        return DType.I64
    return accumulator_dtype(dtype)


def _output_index(node: Node, split: AxisSplit, kept: Index) -> Index:
    return split.merge(kept, (ZERO,) * len(split.axes)) if node.attrs["keepdims"] else kept


def arg_reduce(ctx: NestContext, node: Node) -> Block:
    """Keeps the extreme so far and where it was; the first of equals, or with ``last`` the last."""
    x, axis = operand(node, 0), integer(node.attrs, "axis")
    split = AxisSplit.of(x, (axis,))
    greatest = node.attrs["kind"] == "max"
    test = (gt if greatest else lt) if not node.attrs["last"] else (ge if greatest else le)

    def element(kept: Index) -> Block:
        best, init = accumulator(ctx, "best", x.dtype, lowest(x.dtype) if greatest else highest(x.dtype))
        place, init_place = accumulator(ctx, "place", DType.I32, 0)

        def step(along: Index) -> Block:
            lets = Lets(ctx)
            value = lets.bind("value", ctx.read(x, split.merge(kept, along)))
            better = lets.bind("better", test(value, best[0]))
            here = I32(along[0])
            return (
                *lets.block,
                store(place[0], select(better, here, place[0])),
                store(best[0], select(better, value, best[0])),
            )

        result = write_as(ctx, node.output, _output_index(node, split, kept), place[0])
        return (*init, *init_place, *split.axis_loops(ctx, step), *result)

    return split.kept_loops(ctx, element)


def cumsum(ctx: NestContext, node: Node) -> Block:
    return _cumulative(ctx, node, "add", 0)


def cumprod(ctx: NestContext, node: Node) -> Block:
    return _cumulative(ctx, node, "mul", 1)


def _cumulative(ctx: NestContext, node: Node, op: str, start: int) -> Block:
    """The running result in a register; ``exclusive`` writes it before the element is taken in."""
    x, axis = operand(node, 0), integer(node.attrs, "axis")
    split, dtype = AxisSplit.of(x, (axis,)), accumulator_dtype(x.dtype)

    def line(kept: Index) -> Block:
        acc, init = accumulator(ctx, "acc", dtype, start)

        def step(i: Expr) -> Block:
            at = split.merge(kept, (x.shape[axis] - 1 - i if node.attrs["reverse"] else i,))
            take = accumulate(op, acc, read_as(ctx, x, at, dtype))
            write = write_as(ctx, node.output, at, acc[0])
            return (*write, take) if node.attrs["exclusive"] else (take, *write)

        return (*init, *serial_loop(ctx, f"r{axis}", x.shape[axis], step))

    return split.kept_loops(ctx, line)
