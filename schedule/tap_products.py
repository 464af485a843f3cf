"""Transposed convolutions to few channels: the products of an input with all taps, then the sums that outputs are.

By phases (``transposed_contraction.py``) columns are output channels, so that most lanes are empty where there are few
of these. Here taps are columns as well, and a second phase adds up::

    for each band of rows of the input
      P[h, w, tap, o] = sum over c of x[n, h, w, c] * W[c, tap, o]
      y[n, ..., o] = bias[o] + sum of P[h, w, tap, o] over what each output sees

P is a temporary of the call, with zeros beyond the input. Rows at the border of two bands are computed for both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from ..ir.build import all_of, ge, load, lt, store
from ..ir.loops import Block, Const, Expr, If, Type, Var
from ..ir.loops_rewrite import loop, loop_index
from ..ir.types import DType
from ..targets.target import Cpu
from .blocking import Axis, Blocking, Product, Region
from .contraction import PackedWeights
from .contraction_loops import contraction_block
from .dots import usable_dots
from .kernel import KernelContext
from .microkernel import Contraction
from .phases import Along, Phase, all_phases, has_phases, place
from .sums import Sums

MOST_CHANNELS = 8
"""Of the result: with more, the columns of phases fill vectors."""
MOST_TAPS = 32
"""That an output sees: they are added in straight code."""
WORTH = 0.9
"""The share of the phases' cycles above which an estimate is not trusted to be better."""
KEPT = 1 / 4
"""The share of the cache behind the fastest for the products of a band."""
_LINE = Along(0, 1, 1, (0,), 0)
"""A dimension of one element."""


def is_tap_products(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv_transpose`` of floats over one or two dimensions with few channels as results,
    constant weights, and phases of few taps, on a CPU that has vectors and memory."""
    node, weights = ctx.contraction
    if weights is None or ctx.by_rows or not ctx.cpu.ample_ram or max(ctx.cpu.f32_lanes) == 1:
        return False
    if node.operands[0].dtype is not DType.F32 or weights.ndim > 4 or weights.shape[-1] > MOST_CHANNELS:
        return False
    if not has_phases(node, weights):
        return False
    return max(prod(len(each.taps) for each in phase) for phase in all_phases(node, weights)) <= MOST_TAPS


def tap_products_cost(ctx: KernelContext) -> float:
    """The cycles in proportion to those of the phases; infinite where the difference is too small to be sure."""
    node, weights = ctx.contraction
    assert weights is not None
    phases = tuple(all_phases(node, weights))
    share = _relative_cost(ctx.cpu, phases, node.operands[0].shape, weights.shape)
    return share if share < WORTH else float("inf")


@lru_cache(maxsize=256)
def _relative_cost(cpu: Cpu, phases: tuple[Phase, ...], x: tuple[int, ...], weights: tuple[int, ...]) -> float:
    depth, *kernel, channels = weights
    dots = usable_dots(cpu, DType.F32)
    apart = together = 0.0
    for phase in phases:
        outputs, taps = [each.outputs for each in phase], [len(each.taps) for each in phase]
        *above, along = taps
        direct = Product(dots, outputs[-1], channels, (*above, along * depth), x[0] * prod(outputs[:-1]))
        apart += direct.cycles(cpu, direct.cheapest(cpu))
        together += x[0] * prod(outputs) * channels * (prod(taps) + 1) / cpu.pipeline.loads
    columns = prod(kernel) * channels
    whole = Product(dots, x[-2], columns, (depth,), prod(x[:-2]))
    together += whole.cycles(cpu, whole.cheapest(cpu)) + prod(x[:-1]) * columns / max(cpu.f32_lanes)
    return together / apart


def lower_tap_products(ctx: KernelContext) -> Block:
    """``conv_transpose``, for which :func:`is_tap_products` holds."""
    return _TapProducts(ctx).emit()


@dataclass(frozen=True)
class _Band:
    """``rows`` of each phase and ``count`` bands of them, which see ``before`` rows above these and ``after`` below;
    and the same of the width, which is seen as a whole."""

    rows: int
    count: int
    before: tuple[int, int]
    after: tuple[int, int]


class _TapProducts:
    def __init__(self, ctx: KernelContext) -> None:
        self.ctx, self.names = ctx, ctx.names
        node, weights = ctx.contraction
        assert weights is not None
        self.node, x = node, node.inputs[0]
        assert x is not None
        self.depth, *self.kernel, self.channels = weights.shape
        self.x, self.images = ctx.refs[x.name], x.shape[0]
        self.planes = len(self.kernel) == 2
        self.height, self.width = x.shape[-3] if self.planes else 1, x.shape[-2]
        self.phases = [phase if self.planes else (_LINE, *phase) for phase in all_phases(node, weights)]
        matrix = weights.reshape(self.depth, -1)
        self.columns = matrix.shape[1]
        self.blocking: Blocking = ctx.blocking(
            Product(usable_dots(ctx.cpu, DType.F32), self.width, self.columns, (self.depth,), prod(x.shape[:-2]))
        )
        self.lanes = self.blocking.dot.lanes
        self.weights = PackedWeights(ctx, matrix[None], self.blocking)
        self.bias = Sums(ctx, node, np.zeros((1, 1, self.channels), np.float32)).starts(self.blocking)
        self.pitch = -(-self.columns // self.lanes) * self.lanes
        self.band = self._band()
        rows, columns = self.band.rows + self.band.before[0] + self.band.after[0], self._wide
        self.products = ctx.temporary("products", DType.F32, (rows, columns, self.pitch), 4 * self.lanes)

    @property
    def _wide(self) -> int:
        return self.band.before[1] + self.width + self.band.after[1]

    def _band(self) -> _Band:
        before, after = [0, 0], [0, 0]
        for phase in self.phases:
            for d, (each, extent) in enumerate(zip(phase, (self.height, self.width), strict=True)):
                beyond = each.outputs - 1 + len(each.taps) - each.pad - (extent if d else each.outputs)
                before[d], after[d] = max(before[d], each.pad), max(after[d], beyond)
        outputs = max(phase[0].outputs for phase in self.phases)
        row = (before[1] + self.width + after[1]) * self.pitch * DType.F32.size
        most = max(1, int(self.ctx.cpu.caches[0].size * KEPT) // row - before[0] - after[0])
        count = -(-outputs // most)
        return _Band(-(-outputs // count), count, (before[0], before[1]), (after[0], after[1]))

    def emit(self) -> Block:
        return self.ctx.loops(self._loops, _TapProducts, self.blocking, self.bias, tuple(self.phases))

    def _loops(self) -> Block:
        image, band = Var(self.names.fresh("n")), Var(self.names.fresh("band"))
        n, first = loop_index(image, self.images), loop_index(band, self.band.count) * self.band.rows
        row = Var(self.names.fresh("r"))
        h = first + row - self.band.before[0]
        inside = all_of((ge(h, 0), lt(h, self.height)))
        assert inside is not None
        rows = loop(row, self.products.shape[0], If(inside, self._row(n, h, row), self._zeros(row, 0, self._wide)))
        body = (*rows, *(stmt for phase in self.phases for stmt in self._sums(n, first, phase)))
        return loop(image, self.images, *loop(band, self.band.count, *body))

    def _row(self, n: Expr, h: Expr, row: Expr) -> Block:
        """The products of a row of the input, and zeros on both sides."""
        column, k = Axis(Var(self.names.fresh("w")), self.width), Axis(Var(self.names.fresh("k")), self.depth)
        left = self.band.before[1]

        def weight(region: Region, block: Expr, vector: int) -> Expr:
            return self.weights.load(region, (Const(0, k.var.type), block, k.var), vector)

        def start(place: Expr, lanes: int, active: int) -> Expr:
            return Type(DType.F32, lanes)(0)

        def finish(w: Expr, place: Expr, value: Expr, lanes: int, active: int) -> Block:
            return (store(self.products[row, w + left, place], value),)

        where = (n, h, column.var, k.var) if self.planes else (n, column.var, k.var)
        spec = Contraction((), column, self.columns, (k,), self.x[where], weight, start, finish, packed=True)
        sides = (*self._zeros(row, 0, left), *self._zeros(row, left + self.width, self.band.after[1]))
        return (*sides, *contraction_block(spec, self.blocking, self.names))

    def _zeros(self, row: Expr, first: int, count: int) -> Block:
        w, v = Var(self.names.fresh("z")), Var(self.names.fresh("v"))
        vectors = self.pitch // self.lanes
        place = (row, loop_index(w, count) + first, loop_index(v, vectors) * self.lanes)
        nothing = store(self.products[place], Type(DType.F32, self.lanes)(0))
        return loop(w, count, *loop(v, vectors, nothing)) if count else ()

    def _sums(self, n: Expr, first: Expr, phase: Phase) -> Block:
        """The outputs of a phase in a band."""
        tall, wide = phase
        row, column = Var(self.names.fresh("oh")), Var(self.names.fresh("ow"))
        y = first + loop_index(row, self.band.rows)
        x = loop_index(column, wide.outputs)
        body: Block = ()
        for channel in range(self.channels):
            total = self.bias.load(Const(channel, row.type), 1, 1)
            for (i, kh), (j, kw) in product(enumerate(tall.taps), enumerate(wide.taps)):
                at = (
                    loop_index(row, self.band.rows) + (i - tall.pad + self.band.before[0]),
                    x + (j - wide.pad + self.band.before[1]),
                    (kh * self.kernel[-1] + kw) * self.channels + channel,
                )
                total = total + load(self.products, *at)
            real, position = (phase, (n, y, x)) if self.planes else (phase[1:], (n, x))
            body += self.ctx.store_element((*place(real, position), Const(channel, row.type)), total)
        body = loop(column, wide.outputs, *body)
        if self.band.rows * self.band.count > tall.outputs:
            body = (If(lt(y, tall.outputs), body),)
        return loop(row, self.band.rows, *body)
