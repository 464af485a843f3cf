"""The driver of integer contractions through block instructions: im2col staging, multiplication tile by tile, epilogue.

Before::                                  After::

    for o, row, c:                            for o, tile:
      acc = bias[c]                             stage the activations of the tile's pixels
      for k: acc += x[o, row, k] * w[c, k]      invoke the block: weights, staged, pixels of y (or scratch memory)
      y[o, row, c] = requantize(acc)            epilogue of what is in scratch memory

Pixels come in ascending order. Where more than an exact requantization follows, its bytes (or the accumulators, where
there is none) are left in scratch memory, and the kernel's own body is the epilogue. What differs among the blocks is a
:class:`Tiling`: how many pixels make a tile, how they are staged, how they are multiplied, and what becomes of pixels
that fill no tile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from math import gcd, prod
from typing import Generic, Self, TypeVar

import numpy as np

from ..ir.graph import Node
from ..ir.loops import Block, Buffer, Expr, Pointer, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ops.attributes import integer
from ..ops.integer import zero_point
from .byte_operands import Columns, Pixels, unflattened
from .contraction_results import Position, Results
from .cycles import predicted_cycles
from .kernel import KernelContext
from .nibble_weights import PIXEL_SLICE_BYTES, SLICE_BYTES, are_nibbles, slices_of
from .requantization import LIMIT, Requantization, requantization_of
from .window import Window


class Contraction(Results):
    """``columns`` [o, k] over the ``shape`` of pixels. Of a convolution in groups they are all columns, while the
    ``channels`` are those of one ``group`` of ``groups``, from channel ``first`` on, which are computed at a time. As
    many groups as ``merged`` are taken as one, whose columns have zeros where others have weights.

    Rows are ``joined`` where nothing but the pixel itself is seen. What ``limit`` and ``least`` say of a requantization
    is said in :func:`requantization_of`.

    Where weights are ``nibbles`` and take much memory when unpacked, slices of the output's channels are groups that
    all see the whole input.
    """

    unpacks = True
    """Whether weights may be nibbles in flash."""
    together: tuple[Contraction, ...] = ()
    """Others of as many pixels that see the same of the input, so that it is staged once for all."""

    def __init__(
        self, ctx: KernelContext, *, merged: int = 1, joined: bool = True, limit: int = LIMIT, least: int | None = -128
    ) -> None:
        node, weights = ctx.contraction
        assert weights is not None
        self.ctx, self.node, self.names = ctx, node, ctx.names
        self.joined = joined
        self.groups = number_of_groups(node) // merged
        pixels, operands = self._pixels(), self._operands(weights)
        self.shape, self.window, self.refs = pixels.shape, pixels.window, pixels.refs
        self.x, self.y = self.refs[node.operands[0].name], self.refs[ctx.output.name]
        self.columns, self.bias = _merged(operands.weights, self.window, self.groups, merged), operands.bias
        self.most = operands.most
        self.depth = self.columns.shape[1]
        self.nibbles = self.unpacks and are_nibbles(self.columns)
        if self.nibbles and self.groups == 1:
            most = PIXEL_SLICE_BYTES if self.one_pixel else SLICE_BYTES
            self.groups = slices_of(len(self.columns), self.depth + 8, most)
        self.channels = len(self.columns) // self.groups
        self.requantization = requantization_of(ctx, operands.reach, limit, least)
        self.zero = zero_point(node.attrs)
        self.group = Var(ctx.names.fresh("group")) if self.groups > 1 else as_expr(0)
        self.first = self.group * self.channels
        if number_of_groups(node) > 1:
            self.window = replace(self.window, depth=self.window.depth * merged)
            self.x = self.x.last_part(self.group * self.window.depth, self.window.depth)
        if self.groups > 1:
            self.y = self.y.last_part(self.first, self.channels)

    def inside(self, ctx: KernelContext) -> Self:
        other = super().inside(ctx)
        other.together = tuple(each.inside(ctx) for each in self.together)
        return other

    def gather(self) -> Block:
        """What brings the operand of a group where ``x`` is from then on."""
        return ()

    def _pixels(self) -> Pixels:
        return Pixels.of(self.ctx, self.node, joined=self.joined)

    def _operands(self, weights: np.ndarray) -> Columns:
        return Columns.of(self.ctx, self.node, weights)

    @property
    def parts(self) -> list[slice]:
        """The columns of each group."""
        return [slice(group * self.channels, (group + 1) * self.channels) for group in range(self.groups)]

    def settle(self) -> None:
        """Has results that are always the same as biases (:func:`settled`)."""
        if self.requantization is not None:
            operands, self.requantization = settled(self.operands, self.requantization)
            self.columns, self.bias = operands.weights, operands.bias

    @property
    def operands(self) -> Columns:
        return Columns(self.columns, self.bias, self.most)

    def padded_columns(self, unit: int) -> np.ndarray:
        """The columns as bytes, with zeros up to a multiple of ``unit`` behind."""
        out = np.zeros((len(self.columns), -(-self.depth // unit) * unit), np.int8)
        out[:, : self.depth] = self.columns
        return out


def settled(operands: Columns, rq: Requantization) -> tuple[Columns, Requantization]:
    """Channels with the same result whatever the activations are (dead ones, whose scale may be tiny and whose bias
    huge) get that result as their bias, in steps of 1/1024, which have a factor for every shift."""
    lowest, highest = (rq.result(np.clip(bound, -(2**31), 2**31 - 1)) for bound in operands.bounds)
    constant = lowest == highest
    weights = np.where(constant[:, None], 0, operands.weights)
    bias = np.where(constant, 1024 * (lowest - rq.zero_point), operands.bias)
    scale = np.where(constant, np.float32(1 / 1024), rq.scale)
    return replace(operands, weights=weights, bias=bias), replace(rq, scale=scale)


def number_of_groups(anchor: Node) -> int:
    return integer(anchor.attrs, "group") if "group" in anchor.attrs else 1


def merges(anchor: Node, most: int) -> list[int]:
    """How many groups of a convolution may be taken as one that sees at most so many channels, or what one sees."""
    groups = number_of_groups(anchor)
    if groups == 1:
        return [1]
    largest = max(1, most // anchor.operands[1].shape[-1])
    return [count for count in range(1, min(groups, largest) + 1) if groups % count == 0]


def _merged(columns: np.ndarray, window: Window, groups: int, merged: int) -> np.ndarray:
    """Columns [o, taps * depth] of groups of ``depth`` channels as those of ``groups`` of ``merged`` times as many."""
    if merged == 1:
        return columns
    split = columns.reshape(groups, merged, -1, columns.shape[1] // window.depth, window.depth)
    out = np.zeros((*split.shape[:-1], merged, window.depth), columns.dtype)
    for part in range(merged):
        out[:, part, :, :, part] = split[:, part]
    return out.reshape(len(columns), -1)


class Remainder(Enum):
    """What becomes of pixels that fill no tile."""

    SHORTER = "a last, shorter tile"
    OVERLAP = "the last tile begins earlier; what was finished before stays"
    SINGLE = "one by one"
    JOINED = "those of several rows are tiles"


Work = TypeVar("Work", bound=Results)


class Tiling(Generic[Work]):
    """How a core's block works on one contraction, in tiles of ``pixels``.

    ``rows``: tiles keep to rows of the output. Otherwise they run over all pixels where rows do not divide, unless
    their results have to be ``neighbours`` in memory and the output has gaps.
    """

    pixels: int
    remainder = Remainder.SHORTER
    rows = False
    neighbours = False

    def __init__(self, work: Work) -> None:
        self.work = work

    def prepare(self) -> Block:
        """What is done once, before any pixel."""
        return ()

    def enter(self, position: Sequence[Expr]) -> Block:
        """What is done at the beginning of a run of pixels (a row of the output at ``position``, or all)."""
        return ()

    def tile(self, position: Position, count: int, first: Expr, again: Expr | None) -> Block:
        """Stages and multiplies ``count`` pixels, the first of which has the number ``first`` in its run, and finishes
        them but for the ``again`` that were finished before."""
        raise NotImplementedError

    # ---- loops

    def emit(self) -> Block:
        if self.remainder is Remainder.JOINED:
            block = self._rows_together()
            return self.work.over_groups((*self.prepare(), *block))
        shape = self.work.shape
        dense = self.work.y.dense or not self.neighbours
        nested = self.rows or len(shape) == 1 or shape[-1] % self.pixels == 0 or not dense
        self.in_rows = self.rows or len(shape) == 1 or shape[-1] % self.pixels == 0
        self.flat = not nested
        outer = [Var(self.work.names.fresh("o")) for _ in shape[:-1]] if nested else []
        lead = tuple(as_expr(0) if extent == 1 else var for var, extent in zip(outer, shape))

        def positions(first: Expr) -> Position:
            if nested:
                return lambda slot: (*lead, first + slot)
            return lambda slot: unflattened(first + slot, shape)

        block = (*self.enter(lead), *self._run(shape[-1] if nested else prod(shape), positions))
        for var, extent in reversed(list(zip(outer, shape))):
            block = loop(var, extent, *block)
        return self.work.over_groups((*self.prepare(), *block))

    def _rows_together(self) -> Block:
        """As many rows at a time as leave whole tiles."""
        *outer, rows, columns = self.work.shape
        lead, step = [Var(self.work.names.fresh("o")) for _ in outer], Var(self.work.names.fresh("rows"))
        together = rows_of_whole_tiles(columns, self.pixels)
        block = loop(step, rows // together, *self._some_rows(lead, step * together, together))
        for var, extent in reversed(list(zip(lead, outer))):
            block = loop(var, extent, *block)
        return block

    def _some_rows(self, lead: Sequence[Expr], first: Expr, rows: int) -> Block:
        """``rows`` rows from one on: the whole tiles of each, then those of what is left of all."""
        size, (row, n) = self.pixels, (Var(self.work.names.fresh(stem)) for stem in ("row", "tile"))
        full, rest = divmod(self.work.shape[-1], size)

        def in_row(slot: Expr) -> tuple[Expr, ...]:
            return (*lead, first + row, n * size + slot)

        def left(number: Expr) -> Position:
            return lambda slot: (*lead, first + (number + slot) // rest, (number + slot) % rest + full * size)

        self.in_rows = True
        block = loop(row, rows, *loop(n, full, *self.tile(in_row, size, n * size, None)))
        self.in_rows = False
        end = Var(self.work.names.fresh("end"))
        return (*block, *loop(end, rows * rest // size, *self.tile(left(end * size), size, as_expr(0), None)))

    def _run(self, pixels: int, positions: Callable[[Expr], Position]) -> Block:
        """All tiles of a run of neighbours."""
        size, n = self.pixels, Var(self.work.names.fresh("tile"))
        full, rest = divmod(pixels, size)

        def tile(first: Expr, count: int, again: Expr | None = None) -> Block:
            return self.tile(positions(first), count, first, again)

        if rest and self.remainder is Remainder.OVERLAP:
            again = n // full * (size - rest)
            return loop(n, full + 1, *tile(n * size - again, size, again))
        block = loop(n, full, *tile(n * size, size)) if full else ()
        if not rest:
            return block
        if self.remainder is Remainder.SINGLE:
            left = Var(self.work.names.fresh("rest"))
            return (*block, *loop(left, rest, *tile(left + full * size, 1)))
        return (*block, *tile(as_expr(full * size), rest))


def rows_of_whole_tiles(columns: int, pixels: int) -> int:
    """How many rows, of what is left of whose columns by tiles of ``pixels``, fill tiles."""
    return pixels // gcd(columns, pixels)


def lower_by_cheapest(ways: Sequence[tuple[Work, Callable[[Work], Tiling[Work]]]]) -> Block:
    """The loops of the tiling of a contraction that was decided on, or is predicted to take the fewest cycles."""

    def cycles(way: tuple[Work, Callable[[Work], Tiling[Work]]]) -> float:
        work, tiling = way
        return predicted_cycles(tiling(work.trial()).emit(), work.ctx.cpu)

    decided = ways[0][0].ctx.form(len(ways))
    if decided is not None:
        work, best = ways[decided]
    else:
        work, best = ways[0] if len(ways) == 1 else min(ways, key=cycles)
    return best(work).emit()


def rows_of(buffer: Buffer, count: int) -> tuple[Pointer, ...]:
    """The beginnings of the first rows of a matrix."""
    return tuple(Pointer(buffer, (as_expr(row), as_expr(0))) for row in range(count))
