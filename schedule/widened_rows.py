"""Contractions of bytes whose activations become halfwords once, ahead of the products with all columns.

CPUs that multiply halfwords in pairs take four bytes of a row apart in every block of columns. Where there are many
columns it is less work to widen what a panel of results reads into a temporary, from which halfwords are multiplied::

    for each panel of results
      wide[...] = halfwords of the bytes that they read
      for each block of columns
        the products of wide and the weights

A panel is some neighbouring results along one dimension, and all of the dimensions behind it; it is of a size that
caches keep, and as large as that allows, for all weights are read once for each panel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from math import ceil, prod

import numpy as np

from ..ir.build import load, store
from ..ir.loops import INDEX, Block, Expr, Type, Var
from ..ir.loops_rewrite import loop, loop_index
from ..ir.types import DType
from ..ops.attributes import integer
from ..ops.integer import BYTES, sum_shift
from ..record import record
from ..targets.target import Cpu, Dot
from .blocking import Axis, Blocking, Product, Region, pieces
from .byte_operands import Pixels
from .contraction import PackedWeights, is_conv, is_matmul
from .contraction_loops import contraction_block
from .dots import PAIRS, usable_dots
from .kernel import KernelContext
from .microkernel import Contraction
from .sums import Sums
from .vectorize import stripes
from .winograd_choice import WORTH, tile_lanes

WIDENED = DType.I16
_COPIED = 0.15
"""Cycles that an element takes on its way to the temporary."""
_SURE = 0.98
"""The share of the cycles of bytes above which an estimate is not trusted to be better."""
_FEWEST_ROWS = 8
"""Below, weights are read once, and better as bytes."""
_PAIR = 2
_LINE = 64
"""Bytes of a line of a cache."""


@record
class Dim:
    """A dimension of ``extent`` results, each of which reads ``taps`` elements ``dilation`` apart, from ``stride``
    times its place minus ``pad`` on. The temporary has no elements between those of single taps."""

    extent: int
    taps: int = 1
    stride: int = 1
    dilation: int = 1
    pad: int = 0

    @property
    def step(self) -> int:
        """Elements of the temporary between those of neighbouring results."""
        return 1 if self.taps == 1 else self.stride

    def read(self, results: int) -> int:
        """Elements of the temporary for so many neighbouring results."""
        return (results - 1) * self.step + (self.taps - 1) * self.dilation + 1

    def source(self, first: Expr, element: Expr) -> Expr:
        """Where an ``element`` of the temporary for results from ``first`` on is in the input."""
        if self.taps == 1:
            return (first + element) * self.stride - self.pad
        return first * self.stride + element - self.pad


@record
class Problem:
    """Sums over the taps of ``dims`` and ``depth`` channels, for ``columns`` channels of each ``group``."""

    dims: tuple[Dim, ...]
    group: int
    depth: int
    columns: int

    @property
    def folded(self) -> bool:
        """Whether taps along the last dimension and their channels are neighbours in the temporary."""
        return self.group == 1 and self.dims[-1].dilation == 1

    @property
    def k(self) -> tuple[int, ...]:
        """Extents of what is summed."""
        *outer, last = (dim.taps for dim in self.dims)
        return (*outer, last * self.depth) if self.folded else (*outer, last, self.depth)

    @property
    def channels(self) -> int:
        """Of all groups."""
        return self.group * self.depth

    def between(self, cpu: Cpu) -> int:
        """Elements of the temporary from those of a place along the last dimension to those of the next: a line of the
        cache more than there are channels where neighbouring rows would evict each other."""
        apart = self.dims[-1].taps > 1 or cpu.sets is None or WIDENED.size * self.channels % (cpu.sets.period // 2)
        return self.channels if apart else self.channels + _LINE // WIDENED.size

    @property
    def read(self) -> int:
        """Elements of the temporary for all results."""
        return prod(dim.read(dim.extent) for dim in self.dims) * self.channels

    @property
    def weights(self) -> int:
        """How many there are."""
        return prod(self.k) * self.columns * self.group


@record
class Panels:
    """``size`` results along dimension ``axis`` make a panel, by ``product``; all of them take so many ``cycles``."""

    axis: int
    size: int
    product: Product
    cycles: float


def is_widened(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` or ``matmul`` of bytes with constant weights on a CPU that would take them apart
    for products of halfwords, and has memory for them."""
    node, weights = ctx.contraction
    if weights is None or weights.dtype != np.int8 or node.operands[0].dtype not in BYTES or sum_shift(node.attrs):
        return False
    if ctx.by_rows or ctx.cpu.compact or not ctx.cpu.ample_ram or not _dots(ctx.cpu):
        return False
    by_bytes = (dot for dot in usable_dots(ctx.cpu, node.operands[0].dtype, weights.dtype) if dot.lanes > 1)
    if any(dot.parts == 1 for dot in by_bytes) or prod(node.output.shape[:-1]) < _FEWEST_ROWS:
        return False
    if not node.output.type.size or 0 in weights.shape:
        return False
    fits = is_conv(ctx) if node.op == "conv" else is_matmul(ctx) and weights.ndim == 2
    return fits and _problem(ctx, _pixels(ctx)).k[-1] >= _PAIR


def widened_cost(ctx: KernelContext) -> float:
    """The cycles in proportion to those of products of bytes; infinite where the difference is too small to be sure.
    Fewer multiplications are better than faster ones, whatever this share: Winograd's algorithm is taken for less where
    it is taken at all."""
    problem, (node, weights) = _problem(ctx, _pixels(ctx)), ctx.contraction
    assert weights is not None
    dots = usable_dots(ctx.cpu, node.operands[0].dtype, weights.dtype)
    share = choose_panels(ctx.cpu, problem).cycles / _by_bytes(ctx.cpu, problem, dots)
    return max(share, WORTH) if share < _SURE else float("inf")


def lower_widened(ctx: KernelContext) -> Block:
    """``conv`` or ``matmul``, for which :func:`is_widened` holds."""
    return _WidenedRows(ctx).emit()


# ---------------------------------------------------------------- what it costs


@lru_cache(maxsize=1024)
def choose_panels(cpu: Cpu, problem: Problem) -> Panels:
    """The panels of the fewest estimated cycles."""
    return min(_possible(cpu, problem), key=lambda panels: panels.cycles)


def _possible(cpu: Cpu, problem: Problem) -> Iterator[Panels]:
    """Cut along one of the last two dimensions, into more and more panels."""
    for axis in range(max(0, len(problem.dims) - 2), len(problem.dims)):
        count, extent = 1, problem.dims[axis].extent
        while count <= extent:
            yield _panels(cpu, problem, axis, ceil(extent / count))
            count *= 2


def _panels(cpu: Cpu, problem: Problem, axis: int, size: int) -> Panels:
    """Panels of about ``size`` results, in whole blocks of rows."""
    dims, last = problem.dims, len(problem.dims) - 1
    pitch = WIDENED.size * problem.between(cpu) * dims[-1].step
    product = Product(_dots(cpu), dims[-1].extent, problem.columns, problem.k, problem.group, pitch=pitch)
    blocking = product.cheapest(cpu)
    if axis == last:
        size = min(ceil(size / blocking.rows) * blocking.rows, dims[-1].extent)
    product = replace(product, rows=size if axis == last else dims[-1].extent)
    passes = prod(dim.extent for dim in dims[:axis]) * ceil(dims[axis].extent / size)
    elements = prod(dim.read(1) for dim in dims[:axis]) * dims[axis].read(size)
    elements *= prod(dim.read(dim.extent) for dim in dims[axis + 1 :]) * problem.channels
    panel, weights = WIDENED.size * elements, WIDENED.size * problem.weights
    width = blocking.vectors * blocking.dot.lanes
    again = ceil(problem.columns / width)
    times = prod(dim.extent for dim in dims[:-1]) * dims[-1].extent / product.rows
    cycles = times * product.cycles(cpu, blocking) + passes * elements * _COPIED
    cycles += passes * (weights * _per_byte(cpu, weights + panel) + again * panel * _per_byte(cpu, panel))
    return Panels(axis, size, product, cycles)


def _by_bytes(cpu: Cpu, problem: Problem, dots: tuple[Dot, ...]) -> float:
    """The cycles of products of bytes."""
    rows, outer = problem.dims[-1].extent, prod(dim.extent for dim in problem.dims[:-1])
    product = Product(dots, rows, problem.columns, problem.k, outer * problem.group)
    weights = WIDENED.size * problem.weights
    rate = _per_byte(cpu, weights + problem.read)
    return product.cycles(cpu, product.cheapest(cpu)) + weights * rate


def _per_byte(cpu: Cpu, size: int) -> float:
    """Cycles for each byte of ``size`` bytes that are read in turn."""
    slow = [1 / cpu.sets.refill] if cpu.sets is not None and size > cpu.sets.size else [0.0]
    return [*slow, *(1 / cache.rate for cache in cpu.caches if size > cache.size)][-1]


def _dots(cpu: Cpu) -> tuple[Dot, ...]:
    """The multiply-accumulates of halfwords."""
    dots = usable_dots(cpu, WIDENED, np.dtype(np.int8))
    return tuple(dot for dot in dots if dot.name in PAIRS and dot.lanes > 1)


# ---------------------------------------------------------------- the loops


def _pixels(ctx: KernelContext) -> Pixels:
    return Pixels.of(ctx, ctx.contraction[0])


def _problem(ctx: KernelContext, pixels: Pixels) -> Problem:
    node, weights = ctx.contraction
    assert weights is not None
    group, window = integer(node.attrs, "group") if node.op == "conv" else 1, pixels.window
    plain = len(pixels.shape) - len(window.kernel)
    dims = [Dim(extent) for extent in pixels.shape[:plain]]
    windows = zip(
        pixels.shape[plain:], window.kernel, window.stride, window.dilation, window.pad, strict=True
    )
    return Problem((*dims, *(Dim(*each) for each in windows)), group, window.depth, node.output.shape[-1] // group)


class _WidenedRows:
    def __init__(self, ctx: KernelContext) -> None:
        self.ctx, self.names = ctx, ctx.names
        node, weights = ctx.contraction
        x = node.inputs[0]
        assert weights is not None and x is not None
        pixels = _pixels(ctx)
        self.problem, self.refs = _problem(ctx, pixels), pixels.refs
        self.x = self.refs[x.name]
        self.panels, self.between = choose_panels(ctx.cpu, self.problem), self.problem.between(ctx.cpu)
        self.blocking: Blocking = ctx.blocking(self.panels.product)
        by_k = self._k_major(weights, node.op)
        self.weights = PackedWeights(ctx, by_k, self.blocking)
        self.sums = Sums(ctx, node, by_k)
        self.bias = self.sums.starts(self.blocking)
        self.wide = ctx.temporary("wide", WIDENED, self._shape(), WIDENED.size * self.blocking.dot.lanes)

    def _k_major(self, weights: np.ndarray, op: str) -> np.ndarray:
        """Weights [O, taps..., I/g], or [I, O], as [group, k..., O/g]."""
        problem = self.problem
        columns = weights.T if op == "matmul" else weights
        return np.moveaxis(columns.reshape(problem.group, problem.columns, *problem.k), 1, -1)

    def _shape(self) -> tuple[int, ...]:
        """Of the temporary: what a panel reads, the last dimension with its channels."""
        *outer, last = self._extents(self.panels.size)
        return (*outer, last * self.between)

    def _extents(self, size: int) -> list[int]:
        """Of what ``size`` results along the axis of the panels read."""
        axis = self.panels.axis
        results = [1] * axis + [size] + [dim.extent for dim in self.problem.dims[axis + 1 :]]
        return [dim.read(count) for dim, count in zip(self.problem.dims, results, strict=True)]

    def emit(self) -> Block:
        return self.ctx.loops(self._loops, _WidenedRows, self.panels, self.blocking, self.bias)

    def _loops(self) -> Block:
        dims, axis = self.problem.dims, self.panels.axis
        outer = [Var(self.names.fresh("o")) for _ in dims[:axis]]
        block: Block = ()
        for start, count, size in pieces(dims[axis].extent, self.panels.size):
            panel = Var(self.names.fresh("panel"))
            base = loop_index(panel, count) * size + start
            block += loop(panel, count, *self._widen(outer, base, size), *self._products(outer, base, size))
        for var, dim in reversed(list(zip(outer, dims[:axis], strict=True))):
            block = loop(var, dim.extent, *block)
        return block

    def _widen(self, outer: Sequence[Expr], base: Expr, size: int) -> Block:
        """What ``size`` results from ``base`` on read, as halfwords."""
        dims, extents, channels = self.problem.dims, self._extents(size), self.problem.channels
        firsts = [*outer, base, *(INDEX(0) for _ in dims[len(outer) + 1 :])]
        last = dims[-1]
        if self.x.buffer.shape[-1] == channels == self.between and (last.taps > 1 or last.stride == 1):
            extents, channels = [*extents[:-1], 1], channels * extents[-1]  # neighbours in memory
        counters = [Var(self.names.fresh("e")) for _ in extents]
        where = [dim.source(first, at) for dim, first, at in zip(dims, firsts, counters, strict=True)]
        body: Block = ()
        for start, trips, lanes in stripes(channels, tile_lanes(self.ctx.cpu, WIDENED)):
            var = Var(self.names.fresh("c"))
            element = loop_index(var, trips) * lanes + start
            loaded = self._bytes(where, element, lanes)
            index = (*counters[:-1], counters[-1] * self.between + element)
            body += loop(var, trips, store(self.wide[index], Type(WIDENED, lanes)(loaded)))
        for counter, extent in reversed(list(zip(counters, extents, strict=True))):
            body = loop(counter, extent, *body)
        return body

    def _bytes(self, where: Sequence[Expr], element: Expr, lanes: int) -> Expr:
        """``lanes`` bytes from the ``element`` on that is so far behind the first channel at ``where``."""
        buffer = self.x.buffer
        *at, column, channel = self.x.at((*where, INDEX(0)))
        *lead, width, channels = buffer.shape
        flat = replace(buffer, shape=(*lead, width * channels))
        return load(flat, *at, column * channels + channel + element, lanes=lanes)

    def _products(self, outer: Sequence[Expr], base: Expr, size: int) -> Block:
        """The results of a panel."""
        problem, axis, names = self.problem, self.panels.axis, self.names
        results = [size, *(dim.extent for dim in problem.dims[axis + 1 :])]
        *inner, row = (Axis(Var(names.fresh("r")), extent) for extent in results)
        group = Axis(Var(names.fresh("g")), problem.group)
        k = tuple(Axis(Var(names.fresh("k")), extent) for extent in problem.k)
        local = [*(INDEX(0) for _ in outer), *(each.var for each in (*inner, row))]
        position: list[Expr] = [*outer, *(each.var for each in inner)]

        def absolute(column: Expr) -> Expr:
            return group.var * problem.columns + column

        def weight(region: Region, block: Expr, vector: int) -> Expr:
            return self.weights.load(region, (group.var, block, *(each.var for each in k)), vector)

        def finish(r: Expr, column: Expr, value: Expr, lanes: int, active: int) -> Block:
            place = [*position, r]
            place[axis] = place[axis] + base
            return self.ctx.store_vector(
                lambda c: (*place, c), absolute(column), self.sums.result(value), active, self.refs
            )

        spec = Contraction(
            (group, *inner), row, problem.columns, k, self._activation(local, [each.var for each in k], group.var),
            weight, lambda column, lanes, active: self.bias.load(absolute(column), lanes, active), finish, packed=True,
        )  # fmt: skip
        return contraction_block(spec, self.blocking, names)

    def _activation(self, results: Sequence[Expr], k: Sequence[Expr], group: Expr) -> Expr:
        """The element of the temporary under ``k`` for a result of the panel."""
        dims, depth = self.problem.dims, self.problem.depth
        *outer, last = (at * dim.step for at, dim in zip(results, dims, strict=True))
        where = [at + tap * dim.dilation for at, tap, dim in zip(outer, k, dims)]
        if self.problem.folded:
            return self.wide[*where, last * self.between + k[-1]]
        column = last + k[-2] * dims[-1].dilation
        return self.wide[*where, column * self.between + group * depth + k[-1]]
