"""Convolution and matrix multiplication as contractions for the microkernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..ir.graph import Node, Value
from ..ir.loops import Block, Expr, Load, Type, Var, as_expr
from ..ir.loops_rewrite import map_expr
from ..ir.types import DType
from ..ops.attributes import integer, ints
from ..ops.integer import sum_shift, zero_point
from ..targets.target import Dot
from .blocking import Axis, Blocking, Product, Region, panel_width, regions
from .body import table_names
from .contraction_loops import contraction_block
from .dots import ends_whole, has_dot, parts_apart, usable_dots, weight_operand, weight_type
from .kernel import KernelContext
from .microkernel import Contraction
from .sums import sums_of
from .tensors import TensorRef, merge_dimensions
from .vectorizer import Vectorizer

_MOST_WIDENED = 1 << 12
"""Bytes of weights that microcontrollers may store as halfwords."""


def is_conv(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` in channels-last layout with constant weights that a Dot of the CPU takes."""
    node, weights = ctx.contraction
    if weights is None or node.attrs["layout"] != "channels_last" or _widens_much(ctx, node, weights):
        return False
    return has_dot(ctx.cpu, node.operands[0].dtype, weights.dtype, wide=sum_shift(node.attrs) > 0)


def _widens_much(ctx: KernelContext, node: Node, weights: np.ndarray | None) -> bool:
    """Whether bytes would take twice their flash on a microcontroller, as activations of 16 bits meet halfwords."""
    if weights is None or weights.dtype != np.int8 or node.operands[0].dtype is not DType.I16:
        return False
    return ctx.cpu.microcontroller and weights.nbytes > _MOST_WIDENED


def lower_conv(ctx: KernelContext) -> Block:
    """``conv``, for which :func:`is_conv` holds."""
    node, weights = ctx.contraction
    assert weights is not None
    return ConvLoops(ctx, node, weights).emit()


def is_matmul(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``matmul`` with a constant right matrix, or of two computed matrices of floats."""
    node, weights = ctx.contraction
    a, b = node.operands[:2]
    known = None if weights is None else weights.dtype
    if not has_dot(ctx.cpu, a.dtype, known, wide=sum_shift(node.attrs) > 0) or len(a.shape) < 2 or len(b.shape) < 2:
        return False
    if zero_point(node.attrs, "rhs_zero_point") or _widens_much(ctx, node, weights):
        return False
    return (weights is not None and weights.ndim == 2) or a.dtype.is_float


def lower_matmul(ctx: KernelContext) -> Block:
    """``matmul``, for which :func:`is_matmul` holds."""
    node, weights = ctx.contraction
    if weights is not None and weights.ndim == 2:
        return _PackedMatmul(ctx, node, weights).emit()
    return _DynamicMatmul(ctx, node).emit()


def pack_columns(weights: np.ndarray, dot: Dot, region: Region) -> np.ndarray:
    """The columns of ``weights[g, k..., column]`` in a region in the order ``[g, block, k..., vectors * lanes]``.

    Missing columns of the last vector are zero. A Dot that takes groups of the last k finds each group in one 32-bit
    element, the first of the group in its low bits, or in as many as the group fills; the last group may begin with
    zeros (:func:`ends_whole`). The parts of a group that is taken apart follow each other.
    """
    outer, *k, inner, _ = weights.shape
    groups = -(-inner // dot.group)
    width = region.vectors * dot.lanes
    part = np.zeros((outer, *k, groups * dot.group, region.blocks * width), weight_type(dot))
    part[..., :inner, : region.columns] = weights[..., region.start : region.start + region.columns]
    if ends_whole(dot, inner):
        part[..., -dot.group :, :] = np.roll(part[..., -dot.group :, :], -inner % dot.group, axis=-2)
    part = parts_apart(dot, part.reshape(outer, *k, groups, dot.group, region.blocks, width))
    part = np.ascontiguousarray(np.moveaxis(np.moveaxis(part, -2, 1), -2, -1))
    return _stored(part[..., 0]) if dot.group == 1 else part.view("<i4").reshape(*part.shape[:-2], -1)


def _stored(array: np.ndarray) -> np.ndarray:
    """As kernels see it: bfloat16 as its bits."""
    dtype = DType.from_numpy(array.dtype)
    return array if dtype.stored is dtype else array.view(dtype.stored.numpy)


class PackedWeights:
    """Packed weights ``[g, k..., column]`` as the ``rhs`` of a contraction: in the order in which blocks read them, or
    in the panels of the CPU, which are the same for others."""

    def __init__(self, ctx: KernelContext, weights: np.ndarray, blocking: Blocking) -> None:
        _, *k, inner, columns = weights.shape
        depth = prod(k) * -(-inner // blocking.dot.group)
        self.dot, self.panel = blocking.dot, panel_width(ctx.cpu, blocking, columns, depth)
        stored = regions(columns, self.dot.lanes, blocking.vectors)
        if self.panel:
            stored = (Region(0, -(-columns // self.panel), self.panel // self.dot.lanes, columns),)
        self.buffers = {region.start: ctx.pack("w", pack_columns(weights, self.dot, region)) for region in stored}

    def load(self, region: Region, index: Sequence[Expr], vector: int) -> Expr:
        """The vector of that number of what the block has at ``index`` = (g, block, k...)."""
        outer, block, *k = index
        start, place = region.start, as_expr(vector)
        if self.panel:
            first = region.start // self.dot.lanes + vector
            start, (block, place) = 0, _panel_of(block, region.vectors, first, self.panel // self.dot.lanes)
        where = (outer, block, *k, place * self.dot.lanes)
        return weight_operand(self.dot, Load(self.buffers[start], where, self.dot.lanes))


def _panel_of(block: Expr, vectors: int, first: int, whole: int) -> tuple[Expr, Expr]:
    """The panel, of ``whole`` vectors, of the vector ``first`` behind ``block`` blocks of ``vectors``, and its number
    there."""
    if vectors % whole == 0:
        return block * (vectors // whole) + first // whole, as_expr(first % whole)
    number = block * vectors + first
    return number // whole, number % whole


class ConvLoops:
    """A convolution of channels last with ``weights`` [O, k..., I/g]."""

    def __init__(self, ctx: KernelContext, node: Node, weights: np.ndarray) -> None:
        self.ctx, self.node, self.names = ctx, node, ctx.names
        x = node.inputs[0]
        assert x is not None
        attrs = node.attrs
        self.group = integer(attrs, "group")
        self.rank = weights.ndim - 2
        self.stride, self.dilation = ints(attrs, "stride"), ints(attrs, "dilation")
        self.pad = ints(attrs, "pad")[: self.rank]
        self.kernel = weights.shape[1:-1]
        self.channels = weights.shape[0] // self.group
        self.depth = weights.shape[-1]
        self.weights = weights
        self.refs = dict(ctx.refs)
        self.x = x
        self.out_shape = node.output.shape

    def emit(self) -> Block:
        pointwise = prod(self.kernel) == 1 and prod(self.stride) == 1 and not any(self.pad) and self.group == 1
        if pointwise:
            weights = self.weights.reshape(self.channels, self.depth).T
            return _PackedMatmul(self.ctx, self.node, weights).emit()
        return self.general()

    def place(self, position: Sequence[Expr]) -> Sequence[Expr]:
        """Where the result for ``position`` = [n, spatial...] is stored."""
        return position

    def general(self) -> Block:
        """For any kernel, stride and padding. Rows are the results along the last dimension that has several."""
        out, along = self.out_shape, self._row_dimension()
        rows, fold = out[1 + along], self.group == 1 and self.dilation[-1] == 1
        outer = [Axis(Var(self.names.fresh("n")), out[0])]
        group = Axis(Var(self.names.fresh("g")), self.group)
        apart = [extent for d, extent in enumerate(out[1:-1]) if d != along]
        spatial = [Axis(Var(self.names.fresh("o")), extent) for extent in apart]
        row = Axis(Var(self.names.fresh("row")), rows)
        k_extents = [*self.kernel[:-1], self.kernel[-1] * self.depth] if fold else [*self.kernel, self.depth]
        k = tuple(Axis(Var(self.names.fresh("k")), extent) for extent in k_extents)
        sums = sums_of(self.ctx, self.node, self._k_major(k_extents))
        blocking = self.ctx.blocking(sums.product(rows, out[0] * prod(apart) * self.group, self._pitch(along)))
        packed = PackedWeights(self.ctx, sums.packed, blocking)
        bias = sums.starts(blocking)

        def position(r: Expr) -> Sequence[Expr]:
            places: list[Expr] = [axis.var for axis in (*outer, *spatial)]
            return (*places[: 1 + along], r, *places[1 + along :])

        def weight(region: Region, block: Expr, vector: int) -> Expr:
            return packed.load(region, (group.var, block, *(a.var for a in (*sums.outer, *k))), vector)

        def absolute(column: Expr) -> Expr:
            return group.var * self.channels + column

        def finish(r: Expr, column: Expr, value: Expr, lanes: int, active: int) -> Block:
            def index(c: Expr) -> Sequence[Expr]:
                return (*self.place(position(r)), c)

            return self.ctx.store_vector(index, absolute(column), sums.result(value), active, self.refs)

        lhs = self._lhs(position(row.var), [a.var for a in k], group.var, fold)
        axes = (*outer, *spatial, group) if self.ctx.by_rows else (*outer, group, *spatial)
        spec = Contraction(
            axes, row, self.channels, (*sums.outer, *k), lhs, weight,
            lambda column, lanes, active: bias.load(absolute(column), lanes, active), finish, sums.weigh, packed=True,
        )  # fmt: skip
        return self.ctx.loops(
            lambda: contraction_block(spec, blocking, self.names, rows_first=self.ctx.by_rows, row_panels=True),
            type(self), type(sums), blocking, bias,
        )  # fmt: skip

    def _row_dimension(self) -> int:
        """Of the spatial ones. What runs row by row keeps those of images."""
        last = self.rank - 1
        if self.ctx.by_rows:
            return last
        return next((d for d in reversed(range(self.rank)) if self.out_shape[1 + d] > 1), last)

    def _pitch(self, along: int) -> int:
        """Bytes between the activations of neighbouring results along a dimension."""
        buffer = self.refs[self.x.name].buffer
        return self.stride[along] * buffer.strides[1 + along] * buffer.dtype.size

    def _k_major(self, k_extents: Sequence[int]) -> np.ndarray:
        """Weights [O, k..., I/g] as [group, k..., O/g]."""
        grouped = self.weights.reshape(self.group, self.channels, *k_extents)
        return np.moveaxis(grouped, 1, -1)

    def _lhs(self, position: Sequence[Expr], k: Sequence[Var], group: Var, fold: bool) -> Expr:
        """The input element under kernel position ``k``. Folded: width and channels are one dimension."""
        ref = self.refs[self.x.name]
        where: list[Expr] = [position[0]]
        for d in range(self.rank):
            start = position[1 + d] * self.stride[d] - self.pad[d]
            tap = as_expr(0) if fold and d == self.rank - 1 else k[d] * self.dilation[d]
            where.append(start + tap)
        if not fold:
            return ref[*where, group * self.depth + k[-1]]
        *lead, width, channels = ref.buffer.shape
        flat = replace(ref.buffer, shape=(*lead, width * channels))
        *at, column, _ = ref.at((*where, as_expr(0)))
        return flat[*at, column * channels + k[-1]]


class _PackedMatmul:
    """``a[rows..., k] @ w[k, n]``: all dimensions of ``a`` but the last are rows, joined where memory allows."""

    def __init__(self, ctx: KernelContext, node: Node, weights: np.ndarray) -> None:
        self.ctx, self.node, self.weights = ctx, node, weights
        a = node.inputs[0]
        assert a is not None
        self.a = a

    def emit(self) -> Block:
        ctx, (depth, columns) = self.ctx, self.weights.shape
        shape, merged = join_rows(ctx, self.node, self.a, columns)
        refs = {**ctx.refs, **merged}
        outer = tuple(Axis(Var(ctx.names.fresh("o")), extent) for extent in shape[:-2])
        row = Axis(Var(ctx.names.fresh("row")), shape[-2])
        k = Axis(Var(ctx.names.fresh("k")), depth)
        sums = sums_of(ctx, self.node, self.weights[None])
        x = refs[self.a.name]
        pitch = x.buffer.strides[-2] * x.buffer.dtype.size
        blocking = ctx.blocking(sums.product(row.extent, prod(shape[:-2]), pitch))
        packed, bias = PackedWeights(ctx, sums.packed, blocking), sums.starts(blocking)
        position = [axis.var for axis in outer]

        def finish(r: Expr, column: Expr, value: Expr, lanes: int, active: int) -> Block:
            return ctx.store_vector(lambda c: (*position, r, c), column, sums.result(value), active, refs)

        spec = Contraction(
            outer, row, columns, (*sums.outer, k), x[*position, row.var, k.var],
            lambda region, block, vector: packed.load(
                region, (as_expr(0), block, *(axis.var for axis in (*sums.outer, k))), vector
            ),
            bias.load, finish, sums.weigh, packed=True,
        )  # fmt: skip
        return ctx.loops(
            lambda: contraction_block(spec, blocking, ctx.names, rows_first=ctx.by_rows, row_panels=True),
            _PackedMatmul, type(sums), blocking, bias,
        )  # fmt: skip


def join_rows(ctx: KernelContext, node: Node, a: Value, columns: int) -> tuple[tuple[int, ...], dict[str, TensorRef]]:
    """The shape [rows..., columns] of a product of the rows of ``a`` with neighbouring dimensions joined where all
    tensors of the kernel allow it, and those tensors under it."""
    used = {v.name for n in ctx.body.nodes for v in n.operands} | {ctx.output.name}
    operands = {v.name for v in node.inputs[1:] if v is not None}
    others = {v.name for n in ctx.body.nodes if n is not node for v in n.operands}
    hidden = (operands - others) | table_names(ctx.body)
    visible = {name: ref for name, ref in ctx.refs.items() if name in used - hidden}
    return merge_dimensions((*a.shape[:-1], columns), visible, keep_last=1, rows_apart=ctx.by_rows)


class _DynamicMatmul:
    """``a[batch..., m, k] @ b[batch..., k, n]`` with both operands computed at run time."""

    def __init__(self, ctx: KernelContext, node: Node) -> None:
        self.ctx, self.node = ctx, node
        a, b = node.inputs[0], node.inputs[1]
        assert a is not None and b is not None
        self.a, self.b = a, b

    def emit(self) -> Block:
        ctx, out = self.ctx, self.node.output.shape
        rows, columns, depth = out[-2], out[-1], self.a.shape[-1]
        batch = tuple(Axis(Var(ctx.names.fresh("o")), extent) for extent in out[:-2])
        row, k = Axis(Var(ctx.names.fresh("row")), rows), Axis(Var(ctx.names.fresh("k")), depth)
        dots = usable_dots(ctx.cpu, self.a.dtype)
        blocking = ctx.blocking(Product(dots, rows, columns, (depth,), prod(out[:-2])))
        lanes = blocking.dot.lanes
        sums = Type(DType(blocking.dot.accumulator.value), lanes)
        position = [axis.var for axis in batch]
        lhs = self._operand(self.a.name, (*position, row.var, k.var))
        column = Var(ctx.names.fresh("c"))
        rhs = self._operand(self.b.name, (*position, k.var, column))

        def weight(region: Region, block: Expr, vector: int) -> Expr:
            first = block * (region.vectors * lanes) + (region.start + vector * lanes)
            active = region.active(vector, lanes, region.blocks - 1)
            mask = None if active == lanes else as_expr(active)
            if lanes == 1:
                return sums(_replaced(rhs, column, first))
            return sums(Vectorizer(column, lanes, first, ctx.names, active=mask).vector(rhs))

        bias = sums_of(ctx, self.node, np.zeros((1, 1, columns), np.float32)).starts(blocking)

        def finish(r: Expr, c: Expr, value: Expr, width: int, active: int) -> Block:
            return ctx.store_vector(lambda n: (*position, r, n), c, ctx.rounded(value), active, ctx.refs)

        spec = Contraction(
            batch, row, columns, (k,), lhs, weight, bias.load, finish,
        )  # fmt: skip
        return contraction_block(spec, blocking, ctx.names, rows_first=ctx.by_rows)

    def _operand(self, name: str, index: Sequence[Expr]) -> Load:
        ref = self.ctx.refs[name]
        return ref[ref.broadcast_index(index)]


def _replaced(expr: Expr, var: Var, value: Expr) -> Expr:
    return map_expr(expr, lambda part: value if part == var else None)

