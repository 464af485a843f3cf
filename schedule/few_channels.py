"""Convolutions of bytes with few weights, as those of an image of one channel, on cores that go one instruction after
the other: products are written out, with weights as literals.

    for oh, ow, oc:                            for oh in rows with the same taps, ow likewise, four at a time:
      acc = bias[oc]                             the elements under four windows, each once
      for the taps that are inside, ic:    ->    y[oh, ow, oc] = f(x[...] * 3 + x[...] * -7 + ...)
        acc += (x[...] - z) * w[...]
      y[oh, ow, oc] = f(acc)

Where several channels of the output see several of the input, two of these are multiplied at a time.

Contractions by block instructions stage the activations of each pixel, which takes longer than so few products.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from ..blocks.common import halves, requantized_fixed
from ..ir.loops import I32, Block, Call, Expr, Let, Stmt, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ops.integer import zero_point
from ..ops.windows_nest import window_dims
from ..record import record
from .byte_anchors import is_byte_contraction
from .byte_operands import Columns
from .kernel import KernelContext
from .requantization import Fixed, Requantization, fixed_form, requantization_of
from .sum_pool import MOST_LOOPS, WindowRun, window_runs

MOST_WEIGHTS = 18
"""For which registers are left."""
TOGETHER = 4
"""Neighbouring outputs, whose windows share what they load, and which share a branch."""
PAIR = "dot2_i16i16"
"""Two products, of two channels of the input that are brought into one word for all channels of the output."""


def is_few_channels(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` of int8 with few constant weights and borders, of an input that is there as a
    whole, and an exact requantization by upper words of products behind it."""
    if not is_byte_contraction(ctx) or not ctx.cpu.pipeline.in_order or "mul_high" not in ctx.cpu.features:
        return False
    anchor, weights = ctx.contraction
    assert weights is not None
    if weights.size > MOST_WEIGHTS or ctx.by_rows:
        return False
    runs = prod(len(window_runs(dim)) for dim in window_dims(anchor, weights.shape[1:-1]))
    return runs <= MOST_LOOPS and _numbers(ctx, Columns.of(ctx, anchor, weights)) is not None


def _numbers(ctx: KernelContext, operands: Columns) -> tuple[Requantization, Fixed] | None:
    rq = requantization_of(ctx, operands.reach)
    fixed = None if rq is None else fixed_form(rq, *operands.bounds, 0)
    return None if rq is None or fixed is None else (rq, fixed)


def lower_few_channels(ctx: KernelContext) -> Block:
    """``conv``, for which :func:`is_few_channels` holds."""
    return _FewChannels(ctx).emit()


@record
class _Row:
    """A row of taps: their numbers along the dimensions before the last, and the place of the row in the input."""

    taps: tuple[int, ...]
    place: tuple[Expr, ...]


class _FewChannels:
    def __init__(self, ctx: KernelContext) -> None:
        node, weights = ctx.contraction
        assert weights is not None
        self.ctx, self.node, self.names, self.weights = ctx, node, ctx.names, weights.astype(np.int64)
        self.x, self.zero = ctx.refs[node.operands[0].name], zero_point(node.attrs)
        operands = Columns.of(ctx, node, weights)
        self.bias = operands.bias + self.zero * operands.weights.sum(axis=1)
        found = _numbers(ctx, operands)
        assert found is not None
        self.requantization, self.fixed = found
        self.dims = window_dims(node, weights.shape[1:-1])
        self.factors = ctx.pack("factors", self.fixed.factors.astype(np.int32))
        self.shared = weights.shape[-2] > self.dims[-1].stride
        self.pairs = PAIR in ctx.cpu.features and len(weights) > 1

    def emit(self) -> Block:
        batches = self.node.output.shape[0]
        n = Var(self.names.fresh("n"))
        batch = as_expr(0) if batches == 1 else n
        return loop(n, batches, *self._along((batch,), [_Row((), (batch,))]))

    def _along(self, position: tuple[Expr, ...], rows: list[_Row]) -> Block:
        """The next dimension: ``position`` is the beginning of an output's place, ``rows`` of those of its taps."""
        number = len(position) - 1
        dim, out = self.dims[number], list[Stmt]()
        for run in window_runs(dim):
            if number == len(self.dims) - 1:
                out.extend(self._run(position, rows, run))
                continue
            var = Var(self.names.fresh("o"))
            place = as_expr(run.start) if run.extent == 1 else var + run.start
            longer = [
                _Row((*row.taps, tap), (*row.place, place * dim.stride + (tap * dim.dilation - dim.pad)))
                for row, tap in product(rows, run.taps)
            ]
            out.extend(loop(var, run.extent, *self._along((*position, place), longer)))
        return tuple(out)

    def _run(self, position: Sequence[Expr], rows: list[_Row], run: WindowRun) -> Block:
        """Neighbouring outputs, some together."""
        whole, rest = divmod(run.extent, TOGETHER)
        out: Block = ()
        for start, trips, count in ((run.start, whole, TOGETHER), (run.start + whole * TOGETHER, rest, 1)):
            var = Var(self.names.fresh("o"))
            first = var * count + start if trips > 1 else as_expr(start)
            if trips:
                shared = count if self.shared else 1
                parts = (self._outputs(position, rows, run, first + n, shared) for n in range(0, count, shared))
                out += loop(var, trips, *(stmt for part in parts for stmt in part))
        return out

    def _outputs(
        self, position: Sequence[Expr], rows: list[_Row], run: WindowRun, first: Expr, count: int
    ) -> Block:
        """``count`` outputs from ``first`` on; what they load comes before what they store."""
        dim, loads, known, stores = self.dims[-1], list[Stmt](), dict[tuple[int, int, int], Expr](), list[Stmt]()
        sums, pairs, paired = list[Stmt](), list[Stmt](), dict[tuple[int, int, int], Expr]()

        def element(number: int, offset: int, channel: int) -> Expr:
            key = (number, offset, channel)
            if key not in known:
                known[key] = value = Var(self.names.fresh("x"), I32)
                where = (*rows[number].place, first * dim.stride + offset, as_expr(channel))
                loads.append(Let(value, I32(self.x[where])))
            return known[key]

        def pair(number: int, offset: int, channel: int) -> Expr:
            key = (number, offset, channel)
            if key not in paired:
                both = halves(element(number, offset, channel), element(number, offset, channel + 1))
                paired[key] = value = Var(self.names.fresh("pair"), I32)
                pairs.append(Let(value, both))
            return paired[key]

        in_pairs = self.weights.shape[-1] // 2 * 2 if self.pairs else 0
        for n, channel in product(range(count), range(len(self.weights))):
            taps = [
                (number, tap, self.weights[(channel, *row.taps, tap)])
                for (number, row), tap in product(enumerate(rows), run.taps)
            ]
            total: Expr = I32(int(self.bias[channel]) - self.zero * sum(int(weights.sum()) for _, _, weights in taps))
            for number, tap, weights in taps:
                offset = n * dim.stride + tap * dim.dilation - dim.pad
                for ic in range(0, in_pairs, 2):
                    both = np.ascontiguousarray(weights[ic : ic + 2].astype(np.int16)).view(np.int32)
                    total = Call(PAIR, (total, pair(number, offset, ic), I32(int(both[0]))), I32)
                for ic in range(in_pairs, len(weights)):
                    total = total + element(number, offset, ic) * int(weights[ic]) if weights[ic] else total
            acc = Var(self.names.fresh("acc"), I32)
            sums.append(Let(acc, total))
            stores.extend(self._stored((*position, first + n, as_expr(channel)), acc, channel))
        return (*loads, *pairs, *sums, *stores)

    def _stored(self, index: Sequence[Expr], acc: Expr, channel: int) -> Block:
        rq = self.requantization
        steps = requantized_fixed(acc, self.factors[as_expr(channel)], rq.zero_point, self.fixed.shift)
        return self.ctx.store_element(index, steps, done=rq.value)
