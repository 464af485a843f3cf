"""Convolutions in groups of few channels: lanes are the channels of several groups.

A group of 2, 4 or 8 channels fills a part of a vector. Here the lanes of a vector are all channels of neighbouring
groups, as in a depthwise convolution; a sum has as many products for a tap as a group has channels, and the n-th of
them takes the n-th channel of each group, in all lanes of that group::

    for each tap, and each n:
      acc[lanes] += (channel n of the group of each lane) * w[tap, n, lanes]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.graph import Node
from ..ir.loops import Block, Buffer, Expr, Let, Load, Shuffle, Stmt, Var, as_expr
from ..ir.types import DType
from ..ops.attributes import integer
from ..targets.target import Cpu
from .depthwise_lanes import Depthwise
from .kernel import KernelContext

_FEWEST, _MOST = 2, 8
"""Channels of a group."""


def is_grouped_lanes(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` of float32 (channels last) in groups of 2, 4 or 8 channels, as many of the input
    as of the output, of which several fill a vector."""
    node, weights = ctx.contraction
    if weights is None or node.attrs["layout"] != "channels_last" or node.operands[0].dtype is not DType.F32:
        return False
    group, channels = integer(node.attrs, "group"), len(weights)
    share = weights.shape[-1]
    if ctx.cpu.compact or channels != group * share or share & share - 1 or not _FEWEST <= share <= _MOST:
        return False
    widths = _widths(ctx.cpu, share)
    return bool(widths) and channels % widths[-1] == 0


def grouped_share(ctx: KernelContext) -> float:
    """The cycles in proportion to those of products by groups: lanes that are filled, and a shuffle for the products
    with the columns of the kernel."""
    _, weights = ctx.contraction
    assert weights is not None
    share = weights.shape[-1]
    width = next(width for width in _widths(ctx.cpu, share) if width <= len(weights))
    return share / width * (1 + 1 / weights.shape[-2])


def lower_grouped_lanes(ctx: KernelContext) -> Block:
    """``conv``, for which :func:`is_grouped_lanes` holds."""
    node, weights = ctx.contraction
    assert weights is not None
    return _GroupedLanes(ctx, node, weights).emit()


def _widths(cpu: Cpu, share: int) -> tuple[int, ...]:
    """Of vectors that several groups fill."""
    return tuple(width for width in cpu.f32_lanes if width > share)


class _GroupedLanes(Depthwise):
    def __init__(self, ctx: KernelContext, node: Node, weights: np.ndarray) -> None:
        super().__init__(ctx, node, weights, DType.F32)
        self.share = weights.shape[-1]
        self.lanes = _widths(ctx.cpu, self.share)

    @staticmethod
    def taps_of(weights: np.ndarray) -> np.ndarray:
        """As [*kernel, n, channels]."""
        return np.moveaxis(weights, 0, -1)

    def height(self, width: int) -> int:
        """One: what is loaded stays in registers for all channels of a group."""
        return 1

    def _input_row(
        self, position: Sequence[Expr], above: Sequence[Expr], base: Expr, rows: int, channel: Expr,
        users: Sequence[tuple[int, Sequence[Expr]]], acc: Buffer,
    ) -> Block:  # fmt: skip
        type_, ((_, taps),) = acc.type, users
        out: list[Stmt] = []
        for n in range(self.share):
            weights = [Var(self.names.fresh("wv"), type_) for _ in range(self.kernel[-1])]
            for kw, var in enumerate(weights):
                where = (*taps, as_expr(kw), as_expr(n), channel)
                out.append(Let(var, Load(self.weights, where, type_.lanes)))
            for column, seen_by in self.users(rows):
                at = (position[0], *above, base * self.stride[-1] + (column - self.pad[-1]), channel)
                x, spread = Var(self.names.fresh("xv"), type_), Var(self.names.fresh("sv"), type_)
                out.append(Let(x, Load(self.x.buffer, self.x.at(at), type_.lanes)))
                out.append(Let(spread, self._of_each_group(x, n)))
                out.extend(self._accumulate(acc, i, spread, weights[kw]) for i, kw in seen_by)
        return tuple(out)

    def _of_each_group(self, x: Expr, n: int) -> Expr:
        """Channel ``n`` of each group in all lanes of that group."""
        return Shuffle(x, x, tuple(lane - lane % self.share + n for lane in range(x.type.lanes)))
