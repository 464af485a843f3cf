"""Plain nest of pool."""

from __future__ import annotations

from ..ir.graph import Node
from ..ir.loops import INDEX, Block, Const, Convert, Expr, Type
from ..ir.types import DType
from .expr_tools import const
from .infer import ints
from .nest_tools import (
    Index,
    Lets,
    accumulate,
    accumulator,
    accumulator_dtype,
    get,
    operand,
    read_as,
    write_as,
)
from .opdef import NestContext
from .reduction_nest import lowest
from .windows_nest import Layout, Taps, WindowDim, tap_loops, taps_in_padding, window_dims, window_loops, window_taps


def pool(ctx: NestContext, node: Node) -> Block:
    """The greatest element of each window, or their mean; the padding is left out of both."""
    x, layout = operand(node, 0), Layout.of(node)
    dims = window_dims(node, ints(node.attrs, "kernel"))
    average = node.attrs["kind"] == "avg"
    dtype = accumulator_dtype(x.dtype) if average else x.dtype

    def element(n: Expr, channel: Index, position: Index, taps: tuple[Taps, ...]) -> Block:
        c, op = channel[1], "add" if average else "max"
        acc, start = accumulator(ctx, "acc", dtype, 0 if average else lowest(dtype))
        total = tap_loops(
            ctx, taps, lambda _, at: (accumulate(op, acc, read_as(ctx, x, layout.join(n, c, at), dtype)),)
        )
        lets = Lets(ctx)
        result = get(acc)
        if average:
            result = result / _count(node, dims, position, taps, lets, dtype)
        return (*start, *total, *lets.block, *write_as(ctx, node.output, layout.join(n, c, position), result))

    return window_loops(ctx, node, dims, 1, window_taps, element)


def _count(
    node: Node, dims: tuple[WindowDim, ...], position: Index, taps: tuple[Taps, ...], lets: Lets, dtype: DType
) -> Expr:
    """How many elements an average divides by: those inside, or with ``count_include_pad`` also the padded ones."""
    count: Expr = Const(1, INDEX)
    for dim, o, tap in zip(dims, position, taps):
        count = count * (taps_in_padding(dim, o, lets.bind) if node.attrs["count_include_pad"] else tap.count)
    return const(count.value, Type(dtype)) if isinstance(count, Const) else Convert(Type(dtype), count)
