"""Linear Resize of bytes on cores with packed arithmetic: two channels in a word, along both axes.

Before::                                          After::

    for o0:                                         for o0:
      for i1, c: line[i1, c] = sum of two rows        for i1, four channels: two words of line, sum of words of two rows
      for o1, c: y = f(sum of two of line)            for o1, four channels: two words, of which y = f(each half)

Weights are not negative and have the same sum everywhere, so bytes plus 128 make sums that are not negative either; as
long as the largest fits 15 bits, a product of a word and a weight is that of both halves, and nothing carries from the
one to the other. What 128 and the zero point add is taken off at the end.
"""

from __future__ import annotations

from ..ir.build import store
from ..ir.graph import Node
from ..ir.loops import I32, Bitcast, Block, Expr, Let, Load, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..ops.attributes import ints
from ..ops.integer import zero_point
from ..ops.interpolate_nest import Taps
from .generic import NestAdapter
from .kernel import KernelContext

WORD = 4
_SIGNS, _EVEN = -0x7F7F7F80, 0x00FF00FF
"""The highest bit of each byte; the bytes 0 and 2."""


def is_packed_interpolation(ctx: KernelContext) -> bool:
    """Whether the anchor is an ``interpolate`` of bytes in memory along rows and columns, channels last and in fours,
    with constant weights that fit."""
    node = ctx.anchor
    assert node is not None
    x = node.operands[0]
    if "widen_even_add" not in ctx.cpu.features or x.dtype is not DType.I8 or x.name not in ctx.refs:
        return False
    if len(x.shape) != 4 or ints(node.attrs, "axes") != (1, 2) or x.shape[3] % WORD or 0 in node.output.shape:
        return False
    total = sum_of_weights(ctx, node)
    return total is not None and 255 * total < 1 << 15


def sum_of_weights(ctx: KernelContext, node: Node) -> int | None:
    """The sum of an output's weights, if that is the same for all and none is negative."""
    total = 1
    for value in (node.operands[2], node.operands[4]):
        weights = ctx.constant(value)
        if weights is None or weights.min() < 0 or len({*weights.sum(axis=1).tolist()}) != 1:
            return None
        total *= int(weights[0].sum())
    return total


def lower_packed_interpolation(ctx: KernelContext) -> Block:
    """``interpolate``, for which :func:`is_packed_interpolation` holds."""
    assert ctx.anchor is not None
    return _PackedInterpolation(ctx, ctx.anchor).emit()


class _PackedInterpolation:
    def __init__(self, ctx: KernelContext, node: Node) -> None:
        self.ctx, self.node, self.nest, self.names = ctx, node, NestAdapter(ctx), ctx.names
        self.x = ctx.refs[node.operands[0].name]
        self.batches, _, self.width, channels = node.operands[0].shape
        self.fours = channels // WORD
        total = sum_of_weights(ctx, node)
        assert total is not None
        self.offset = total * (zero_point(node.attrs) + 128)
        self.line = ctx.temporary("line", DType.I32, (self.width, self.fours, 2), align=8)

    def emit(self) -> Block:
        batch, row, column = (Var(self.names.fresh(stem)) for stem in ("n", "row", "column"))
        _, rows, columns, _ = self.node.output.shape
        down, across = Taps(self.nest, self.node, 0, row), Taps(self.nest, self.node, 1, column)
        outputs = loop(column, columns, *across.block, *self._outputs(batch, row, column, across))
        return loop(batch, self.batches, *loop(row, rows, *down.block, *self._fill(batch, down), *outputs))

    def _fill(self, batch: Expr, taps: Taps) -> Block:
        """The line between the rows of ``taps``."""
        i, four = Var(self.names.fresh("i")), Var(self.names.fresh("four"))
        words = [Var(self.names.fresh("word"), I32) for _ in taps.taps]
        places = (self.x.at((batch, at, i, four * WORD)) for at, _ in taps.taps)
        lets = (
            Let(word, Bitcast(I32, Load(self.x.buffer, place, WORD)) ^ _SIGNS) for word, place in zip(words, places)
        )
        stores = (
            store(self.line[i, four, odd], _total([((word >> 8 * odd) & _EVEN) for word in words], taps))
            for odd in range(2)
        )
        return loop(i, self.width, *loop(four, self.fours, *lets, *stores))

    def _outputs(self, batch: Expr, row: Expr, column: Expr, taps: Taps) -> Block:
        """All channels of an output."""
        four, sums = Var(self.names.fresh("four")), [Var(self.names.fresh("sums"), I32) for _ in range(2)]
        block: Block = tuple(
            Let(each, _total([self.line[at, four, odd] for at, _ in taps.taps], taps)) for odd, each in enumerate(sums)
        )
        for lane in range(WORD):
            both = sums[lane % 2]
            element = (both >> 16 if lane // 2 else both & 0xFFFF) - self.offset
            block += self.ctx.store_element((batch, row, column, four * WORD + lane), element)
        return loop(four, self.fours, *block)


def _total(values: list[Expr], taps: Taps) -> Expr:
    first, *others = (value * weight for value, (_, weight) in zip(values, taps.taps, strict=True))
    for other in others:
        first = first + other
    return first
