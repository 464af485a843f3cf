"""Plain nests of conv, conv_transpose and matmul: one output element at a time, its sum innermost."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.graph import Node, Value
from ..ir.loops import I32, I64, Block, Buffer, Expr
from ..ir.types import DType
from .attributes import integer
from .integer import sum_shift, zero_point
from .nest_tools import (
    Index,
    accumulate,
    accumulator,
    accumulator_dtype,
    dim_stems,
    loops,
    operand,
    optional,
    read_as,
    serial_loop,
    write_as,
)
from .opdef import NestContext
from .views import broadcast_index
from .windows_nest import FindTaps, Layout, Taps, tap_loops, transposed_taps, window_dims, window_loops, window_taps


def conv(ctx: NestContext, node: Node) -> Block:
    """y[n, oc, o...] = b[oc] + sum of x[n, ic, o * stride - pad + k * dilation...] * w[oc, ic, k...]."""
    w, layout, groups = operand(node, 1), Layout.of(node), integer(node.attrs, "group")
    out_channels, in_channels = w.shape[0] // groups, layout.channels(w)

    def indices(group: Expr, oc: Expr, ic: Expr) -> tuple[Expr, Expr, Expr]:
        return group * in_channels + ic, group * out_channels + oc, ic

    return _convolution(ctx, node, in_channels, out_channels, indices, window_taps)


def conv_transpose(ctx: NestContext, node: Node) -> Block:
    """y[n, oc, i * stride - pad + k * dilation...] += x[n, ic, i...] * w[ic, oc, k...], seen from the output."""
    w, layout, groups = operand(node, 1), Layout.of(node), integer(node.attrs, "group")
    in_channels, out_channels = w.shape[0] // groups, layout.channels(w)

    def indices(group: Expr, oc: Expr, ic: Expr) -> tuple[Expr, Expr, Expr]:
        channel = group * in_channels + ic
        return channel, channel, oc

    return _convolution(ctx, node, in_channels, out_channels, indices, transposed_taps)


def _convolution(
    ctx: NestContext,
    node: Node,
    in_channels: int,
    out_channels: int,
    indices: Callable[[Expr, Expr, Expr], tuple[Expr, Expr, Expr]],
    find_taps: FindTaps,
) -> Block:
    """Both kinds. ``indices(group, oc, ic)`` are the channel of x and the first and second channel of w.

    Loops: channels_first n, g, oc, o... and in the sum ic, k...; channels_last n, o..., g, oc and in the sum k..., ic.
    """
    x, w, b = operand(node, 0), operand(node, 1), optional(node, 2)
    layout, groups = Layout.of(node), integer(node.attrs, "group")
    dims, dtype = window_dims(node, layout.spatial(w)), _sum_dtype(node)
    zero = zero_point(node.attrs)

    def element(n: Expr, channel: Index, position: Index, taps: tuple[Taps, ...]) -> Block:
        group, oc = channel
        out = group * out_channels + oc
        acc, start = accumulator(ctx, "acc", dtype, 0 if b is None else read_as(ctx, b, (out,), dtype))

        def term(ic: Expr, kernel: Index, position: Index) -> Block:
            x_channel, w_first, w_second = indices(group, oc, ic)
            lhs, rhs = layout.join(n, x_channel, position), layout.join(w_first, w_second, kernel)
            return (accumulate("add", acc, _product(ctx, dtype, (x, lhs, zero), (w, rhs, 0))),)

        if layout.channels_last:
            total = tap_loops(ctx, taps, lambda k, i: serial_loop(ctx, "ic", in_channels, lambda ic: term(ic, k, i)))
        else:
            total = serial_loop(ctx, "ic", in_channels, lambda ic: tap_loops(ctx, taps, lambda k, i: term(ic, k, i)))
        return (*start, *total, *write_as(ctx, node.output, layout.join(n, out, position), _result(node, acc)))

    return window_loops(ctx, node, dims, groups, find_taps, element)


def matmul(ctx: NestContext, node: Node) -> Block:
    """numpy.matmul of two or more dimensions, and a bias for each column: loops over the result, then the sum."""
    a, b, bias = operand(node, 0), operand(node, 1), optional(node, 2)
    dtype = _sum_dtype(node)
    lhs_zero, rhs_zero = zero_point(node.attrs), zero_point(node.attrs, "rhs_zero_point")

    def element(at: Index) -> Block:
        *batch, m, n = at
        first = 0 if bias is None else read_as(ctx, bias, (n,), dtype)
        acc, start = accumulator(ctx, "acc", dtype, first)

        def term(k: Expr) -> Block:
            lhs = a, (*broadcast_index(a.shape[:-2], batch), m, k), lhs_zero
            rhs = b, (*broadcast_index(b.shape[:-2], batch), k, n), rhs_zero
            return (accumulate("add", acc, _product(ctx, dtype, lhs, rhs)),)

        return (*start, *serial_loop(ctx, "k", a.shape[-1], term), *write_as(ctx, node.output, at, _result(node, acc)))

    stems = (*dim_stems(node.output.type.rank - 2), "m", "n")
    return loops(ctx, stems, node.output.shape, element)


# ---------------------------------------------------------------- sums


def _sum_dtype(node: Node) -> DType:
    return DType.I64 if sum_shift(node.attrs) else accumulator_dtype(node.output.dtype)


def _product(ctx: NestContext, dtype: DType, *factors: tuple[Value, Index, int]) -> Expr:
    """Of two operands at their indices, less their zero points. Where sums have 64 bits, products of halfwords have
    32, for which cores have an instruction."""
    short = dtype is DType.I64 and not any(zero for _, _, zero in factors)
    lhs, rhs = (read_as(ctx, value, index, DType.I32 if short else dtype, zero) for value, index, zero in factors)
    return I64(lhs * rhs) if short else lhs * rhs


def _result(node: Node, acc: Buffer) -> Expr:
    shift = sum_shift(node.attrs)
    return I32((acc[0] + (1 << shift - 1)) >> I64(shift)) if shift else acc[0]
