"""Depthwise convolution of bytes: the rows under the kernel are the products that one instruction adds up.

For each input column under a block of outputs, the bytes of up to four rows come side by side into one 32-bit lane for
each channel, once. Each output that sees the column takes one multiply-accumulate of groups for all of them.

Outputs one below the other share these words: one byte up or down, the weights are those of another output. Of three
rows of the kernel, a word has the products of two outputs; of more, the words of all outputs are one behind the other::

    word 0: x[0] x[1] x[2] x[3]    y[0] += (w[0], w[1], w[2], 0) . word 0,   y[1] += (0, w[0], w[1], w[2]) . word 0
    word 2: x[2] x[3] x[4] x[5]    y[2] += (w[0], w[1], w[2], 0) . word 2,   y[3] += (0, w[0], w[1], w[2]) . word 2

The bytes beyond the kernel are multiplied by zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property
from itertools import product

import numpy as np

from ..ir.build import store
from ..ir.graph import Node
from ..ir.loops import I32, U8, Bitcast, Block, Buffer, Expr, Let, Load, Stmt, Var, as_expr
from ..ir.types import DType
from ..record import record
from ..targets.target import Cpu, Dot
from .depthwise_lanes import Depthwise
from .dots import activation_shift, multiply_accumulate, usable_dots
from .kernel import KernelContext
from .names import Names

ROWS = 4
"""Rows of the kernel that one multiply-accumulate takes."""
MOST_HEIGHT = 8
"""Rows of outputs in a block, at most."""


def column_dots(cpu: Cpu, activation: DType, weights: np.ndarray) -> tuple[Dot, ...]:
    """Those multiply-accumulates of the CPU that add up rows of a depthwise kernel with ``weights`` [channels, *kernel,
    1]: of four bytes, where the kernel has several rows. Machines that widen bytes to products of 16 bits in as few
    steps as they would bring them side by side do so."""
    if weights.ndim < 4 or weights.shape[-3] < 2 or cpu.widening_lanes:
        return ()
    if activation not in (DType.I8, DType.U8):
        return ()
    found = usable_dots(cpu, activation, weights.dtype)
    return tuple(dot for dot in found if dot.group == ROWS and dot.rows == dot.parts == 1)


class ColumnDepthwise(Depthwise):
    """The loops of one convolution ``node`` of bytes with sums by ``dots``; channels that fill no vector of these are
    computed one by one."""

    def __init__(self, ctx: KernelContext, node: Node, weights: np.ndarray, dots: Sequence[Dot]) -> None:
        super().__init__(ctx, node, weights, DType.I32)
        self.dots = {dot.lanes: dot for dot in dots}
        self.lanes, self.operand = tuple(sorted(self.dots, reverse=True)), DType.I32

    @cached_property
    def offsets(self) -> list[int]:
        """Where words begin, as rows behind the first that an output sees."""
        stride, groups = self.stride[-2], self.groups(self.height(self.width))
        return sorted({group.first - output * stride for group in groups for output in group.outputs})

    @cached_property
    def words(self) -> Buffer:
        """Weights [*outer, offsets, columns, channels], those of the four rows of a word side by side."""
        *outer, rows, columns = self.kernel
        padded = np.zeros((*outer, rows + 2 * ROWS, columns, self.channels), np.int8)
        padded[..., ROWS : ROWS + rows, :, :] = self.taps
        found = [np.moveaxis(padded[..., ROWS + at : 2 * ROWS + at, :, :], -3, -1) for at in self.offsets]
        return self.ctx.pack("w", np.ascontiguousarray(np.stack(found, axis=-4)).view(np.int32)[..., 0])

    @cached_property
    def shifted_bias(self) -> Buffer | None:
        """The bias of each channel, less what the shift of the activations adds to its sum."""
        shift = activation_shift(next(iter(self.dots.values())))
        if not shift or self.bias is None:
            return self.bias
        added = shift * self.taps.astype(np.int64).reshape(-1, self.channels).sum(axis=0)
        return self.ctx.pack("bias", (self.ctx.packed[self.bias.name] - added).astype(np.int32))

    def packed(self) -> tuple[Buffer | None, ...]:
        return ()

    def starts(self, lanes: int) -> Buffer | None:
        return self.bias if lanes == 1 else self.shifted_bias

    def groups(self, height: int) -> list[RowGroup]:
        """The words of a block of so many rows of outputs."""
        return row_groups(self.kernel[-2], self.stride[-2], height)

    def height(self, width: int) -> int:
        """Rows of ``width`` outputs in a block: as many as make the fewest operations of each output."""
        cpu, dilated = self.ctx.cpu, self.dilation[-2] > 1
        most = 1 if dilated or not cpu.ample_ram else min(MOST_HEIGHT, max(1, cpu.registers.vector * 5 // 8 // width))
        seen = (width - 1) * self.stride[-1] + (self.kernel[-1] - 1) * self.dilation[-1] + 1

        def operations(height: int) -> float:
            groups = self.groups(height)
            columns = seen * sum(group.operations for group in groups)
            return (columns + width * self.kernel[-1] * sum(len(group.outputs) for group in groups)) / height

        return min(range(1, min(most, self.out[-3]) + 1), key=operations)

    def products(self, position: Sequence[Expr], base: Expr, rows: int, channel: Expr, acc: Buffer) -> Block:
        if acc.type.lanes == 1:
            return super().products(position, base, rows, channel, acc)
        return self._words_products(position, base, rows, channel, acc)

    def _tall_products(self, position: Sequence[Expr], base: Expr, rows: int, channel: Expr, acc: Buffer) -> Block:
        if acc.type.lanes == 1:
            return super()._tall_products(position, base, rows, channel, acc)
        return self._words_products(position, base, rows, channel, acc)

    def _words_products(self, position: Sequence[Expr], base: Expr, rows: int, channel: Expr, acc: Buffer) -> Block:
        """The products of a block ``acc`` [height * rows] with words of rows: column by column under the block."""
        lanes, groups = acc.type.lanes, self.groups(acc.shape[0] // rows)
        dot = self.dots[lanes]
        out: list[Stmt] = []
        for taps in product(*(range(extent) for extent in self.kernel[:-2])):
            for column, users in self.users(rows):
                at = base * self.stride[-1] + (column - self.pad[-1])

                def byte(row: int, at: Expr = at, taps: Sequence[int] = taps) -> Expr:
                    above = self.above(position, (*taps, row))
                    return Load(self.x.buffer, self.x.at((position[0], *above, at, channel)), lanes)

                words = _Words(byte, dot, self.names, out)
                for group in groups:
                    x = words.word(group.rows)
                    for below, (i, kw) in product(group.outputs, users):
                        offset = self.offsets.index(group.first - below * self.stride[-2])
                        where = (*(as_expr(tap) for tap in taps), as_expr(offset), as_expr(kw), channel)
                        old = acc[below * rows + i]
                        sum_ = multiply_accumulate(dot, x, Load(self.words, where, lanes), old)
                        out.append(store(acc[below * rows + i], sum_))
        return tuple(out)


@record
class RowGroup:
    """``rows`` of the input, up to four from the row ``first`` of a block on, and the rows of ``outputs`` with products
    of them."""

    first: int
    rows: range
    outputs: range

    @property
    def operations(self) -> int:
        """What brings the bytes of a column side by side."""
        return 3 * len(self.rows) - 2


def row_groups(taps: int, stride: int, height: int) -> list[RowGroup]:
    """Words that have all products of ``height`` outputs, ``stride`` rows apart, with ``taps`` rows each: all of an
    output in one, where some rows are left, else all rows one behind the other."""
    if taps < ROWS:
        together = (ROWS - taps) // stride + 1
        parts = [range(first, min(first + together, height)) for first in range(0, height, together)]
        return [RowGroup(part[0] * stride, range(part[0] * stride, part[-1] * stride + taps), part) for part in parts]
    found = []
    for first in range(0, (height - 1) * stride + taps, ROWS):
        seen = [output for output in range(height) if first - taps < output * stride < first + ROWS]
        rows = range(first, min(first + ROWS, (height - 1) * stride + taps))
        found.append(RowGroup(first, rows, range(seen[0], seen[-1] + 1)))
    return found


@record
class _Words:
    """Words of the bytes of a column, ``byte`` those of a row. Two rows that several words have come side by side once.
    What is computed is named in ``out``."""

    byte: Callable[[int], Expr]
    dot: Dot
    names: Names
    out: list[Stmt]
    pairs: dict[range, Expr] = field(default_factory=dict)

    def word(self, rows: range) -> Expr:
        """The bytes of up to four rows as the groups that the product takes, the first in the low bits."""
        words = I32.with_lanes(self.dot.lanes)
        joined = self._pair(rows[:2])
        if len(rows) > 2:
            joined = joined | self._pair(rows[2:]) << words(16)
        return self._named("xv", joined ^ words(-0x7F7F7F80) if activation_shift(self.dot) else joined)

    def _pair(self, rows: range) -> Expr:
        words = I32.with_lanes(self.dot.lanes)
        if rows not in self.pairs:
            low, *high = (words(self._unsigned(self.byte(row))) for row in rows)
            self.pairs[rows] = self._named("pair", low | high[0] << words(8)) if high else low
        return self.pairs[rows]

    def _unsigned(self, byte: Expr) -> Expr:
        return byte if byte.type.dtype is DType.U8 else Bitcast(U8.with_lanes(self.dot.lanes), byte)

    def _named(self, stem: str, value: Expr) -> Var:
        var = Var(self.names.fresh(stem), value.type)
        self.out.append(Let(var, value))
        return var
