"""Sliding windows in nests: layouts, loops over the output, and the taps of a window that hit the input.

Borders cost nothing in the innermost loop: where a window may reach into the padding, the loop over its taps is
clipped to those that lie inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

from ..ir.build import eq, maximum, minimum, select
from ..ir.graph import Node, Value
from ..ir.loops import INDEX, Block, Expr, as_expr
from ..record import record
from .attributes import ints
from .nest_tools import ZERO, Index, Lets, loops, serial_loops, spatial_stems
from .opdef import Bind, NestContext


@record
class Layout:
    """Positions of batch, channel and spatial dimensions; channels first where a node does not say."""

    channels_last: bool

    @staticmethod
    def of(node: Node) -> Layout:
        return Layout(node.attrs.get("layout") == "channels_last")

    def join(self, batch: Expr, channel: Expr, spatial: Index) -> Index:
        return (batch, *spatial, channel) if self.channels_last else (batch, channel, *spatial)

    def channels(self, value: Value) -> int:
        """Extent of the channel dimension; of weights, that of the second."""
        return value.shape[-1 if self.channels_last else 1]

    def spatial(self, value: Value) -> tuple[int, ...]:
        return value.shape[1:-1] if self.channels_last else value.shape[2:]


# ---------------------------------------------------------------- taps


@record
class WindowDim:
    """One dimension of a window.

    Tap ``k`` of output ``o`` of a convolution or pooling reads input ``o * stride - pad + k * dilation``; that of a
    transposed convolution reads ``(o + pad - k * dilation) / stride`` where this is a whole number.
    """

    size: int
    out: int
    kernel: int
    stride: int
    pad: int
    pad_end: int
    dilation: int


@record
class Taps:
    """Taps of one window. The one numbered t, from 0 to ``count - 1``, has the kernel index and the input position
    ``start + (first + t) * step``."""

    first: Expr
    count: Expr
    kernel_start: Expr
    kernel_step: int
    input_start: Expr
    input_step: int

    def kernel_index(self, t: Expr) -> Expr:
        return self.kernel_start + (self.first + t) * self.kernel_step

    def input_index(self, t: Expr) -> Expr:
        return self.input_start + (self.first + t) * self.input_step


FindTaps = Callable[[WindowDim, Expr, Bind], Taps]


def window_dims(node: Node, kernel: Sequence[int]) -> tuple[WindowDim, ...]:
    """The spatial dimensions of a convolution or pooling."""
    layout, rank = Layout.of(node), len(kernel)
    sizes, outs = layout.spatial(node.operands[0]), layout.spatial(node.output)
    stride, pad, dilation = (ints(node.attrs, name) for name in ("stride", "pad", "dilation"))
    return tuple(map(WindowDim, sizes, outs, kernel, stride, pad[:rank], pad[rank:], dilation))


def window_taps(dim: WindowDim, o: Expr, bind: Bind) -> Taps:
    """The taps of window ``o`` that lie in the input."""
    first, count = _taps_between(dim, 0, dim.size, o, bind)
    return Taps(first, count, ZERO, 1, o * dim.stride - dim.pad, dim.dilation)


def taps_in_padding(dim: WindowDim, o: Expr, bind: Bind) -> Expr:
    """How many taps of window ``o`` lie in the input or its padding."""
    return _taps_between(dim, -dim.pad, dim.size + dim.pad_end, o, bind)[1]


def _taps_between(dim: WindowDim, low: int, high: int, o: Expr, bind: Bind) -> tuple[Expr, Expr]:
    """First tap and number of the taps that read positions ``low`` to ``high - 1``.

    Those are the taps k with ceil((low - start) / dilation) <= k <= floor((high - 1 - start) / dilation). A bound is
    computed only if some window needs it. The number is negative for a window that lies wholly outside.
    """
    starts = [i * dim.stride - dim.pad for i in range(dim.out)]
    firsts = [max(-((start - low) // dim.dilation), 0) for start in starts]
    ends = [min((high - 1 - start) // dim.dilation + 1, dim.kernel) for start in starts]
    first: Expr = ZERO
    end = as_expr(dim.kernel)
    if any(firsts):
        first = bind("first", maximum(((low + dim.pad + dim.dilation - 1) - o * dim.stride) // dim.dilation, 0))
    if any(e < dim.kernel for e in ends):
        end = minimum(((high + dim.pad - 1) - o * dim.stride) // dim.dilation + 1, dim.kernel)
    return first, end - first


def transposed_taps(dim: WindowDim, o: Expr, bind: Bind) -> Taps:
    """The taps that contribute to output ``o`` of a transposed convolution.

    With g = gcd(stride, dilation) there are some only where g divides o + pad: those congruent to k0 modulo
    stride / g, where k0 * dilation / g = (o + pad) / g modulo stride / g. From one to the next, the input position
    falls by dilation / g. Where there are none, their number is 0 or negative.
    """
    common = gcd(dim.stride, dim.dilation)
    period, fall = dim.stride // common, dim.dilation // common
    reach = bind("reach", o + dim.pad)
    k0 = bind("k0", (reach // common * pow(fall, -1, period)) % period if period > 1 else ZERO)
    last = bind("last", (reach - k0 * dim.dilation) // dim.stride)
    first = bind("first", maximum((last - (dim.size - 1) + (fall - 1)) // fall, 0))
    taps = (dim.kernel + (period - 1) - k0) // period
    count = minimum(taps, last // fall + 1) - first
    if common > 1:
        count = count - select(eq(reach % common, 0), INDEX(0), dim.kernel)
    return Taps(first, count, k0, period, last, -fall)


# ---------------------------------------------------------------- loops


def window_loops(
    ctx: NestContext,
    node: Node,
    dims: Sequence[WindowDim],
    groups: int,
    find_taps: FindTaps,
    element: Callable[[Expr, Index, Index, tuple[Taps, ...]], Block],
) -> Block:
    """Loops over the output in the order of its layout around ``element(n, (group, channel), position, taps)``."""
    layout, rank = Layout.of(node), len(dims)
    batch, channels = node.output.shape[0], layout.channels(node.output) // groups
    outs, stems = [dim.out for dim in dims], spatial_stems("o", rank)

    def with_taps(position: Index, body: Callable[[tuple[Taps, ...]], Block]) -> Block:
        lets = Lets(ctx)
        taps = tuple(find_taps(dim, o, lets.bind) for dim, o in zip(dims, position))
        inner = body(taps)
        return (*lets.block, *inner)

    if not layout.channels_last:
        return loops(
            ctx, ("n", "g", "oc", *stems), (batch, groups, channels, *outs),
            lambda i: with_taps(i[3:], lambda taps: element(i[0], i[1:3], i[3:], taps)),
        )  # fmt: skip
    return loops(
        ctx, ("n", *stems), (batch, *outs),
        lambda i: with_taps(i[1:], lambda taps: loops(
            ctx, ("g", "oc"), (groups, channels), lambda channel: element(i[0], channel, i[1:], taps)
        )),
    )  # fmt: skip


def tap_loops(ctx: NestContext, taps: Sequence[Taps], body: Callable[[Index, Index], Block]) -> Block:
    """Loops over the taps of a window around ``body(kernel indices, input indices)``."""

    def at(steps: Index) -> Block:
        kernel = tuple(tap.kernel_index(t) for tap, t in zip(taps, steps))
        return body(kernel, tuple(tap.input_index(t) for tap, t in zip(taps, steps)))

    return serial_loops(ctx, spatial_stems("k", len(taps)), [tap.count for tap in taps], at)
