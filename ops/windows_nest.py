"""Sliding windows in nests: layouts, and the taps of a window that hit the input.

Borders cost nothing in the innermost loop: where a window may reach into the padding, the loop over its taps is
clipped to those that lie inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..ir.graph import Node, Value
from ..ir.loops import Expr, as_expr, binary
from .infer import ints
from .nest_tools import Index, Lets
from .opdef import Bind, NestContext


@dataclass(frozen=True)
class Layout:
    """Positions of batch, channel and spatial dimensions."""

    channels_last: bool

    @staticmethod
    def of(node: Node) -> Layout:
        return Layout(node.attrs["layout"] == "channels_last")

    def join(self, batch: Expr, channel: Expr, spatial: Index) -> Index:
        return (batch, *spatial, channel) if self.channels_last else (batch, channel, *spatial)

    def channels(self, value: Value) -> int:
        """Extent of the channel dimension (of weights: of the input channels of a group)."""
        return value.shape[-1 if self.channels_last else 1]

    def spatial(self, value: Value) -> tuple[int, ...]:
        return value.shape[1:-1] if self.channels_last else value.shape[2:]


@dataclass(frozen=True)
class WindowDim:
    """One dimension of a window: tap ``k`` of output ``o`` reads input ``o * stride - pad + k * dilation``."""

    size: int
    out: int
    kernel: int
    stride: int
    pad: int
    pad_end: int
    dilation: int


@dataclass(frozen=True)
class Taps:
    """The taps ``first``, ..., ``first + count - 1`` of one window, and the input position of tap 0."""

    first: Expr
    count: Expr
    start: Expr
    dilation: int

    def kernel_index(self, t: Expr) -> Expr:
        return self.first + t

    def input_index(self, t: Expr) -> Expr:
        return self.start + (self.first + t) * self.dilation


def window_dims(node: Node, kernel: Sequence[int]) -> tuple[WindowDim, ...]:
    """The spatial dimensions of a convolution or pooling."""
    layout = Layout.of(node)
    sizes, outs = layout.spatial(node.operands[0]), layout.spatial(node.output)
    stride, pad, dilation = (ints(node.attrs, name) for name in ("stride", "pad", "dilation"))
    rank = len(kernel)
    return tuple(map(WindowDim, sizes, outs, kernel, stride, pad[:rank], pad[rank:], dilation))


def clipped_taps(ctx: NestContext, dims: Sequence[WindowDim], position: Index) -> tuple[tuple[Taps, ...], Lets]:
    """The taps of the window at the output ``position``, dimension by dimension, and the names that they use."""
    lets = Lets(ctx)
    return tuple(_clip(dim, o, lets.bind) for dim, o in zip(dims, position)), lets


def _clip(dim: WindowDim, o: Expr, bind: Bind) -> Taps:
    start = o * dim.stride - dim.pad
    return Taps(*_clipped_range(dim, 0, dim.size, o, bind), start, dim.dilation)


def taps_in_padding(dim: WindowDim, o: Expr, bind: Bind) -> Expr:
    """How many taps lie in the input or its padding."""
    return _clipped_range(dim, -dim.pad, dim.size + dim.pad_end, o, bind)[1]


def _clipped_range(dim: WindowDim, low: int, high: int, o: Expr, bind: Bind) -> tuple[Expr, Expr]:
    """First tap and number of the taps that read positions ``low`` to ``high - 1``.

    Each bound is computed only where some window needs it: tap k is inside for
    ceil((low - start) / dilation) <= k <= floor((high - 1 - start) / dilation).
    """
    starts = [i * dim.stride - dim.pad for i in range(dim.out)]
    firsts = [-((start - low) // dim.dilation) for start in starts]
    ends = [(high - 1 - start) // dim.dilation + 1 for start in starts]
    start = o * dim.stride - dim.pad
    first, end = as_expr(0), as_expr(dim.kernel)
    if max(firsts, default=0) > 0:
        first = bind("first", binary("max", (low + dim.dilation - 1 - start) // dim.dilation, 0))
    if min(ends, default=dim.kernel) < dim.kernel:
        end = binary("min", (high - 1 - start) // dim.dilation + 1, dim.kernel)
    count = end - first
    if any(min(e, dim.kernel) < max(f, 0) for f, e in zip(firsts, ends)):
        count = binary("max", count, 0)
    return first, count
