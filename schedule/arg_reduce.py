"""Places of extremes on machines with vectors: the extreme first, then where it is.

Along the innermost dimension lanes are neighbours of one line, which is read twice::

    for r:384                                  best  = greatest x[r*16 : 16]               over r
      if x[r] > best: best = x[r], place = r ->  place = least r*16 + (0 1 2 ...) where x[r*16 : 16] == best

Along another one lanes are neighbouring lines, and each keeps its own extreme and place. Both have the results of the
plain nest: NaN is never the extreme, and where nothing lies beyond the neutral element the first place is 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ir.build import convert, eq, ge, gt, le, load, lt, maximum, minimum, select, store
from ..ir.graph import Node
from ..ir.loops import (
    I32,
    Alloc,
    Binary,
    Block,
    Buffer,
    Expr,
    Let,
    LoopKind,
    Reduce,
    Space,
    Splat,
    Stmt,
    Type,
    Var,
    as_expr,
)
from ..ir.loops_rewrite import loop, loop_index
from ..ir.types import DType
from ..ops.attributes import integer
from ..ops.nest_tools import AxisSplit, Index, loops
from ..ops.reduction_nest import highest, lowest
from .generic import NestAdapter
from .kernel import KernelContext, has_vectors
from .vectorize import stripes
from .vectorizer import VECTOR_DTYPES

TOGETHER = 4
"""Vectors that are compared independently of each other, so that none waits for the one before."""
_NO_PLACE = np.iinfo(np.int32).max


def is_vector_arg_reduce(ctx: KernelContext) -> bool:
    """Whether the anchor is an ``arg_reduce`` of which a vector of elements can be compared at a time."""
    node = ctx.anchor
    assert node is not None
    x = node.operands[0]
    if not has_vectors(ctx) or x.dtype not in VECTOR_DTYPES - {DType.F16, DType.BOOL} or 0 in x.shape:
        return False
    return x.shape[-1] >= _widths(ctx)[-1]


def _widths(ctx: KernelContext) -> tuple[int, ...]:
    return tuple(lanes for lanes in ctx.cpu.f32_lanes if lanes > 1)


def lower_arg_reduce(ctx: KernelContext) -> Block:
    """``arg_reduce``, for which :func:`is_vector_arg_reduce` holds."""
    assert ctx.anchor is not None
    return _ArgReduce(ctx, ctx.anchor).emit()


class _ArgReduce:
    def __init__(self, ctx: KernelContext, node: Node) -> None:
        self.ctx, self.node, self.x = ctx, node, node.operands[0]
        self.axis, self.ref = integer(node.attrs, "axis"), ctx.refs[node.operands[0].name]
        self.split = AxisSplit.of(self.x, (self.axis,))
        self.greatest, self.last = node.attrs["kind"] == "max", bool(node.attrs["last"])
        self.neutral = lowest(self.x.dtype) if self.greatest else highest(self.x.dtype)
        self.pick = "max" if self.greatest else "min"

    def emit(self) -> Block:
        if self.axis < len(self.x.shape) - 1:
            return self._lines()
        lanes = max(width for width in _widths(self.ctx) if width <= self.x.shape[-1])
        self._numbers = self.ctx.pack("lanes", np.arange(lanes, dtype=np.int32))
        return self.split.kept_loops(NestAdapter(self.ctx), self._line)

    def _beyond(self, value: Expr, best: Expr) -> Expr:
        return (gt if self.greatest else lt)(value, best)

    def _write(self, kept: Index, place: Expr) -> Block:
        keepdims = self.node.attrs["keepdims"]
        index = self.split.merge(kept, (as_expr(0),)) if keepdims else kept
        return self.ctx.store_element(index, convert(place, DType.I64))

    # ---- along the innermost dimension

    def _line(self, kept: Index) -> Block:
        """One line: its extreme, by several vectors at a time, and the first or last element that equals it."""
        extent, names = self.x.shape[-1], self.ctx.names
        lanes = next(width for width in _widths(self.ctx) if width <= extent)
        together = min(TOGETHER, extent // lanes)
        best, start_best = self._registers("best", self.x.dtype, lanes, together, self.neutral)
        place, start_place = self._registers("place", DType.I32, lanes, 1, 0 if self.last else _NO_PLACE)
        extreme = Var(names.fresh("extreme"), Type(self.x.dtype))
        lane_numbers = Var(names.fresh("lane"), Type(DType.I32, lanes))

        def value(start: Expr) -> Expr:
            return load(self.ref.buffer, *self.ref.at((*kept, start)), lanes=lanes)

        def compare(start: Expr, number: int) -> Block:
            return (store(best[number], Binary(self.pick, value(start), best[number])),)

        def locate(start: Expr, _: int) -> Block:
            here, found = Splat(I32(start), lanes) + lane_numbers, eq(value(start), Splat(extreme, lanes))
            pick, other = (maximum, 0) if self.last else (minimum, _NO_PLACE)
            return (store(place[0], pick(select(found, here, other), place[0])),)

        total: Expr = best[0]
        for number in range(1, together):
            total = Binary(self.pick, total, best[number])
        located: Expr = Reduce("max" if self.last else "min", place[0])
        if not self.last:
            located = select(self._beyond(extreme, as_expr(self.neutral, extreme.type)), located, 0)
        return (
            *start_best, *self._along(extent, lanes, together, compare),
            Let(extreme, Reduce(self.pick, total)), Let(lane_numbers, load(self._numbers, 0, lanes=lanes)),
            *start_place, *self._along(extent, lanes, together, locate), *self._write(kept, located),
        )  # fmt: skip

    def _along(self, extent: int, lanes: int, together: int, step: Callable[[Expr, int], Block]) -> Block:
        """``step(start, number)`` for vectors that cover a line; the last one may begin within the one before."""
        trips, rest = divmod(extent // lanes, together)
        var = Var(self.ctx.names.fresh("r"))
        first = loop_index(var, trips) * together
        body = [stmt for n in range(together) for stmt in step((first + n) * lanes, n)]
        starts = [(trips * together + n) * lanes for n in range(rest)] + [extent - lanes] * (extent % lanes > 0)
        tail = [stmt for n, start in enumerate(starts) for stmt in step(as_expr(start), n % together)]
        return (*loop(var, trips, *body), *tail)

    # ---- along another dimension

    def _lines(self) -> Block:
        """Neighbouring lines together, from the widest vectors to single lines."""
        *outer, columns = (self.x.shape[d] for d in self.split.kept)
        widths = _widths(self.ctx)
        blocks = columns // (TOGETHER * widths[0])
        done = blocks * TOGETHER * widths[0]
        pieces = [(0, blocks, widths[0], TOGETHER)]
        pieces += [(done + start, trips, lanes, 1) for start, trips, lanes in stripes(columns - done, widths)]

        def line(kept: Index) -> Block:
            block: list[Stmt] = []
            for start, trips, lanes, together in pieces:
                if trips:
                    var = Var(self.ctx.names.fresh("c"))
                    first = loop_index(var, trips) * (lanes * together) + start
                    body = self._neighbours(kept, first, lanes, together)
                    block += loop(var, trips, *body, kind=LoopKind.PARALLEL)
            return tuple(block)

        stems = [f"i{d}" for d in self.split.kept[:-1]]
        return loops(NestAdapter(self.ctx), stems, outer, line)

    def _neighbours(self, kept: Index, first: Expr, lanes: int, together: int) -> Block:
        names = self.ctx.names
        best, start_best = self._registers("best", self.x.dtype, lanes, together, self.neutral)
        place, start_place = self._registers("place", DType.I32, lanes, together, 0)
        places = Buffer(names.fresh("places"), Type(DType.I32), (lanes * together,), Space.STACK, align=4 * lanes)
        r, column = Var(names.fresh("r")), Var(names.fresh("l"))
        body: list[Stmt] = []
        for n in range(together):
            value = Var(names.fresh("value"), Type(self.x.dtype, lanes))
            at = self.ref.at(self.split.merge((*kept, first + n * lanes), (r,)))
            beyond = self._beyond(value, best[n])
            if self.last:
                beyond = (ge if self.greatest else le)(value, best[n])
            here = I32(r) if lanes == 1 else Splat(I32(r), lanes)
            body += [
                Let(value, load(self.ref.buffer, *at, lanes=lanes)),
                store(place[n], select(beyond, here, place[n])),
                store(best[n], Binary(self.pick, value, best[n])),
            ]
        write = self._write((*kept, first + column), places[column])
        return (
            *start_best, *start_place, *loop(r, self.x.shape[self.axis], *body),
            Alloc(places), *(store(places[n * lanes], place[n]) for n in range(together)),
            *self.ctx.vectorized(loop(column, lanes * together, *write, kind=LoopKind.PARALLEL)),
        )  # fmt: skip

    # ----

    def _registers(self, stem: str, dtype: DType, lanes: int, count: int, start: float) -> tuple[Buffer, Block]:
        """So many vectors, each with ``start`` in all lanes."""
        buffer = Buffer(self.ctx.names.fresh(stem), Type(dtype, lanes), (count,), Space.REG)
        return buffer, (Alloc(buffer), *(store(buffer[n], as_expr(start, buffer.type)) for n in range(count)))
