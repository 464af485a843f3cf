"""Depthwise convolutions of int8 through block instructions: what the ways of all cores have in common.

Before::                                  After::

    for o, row, column, c:                  for o, rows, channels:
      acc = bias[c]                           stage the input rows under some rows of the output, borders included
      for k: acc += x[o, .., c] * w[c, k]     invoke the block: bytes, or accumulators in scratch memory
      y[o, row, column, c] = requantize(acc)  epilogue of what is in scratch memory

No halo is needed. Rows come in ascending order. What is staged how, and by which blocks it is multiplied, is a core's
own; this file has the operands, the geometry of rows and columns, and the borders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce as fold
from operator import or_

from ..ir.build import ge, lt, maximum, minimum
from ..ir.loops import Expr, Pointer, as_expr
from ..ops.attributes import ints
from ..ops.integer import zero_point
from ..record import record
from .byte_operands import Columns
from .kernel import KernelContext
from .requantization import LIMIT, requantization_of
from .tensors import TensorRef

Order = tuple[int | None, int | None]
"""Which spatial dimension of the tensors is that of the rows, and which that of the columns; ``None``: there is one
row, or one column, and no such dimension."""


@record
class InputRow:
    """The number of a row, or of the nearest that there is where it is ``outside``; ``None``: it never is."""

    inside: Expr
    outside: Expr | None


class DepthwiseLayer:
    """A depthwise convolution, seen as one of rows and columns.

    ``channels`` are those of the output, of which ``multiplier`` at a time see the same channel of the input.
    ``stride``, ``dilation``, ``pad`` (before the input), ``kernel``, ``extent`` (of the input) and ``out`` are pairs
    for rows and columns; ``taps`` are [channel, row, column], and the zero point of the activations is folded into
    ``bias`` [channel]. What ``limit`` and ``least`` say of a requantization is said in :func:`requantization_of`.
    """

    def __init__(
        self, ctx: KernelContext, order: Order = (0, 1), limit: int = LIMIT, least: int | None = -128
    ) -> None:
        node, weights = ctx.contraction
        assert weights is not None
        self.ctx, self.node, self.names, self.order = ctx, node, ctx.names, order
        x, y, rank = node.operands[0], node.output, weights.ndim - 2
        self.x, self.y = ctx.refs[x.name], ctx.refs[ctx.output.name]
        self.batch, self.channels = y.shape[0], y.shape[-1]
        self.multiplier = self.channels // x.shape[-1]
        self.extent, self.out = self._along(x.shape[1:-1]), self._along(y.shape[1:-1])
        self.kernel = self._along(weights.shape[1:-1])
        self.stride, self.dilation = (self._along(ints(node.attrs, name)) for name in ("stride", "dilation"))
        self.pad = self._along(ints(node.attrs, "pad")[:rank], 0)
        self.zero = zero_point(node.attrs)
        self.operands = Columns.of(ctx, node, weights)
        self.bias = self.operands.bias
        self.taps = self.operands.weights.reshape(-1, *self.kernel)
        self.requantization = requantization_of(ctx, self.operands.reach, limit, least)

    def _along(self, values: Sequence[int], unit: int = 1) -> tuple[int, int]:
        """The values for rows and for columns."""
        rows, columns = (unit if dim is None else values[dim] for dim in self.order)
        return rows, columns

    # ---- geometry

    @property
    def inputs(self) -> int:
        """Channels of the input."""
        return self.channels // self.multiplier

    @property
    def columns(self) -> int:
        """Columns of the input under a row of the output, borders included."""
        return (self.out[1] - 1) * self.stride[1] + (self.kernel[1] - 1) * self.dilation[1] + 1

    @property
    def inner(self) -> int:
        """Of these, how many are columns of the input."""
        return max(min(self.extent[1], self.columns - self.pad[1]), 0)

    def place(self, batch: Expr, row: Expr, column: Expr | int) -> tuple[Expr, ...]:
        """The index of a pixel of the input or the output, without the channel."""
        where: list[Expr] = [as_expr(0)] * (len(self.x.shape) - 2)
        for dim, at in zip(self.order, (row, column)):
            if dim is not None:
                where[dim] = as_expr(at)
        return (batch, *where)

    def pointer(self, ref: TensorRef, place: Sequence[Expr], channel: Expr | int = 0) -> Pointer:
        return Pointer(ref.buffer, ref.at((*place, channel)))

    def input_line(self, batch: Expr, row: Expr) -> Pointer:
        """The beginning of a row of the input, in a buffer whose last dimension is a whole row of pixels."""
        *where, column, channel = self.x.at((*self.place(batch, row, 0), 0))
        if self.order[1] is None:
            return Pointer(self.x.buffer, (*where, column, channel))
        *lead, width, channels = self.x.buffer.shape
        return Pointer(replace(self.x.buffer, shape=(*lead, width * channels)), (*where, column * channels + channel))

    # ---- borders

    def input_row(self, row: Expr, number: int, last: int) -> InputRow:
        """The row of the input under row ``number`` of the kernel, for a ``row`` of the output up to ``last``."""
        stride, height = self.stride[0], self.extent[0]
        lowest = number * self.dilation[0] - self.pad[0]
        at = inside = row * stride + lowest
        tests: list[Expr] = []
        if lowest < 0:
            tests.append(lt(at, 0))
            inside = maximum(inside, 0)
        if lowest + last * stride >= height:
            tests.append(ge(at, height))
            inside = minimum(inside, height - 1)
        return InputRow(inside, fold(or_, tests) if tests else None)
