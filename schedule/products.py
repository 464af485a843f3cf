"""Products of two computed matrices of int8 through the block instructions of contractions.

With zero points ``za`` and ``zb``, over k of 0..K-1::

    sum((a[m, k] - za) * (b[k, n] - zb))
      = sum(a[m, k] * b[k, n]) - zb * sum(a[m, k]) + (K * za * zb - za * sum(b[k, n]))

(Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", 2018,
section 2.3). The right matrix takes the place of the weights: it is packed into their stream at run time, with the
last term as the bias of a column. The middle term is that of more activations: the sum of a row, in digits behind the
row, by ``-zb`` or a multiple of it (:class:`Digits`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from math import prod

import numpy as np

from ..ir.build import maximum, minimum, store
from ..ir.graph import Node
from ..ir.loops import I32, Alloc, Block, Buffer, Expr, Let, LoopKind, Space, Stmt, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..ops.integer import zero_point
from ..record import record
from .contraction_results import Results
from .kernel import KernelContext
from .requantization import requantization_of, rounded_form
from .tensors import TensorRef

UNROLLED = 8
"""Digits that are made without a loop."""


def is_product(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``matmul`` of int8 matrices, the left one of several rows; the right one is computed, or
    none of constant weights without a zero point, which is packed while compiling."""
    node, weights = ctx.contraction
    if node.op != "matmul" or len(node.inputs) > 2:
        return False
    if weights is not None and weights.ndim == 2 and zero_point(node.attrs, "rhs_zero_point") == 0:
        return False
    shapes = [operand.shape for operand in node.operands]
    known = all(operand.dtype is DType.I8 for operand in node.operands) and min(map(len, shapes)) >= 2
    return known and shapes[0][-2] > 1 and prod(shapes[0]) * prod(shapes[1]) * prod(node.output.shape) > 0


@record
class Digits:
    """``factor * sum`` as products of bytes by digits of ``bits``: ``count`` digits of ``sum * times`` in steps of
    ``1 << shift`` have the weight ``unit << shift``, and one, where ``shift`` is not 0, is what remains and has the
    weight ``unit``."""

    unit: int
    times: int
    shift: int
    count: int
    bits: int

    @staticmethod
    def of(factor: int, most: int, bits: int) -> Digits:
        """For a ``factor`` of -127 to 128 and sums of at most ``most``, as much below 0."""
        unit, times = (factor, 1) if factor < 128 else (factor // 2, 2)
        largest = (1 << bits - 1) - 1
        small = factor == 0 or most * times <= largest
        shift = 0 if small else (127 // abs(unit)).bit_length() - 1
        return Digits(unit, times, shift, 0 if factor == 0 else -(-((most * times >> shift) + 1) // largest), bits)

    @property
    def weights(self) -> tuple[int, ...]:
        """Of the digits in memory."""
        return (self.unit << self.shift,) * self.count + ((self.unit,) if self.shift else ())

    def write(self, ctx: KernelContext, total: Expr, put: Callable[[Expr, Expr], Block]) -> Block:
        """The digits of ``total``: ``put`` takes the number of each and its value, a word."""
        whole, i = Var(ctx.names.fresh("whole"), I32), Var(ctx.names.fresh("digit"))
        left, digit = Buffer(ctx.names.fresh("left"), I32, (1,), Space.REG), Var(ctx.names.fresh("part"), I32)
        limit = 1 << self.bits - 1
        steps: Block = (
            Let(digit, minimum(maximum(left[0], -limit), limit - 1)),
            *put(i, digit),
            store(left[0], left[0] - digit),
        )
        kind = LoopKind.UNROLL if self.count <= UNROLLED else LoopKind.SERIAL
        start: list[Stmt] = [Let(whole, total * self.times), Alloc(left), store(left[0], whole >> self.shift)]
        out = (*start, *loop(i, self.count, *steps, kind=kind))
        return (*out, *put(as_expr(self.count), whole & ((1 << self.shift) - 1))) if self.shift else out


class Product(Results):
    """Rows of the left matrix by ``channels`` columns of the right one, of ``depth``. The last of ``shape`` is the
    rows, those before are of a batch.

    Digits are of ``bits`` each (8 or 16), and take places from ``digits_at`` on, behind words that are whole. What
    ``limit`` and ``least`` say of a requantization is said in :func:`requantization_of`.
    """

    def __init__(self, ctx: KernelContext, bits: int, limit: int, least: int | None) -> None:
        node = ctx.contraction[0]
        lhs, rhs = node.operands
        self.ctx, self.names, self.refs = ctx, ctx.names, dict(ctx.refs)
        self.lhs, self.rhs, self.y = (ctx.refs[value.name] for value in (lhs, rhs, ctx.output))
        self.shape, self.channels, self.depth = node.output.shape[:-1], node.output.shape[-1], lhs.shape[-1]
        self.zeros = zero_point(node.attrs), zero_point(node.attrs, "rhs_zero_point")
        self.digits = Digits.of(-self.zeros[1], 128 * self.depth, bits)
        self.digits_at = -(-self.depth // 4) * 4
        self.reach = self.depth * prod(128 + abs(zero) for zero in self.zeros)
        self.requantization = requantization_of(ctx, np.full(self.channels, self.reach), limit, least)
        if self.requantization is not None and len(set(self.requantization.scale.tolist())) > 1:
            self.requantization = None
        if prod(rhs.shape[:-2]) == 1:
            self._flatten(node)

    def _flatten(self, node: Node) -> None:
        """All rows as those of one matrix, where nothing else is seen of them."""
        refs, rows = (self.lhs, self.y), prod(self.shape)
        alone = len(self.ctx.node.operands) <= 3 and len(self.ctx.body.nodes) <= 2
        if len(self.shape) == 1 or not alone or self.lhs.shape[:-1] != self.shape or not all(r.dense for r in refs):
            return
        self.lhs, self.y = (ref.reshaped((rows, ref.shape[-1])) for ref in refs)
        self.refs |= {node.operands[0].name: self.lhs, self.ctx.output.name: self.y}
        self.shape = (rows,)

    @property
    def width(self) -> int:
        """Places of a row with its digits."""
        count = len(self.digits.weights)
        return self.digits_at + self.digit_place(count - 1) + 1 if count else self.depth

    def digit_place(self, number: int) -> int:
        """Behind the row: halfwords are staged two in the first places of a group of four."""
        return number // 2 * 4 + number % 2 if self.digits.bits == 16 else number

    def place_of(self, ref: TensorRef, at: Sequence[Expr]) -> tuple[Expr, ...]:
        """The index of an element of an operand, for one of the result's batch."""
        batch = at[:-2][len(at) - len(ref.shape) :]
        outer = (as_expr(0) if extent == 1 else i for i, extent in zip(batch, ref.shape[:-2], strict=True))
        return ref.at((*outer, *at[-2:]))

    # ---- the stream of the right matrix

    def columns_of(self, tile: int) -> tuple[Var, Var, Expr]:
        """Variables of a tile and of a channel in it, and the number of that channel."""
        t, c = Var(self.names.fresh("t")), Var(self.names.fresh("c"))
        return t, c, t * tile + c

    def digit_words(self, words: int, put: Callable[[Expr, Expr], Block]) -> Block:
        """The words of weights behind those of the right matrix, of ``words`` of a channel: ``put`` takes the number of
        each and its value."""
        data = np.zeros(4 * words, np.int8)
        for number, weight in enumerate(self.digits.weights):
            data[self.digits_at + self.digit_place(number)] = weight
        block: Block = ()
        first = self.digits_at // 4
        for value, equal in groupby(data.view("<i4")[first:].tolist()):
            count, i = len(list(equal)), Var(self.names.fresh("i"))
            block += loop(i, count, *put(i + first, I32(value)))
            first += count
        return block

    def bias(self, total: Expr) -> Expr:
        """The bias of a column whose elements are ``total`` together."""
        za, zb = self.zeros
        return total * -za + self.depth * za * zb

    def factor(self) -> int:
        """The scale of the results, as the word of it in a stream."""
        assert self.requantization is not None
        return int(self.requantization.scale[:1].astype(np.float32).view(np.int32)[0])

    def exact_factor(self, pre_shift: int = 0) -> int | None:
        """The one factor by whose upper word all results are requantized exactly (:func:`rounded_form`), if there is
        such a number."""
        if self.requantization is None:
            return None
        one, bound = replace(self.requantization, scale=self.requantization.scale[:1]), np.full(1, self.reach)
        found = rounded_form(one, -bound, bound, pre_shift)
        return None if found is None else int(found[0])
