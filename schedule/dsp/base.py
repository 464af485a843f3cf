"""What integer contractions through block instructions have in common: operands, loops over pixels, the body behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ...ir.graph import Node
from ...ir.loops import Block, Buffer, Expr, Load, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ops.infer import integer
from ...ops.integer import zero_point
from ..byte_operands import Columns, Pixels, unflattened
from ..kernel import KernelContext
from ..requantization import Requantization, requantization_of
from ..staging import Layout, Staging
from ..unroll import unroll_bytes

Position = Callable[[Expr], tuple[Expr, ...]]
"""The index of the ``n``-th of some pixels, without the channel."""


class StagedContraction:
    """``channels`` columns [o, k] over the ``shape`` of pixels: of a convolution in groups those of one ``group``, from
    channel ``first`` on."""

    def __init__(self, ctx: KernelContext, node: Node, weights: np.ndarray, group: int = 0) -> None:
        self.ctx, self.node, self.names = ctx, node, ctx.names
        x = node.inputs[0]
        assert x is not None
        pixels, operands = self._pixels(), self._operands(weights)
        self.shape, self.window, self.refs = pixels.shape, pixels.window, pixels.refs
        self.channels, depth = operands.weights.shape
        self.x, self.y = self.refs[x.name], self.refs[ctx.output.name]
        self.columns = np.zeros((self.channels, -(-depth // 4) * 4), np.int8)
        self.columns[:, :depth] = operands.weights
        self.groups = self.columns.shape[1] // 4
        self.bias = operands.bias
        self.requantization = requantization_of(ctx, self.reach)
        self.first = 0
        if "group" in node.attrs and node.attrs["group"] != 1:
            self._narrow(group, self.channels // integer(node.attrs, "group"))
        if self.requantization is not None:
            self.requantization = self._settle(self.requantization)

    def _pixels(self) -> Pixels:
        return Pixels.of(self.ctx, self.node)

    def _operands(self, weights: np.ndarray) -> Columns:
        return Columns.of(self.ctx, self.node, weights)

    def place(self, position: Sequence[Expr]) -> tuple[Expr, ...]:
        """Where in the output the result of a pixel is, without the channel."""
        return tuple(position)

    def _narrow(self, group: int, channels: int) -> None:
        """To the channels of one group."""
        self.first, self.channels = group * channels, channels
        part = slice(self.first, self.first + channels)
        self.columns, self.bias = self.columns[part], self.bias[part]
        if self.requantization is not None:
            self.requantization = replace(self.requantization, scale=self.requantization.scale[part])
        self.x = self.x.last_part(group * self.window.depth, self.window.depth)
        self.y = self.y.last_part(self.first, channels)

    @property
    def reach(self) -> np.ndarray:
        """Bounds of the accumulators."""
        return np.abs(self.bias) + 128 * np.abs(self.columns.astype(np.int64)).sum(axis=1)

    def _settle(self, rq: Requantization) -> Requantization:
        """Channels with the same result whatever the activations are (dead ones, whose scale may be tiny and whose bias
        huge) get that result as their bias, in steps of 1/1024, which have a factor for every shift."""
        lowest, highest = (rq.result(np.clip(bound, -(2**31), 2**31 - 1)) for bound in self.bounds)
        constant = lowest == highest
        self.columns[constant] = 0
        self.bias = np.where(constant, 1024 * (lowest - rq.zero_point), self.bias)
        return replace(rq, scale=np.where(constant, np.float32(1 / 1024), rq.scale))

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest accumulators of each channel."""
        spread = 128 * np.abs(self.columns.astype(np.int64)).sum(axis=1)
        return self.bias - spread, self.bias + spread

    def staging(self, layout: Layout) -> Staging:
        return Staging(self.ctx, self.x, self.window, zero_point(self.node.attrs), layout)

    def in_rows(self, together: int) -> bool:
        """Whether ``together`` pixels are always of one row."""
        return len(self.shape) == 1 or self.shape[-1] % together == 0

    def pixels(self, together: int) -> tuple[int, list[Var], Callable[[Expr], Position]]:
        """How many pixels a run of neighbours has, loop variables around the runs, and for the first of some
        pixels of a run their positions. Runs are rows where ``together`` divides these, else there is only one."""
        nested = self.in_rows(together)
        outer = [Var(self.names.fresh("o")) for _ in self.shape[:-1]] if nested else []

        def positions(first: Expr) -> Position:
            if nested:
                return lambda slot: (*outer, first + slot)
            return lambda slot: unflattened(first + slot, self.shape)

        return (self.shape[-1] if nested else prod(self.shape)), outer, positions

    def around(self, outer: Sequence[Var], block: Block) -> Block:
        """The loops over runs."""
        for var, extent in reversed(list(zip(outer, self.shape))):
            block = loop(var, extent, *block)
        return block

    def outputs(self, position: Position, count: int) -> tuple[Pointer, ...]:
        """Where the results of ``count`` pixels go."""
        places = (self.place(position(as_expr(slot))) for slot in range(count))
        return tuple(Pointer(self.y.buffer, self.y.at((*place, 0))) for place in places)

    def finish(self, values: Buffer, slot: Expr, position: Sequence[Expr]) -> Block:
        """What of the body is left behind ``values``: accumulators, or bytes where they are requantized."""
        c, done = Var(self.names.fresh("c")), None if self.requantization is None else self.requantization.value
        element = Load(values, (slot, c))
        stored = self.ctx.store_element((*self.place(position), c + self.first), element, self.refs, done)
        return unroll_bytes(loop(c, self.channels, *stored), self.names)


def rows_of(buffer: Buffer, count: int) -> tuple[Pointer, ...]:
    """The beginnings of the first rows of a matrix."""
    return tuple(Pointer(buffer, (as_expr(row), as_expr(0))) for row in range(count))
