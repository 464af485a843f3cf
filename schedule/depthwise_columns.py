"""Depthwise convolution of bytes: the rows under the kernel are the products that one instruction adds up.

For each input column under a block of outputs, the bytes of up to four rows come side by side into one 32-bit lane for
each channel, once. Each output that sees the column takes one multiply-accumulate of groups for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import product

import numpy as np

from ..ir.build import store
from ..ir.graph import Node
from ..ir.loops import I32, U8, Bitcast, Block, Buffer, Expr, Let, Load, Stmt, Type, Var, as_expr
from ..ir.types import DType
from ..targets.target import Cpu, Dot
from .depthwise_lanes import Depthwise
from .dots import activation_shift, multiply_accumulate, usable_dots
from .kernel import KernelContext

ROWS = 4
"""Rows of the kernel that one multiply-accumulate takes."""


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
    def words(self) -> Buffer:
        """Weights [*outer, groups of rows, columns, channels], those of four rows in each word."""
        *outer, rows, columns = self.kernel
        groups = -(-rows // ROWS)
        padded = np.zeros((*outer, groups * ROWS, columns, self.channels), np.int8)
        padded[..., :rows, :, :] = self.taps
        rows_last = np.moveaxis(padded.reshape(*outer, groups, ROWS, columns, self.channels), -3, -1)
        return self.ctx.pack("w", np.ascontiguousarray(rows_last).view(np.int32)[..., 0])

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

    def height(self, width: int) -> int:
        return 1

    def products(self, position: Sequence[Expr], base: Expr, rows: int, channel: Expr, acc: Buffer) -> Block:
        if acc.type.lanes == 1:
            return super().products(position, base, rows, channel, acc)
        out: list[Stmt] = []
        *outer, height, _ = self.kernel
        for taps in product(*(range(extent) for extent in outer)):
            for first in range(0, height, ROWS):
                present = range(first, min(first + ROWS, height))
                out += self._rows(position, base, rows, channel, taps, present, acc)
        return tuple(out)

    def _rows(
        self, position: Sequence[Expr], base: Expr, rows: int, channel: Expr, taps: Sequence[int], present: range,
        acc: Buffer,
    ) -> Block:  # fmt: skip
        """The products of the rows ``present`` of the kernel: their weights, then every column under the block."""
        lanes = acc.type.lanes
        dot = self.dots[lanes]
        out: list[Stmt] = []
        weights = []
        index = [as_expr(tap) for tap in (*taps, present.start // ROWS)]
        for kw in range(self.kernel[-1]):
            weights.append(Var(self.names.fresh("wv"), I32.with_lanes(lanes)))
            out.append(Let(weights[-1], Load(self.words, (*index, as_expr(kw), channel), lanes)))
        for column, users in self.users(rows):
            at = base * self.stride[-1] + (column - self.pad[-1])
            loaded = [
                Load(self.x.buffer, self.x.at((position[0], *self.above(position, (*taps, row)), at, channel)), lanes)
                for row in present
            ]
            x = Var(self.names.fresh("xv"), I32.with_lanes(lanes))
            out.append(Let(x, side_by_side(dot, loaded)))
            out += [store(acc[i], multiply_accumulate(dot, x, weights[kw], acc[i])) for i, kw in users]
        return tuple(out)


def side_by_side(dot: Dot, loaded: Sequence[Load]) -> Expr:
    """The bytes of up to four loads as the groups that ``dot`` takes, the first in the low bits."""
    lanes = loaded[0].type.lanes
    words = Type(DType.I32, lanes)
    joined: Expr | None = None
    for number, each in enumerate(loaded):
        byte = words(each if each.type.dtype is DType.U8 else Bitcast(U8.with_lanes(lanes), each))
        placed = byte << words(8 * number) if number else byte
        joined = placed if joined is None else joined | placed
    assert joined is not None
    return joined ^ words(-0x7F7F7F80) if activation_shift(dot) else joined
