"""Plain nest of col2im: every element of the image collects what blocks add to it, as a transposed convolution does."""

from __future__ import annotations

from ..ir.graph import Node
from ..ir.loops import Block
from .attributes import ints
from .nest_tools import (
    Index,
    Lets,
    accumulate,
    accumulator,
    accumulator_dtype,
    loops,
    operand,
    read_as,
    spatial_stems,
    write_as,
)
from .opdef import NestContext
from .windows_nest import WindowDim, tap_loops, transposed_taps


def col2im(ctx: NestContext, node: Node) -> Block:
    x, image = operand(node, 0), ints(node.attrs, "image")
    stride, pad, dilation = (ints(node.attrs, name) for name in ("stride", "pad", "dilation"))
    spatial, dtype = len(image), accumulator_dtype(x.dtype)
    kernel, counts = x.shape[2 : 2 + spatial], x.shape[2 + spatial :]
    dims = tuple(map(WindowDim, counts, image, kernel, stride, pad[:spatial], pad[spatial:], dilation))

    def element(at: Index) -> Block:
        lets = Lets(ctx)
        taps = tuple(transposed_taps(dim, o, lets.bind) for dim, o in zip(dims, at[2:]))
        acc, start = accumulator(ctx, "acc", dtype, 0)
        total = tap_loops(
            ctx, taps, lambda tap, block: (accumulate("add", acc, read_as(ctx, x, (*at[:2], *tap, *block), dtype)),)
        )
        return (*lets.block, *start, *total, *write_as(ctx, node.output, at, acc[0]))

    return loops(ctx, ("n", "c", *spatial_stems("o", spatial)), node.output.shape, element)
