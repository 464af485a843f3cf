"""3x3 convolutions by Winograd's minimal filtering: fewer multiplications, three phases for each block of tiles.

A tile is ``m x m`` outputs, for which ``n x n`` inputs are needed, ``n = m + 2`` (``schedule/winograd_matrices.py``)::

    for each block of tiles
      V[i, t, j, c] = (B^T d_t B)[i, j]                       input transform, lanes are channels
      for each block of output channels
        M[i, t, j, o] = sum over c of V[i, t, j, c] * U[i, j, c, o]       n * n contractions, rows are tiles
        y_t = A^T M[:, t, :] A                                output transform, and what follows the convolution

``U = G w G^T`` is made while compiling. V and M are temporaries of the call; blocks are such that they stay in the cache
of a core. Inputs beyond the border are read from a halo of zeros, which is wide enough for whole tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir.build import load, lt, store
from ..ir.graph import Node
from ..ir.loops import INDEX, Block, Expr, If, Let, Type, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..ops.attributes import ints
from .constant_matrices import ConstantMatrix
from .contraction import Bias, PackedWeights
from .kernel import KernelContext
from .microkernel import Axis, Contraction, Region, contraction_block, regions
from .tensors import Halo
from .vectorize import stripes
from .winograd_choice import Tiling, choose_tiling, relative_cost
from .winograd_matrices import ALL, TAPS


def is_winograd(ctx: KernelContext, outputs: int) -> bool:
    """Whether the anchor is a float ``conv`` of 3x3 taps with steps of one, in channels-last layout and with constant
    weights, on a CPU that takes Winograd's algorithm, and tiles of ``outputs`` x ``outputs`` are worth it."""
    node, weights = ctx.contraction
    if not ctx.cpu.winograd or weights is None or node.attrs["layout"] != "channels_last":
        return False
    if node.operands[0].dtype is not DType.F32 or weights.shape[1:-1] != (TAPS, TAPS) or node.attrs["group"] != 1:
        return False
    if any(step != 1 for name in ("stride", "dilation") for step in ints(node.attrs, name)):
        return False
    return node.output.type.size > 0 and winograd_cost(ctx, outputs) < 1


def winograd_cost(ctx: KernelContext, outputs: int) -> float:
    """The cycles in proportion to those of the direct contraction."""
    node, _ = ctx.contraction
    return relative_cost(ctx.cpu, node.operands[0].shape[-1], node.output.shape, outputs)


def winograd_halo(node: Node, outputs: int) -> Halo:
    """What whole tiles read around the input ``[n, h, w, c]`` of a ``conv``."""
    shape, pad = node.operands[0].shape, ints(node.attrs, "pad")[:2]
    ends = [-(-extent // outputs) * outputs + TAPS - 1 for extent in node.output.shape[1:3]]
    after = [max(0, end - before - extent) for end, before, extent in zip(ends, pad, shape[1:3], strict=True)]
    return Halo((0, *pad, 0), (0, *after, 0))


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
        self.filtering = ALL[outputs]
        self.size, self.width = outputs, self.filtering.inputs
        self.x, self.pad = ctx.refs[x.name], ints(node.attrs, "pad")[:2]
        self.out = node.output.shape
        self.depth, self.columns = x.shape[-1], self.out[-1]
        self.tiling: Tiling = choose_tiling(ctx.cpu, self.depth, self.out, outputs)
        self.blocking = self.tiling.blocking
        self.lanes = self.blocking.dot.lanes
        transformed = self.filtering.filters(weights).reshape(-1, self.depth, self.columns)
        self.weights = PackedWeights(ctx, transformed, self.blocking)
        self.bias = Bias(ctx, node, transformed[:1], self.blocking)
        self.fused = self.blocking.dot.name == "fma"
        self.registers = self.tiling.registers
        most = min(self.blocking.vectors, -(-self.columns // self.lanes)) * self.lanes
        tiles, align = self.tiling.tiles, 4 * self.lanes
        shape = (self.width, tiles, self.width)
        self.inputs = ctx.temporary("inputs", DType.F32, (*shape, self.depth), align)
        self.products = ctx.temporary("products", DType.F32, (*shape, most), align)
        self.corner = [Var(self.names.fresh(stem)) for stem in ("n", "th", "tw")]

    def emit(self) -> Block:
        body = self._input_transform()
        for region in regions(self.columns, self.lanes, self.blocking.vectors):
            block = Var(self.names.fresh("nb"))
            number: Expr = block if region.blocks > 1 else as_expr(0)
            each = (*self._products(region, number), *self._output_transform(region, number))
            body += loop(block, region.blocks, *each)
        for var, blocks in reversed(list(zip(self.corner, self.tiling.blocks, strict=True))):
            body = loop(var, blocks, *body)
        return body

    def _tiles(self) -> tuple[list[Var], list[Expr], Expr]:
        """Variables that count the tiles of a block, where the tile is in the image, and its number in the block."""
        inner = [Var(self.names.fresh(stem)) for stem in ("bn", "bh", "bw")]
        where = [
            (corner * extent if blocks > 1 else as_expr(0)) + var if extent > 1 else (corner if blocks > 1 else INDEX(0))
            for corner, blocks, extent, var in zip(self.corner, self.tiling.blocks, self.tiling.block, inner, strict=True)
        ]
        number: Expr = as_expr(0)
        for var, extent in zip(inner, self.tiling.block, strict=True):
            number = number * extent + (var if extent > 1 else as_expr(0))
        return inner, where, number

    def _over_tiles(self, inner: Sequence[Var], body: Block) -> Block:
        for var, extent in reversed(list(zip(inner, self.tiling.block, strict=True))):
            body = loop(var, extent, *body)
        return body

    def _input_transform(self) -> Block:
        inner, (n, th, tw), tile = self._tiles()
        matrix = ConstantMatrix(self.filtering.input, self.fused)
        body: Block = ()
        for first, trips, lanes in stripes(self.depth, [lanes for lanes in self.ctx.cpu.f32_lanes if lanes > 1]):
            var = Var(self.names.fresh("cb"))
            channel = (var * lanes if trips > 1 else INDEX(0)) + first

            def at(i: int, j: int, channel: Expr = channel, lanes: int = lanes) -> Expr:
                where = (n, th * self.size + (i - self.pad[0]), tw * self.size + (j - self.pad[1]), channel)
                return load(self.x.buffer, *self.x.at(where), lanes=lanes)

            def use(i: int, j: int, value: Expr, channel: Expr = channel) -> Block:
                return (store(self.inputs[i, tile, j, channel], value),)

            body += loop(var, trips, *matrix.both_sides(at, use, self.names, self.registers))
        return self._over_tiles(inner, body)

    def _products(self, region: Region, block: Expr) -> Block:
        """M of a block of columns, each vector whole."""
        i, j = (Axis(Var(self.names.fresh(stem)), self.width) for stem in ("i", "j"))
        row = Axis(Var(self.names.fresh("row")), self.tiling.tiles)
        k = Axis(Var(self.names.fresh("k")), self.depth)

        def weight(whole: Region, only: Expr, vector: int) -> Expr:
            return self.weights.load(region, (i.var * self.width + j.var, block, k.var), vector)

        def start(column: Expr, lanes: int, active: int) -> Expr:
            return Type(DType.F32, lanes)(0)

        def finish(r: Expr, column: Expr, value: Expr, lanes: int, active: int) -> Block:
            return (store(self.products[i.var, r, j.var, column], value),)

        columns = region.vectors * self.lanes
        lhs = self.inputs[i.var, row.var, j.var, k.var]
        spec = Contraction((i, j), row, columns, (k,), lhs, weight, start, finish)
        return contraction_block(spec, self.blocking, self.names)

    def _output_transform(self, region: Region, block: Expr) -> Block:
        inner, where, tile = self._tiles()
        active = [region.active(vector, self.lanes, region.blocks - 1) for vector in range(region.vectors)]
        whole = sum(count == self.lanes for count in active)
        body: Block = ()
        for first, trips in ((0, whole), (whole, len(active) - whole)):
            if trips:
                var = Var(self.names.fresh("v"))
                vector = (var if trips > 1 else as_expr(0)) + first
                body += loop(var, trips, *self._vector(region, block, vector, active[first], where, tile))
        return self._over_tiles(inner, body)

    def _vector(
        self, region: Region, block: Expr, vector: Expr, active: int, where: Sequence[Expr], tile: Expr
    ) -> Block:
        """A vector of channels of a tile, of which the last ones of a row or column may be no outputs."""
        local = vector * self.lanes
        column = block * (region.vectors * self.lanes) + region.start + local
        bias = Var(self.names.fresh("bias"), Type(DType.F32, self.lanes))

        def outputs(rows: int, columns: int) -> Block:
            return self._outputs(where, tile, local, column, active, bias, (rows, columns))

        def row(rows: int) -> Block:
            return self._by_extent(where, 2, lambda columns: outputs(rows, columns))

        return (Let(bias, self.bias.load(column, self.lanes, active)), *self._by_extent(where, 1, row))

    def _by_extent(self, where: Sequence[Expr], dim: int, emit: Callable[[int], Block]) -> Block:
        """``emit`` for the outputs that a tile has along a dimension, which may be less in the last one."""
        whole, rest = divmod(self.out[dim], self.size)
        if rest == 0 or whole == 0:
            return emit(rest or self.size)
        return (If(lt(where[dim], whole), emit(self.size), emit(rest)),)

    def _outputs(
        self, where: Sequence[Expr], tile: Expr, local: Expr, column: Expr, active: int, bias: Expr,
        extents: tuple[int, int],
    ) -> Block:  # fmt: skip
        """``extents`` outputs of a tile from M, with the bias, and what the kernel does with them."""
        n, th, tw = where

        def at(i: int, j: int) -> Expr:
            return load(self.products, as_expr(i), tile, as_expr(j), local, lanes=self.lanes)

        def use(p: int, q: int, value: Expr) -> Block:
            def index(c: Expr) -> Sequence[Expr]:
                return (n, th * self.size + p, tw * self.size + q, c)

            return self.ctx.store_vector(index, column, value + bias, active, self.ctx.refs)

        matrix = ConstantMatrix(self.filtering.output, self.fused)
        return matrix.both_sides(at, use, self.names, self.registers, extents)
