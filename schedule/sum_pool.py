"""Sums of windows of bytes (average pooling) on cores that go one instruction after the other.

    for oh, ow, c:                                   for oh in rows with the same taps, ow likewise:
      for the taps that are inside:                    for c:
        acc += x[...] - zero_point            ->         y[oh, ow, c] = f(x[...] + x[...] + ...)
      y[oh, ow, c] = f(acc)

Windows at borders have loops of their own, in which taps are known and what a sum is divided by is a constant. The zero
point is taken off once, where a ``rescale_sum`` follows in its bias. Cores with packed arithmetic add the bytes of four
channels to two words with two halfwords each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce as fold
from itertools import groupby, product
from math import prod
from operator import add

import numpy as np

from ..ir.build import store
from ..ir.graph import Node, Value
from ..ir.loops import I16, I32, Bitcast, Block, Call, Const, Expr, Let, Load, Stmt, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..ops.attributes import ints
from ..ops.integer import zero_point
from ..ops.windows_nest import WindowDim, window_dims
from ..record import record
from .body import Body
from .kernel import KernelContext

MOST_LOOPS = 16
"""Each has code of its own."""
MOST_TAPS = 49
"""That are written out."""
WORD = 4

Position = tuple[Expr, ...]
"""The beginning of an index: all dimensions but the channels, in the end."""


@record
class WindowRun:
    """Neighbouring outputs along a dimension, from ``start`` on, whose windows have the same ``taps`` inside."""

    start: int
    extent: int
    taps: range


def is_sum_pool(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``pool`` that adds up bytes in memory, channels last, with few taps and borders."""
    node = ctx.anchor
    assert node is not None
    x = node.operands[0]
    if node.attrs["kind"] != "sum" or x.name not in ctx.refs or node.attrs["layout"] != "channels_last":
        return False
    if x.dtype is not DType.I8 or not ctx.cpu.pipeline.in_order or 0 in node.output.shape:
        return False
    runs = prod(len(window_runs(dim)) for dim in window_dims(node, ints(node.attrs, "kernel")))
    return runs <= MOST_LOOPS and prod(ints(node.attrs, "kernel")) <= MOST_TAPS


def lower_sum_pool(ctx: KernelContext) -> Block:
    """``pool``, for which :func:`is_sum_pool` holds."""
    assert ctx.anchor is not None
    return SumPool(ctx, ctx.anchor).emit()


def window_runs(dim: WindowDim) -> list[WindowRun]:
    """All outputs along a dimension, in order."""
    def taps(output: int) -> range:
        start = output * dim.stride - dim.pad
        inside = [tap for tap in range(dim.kernel) if 0 <= start + tap * dim.dilation < dim.size]
        return range(inside[0], inside[-1] + 1) if inside else range(0)

    grouped = [(key, list(outputs)) for key, outputs in groupby(range(dim.out), taps)]
    return [WindowRun(outputs[0], len(outputs), key) for key, outputs in grouped]


class SumPool:
    """Loops over batches and outputs, run by run; :meth:`along` makes those of a dimension and the following ones."""

    def __init__(self, ctx: KernelContext, node: Node) -> None:
        self.ctx, self.node, self.names = ctx, node, ctx.names
        self.x, self.zero = ctx.refs[node.operands[0].name], zero_point(node.attrs)
        self.dims = window_dims(node, ints(node.attrs, "kernel"))
        self.channels = node.output.shape[-1]

    def emit(self) -> Block:
        batches = self.node.output.shape[0]
        n = Var(self.names.fresh("n"))
        batch = as_expr(0) if batches == 1 else n
        return loop(n, batches, *self.along((batch,), ((batch,),), ()))

    def along(self, position: Position, window: Sequence[Position], first: tuple[int, ...]) -> Block:
        """The next dimension: ``position`` is the beginning of an output's place, ``window`` that of its taps. What is
        computed follows the order of memory."""
        number = len(first)
        if number == len(self.dims):
            return self._channels(position, window, first)
        dim, block = self.dims[number], list[Stmt]()
        for run in window_runs(dim):
            var = Var(self.names.fresh("o"))
            place = as_expr(run.start) if run.extent == 1 else var + run.start
            taps = [place * dim.stride + (tap * dim.dilation - dim.pad) for tap in run.taps]
            longer = [(*before, tap) for before in window for tap in taps]
            block.extend(loop(var, run.extent, *self.along((*position, place), longer, (*first, run.start))))
        return tuple(block)

    def _channels(self, position: Position, window: Sequence[Position], first: Sequence[int]) -> Block:
        """All channels of the output at ``position``; ``first`` is the place of the first output of the runs."""
        packed = self.channels // WORD * WORD if "widen_even_add" in self.ctx.cpu.features and window else 0
        c = Var(self.names.fresh("c"))
        block = loop(c, packed // WORD, *self._four(position, window, first, c * WORD))
        if packed < self.channels:
            taps = [I32(self.x[(*tap, c + packed)]) for tap in window]
            total = fold(add, taps) if taps else I32(0)
            body = self._finished((*position, c + packed), total, len(window), first)
            block += self.ctx.vectorized(loop(c, self.channels - packed, *body))
        return block

    def _four(
        self, position: Position, window: Sequence[Position], first: Sequence[int], c: Expr
    ) -> Block:
        """Four channels from ``c`` on: bytes 0 and 2 of words are added as halfwords, and so are bytes 1 and 3."""
        out: list[Stmt] = []
        halves: list[Expr] = []
        words = []
        for tap in window:
            word = Var(self.names.fresh("word"), I32)
            out.append(Let(word, Bitcast(I32, Load(self.x.buffer, self.x.at((*tap, c)), WORD))))
            words.append(word)
        for side in ("even", "odd"):
            total: Expr = Call(f"widen_{side}", (words[0],), I32)
            for word in words[1:]:
                total = Call(f"widen_{side}_add", (total, word), I32)
            half = Var(self.names.fresh(side), I32)
            halves.append(half)
            out.append(Let(half, total))
        for lane in range(WORD):
            element = halves[lane % 2] >> 16 if lane >= 2 else I32(I16(halves[lane % 2]))
            out.extend(self._finished((*position, c + lane), element, len(window), first))
        return tuple(out)

    def _finished(self, index: Sequence[Expr], total: Expr, taps: int, first: Sequence[int]) -> Block:
        """What follows the sum of ``taps`` elements, and the store."""
        seeds = dict(self.constants(first))
        user = self._rescaled()
        bias = None if user is None else seeds.get(user.operands[2].name)
        if user is not None and isinstance(bias, Const):
            factor = seeds[user.operands[1].name]
            assert isinstance(factor, Const)
            moved = int(bias.value) - int(factor.value) * taps * self.zero
            seeds[user.operands[2].name] = Const((moved + (1 << 31)) % (1 << 32) - (1 << 31), I32)
        elif self.zero and taps:
            total = total - taps * self.zero
        seeds[self.node.output.name] = total
        body = Body(self.ctx.body, self.ctx.refs, self.names, seeds)
        value = body.element(self.ctx.output, tuple(index))
        return (*body.lets, store(self.ctx.refs[self.ctx.output.name][index], value))

    def _rescaled(self) -> Node | None:
        """The only node that reads the sums, where it is a ``rescale_sum``."""
        users = [n for n in self.ctx.body.nodes if any(v.name == self.node.output.name for v in n.operands)]
        return users[0] if len(users) == 1 and users[0].op == "rescale_sum" else None

    def constants(self, first: Sequence[int]) -> Iterator[tuple[str, Expr]]:
        """Factors and biases, which the windows of a run share."""
        user = self._rescaled()
        for value in () if user is None else user.operands[1:]:
            array = self.ctx.constant(value)
            if array is not None and (array.size == 1 or self._of_windows(value, array)):
                whole = array.reshape((1,) * (len(first) + 2 - array.ndim) + array.shape)
                where = (0, *(0 if extent == 1 else place for place, extent in zip(first, whole.shape[1:])), 0)
                yield value.name, Const(int(whole[where]), I32)

    def _of_windows(self, value: Value, array: np.ndarray) -> bool:
        """Whether ``array`` is one number for each number of taps of a window, as what means are divided by."""
        if array.ndim != len(self.dims) + 2 or array.shape[0] != 1 or array.shape[-1] != 1:
            return False
        one = [WindowRun(0, 1, range(1))]
        runs = (window_runs(dim) if extent > 1 else one for dim, extent in zip(self.dims, array.shape[1:]))
        spatial = array.reshape(array.shape[1:-1])
        parts = (tuple(slice(run.start, run.start + run.extent) for run in part) for part in product(*runs))
        return all(np.ptp(spatial[part]) == 0 for part in parts)
