"""Resize of images with channels first, where an instruction picks words of two vectors by number (VPERMI2D).

The plain nest (``ops/interpolate_nest.py``) interpolates between rows in vectors, and along a row column by column, as
neighbouring results read any columns. Where those of a vector of results are near to each other, they are lanes of two
vectors of the line, whose numbers and weights are constants::

    for o1:                                        for v:
      y[o1] = sum over t of                          x0, x1 = line[base[v] : 16], line[base[v] + 16 : 16]
              w[o1, t] * line[i[o1, t]]      ->      y[v*16 : 16] = sum over t of
                                                                    w[t, v*16 : 16] * pick(number[t, v*16 : 16], x0, x1)
"""

from __future__ import annotations

from functools import reduce as fold
from operator import add

import numpy as np

from ..ir.build import convert, load, maximum, minimum, store
from ..ir.graph import Node
from ..ir.loops import F32, I32, INDEX, Bitcast, Block, Buffer, Call, Expr, Let, Stmt, Var
from ..ir.loops_rewrite import loop, loop_index
from ..ir.types import DType
from ..ops.attributes import ints
from ..ops.interpolate_nest import Taps
from ..ops.nest_tools import Index, dim_stems, loops, serial_loops
from .generic import NestAdapter
from .kernel import KernelContext


def is_picked_columns(ctx: KernelContext) -> bool:
    """Whether the anchor is an ``interpolate`` of floats in memory along the last two dimensions, whose columns for a
    vector of results lie within two vectors."""
    node = ctx.anchor
    assert node is not None
    x, axes = node.operands[0], ints(node.attrs, "axes")
    if "pick_words" not in ctx.cpu.features or x.dtype is not DType.F32 or x.name not in ctx.refs or ctx.by_rows:
        return False
    if axes != (len(x.shape) - 2, len(x.shape) - 1) or 0 in node.output.shape:
        return False
    lanes = max(ctx.cpu.f32_lanes)
    places = _places(ctx, node)
    if places is None or len(places) < lanes:
        return False
    vectors = _vectors(places, lanes)
    return bool((np.ptp(vectors, axis=(1, 2)) < 2 * lanes).all())


def lower_picked_columns(ctx: KernelContext) -> Block:
    """``interpolate``, for which :func:`is_picked_columns` holds."""
    assert ctx.anchor is not None
    return _PickedColumns(ctx, ctx.anchor).emit()


def _places(ctx: KernelContext, node: Node) -> np.ndarray | None:
    """The columns [results, taps] that are read, where they and their weights are constant."""
    found, weights = (ctx.constant(value) for value in node.operands[3:5])
    return None if found is None or weights is None else np.clip(found, 0, node.operands[0].shape[-1] - 1)


def _vectors(places: np.ndarray, lanes: int) -> np.ndarray:
    """Whole vectors of results, [vectors, lanes, taps]."""
    count = len(places) // lanes
    return places[: count * lanes].reshape(count, lanes, -1)


class _PickedColumns:
    def __init__(self, ctx: KernelContext, node: Node) -> None:
        self.ctx, self.node, self.nest = ctx, node, NestAdapter(ctx)
        self.x, self.width = ctx.refs[node.operands[0].name], node.operands[0].shape[-1]
        self.lanes = max(ctx.cpu.f32_lanes)
        places, weights = _places(ctx, node), ctx.constant(node.operands[4])
        assert places is not None and weights is not None
        vectors = _vectors(places, self.lanes)
        self.count, _, self.taps = vectors.shape
        base, whole = vectors.min(axis=(1, 2)), self.count * self.lanes
        self.base = ctx.pack("base", base.astype(np.int32))
        numbers = (vectors - base[:, None, None]).reshape(whole, -1).T
        self.numbers = ctx.pack("number", numbers.astype(np.int32))
        self.weights = ctx.pack("weight", weights[:whole].T.astype(np.float32))

    def emit(self) -> Block:
        outer = self.node.output.shape[:-1]
        return loops(self.nest, dim_stems(len(outer)), outer, self._row)

    def _row(self, at: Index) -> Block:
        extent = self.width + 2 * self.lanes
        line, allocated = self.ctx.own_memory("line", DType.F32, (extent,), 4 * extent, 4 * self.lanes)
        down = Taps(self.nest, self.node, 0, at[-1])

        def fill(i: Index) -> Block:
            return (store(line[i], down.total(lambda row: self.x[(*at[:-1], row, *i)])),)

        def clear(i: Index) -> Block:
            return (store(line[i[0] + self.width], 0.0),)

        filled = (
            *serial_loops(self.nest, ("i",), (self.width,), fill),
            *serial_loops(self.nest, ("z",), (2 * self.lanes,), clear),
        )
        return (*allocated, *down.block, *self.ctx.vectorized(filled), *self._vectors(at, line), *self._rest(at, line))

    def _vectors(self, at: Index, line: Buffer) -> Block:
        v, names, words = Var(self.nest.fresh("v")), self.ctx.names, I32.with_lanes(self.lanes)
        number = loop_index(v, self.count)
        base = maximum(minimum(convert(self.base[number], INDEX.dtype), self.width), 0)
        start, column = Var(names.fresh("start")), number * self.lanes
        block: list[Stmt] = [Let(start, base)]
        halves = [Var(names.fresh("x"), words) for _ in range(2)]
        for half, first in zip(halves, (start, start + self.lanes)):
            block.append(Let(half, Bitcast(words, load(line, first, lanes=self.lanes))))
        parts: list[Expr] = []
        for tap in range(self.taps):
            picked = Call("pick_words", (load(self.numbers, tap, column, lanes=self.lanes), *halves), words)
            weight = load(self.weights, tap, column, lanes=self.lanes)
            parts.append(Bitcast(F32.with_lanes(self.lanes), picked) * weight)
        stored = self.ctx.store_vector(
            lambda lane: (*at, lane), column, fold(add, parts), self.lanes, self.ctx.refs
        )  # fmt: skip
        return loop(v, self.count, *block, *stored)

    def _rest(self, at: Index, line: Buffer) -> Block:
        """Results that fill no vector."""
        first = self.count * self.lanes

        def place(o: Index) -> Block:
            across = Taps(self.nest, self.node, 1, o[0] + first)
            return (*across.block, *self.ctx.store_element((*at, o[0] + first), across.total(lambda i: line[i])))

        return loops(self.nest, ("o",), (self.node.output.shape[-1] - first,), place)
