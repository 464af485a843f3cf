"""Transposed convolutions to few channels: the products of an input with all taps, then the sums that outputs are.

By phases (``transposed_contraction.py``) columns are output channels, so that most lanes are empty where there are few
of these. Here taps are columns as well, and a second phase adds up::

    for each band of rows of the output, of each row h of the input that it sees
      P[h % rows, w, tap, o] = sum over c of x[n, h, w, c] * W[c, tap, o]
      S[..., o] = bias[o] + sum of P[.., w, tap, o] over what each output sees    for the rows that have seen all now
      y[n, ..., o] = what follows the convolution, of S[..., o]

P and S are temporaries of the call, P with zeros beyond the input, and as many rows as an output sees. Rows at the
border of two bands are computed for both. What follows is computed along whole rows, in which channels and pixels lie
one behind the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from ..ir.build import all_of, ge, load, lt, store
from ..ir.loops import INDEX, Block, Const, Expr, If, Type, Var
from ..ir.loops_rewrite import loop, loop_index, row_major
from ..ir.types import DType
from ..record import record
from ..targets.target import Cpu
from .blocking import Axis, Blocking, Product, Region
from .body import table_names
from .contraction import PackedWeights
from .contraction_loops import contraction_block
from .dots import usable_dots
from .kernel import KernelContext
from .microkernel import Contraction
from .phases import Along, Phase, all_phases, has_phases
from .sums import Sums
from .tensors import TensorRef, merge_dimensions

MOST_CHANNELS = 8
"""Of the result: with more, the columns of phases fill vectors."""
MOST_TAPS = 32
"""That an output sees: they are added in straight code."""
WORTH = 0.9
"""The share of the phases' cycles above which an estimate is not trusted to be better."""
BAND = 8
"""Rows of a band, for each row that two bands compute."""
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


@record
class _Band:
    """``rows`` of each phase and ``count`` bands of them. A row of a phase sees ``before`` rows above itself and
    ``after`` below, and the whole width as many columns beyond."""

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
        self.seen = self.band.before[0] + 1 + self.band.after[0]
        self.wide = self.band.before[1] + self.width + self.band.after[1]
        align = DType.F32.size * self.lanes
        self.products = ctx.temporary("products", DType.F32, (self.seen, self.wide, self.pitch), align)
        self.tall = list(dict.fromkeys(phase[0] for phase in self.phases))
        shape = (len(self.tall), node.output.shape[-2] * self.channels)
        self.sums = ctx.temporary("sums", DType.F32, shape, align)

    def _band(self) -> _Band:
        before, after = [0, 0], [0, 0]
        for phase in self.phases:
            for d, (each, extent) in enumerate(zip(phase, (self.height, self.width), strict=True)):
                beyond = each.outputs - 1 + len(each.taps) - each.pad - (extent if d else each.outputs)
                before[d], after[d] = max(before[d], each.pad), max(after[d], beyond)
        outputs = max(phase[0].outputs for phase in self.phases)
        count = max(1, outputs // (BAND * (before[0] + after[0]))) if before[0] + after[0] else outputs
        return _Band(-(-outputs // count), count, (before[0], before[1]), (after[0], after[1]))

    def emit(self) -> Block:
        return self.ctx.loops(self._loops, _TapProducts, self.blocking, self.bias, tuple(self.phases))

    def _loops(self) -> Block:
        image, band, step = (Var(self.names.fresh(stem)) for stem in ("n", "band", "t"))
        n, first = loop_index(image, self.images), loop_index(band, self.band.count) * self.band.rows
        steps = self.band.rows + self.seen - 1
        t = loop_index(step, steps)
        h, row = first + t - self.band.before[0], t % self.seen
        inside = all_of((ge(h, 0), lt(h, self.height)))
        assert inside is not None
        products = If(inside, self._row(n, h, row), self._zeros(row, 0, self.wide))
        y = t - (self.seen - 1)
        sums: Block = tuple(stmt for phase in self.phases for stmt in self._sums(first, y, phase))
        sums += tuple(stmt for number in range(len(self.tall)) for stmt in self._results(n, first + y, number))
        if self.seen > 1:
            sums = (If(ge(y, 0), sums),)
        return loop(image, self.images, *loop(band, self.band.count, *loop(step, steps, products, *sums)))

    def _row(self, n: Expr, h: Expr, row: Expr) -> Block:
        """The products of a row of the input, and zeros on both sides."""
        column, k = Axis(Var(self.names.fresh("w")), self.width), Axis(Var(self.names.fresh("k")), self.depth)
        left = self.band.before[1]

        def weight(region: Region, block: Expr, vector: int) -> Expr:
            return self.weights.load(region, (INDEX(0), block, k.var), vector)

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

    def _sums(self, first: Expr, y: Expr, phase: Phase) -> Block:
        """S of a phase for the row ``y`` of a band that begins with the row ``first``."""
        tall, wide = phase
        column = Var(self.names.fresh("ow"))
        x = loop_index(column, wide.outputs)
        body: Block = ()
        for channel in range(self.channels):
            total = self.bias.load(Const(channel, INDEX), 1, 1)
            for (i, kh), (j, kw) in product(enumerate(tall.taps), enumerate(wide.taps)):
                at = (
                    (y + (i - tall.pad + self.band.before[0])) % self.seen,
                    x + (j - wide.pad + self.band.before[1]),
                    (kh * self.kernel[-1] + kw) * self.channels + channel,
                )
                total = total + load(self.products, *at)
            place = (x * wide.stride + wide.first) * self.channels + channel
            body += (store(self.sums[self.tall.index(tall), place], total),)
        return self._existing(first + y, tall, loop(column, wide.outputs, *body))

    def _existing(self, y: Expr, tall: Along, body: Block) -> Block:
        """``body`` for a row ``y`` of the outputs of a phase, if there is one."""
        whole = self.band.rows * self.band.count <= tall.outputs
        return body if whole else (If(lt(y, tall.outputs), body),)

    def _results(self, n: Expr, y: Expr, number: int) -> Block:
        """The row of outputs of S[number], the row ``y`` of its phases."""
        tall, (*_, extent) = self.tall[number], self.sums.shape
        refs, joined = self._joined()
        height = y * tall.stride + tall.first
        where = (n, height) if self.planes else (n,)
        if joined is not None:
            place = Var(self.names.fresh("i"))
            element = load(self.sums, number, place)
            body = loop(place, extent, *self.ctx.store_element(joined(where, place), element, refs))
        else:
            w, c = Var(self.names.fresh("i")), Var(self.names.fresh("c"))
            x, o = loop_index(w, extent // self.channels), loop_index(c, self.channels)
            element = load(self.sums, number, x * self.channels + o)
            stored = self.ctx.store_element((*where, x, o), element)
            body = loop(w, extent // self.channels, *loop(c, self.channels, *stored))
        return self._existing(y, tall, self.ctx.vectorized(body))

    def _joined(self) -> tuple[dict[str, TensorRef], Callable[[Sequence[Expr], Expr], Sequence[Expr]] | None]:
        """The tensors of the kernel with channels and pixels of a row in one dimension, and where the element ``i`` of
        a row is in it; ``None`` where memory does not allow it."""
        shape, row = self.node.output.shape, self.node.output.shape[-2] * self.channels
        used = {v.name for each in self.ctx.body.nodes if each is not self.node for v in each.operands}
        visible = (used | {self.ctx.output.name}) - table_names(self.ctx.body)
        extents, merged = merge_dimensions(shape, {name: ref for name, ref in self.ctx.refs.items() if name in visible})
        if extents[-1] % row:
            return {}, None

        def place(where: Sequence[Expr], i: Expr) -> Sequence[Expr]:
            line = row_major(where, shape[: len(where)])
            if len(extents) == 1:
                return (line * row + i,)
            if extents[-1] > row:
                return (where[0], where[1] * row + i)
            return (*where, i) if len(extents) > len(where) else (line, i)

        return {**self.ctx.refs, **merged}, place
