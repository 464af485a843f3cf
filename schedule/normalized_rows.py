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
from ..ir.loops import Alloc, Block, Buffer, Expr, Invoke, Pointer, Space, Type, as_expr
from ..ir.types import DType
from ..ops.attributes import ints
from ..ops.int_normalize_nest import int_normalize
from ..ops.nest_tools import Index
from .generic import NestAdapter
from .kernel import KernelContext
from .tensors import TensorRef


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
    steps = _steps(ctx, node)
    write = None if steps is None else partial(_write_row, ctx, node, steps)
    return ctx.vectorized(int_normalize(NestAdapter(ctx), node, partial(_sums, ctx, node), write))


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


def _write_row(
    ctx: KernelContext, node: Node, steps: np.ndarray, kept: Index, numbers: tuple[Expr, Expr, Expr]
) -> Block:
    scaling = Buffer(ctx.names.fresh("scaling"), Type(DType.I32), (3,), Space.STACK)
    stores = (store(scaling[n], number) for n, number in enumerate(numbers))
    x, y = (_row(ctx.refs[value.name], node, kept) for value in (node.operands[0], ctx.output))
    block = _block(ctx)
    assert block is not None
    packed = ctx.pack("steps", lane_steps(steps) if block.startswith("helium") else steps)
    pointers = (x, Pointer(scaling, (as_expr(0),)), Pointer(packed, (as_expr(0), as_expr(0))), y)
    return (Alloc(scaling), *stores, Invoke(block, pointers, (len(steps),)))
