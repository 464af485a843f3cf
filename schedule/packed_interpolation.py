"""Linear Resize of bytes on cores with packed arithmetic: two channels in a word, along both axes.

Before::                                          After::

    for o0:                                         for o0:
      for i1, c: line[i1, c] = sum of two rows        for i1, four channels: two words of line, sum of words of two rows
      for o1, c: y = f(sum of two of line)            for o1, four channels: two words, of which y = f(each half)

Weights are not negative and have the same sum everywhere, so bytes plus 128 make sums that are not negative either; as
long as the largest fits 15 bits, a product of a word and a weight is that of both halves, and nothing carries from the
one to the other. What 128 and the zero point add is taken off at the end. Where nothing follows but a requantization
that they know, both loops are block instructions (``blocks/interpolation.py``).
"""

from __future__ import annotations

import numpy as np

from ..blocks import has_block
from ..blocks.interpolation import SHIFT
from ..ir.build import store
from ..ir.graph import Node
from ..ir.loops import I32, Bitcast, Block, Expr, Invoke, Let, Load, Pointer, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..ops.attributes import integer, ints
from ..ops.integer import zero_point
from ..ops.interpolate_nest import Taps
from ..record import record
from .generic import NestAdapter
from .kernel import KernelContext
from .tensors import TensorRef

WORD = 4
_SIGNS, _EVEN = -0x7F7F7F80, 0x00FF00FF
"""The highest bit of each byte; the bytes 0 and 2."""
_MOST = 2**31 - 1


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


@record
class _Scaling:
    """``(sum * factor >> 16) + bias >> 16``, as ``interpolate_pixels`` scales sums."""

    factor: int
    bias: int

    @staticmethod
    def of(factor: int, bias: int, shift: int, offset: int, most: int) -> _Scaling | None:
        """The form of ``clamp((sum - offset) * factor + bias >> shift)`` for sums of 0 to ``most``; ``None`` where
        there is none that is exact for all of them.

        From ``low <= (sum * factor >> 16) + bias >> 16 < low + 1`` for each sum follow the least and the greatest bias.
        """
        sums = np.arange(most + 1, dtype=np.int64)
        wanted = np.clip(((sums - offset) * factor + bias) >> shift, -128, 127)
        scaled = factor << 2 * SHIFT - shift if shift <= 2 * SHIFT else factor >> shift - 2 * SHIFT
        if not 0 <= scaled <= _MOST:
            return None
        products = sums * scaled >> SHIFT
        least = ((wanted << SHIFT) - products)[wanted > -128].max(initial=-_MOST)
        greatest = ((wanted + 1 << SHIFT) - 1 - products)[wanted < 127].min(initial=_MOST)
        found = int(least + greatest) // 2
        fits = max(abs(found), abs(int(products[-1]) + found)) <= _MOST
        return _Scaling(scaled, found) if least <= greatest and fits else None


class _PackedInterpolation:
    def __init__(self, ctx: KernelContext, node: Node) -> None:
        self.ctx, self.node, self.nest, self.names = ctx, node, NestAdapter(ctx), ctx.names
        self.x = ctx.refs[node.operands[0].name]
        self.batches, _, self.width, channels = node.operands[0].shape
        self.fours = channels // WORD
        total = sum_of_weights(ctx, node)
        assert total is not None
        self.total, self.offset = total, total * (zero_point(node.attrs) + 128)
        self.line = ctx.temporary("line", DType.I32, (self.width, self.fours, 2), align=8)

    def emit(self) -> Block:
        scaling = self._scaling()
        return self._by_elements() if scaling is None else self._by_blocks(scaling)

    # ---- block instructions

    def _scaling(self) -> _Scaling | None:
        """How sums with the offset become bytes by ``interpolate_pixels``, where all of the body behind the anchor is
        their requantization; ``None`` where the block cannot compute it."""
        ctx, node, user = self.ctx, self.node, self.ctx.body.nodes[-1]
        y, x = ctx.refs[ctx.output.name], self.x
        if not has_block("interpolate_pixels", ctx.cpu.extensions) or len(ctx.body.nodes) != 2:
            return None
        if user.op != "rescale_sum" or (user.attrs["lo"], user.attrs["hi"], user.attrs["to"]) != (-128, 127, DType.I8):
            return None
        tables = [ctx.refs.get(value.name) for value in node.operands[1:]]
        if not all(table is not None and table.dense and table.shape[1] == 2 for table in tables):
            return None
        if any(ref.buffer.shape[-1] != self.fours * WORD for ref in (x, y)):
            return None
        numbers = [ctx.constant(value) for value in user.operands[1:]]
        if not all(number is not None and number.size == 1 for number in numbers):
            return None
        factor, bias = (int(number.item()) for number in numbers if number is not None)
        return _Scaling.of(factor, bias, integer(user.attrs, "shift"), self.offset, 255 * self.total)

    def _by_blocks(self, scaling: _Scaling) -> Block:
        ctx, names = self.ctx, self.names
        batch, row, zero = Var(names.fresh("n")), Var(names.fresh("row")), as_expr(0)
        _, rows, columns, _ = self.node.output.shape
        down = Taps(self.nest, self.node, 0, row)
        _, weights, places, across = (ctx.refs[value.name] for value in self.node.operands[1:])

        def start(ref: TensorRef, *index: Expr) -> Pointer:
            return Pointer(ref.buffer, ref.at((*index, *(zero for _ in ref.shape[len(index) :]))))

        line = Pointer(self.line, (zero, zero, zero))
        between = [start(self.x, batch, at) for at, _ in down.taps]
        fill = Invoke("interpolate_line", (*between, start(weights, row), line), (self.width * self.fours,))
        pointers = (line, start(places), start(across), start(ctx.refs[ctx.output.name], batch, row))
        scalars = (columns, self.width - 1, self.fours, scaling.factor, scaling.bias)
        outputs = Invoke("interpolate_pixels", pointers, scalars)
        return loop(batch, self.batches, *loop(row, rows, *down.block, fill, outputs))

    # ---- code of compilers

    def _by_elements(self) -> Block:
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
