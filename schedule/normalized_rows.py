"""Normalization of neighbouring bytes on cores that multiply and add several of them at a time: the sums of a row are a
block instruction, and so are its elements where nothing but a factor and a bias for each follows; all else is the plain
nest."""

from __future__ import annotations

from functools import partial
from math import prod

import numpy as np

from ..blocks import has_block
from ..blocks.normalization import SHIFT, lane_steps
from ..ir.build import convert, store
from ..ir.graph import Node
from ..ir.loops import Alloc, Block, Buffer, Expr, Invoke, LoopKind, Pointer, Space, Type, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..ops.attributes import ints
from ..ops.int_normalize_nest import Row, int_normalize
from ..ops.nest_tools import AxisSplit, Index, loops
from .generic import NestAdapter
from .kernel import KernelContext
from .tensors import TensorRef

TWO_ROWS = "helium_normalize_rows"


def is_normalized_rows(ctx: KernelContext) -> bool:
    """Whether the anchor is an ``int_normalize`` of signed bytes over the last dimensions, on such a core."""
    node = ctx.anchor
    assert node is not None
    x = node.operands[0]
    ref, axes = ctx.refs.get(x.name), sorted(ints(node.attrs, "axes"))
    if not ctx.cpu.extensions & {"dsp", "mve"} or not has_block("byte_sums", ctx.cpu.extensions):
        return False
    last = axes == list(range(axes[0], len(x.shape)))
    return last and ref is not None and ref.dense and x.dtype is DType.I8 and prod(x.shape) > 0


def lower_normalized_rows(ctx: KernelContext) -> Block:
    """``int_normalize``, for which :func:`is_normalized_rows` holds."""
    node = ctx.anchor
    assert node is not None
    steps, sums = _steps(ctx, node), partial(_sums, ctx, node)
    if steps is None:
        return ctx.vectorized(int_normalize(NestAdapter(ctx), node, sums))
    writer = _Writer(ctx, node, steps)
    several = node.operands[0].type.size > len(steps)
    walk = writer.walk if several and writer.in_pairs else None
    return ctx.vectorized(int_normalize(NestAdapter(ctx), node, sums, writer.write, walk))


def _sums(ctx: KernelContext, node: Node, kept: Index) -> tuple[Block, Expr, Expr]:
    sums = Buffer(ctx.names.fresh("sums"), Type(DType.I32), (2,), Space.STACK)
    pointers = (_row(ctx.refs[node.operands[0].name], node, kept), Pointer(sums, (as_expr(0),)))
    add = Invoke("byte_sums", pointers, (_size(node),))
    return (Alloc(sums), add), sums[0], convert(sums[1], DType.U32)


def _size(node: Node) -> int:
    """Elements of a row."""
    return prod(node.operands[0].shape[axis] for axis in ints(node.attrs, "axes"))


def _row(ref: TensorRef, node: Node, kept: Index) -> Pointer:
    axes = ints(node.attrs, "axes")
    return Pointer(ref.buffer, ref.at((*kept[: min(axes)], *(as_expr(0) for _ in axes))))


def _block(ctx: KernelContext) -> str | None:
    """What normalizes a row on this core, if anything does."""
    found = (name for name in ("normalize_row", "helium_normalize_row") if has_block(name, ctx.cpu.extensions))
    return next(found, None)


def _steps(ctx: KernelContext, node: Node) -> np.ndarray | None:
    """Factors and biases [size, 2] of the elements of a row, where all that follows is what the block does."""
    user, y = ctx.body.nodes[-1], ctx.refs[ctx.output.name]
    if _block(ctx) is None or len(ctx.body.nodes) != 2 or not y.dense:
        return None
    does = (user.op, *(user.attrs.get(name) for name in ("shift", "lo", "hi", "to")))
    if does != ("rescale_channels", SHIFT, -128, 127, DType.I8) or node.output.dtype is not DType.I32:
        return None
    x = node.operands[0]
    shape = x.shape[min(ints(node.attrs, "axes")) :]
    found = []
    for value in user.operands[1:]:
        constant = ctx.constant(value)
        if constant is None or constant.ndim > len(shape):
            return None
        found.append(np.broadcast_to(constant, shape).reshape(-1))
    return np.stack(found, axis=1).astype(np.int32)


class _Writer:
    """What follows on the sums of rows: the multiplier, bias and shift of each to memory, from where a block
    instruction takes those of a row, or with Helium of two."""

    def __init__(self, ctx: KernelContext, node: Node, steps: np.ndarray) -> None:
        self.ctx, self.node, self.size = ctx, node, len(steps)
        block = _block(ctx)
        assert block is not None
        self.block = block
        self.steps = ctx.pack("steps", lane_steps(steps) if block.startswith("helium") else steps)
        self.pair: tuple[Buffer, Expr] | None = None

    @property
    def in_pairs(self) -> bool:
        """Whether two neighbouring rows share their factors and biases. Rows that come one by one do not."""
        ctx = self.ctx
        return has_block(TWO_ROWS, ctx.cpu.extensions) and not ctx.by_rows and not ctx.cpu.in_rows

    def write(self, kept: Index, numbers: tuple[Expr, Expr, Expr]) -> Block:
        """The numbers of a row, and if it is alone its elements."""
        if self.pair is not None:
            scaling, number = self.pair
            return tuple(store(scaling[number * 3 + n], value) for n, value in enumerate(numbers))
        scaling = self._scaling(1)
        stores = (store(scaling[n], value) for n, value in enumerate(numbers))
        return (Alloc(scaling), *stores, self._invoke(self.block, scaling, kept))

    def walk(self, split: AxisSplit, row: Row) -> Block:
        """Two rows at a time, which are neighbours in memory."""
        *outer, last = (split.shape[dim] for dim in split.kept)
        pair, number = (Var(self.ctx.names.fresh(stem)) for stem in ("pair", "row"))

        def rows(index: Index) -> Block:
            scaling = self._scaling(2)
            self.pair = (scaling, number)
            each = loop(number, 2, *row((*index, pair * 2 + number)))
            self.pair = None
            both = (Alloc(scaling), *each, self._invoke(TWO_ROWS, scaling, (*index, pair * 2)))
            alone = row((*index, as_expr(last - 1))) if last % 2 else ()
            return (*loop(pair, last // 2, *both, kind=LoopKind.PARALLEL), *alone)

        return loops(NestAdapter(self.ctx), ["i"] * len(outer), outer, rows)

    def _scaling(self, rows: int) -> Buffer:
        return Buffer(self.ctx.names.fresh("scaling"), Type(DType.I32), (3 * rows,), Space.STACK)

    def _invoke(self, block: str, scaling: Buffer, kept: Index) -> Invoke:
        x, y = (_row(self.ctx.refs[value.name], self.node, kept) for value in (self.node.operands[0], self.ctx.output))
        steps = Pointer(self.steps, (as_expr(0), as_expr(0)))
        return Invoke(block, (x, Pointer(scaling, (as_expr(0),)), steps, y), (self.size,))
