"""3x3 convolutions by Winograd's minimal filtering: fewer multiplications, three phases for each block of tiles.

A tile is ``m x m`` outputs, for which ``n x n`` inputs are needed, ``n = m + 2`` (``schedule/winograd_matrices.py``)::

    for each block of tiles
      V[i, t, j, c] = (B^T d_t B)[i, j]                       input transform, lanes are channels
      for each block of output channels
        M[i, t, j, o] = sum over c of V[i, t, j, c] * U[i, j, c, o]       n * n contractions, rows are tiles
        y_t = A^T M[:, t, :] A                                output transform, and what follows the convolution

``U = G w G^T`` is made while compiling. V and M are temporaries of the call; blocks are such that they stay in a cache.
Inputs beyond the border are read from a halo of zeros, which is wide enough for whole tiles. Transforms that would fill
more registers than there are compute some rows of their results in one loop over the tiles, and others in the next.

Bytes are transformed to halfwords by matrices of whole numbers, and multiplied in pairs. What becomes of the sums is a
multiple of the result modulo 2^32: ``2^k * odd * y``. Times the inverse of the odd number, and shifted by k, it is y.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.build import all_of, load, lt, store
from ..ir.graph import Node
from ..ir.loops import INDEX, Block, Const, Expr, If, Let, Type, Var, as_expr
from ..ir.loops_rewrite import loop, loop_index
from ..ir.types import DType
from ..ops.attributes import ints
from ..ops.integer import BYTES, zero_point
from ..record import record
from ..targets.target import Cpu
from .blocking import Axis, Region, regions
from .constant_matrices import ConstantMatrix
from .contraction import PackedWeights
from .contraction_loops import contraction_block
from .dots import usable_dots, widened_bfloats
from .kernel import KernelContext
from .microkernel import Contraction
from .sums import Sums
from .tensors import Halo
from .vectorize import stripes
from .winograd_choice import (
    Tiling,
    choose_tiling,
    computed_type,
    decided_tiling,
    filtering_of,
    relative_cost,
    sum_type,
    tile_lanes,
)
from .winograd_matrices import TAPS, WHOLE

LARGEST_OF_HALVES = 2
"""Outputs along a side of the largest tile whose transforms add and subtract alone, but for those of weights."""
_MOST_BYTE = 255


def is_winograd(ctx: KernelContext, outputs: int) -> bool:
    """Whether the anchor is a ``conv`` of 3x3 taps with steps of one, in channels-last layout and with constant
    weights, on a CPU that takes Winograd's algorithm for its elements."""
    node, weights = ctx.contraction
    if not ctx.cpu.ample_ram or weights is None or node.attrs["layout"] != "channels_last":
        return False
    if weights.shape[1:-1] != (TAPS, TAPS) or node.attrs["group"] != 1:
        return False
    if any(step != 1 for name in ("stride", "dilation") for step in ints(node.attrs, name)):
        return False
    return node.output.type.size > 0 and _takes_elements(ctx.cpu, node, weights, outputs)


def _takes_elements(cpu: Cpu, node: Node, weights: np.ndarray, outputs: int) -> bool:
    """Whether it takes those of a ``conv`` for tiles of so many ``outputs``.

    Halves have too few digits for large tiles, whose transforms have large factors; what is bfloat16 is computed in
    floats, with weights of floats. Bytes are taken where they are multiplied as halfwords anyway, if the results leave
    room for the multiple of them that is computed.
    """
    dtype = node.operands[0].dtype
    if dtype in BYTES:
        dots = [dot for dot in usable_dots(cpu, dtype, weights.dtype) if dot.lanes > 1]
        if weights.dtype != np.int8 or not dots or not all(dot.widens or dot.parts > 1 for dot in dots):
            return False
        reach = np.abs(weights.astype(np.int64)).sum(axis=(1, 2, 3)).max() * _MOST_BYTE
        return bool(reach < 1 << 31 - _Multiple.of(WHOLE[outputs].multiple).shift)
    if cpu.exact_floats:
        return False
    if dtype is DType.F16:
        return outputs <= LARGEST_OF_HALVES
    return dtype in (DType.F32, DType.BF16)


def winograd_cost(ctx: KernelContext, outputs: int) -> float:
    """The cycles in proportion to those of the direct contraction."""
    node, _ = ctx.contraction
    x = node.operands[0]
    return relative_cost(ctx.cpu, x.dtype, x.shape[-1], node.output.shape, outputs)


def winograd_halo(node: Node, outputs: int) -> Halo:
    """What whole tiles read around the input ``[n, h, w, c]`` of a ``conv``."""
    shape, pad = node.operands[0].shape, ints(node.attrs, "pad")[:2]
    ends = [-(-extent // outputs) * outputs + TAPS - 1 for extent in node.output.shape[1:3]]
    after = [max(0, end - before - extent) for end, before, extent in zip(ends, pad, shape[1:3], strict=True)]
    return Halo((0, *pad, 0), (0, *after, 0), zero_point(node.attrs))


def lower_winograd(ctx: KernelContext, outputs: int) -> Block:
    """``conv``, for which :func:`is_winograd` holds."""
    return _Winograd(ctx, outputs).emit()


class _Winograd:
    def __init__(self, ctx: KernelContext, outputs: int) -> None:
        self.ctx, self.names = ctx, ctx.names
        node, weights = ctx.contraction
        assert weights is not None
        x = node.inputs[0]
        assert x is not None
        self.type = computed_type(ctx.cpu, x.dtype)
        self.sum_type = sum_type(self.type)
        self.filtering = filtering_of(self.type, outputs)
        self.multiple = _Multiple.of(self.filtering.multiple)
        self.size, self.width = outputs, self.filtering.inputs
        self.x, self.pad = ctx.refs[x.name], ints(node.attrs, "pad")[:2]
        self.out = node.output.shape
        self.depth, self.columns = x.shape[-1], self.out[-1]
        self.bfloats = x.dtype is DType.BF16
        problem = (ctx.cpu, self.type, self.depth, self.out, outputs)
        decision = ctx.decision
        self.tiling: Tiling = choose_tiling(*problem) if decision is None else decided_tiling(*problem, decision)
        self.blocking = self.tiling.blocking
        self.lanes = self.blocking.dot.lanes
        transformed = self.filtering.filters(weights).reshape(-1, self.depth, self.columns)
        transformed = transformed.astype(self.type.numpy)
        self.weights = PackedWeights(ctx, transformed, self.blocking)
        self.bias = Sums(ctx, node, np.moveaxis(weights, 0, -1)[None]).starts(self.blocking)
        self.fused = self.blocking.dot.name == "fma"
        most = min(self.blocking.vectors, -(-self.columns // self.lanes)) * self.lanes
        shape = (self.width, self.tiling.tiles, self.width)
        self.inputs = ctx.temporary("inputs", self.type, (*shape, self.depth), self.type.size * self.lanes)
        self.products = ctx.temporary("products", self.sum_type, (*shape, most), self.sum_type.size * self.lanes)
        self.corner = self._counters(("n", "th", "tw"), self.tiling.blocks)

    def emit(self) -> Block:
        return self.ctx.loops(self._loops, _Winograd, self.tiling, self.bias)

    def _loops(self) -> Block:
        body = self._input_transform()
        for region in regions(self.columns, self.lanes, self.blocking.vectors):
            block = Var(self.names.fresh("nb"))
            number: Expr = block if region.blocks > 1 else as_expr(0)
            each = (*self._products(region, number), *self._output_transform(region, number))
            body += loop(block, region.blocks, *each)
        return _nested(self.corner, self.tiling.blocks, body)

    def _counters(self, stems: Sequence[str], extents: Sequence[int]) -> list[Expr]:
        """Variables of loops, or 0 where there is nothing to repeat."""
        return [Var(self.names.fresh(stem)) if extent > 1 else INDEX(0) for stem, extent in zip(stems, extents)]

    def _tiles(self) -> tuple[list[Expr], list[Expr], Expr]:
        """What counts the tiles of a block, where the tile is in the image, and its number in the block."""
        block = self.tiling.block
        inner = self._counters(("bn", "bh", "bw"), block)
        where = [corner * extent + var for corner, extent, var in zip(self.corner, block, inner, strict=True)]
        image, row, column = inner
        return inner, where, (image * block[1] + row) * block[2] + column

    def _input_transform(self) -> Block:
        matrix = ConstantMatrix(self.filtering.input, self.fused)
        body: Block = ()
        for rows in matrix.groups(self.tiling.rows):
            inner, where, tile = self._tiles()
            channels: Block = ()
            for first, trips, lanes in stripes(self.depth, tile_lanes(self.ctx.cpu, self.type)):
                var = Var(self.names.fresh("cb"))
                channel = loop_index(var, trips) * lanes + first
                channels += loop(var, trips, *self._inputs(matrix, rows, where, tile, channel, lanes))
            body += _nested(inner, self.tiling.block, channels)
        return body

    def _inputs(
        self, matrix: ConstantMatrix, rows: Sequence[int], where: Sequence[Expr], tile: Expr, channel: Expr, lanes: int
    ) -> Block:
        """Rows of a tile of V, for ``lanes`` channels."""
        n, th, tw = where

        def at(i: int, j: int) -> Expr:
            place = (n, th * self.size + (i - self.pad[0]), tw * self.size + (j - self.pad[1]), channel)
            loaded = load(self.x.buffer, *self.x.at(place), lanes=lanes)
            return widened_bfloats(loaded) if self.bfloats else Type(self.type, lanes)(loaded)

        def use(i: int, j: int, value: Expr) -> Block:
            return (store(self.inputs[i, tile, j, channel], value),)

        return matrix.both_sides(rows, at, use, self.names)

    def _products(self, region: Region, block: Expr) -> Block:
        """M of a block of columns, each vector whole."""
        i, j = (Axis(Var(self.names.fresh(stem)), self.width) for stem in ("i", "j"))
        row = Axis(Var(self.names.fresh("row")), self.tiling.tiles)
        k = Axis(Var(self.names.fresh("k")), self.depth)

        def weight(whole: Region, only: Expr, vector: int) -> Expr:
            return self.weights.load(region, (i.var * self.width + j.var, block, k.var), vector)

        def start(column: Expr, lanes: int, active: int) -> Expr:
            return Type(self.sum_type, lanes)(0)

        def finish(r: Expr, column: Expr, value: Expr, lanes: int, active: int) -> Block:
            return (store(self.products[i.var, r, j.var, column], value),)

        columns = region.vectors * self.lanes
        lhs = self.inputs[i.var, row.var, j.var, k.var]
        spec = Contraction((i, j), row, columns, (k,), lhs, weight, start, finish)
        return contraction_block(spec, self.blocking, self.names)

    def _output_transform(self, region: Region, block: Expr) -> Block:
        matrix = ConstantMatrix(self.filtering.output, self.fused)
        active = [region.active(vector, self.lanes, region.blocks - 1) for vector in range(region.vectors)]
        whole = sum(count == self.lanes for count in active)
        body: Block = ()
        for rows in matrix.groups(self.tiling.rows):
            inner, where, tile = self._tiles()
            vectors: Block = ()
            for first, trips in ((0, whole), (whole, len(active) - whole)):
                var = Var(self.names.fresh("v"))
                local = (loop_index(var, trips) + first) * self.lanes
                column = block * (region.vectors * self.lanes) + region.start + local
                if trips:
                    out = _Outputs(where, tile, local, column, active[first])
                    vectors += loop(var, trips, *self._vector(matrix, rows, out))
            body += _nested(inner, self.tiling.block, vectors)
        return body

    def _vector(self, matrix: ConstantMatrix, rows: Sequence[int], out: _Outputs) -> Block:
        """Rows of a tile of outputs. In an image of parts of tiles, each output of its last ones is tested."""
        bias = self.bias.load(out.column, self.lanes, out.active)
        start = None if isinstance(bias, Const) else Var(self.names.fresh("bias"), bias.type)
        whole, rest = zip(*(divmod(extent, self.size) for extent in self.out[1:3]))
        inside = all_of(lt(at, count) for at, count, part in zip(out.where[1:], whole, rest) if part)
        if inside is None:
            block = self._outputs(matrix, rows, out, start)
        else:
            block = self._outputs(matrix, rows, out, start, tested=True)
            if all(whole):
                block = (If(inside, self._outputs(matrix, rows, out, start), block),)
        return block if start is None else (Let(start, bias), *block)

    def _outputs(
        self, matrix: ConstantMatrix, rows: Sequence[int], out: _Outputs, bias: Expr | None, tested: bool = False
    ) -> Block:
        """Rows of outputs from M, with the bias, and what the kernel does with them."""
        n, th, tw = out.where

        def at(i: int, j: int) -> Expr:
            return load(self.products, i, out.tile, j, out.local, lanes=self.lanes)

        def use(p: int, q: int, value: Expr) -> Block:
            row, column = th * self.size + p, tw * self.size + q

            def index(c: Expr) -> Sequence[Expr]:
                return (n, row, column, c)

            whole = self.multiple.divided(value)
            result = self.ctx.rounded(whole if bias is None else whole + bias)
            block = self.ctx.store_vector(index, out.column, result, out.active, self.ctx.refs)
            limits = [lt(place, extent) for place, extent in zip((row, column), self.out[1:3]) if extent % self.size]
            valid = all_of(limits) if tested else None
            return block if valid is None else (If(valid, block),)

        return matrix.both_sides(rows, at, use, self.names)


@record
class _Multiple:
    """``2^shift * odd`` times a number, of which ``inverse * odd`` is 1 modulo 2^32."""

    shift: int
    inverse: int

    @staticmethod
    def of(factor: int) -> _Multiple:
        shift = (factor & -factor).bit_length() - 1
        return _Multiple(shift, pow(factor >> shift, -1, 1 << 32))

    def divided(self, value: Expr) -> Expr:
        """The number, where 32 bits hold ``2^shift`` times it."""
        if self.inverse != 1:
            value = value * value.type(self.inverse)
        return value >> value.type(self.shift) if self.shift else value


def _nested(counters: Sequence[Expr], extents: Sequence[int], body: Block) -> Block:
    """``body`` in the loops of these variables; a number is none."""
    for var, extent in reversed(list(zip(counters, extents, strict=True))):
        if isinstance(var, Var):
            body = loop(var, extent, *body)
    return body


@record
class _Outputs:
    """A vector of channels of a tile: ``where`` the tile is, its number in the block, the first channel in the block of
    columns and in the tensor, and the channels that exist."""

    where: Sequence[Expr]
    tile: Expr
    local: Expr
    column: Expr
    active: int
