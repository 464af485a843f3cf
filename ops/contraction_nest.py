"""Plain nests of conv, conv_transpose and matmul: one output element at a time, its sum innermost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

from ..ir.graph import Node, Value
from ..ir.loops import Block, Expr, binary
from .expr_tools import compare, select
from .infer import integer, ints
from .nest_tools import (
    ZERO,
    Index,
    Lets,
    accumulate,
    accumulator,
    accumulator_dtype,
    dim_stems,
    get,
    loops,
    operand,
    optional,
    read_as,
    serial_loops,
    spatial_stems,
    write_as,
)
from .opdef import NestContext
from .views import broadcast_index
from .windows_nest import Layout, Taps, clipped_taps, window_dims

Product = tuple[Index, Index]
"""Where the two factors of a product stand."""


def _sum_of_products(
    ctx: NestContext,
    node: Node,
    at: Index,
    bias: Index,
    reduction: Callable[[Callable[[Product], Block]], Block],
) -> Block:
    """Output ``at`` is the sum of operand 0 times operand 1, over a nest of loops, plus operand 2 at ``bias``.

    ``reduction(term)`` makes the loops around ``term((index of operand 0, index of operand 1))``.
    """
    dtype = accumulator_dtype(node.output.dtype)
    x, w, b = operand(node, 0), operand(node, 1), optional(node, 2)
    acc, start = accumulator(ctx, "acc", dtype, 0 if b is None else read_as(ctx, b, bias, dtype))

    def term(product: Product) -> Block:
        factors = read_as(ctx, x, product[0], dtype) * read_as(ctx, w, product[1], dtype)
        return (accumulate("add", acc, factors),)

    return (*start, *reduction(term), *write_as(ctx, node.output, at, get(acc)))


# ---------------------------------------------------------------- convolution


def conv(ctx: NestContext, node: Node) -> Block:
    """channels_first: n, g, oc, spatial / ic, taps; channels_last: n, spatial, g, oc / taps, ic."""
    w, layout = operand(node, 1), Layout.of(node)
    dims = window_dims(node, layout.spatial(w))

    def window(batch: Expr, position: Index, channels: Callable[[tuple[Taps, ...]], Block]) -> Block:
        taps, lets = clipped_taps(ctx, dims, position)
        return (*lets.block, *channels(taps))

    def element(batch: Expr, group: Expr, oc: Expr, position: Index, taps: tuple[Taps, ...]) -> Block:
        channel = group * (w.shape[0] // integer(node.attrs, "group")) + oc
        at = layout.join(batch, channel, position)
        return _sum_of_products(ctx, node, at, (channel,), _conv_reduction(ctx, node, batch, group, channel, taps))

    return _output_loops(ctx, node, window, element)


def _conv_reduction(
    ctx: NestContext, node: Node, batch: Expr, group: Expr, channel: Expr, taps: tuple[Taps, ...]
) -> Callable[[Callable[[Product], Block]], Block]:
    w, layout = operand(node, 1), Layout.of(node)
    in_channels = layout.channels(w)

    def reduction(term: Callable[[Product], Block]) -> Block:
        def at(ic: Expr, steps: Index) -> Block:
            inputs = tuple(tap.input_index(t) for tap, t in zip(taps, steps))
            kernel = tuple(tap.kernel_index(t) for tap, t in zip(taps, steps))
            x_index = layout.join(batch, group * in_channels + ic, inputs)
            return term((x_index, layout.join(channel, ic, kernel)))

        return _reduction_loops(ctx, layout, in_channels, [tap.count for tap in taps], at)

    return reduction


def _reduction_loops(
    ctx: NestContext, layout: Layout, in_channels: int, counts: Sequence[Expr], body: Callable[[Expr, Index], Block]
) -> Block:
    """Input channels and taps, in the order in which they lie in memory."""
    kernel = spatial_stems("k", len(counts))
    if layout.channels_last:
        return serial_loops(ctx, (*kernel, "ic"), (*counts, in_channels), lambda index: body(index[-1], index[:-1]))
    return serial_loops(ctx, ("ic", *kernel), (in_channels, *counts), lambda index: body(index[0], index[1:]))


def _output_loops(
    ctx: NestContext,
    node: Node,
    window: Callable[[Expr, Index, Callable[[tuple[Taps, ...]], Block]], Block],
    element: Callable[[Expr, Expr, Expr, Index, tuple[Taps, ...]], Block],
) -> Block:
    """Loops over the output in the order of its layout. ``window`` finds the taps at a spatial position."""
    layout, groups = Layout.of(node), integer(node.attrs, "group")
    spatial = layout.spatial(node.output)
    stems, rank = spatial_stems("o", len(spatial)), len(spatial)
    batch = node.output.shape[0]
    channels = layout.channels(node.output) // groups
    if layout.channels_last:

        def at_position(index: Index) -> Block:
            n, position = index[0], index[1:]

            def over_channels(taps: tuple[Taps, ...]) -> Block:
                return loops(
                    ctx, ("g", "oc"), (groups, channels), lambda c: element(n, c[0], c[1], position, taps)
                )

            return window(n, position, over_channels)

        return loops(ctx, ("n", *stems), (batch, *spatial), at_position)

    def at_channel(index: Index) -> Block:
        n, g, oc, position = index[0], index[1], index[2], index[-rank:] if rank else ()
        return window(n, position, lambda taps: element(n, g, oc, position, taps))

    return loops(ctx, ("n", "g", "oc", *stems), (batch, groups, channels, *spatial), at_channel)
