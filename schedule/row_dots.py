"""Products of a float matrix with few columns, on machines with vectors: lanes are neighbours along k.

The register-blocked contraction has columns in lanes, of which few are filled here::

    for m: for n:                                 for m in fours: for n:
      y[m, n] = sum over k of a[m, k] * b[k, n]     acc[m, n] = sum over k/16 of a[m, k*16 : 16] * b[n, k*16 : 16]
                                                    y[m, n]   = sum of the lanes of acc[m, n]

Constant columns are packed one behind the other; a single column that is computed lies so already.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from ..ir.build import load, store
from ..ir.loops import Alloc, Block, Buffer, Call, Expr, Let, LoopKind, Reduce, Space, Stmt, Type, Var, as_expr
from ..ir.loops_rewrite import loop, loop_index
from ..ir.types import DType
from ..ops.nest_tools import Index, dim_stems, loops
from .generic import NestAdapter
from .kernel import KernelContext, has_vectors
from .tensors import TensorRef

ROWS = 4
"""Rows at a time, which share the loads of columns and do not wait for each other."""
MOST_COLUMNS = 4
_COMBINED = 8
"""Steps along k that adding up the lanes takes as long as."""
WORTH = 0.7
"""The share of the contraction's steps above which an estimate is not trusted to be better."""


def is_row_dots(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``matmul`` of floats with few columns, constant ones or a computed one, and long rows."""
    node, weights = ctx.contraction
    a, b = node.operands[:2]
    if not has_vectors(ctx) or {a.dtype, b.dtype} != {DType.F32} or min(len(a.shape), len(b.shape)) < 2:
        return False
    columns, ref = b.shape[-1], ctx.refs.get(b.name)
    if not 0 < columns <= MOST_COLUMNS or not node.output.type.size or a.shape[-1] < max(ctx.cpu.f32_lanes):
        return False
    placed = (weights is not None and weights.ndim == 2) or (columns == 1 and (ref is None or ref.dense))
    biased = len(node.inputs) > 2 and node.inputs[2] is not None
    return placed and (not biased or ctx.constant(node.inputs[2]) is not None) and row_dots_share(ctx) < WORTH


def row_dots_share(ctx: KernelContext) -> float:
    """The steps as a share of those of the contraction, whose narrowest vectors hold all columns."""
    node, _ = ctx.contraction
    depth, columns = node.operands[0].shape[-1], node.operands[1].shape[-1]
    return columns * (ceil(depth / max(ctx.cpu.f32_lanes)) + _COMBINED) / depth


def lower_row_dots(ctx: KernelContext) -> Block:
    """``matmul``, for which :func:`is_row_dots` holds."""
    return _RowDots(ctx).emit()


class _RowDots:
    def __init__(self, ctx: KernelContext) -> None:
        node, weights = ctx.contraction
        self.ctx, self.out = ctx, node.output.shape
        self.a, b = ctx.refs[node.operands[0].name], ctx.refs[node.operands[1].name]
        self.depth, self.columns, self.lanes = self.a.shape[-1], self.out[-1], max(ctx.cpu.f32_lanes)
        self.fused = any(dot.name == "fma" for dot in ctx.cpu.dots)
        if weights is not None and weights.ndim == 2:
            self.b = TensorRef.whole(ctx.pack("columns", weights.T, align=4 * self.lanes))
        else:
            self.b = b.reshaped((*b.shape[:-2], 1, self.depth))
        self.bias = None
        if len(node.operands) > 2:
            given = ctx.constant(node.operands[2])
            assert given is not None
            self.bias = ctx.pack("bias", np.broadcast_to(given.reshape(-1), (self.columns,)))

    def emit(self) -> Block:
        *batch, rows = self.out[:-1]

        def body(at: Index) -> Block:
            block: list[Stmt] = []
            done = rows // ROWS * ROWS
            for start, trips, count in ((0, rows // ROWS, ROWS), (done, 1, rows % ROWS)):
                if trips and count:
                    var = Var(self.ctx.names.fresh("row"))
                    first = loop_index(var, trips) * count + start
                    block += loop(var, trips, *self._rows(at, first, count), kind=LoopKind.PARALLEL)
            return tuple(block)

        return loops(NestAdapter(self.ctx), dim_stems(len(batch)), batch, body)

    def _rows(self, at: Index, first: Expr, rows: int) -> Block:
        names, lanes = self.ctx.names, self.lanes
        cells = [(m, n) for m in range(rows) for n in range(self.columns)]
        acc = Buffer(names.fresh("acc"), Type(DType.F32, lanes), (len(cells),), Space.REG)
        trips, rest = divmod(self.depth, lanes)
        k = Var(names.fresh("k"))
        block: list[Stmt] = [Alloc(acc), *(store(acc[i], 0.0) for i in range(len(cells)))]
        block += loop(k, trips, *self._step(acc, at, first, cells, loop_index(k, trips) * lanes, None))
        if rest:
            block += self._step(acc, at, first, cells, as_expr(trips * lanes), as_expr(rest))
        for i, (m, n) in enumerate(cells):
            total: Expr = Reduce("add", acc[i])
            if self.bias is not None:
                total = self.bias[n] + total
            named = Var(names.fresh("total"), Type(DType.F32))
            block += [Let(named, total), *self.ctx.store_element((*at, first + m, as_expr(n)), named)]
        return tuple(block)

    def _step(
        self, acc: Buffer, at: Index, first: Expr, cells: list[tuple[int, int]], k: Expr, active: Expr | None
    ) -> Block:
        """What the elements from ``k`` on add to each sum."""
        names = self.ctx.names
        rows, columns = sorted({m for m, _ in cells}), sorted({n for _, n in cells})
        lhs = {m: Var(names.fresh("x"), acc.type) for m in rows}
        rhs = {n: Var(names.fresh("w"), acc.type) for n in columns}
        block: list[Stmt] = [Let(var, self._left(at, first + m, k, active)) for m, var in lhs.items()]
        block += [Let(var, self._right(at, n, k, active)) for n, var in rhs.items()]
        block += [store(acc[i], self._added(lhs[m], rhs[n], acc[i])) for i, (m, n) in enumerate(cells)]
        return tuple(block)

    def _left(self, at: Index, row: Expr, k: Expr, active: Expr | None) -> Expr:
        index = self.a.broadcast_index((*at, row, k))
        return load(self.a.buffer, *self.a.at(index), lanes=self.lanes, active=active)

    def _right(self, at: Index, column: int, k: Expr, active: Expr | None) -> Expr:
        index = self.b.broadcast_index((*at, as_expr(column), k))
        return load(self.b.buffer, *self.b.at(index), lanes=self.lanes, active=active)

    def _added(self, x: Expr, w: Expr, total: Expr) -> Expr:
        return Call("fma", (x, w, total), total.type) if self.fused else total + x * w
