"""``weight_matmul``: the contraction generator on weights that stay integers in memory and become floats in registers.

Weights are packed as bytes ``[column block, k, column]``. Where all are within -8..7 a byte holds two: of a block of
k, element t of its first half in the low bits and element t of its second half in the high ones, so that either half
of the activations is read in order. One scale a column is applied to the sum; a scale for each block of k to the sum of
that block.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

import numpy as np

from ..ir.graph import Node
from ..ir.loops import F32, I32, Block, Expr, Load, LoopKind, Splat, Var, as_expr
from ..ir.types import DType
from ..ops.attributes import integer
from ..ops.stored_weights import rows_of_blocks
from ..record import record
from .blocking import Axis, Blocking, Product, Region, regions
from .contraction import join_rows
from .contraction_loops import contraction_block
from .dots import usable_dots
from .kernel import KernelContext
from .microkernel import Contraction


def is_weight_matmul(ctx: KernelContext) -> bool:
    """Whether weights, scales and zero points are constant, and there is anything to compute."""
    node = ctx.anchor
    assert node is not None
    return prod(node.output.shape) > 0 and all(ctx.constant(operand) is not None for operand in node.operands[1:])


def lower_weight_matmul(ctx: KernelContext) -> Block:
    """``weight_matmul``, for which :func:`is_weight_matmul` holds."""
    node = ctx.anchor
    assert node is not None
    w, scale = ctx.constant(node.inputs[1]), ctx.constant(node.inputs[2])
    zero = ctx.constant(node.inputs[3]) if len(node.inputs) > 3 else None
    assert w is not None and scale is not None
    return _Lowering(ctx, node, _Stored.of(w, scale, zero, integer(node.attrs, "block"))).emit()


@record
class _Stored:
    """``w[k, column]`` with a row of ``scale`` and ``zero`` for ``block`` rows; blocks divide k evenly."""

    w: np.ndarray
    scale: np.ndarray
    zero: np.ndarray | None
    block: int

    @staticmethod
    def of(w: np.ndarray, scale: np.ndarray, zero: np.ndarray | None, block: int) -> _Stored:
        """Where the last block is shorter, smaller blocks that share scales."""
        depth = w.shape[0]
        even = depth if scale.shape[0] == 1 else gcd(depth, block)
        if even != block:
            places = rows_of_blocks(depth, block)[::even]
            scale, zero = scale[places], None if zero is None else zero[places]
        return _Stored(w, scale, zero, even)

    @property
    def halved(self) -> bool:
        """Whether two weights share a byte."""
        return self.block % 2 == 0 and int(self.w.min(initial=0)) >= -8 and int(self.w.max(initial=0)) <= 7

    def packed(self) -> np.ndarray:
        """Bytes ``[block, k, column]``."""
        blocks = self.w.reshape(-1, self.block, self.w.shape[1])
        if not self.halved:
            return blocks
        low, high = np.split(blocks, 2, axis=1)
        return (low & 15) | (high << 4)


class _Columns:
    """A constant ``[rows..., column]``, packed for vectors of columns; missing columns are zero."""

    def __init__(self, ctx: KernelContext, stem: str, array: np.ndarray, blocking: Blocking) -> None:
        self.lanes = blocking.dot.lanes
        self.buffers = {}
        for region in regions(array.shape[-1], self.lanes, blocking.vectors):
            width = region.vectors * self.lanes
            part = np.zeros((*array.shape[:-1], region.blocks * width), array.dtype)
            part[..., : region.columns] = array[..., region.start : region.start + region.columns]
            part = np.moveaxis(part.reshape(*array.shape[:-1], region.blocks, width), -2, 0)
            self.buffers[region.start] = ctx.pack(stem, part)

    def load(self, region: Region, block: Expr, index: Sequence[Expr], vector: int) -> Load:
        return Load(self.buffers[region.start], (block, *index, as_expr(vector * self.lanes)), self.lanes)


class _Lowering:
    def __init__(self, ctx: KernelContext, node: Node, stored: _Stored) -> None:
        self.ctx, self.node, self.stored = ctx, node, stored
        self.a = node.operands[0]
        self.single = stored.scale.shape[0] == 1

    def emit(self) -> Block:
        ctx, stored, names = self.ctx, self.stored, self.ctx.names
        columns = stored.w.shape[1]
        shape, merged = join_rows(ctx, self.node, self.a, columns)
        refs = {**ctx.refs, **merged}
        outer = tuple(Axis(Var(names.fresh("o")), extent) for extent in shape[:-2])
        row = Axis(Var(names.fresh("row")), shape[-2])
        self.block = Axis(Var(names.fresh("b")), stored.scale.shape[0])
        self.half = Axis(Var(names.fresh("half")), 1 + stored.halved, LoopKind.UNROLL)
        self.inner = Axis(Var(names.fresh("k")), stored.block // self.half.extent)
        dots = usable_dots(ctx.cpu, DType.F32)
        extents = (self.block.extent, self.half.extent, self.inner.extent)
        product = Product(dots, row.extent, columns, extents, prod(shape[:-2]), sums=not self.single)
        blocking = ctx.blocking(product)
        self.lanes = blocking.dot.lanes
        self.weights = _Columns(ctx, "w", stored.packed(), blocking)
        self.scales = _Columns(ctx, "scale", stored.scale, blocking)
        self.zeros = None if stored.zero is None else _Columns(ctx, "zero", stored.zero.astype(np.float32), blocking)
        position = [axis.var for axis in outer]
        x = refs[self.a.name]
        k = self.block.var * stored.block + self.half.var * self.inner.extent + self.inner.var

        def finish(r: Expr, column: Expr, value: Expr, lanes: int, active: int) -> Block:
            return ctx.store_vector(lambda c: (*position, r, c), column, value, active, refs)

        spec = Contraction(
            outer, row, columns, (self.block, self.half, self.inner), x[*position, row.var, k],
            self._weight, lambda column, lanes, active: F32.with_lanes(lanes)(0), finish, self._scaled,
        )  # fmt: skip
        return contraction_block(spec, blocking, names)

    def _scaled(self, region: Region, block: Expr, vector: int, value: Expr) -> Expr:
        return value * self.scales.load(region, block, (self.block.var,), vector)

    def _weight(self, region: Region, block: Expr, vector: int) -> Expr:
        """The weights of a vector as floats, without their scale."""
        wide = I32.with_lanes(self.lanes)
        stored: Expr = wide(self.weights.load(region, block, (self.block.var, self.inner.var), vector))
        if self.stored.halved:
            upwards = I32(28 - self.half.var * 4)
            stored = stored << (upwards if self.lanes == 1 else Splat(upwards, self.lanes))
            stored = stored >> 28
        real: Expr = F32.with_lanes(self.lanes)(stored)
        if self.zeros is not None:
            real = real - self.zeros.load(region, block, (self.block.var,), vector)
        return real
