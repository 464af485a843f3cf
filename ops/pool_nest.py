"""Plain nests of pool and max_pool_index."""

from __future__ import annotations

from ..ir.build import gt, lt, select, store
from ..ir.graph import Node
from ..ir.loops import I64, INDEX, Block, Const, Convert, Expr, Type, const
from ..ir.types import DType
from .attributes import ints
from .integer import zero_point
from .nest_tools import Index, Lets, accumulate, accumulator, accumulator_dtype, operand, read_as, write_as
from .opdef import NestContext
from .reduction_nest import lowest
from .windows_nest import Layout, Taps, WindowDim, tap_loops, taps_in_padding, window_dims, window_loops, window_taps


def pool(ctx: NestContext, node: Node) -> Block:
    """The greatest element of each window, their mean, or the sum of x - zero_point; the padding is left out."""
    x, layout = operand(node, 0), Layout.of(node)
    dims = window_dims(node, ints(node.attrs, "kernel"))
    greatest, average = node.attrs["kind"] == "max", node.attrs["kind"] == "avg"
    dtype, zero = x.dtype if greatest else accumulator_dtype(node.output.dtype), zero_point(node.attrs)

    def element(n: Expr, channel: Index, position: Index, taps: tuple[Taps, ...]) -> Block:
        c, op = channel[1], "max" if greatest else "add"
        acc, start = accumulator(ctx, "acc", dtype, lowest(dtype) if greatest else 0)
        total = tap_loops(
            ctx, taps, lambda _, at: (accumulate(op, acc, read_as(ctx, x, layout.join(n, c, at), dtype, zero)),)
        )
        lets = Lets(ctx)
        result: Expr = acc[0]
        if average:
            result = result / _count(node, dims, position, taps, lets, dtype)
        return (*start, *total, *lets.block, *write_as(ctx, node.output, layout.join(n, c, position), result))

    return window_loops(ctx, node, dims, 1, window_taps, element)


def max_pool_index(ctx: NestContext, node: Node) -> Block:
    """As a maximum with its place: the first of equal elements, counted over all of the tensor."""
    x, layout = operand(node, 0), Layout.of(node)
    dims = window_dims(node, ints(node.attrs, "kernel"))
    extents = x.shape[2:]
    order = range(len(extents)) if node.attrs["column_major"] else reversed(range(len(extents)))
    strides, step = [0] * len(extents), 1
    for d in order:
        strides[d], step = step, step * extents[d]

    def element(n: Expr, channel: Index, position: Index, taps: tuple[Taps, ...]) -> Block:
        c = channel[1]
        best, start = accumulator(ctx, "best", x.dtype, lowest(x.dtype))
        place, start_place = accumulator(ctx, "place", DType.I64, -1)

        def tap(_: Index, at: Index) -> Block:
            lets = Lets(ctx)
            value = lets.bind("value", ctx.read(x, layout.join(n, c, at)))
            better = gt(value, best[0]) | lt(place[0], 0)
            better = lets.bind("better", better)
            number: Expr = INDEX(0)
            for part, stride in zip(at, strides):
                number = number + part * stride
            here = I64(number)
            return (
                *lets.block,
                store(place[0], select(better, here, place[0])),
                store(best[0], select(better, value, best[0])),
            )

        base = I64((n * x.shape[1] + c) * step)
        result = write_as(ctx, node.output, layout.join(n, c, position), place[0] + base)
        return (*start, *start_place, *tap_loops(ctx, taps, tap), *result)

    return window_loops(ctx, node, dims, 1, window_taps, element)


def _count(
    node: Node, dims: tuple[WindowDim, ...], position: Index, taps: tuple[Taps, ...], lets: Lets, dtype: DType
) -> Expr:
    """How many elements an average divides by: those inside, or with ``count_include_pad`` also the padded ones."""
    count: Expr = INDEX(1)
    for dim, o, tap in zip(dims, position, taps):
        count = count * (taps_in_padding(dim, o, lets.bind) if node.attrs["count_include_pad"] else tap.count)
    return const(count.value, Type(dtype)) if isinstance(count, Const) else Convert(Type(dtype), count)
