"""Normalization of neighbouring bytes on cores that multiply and add several of them at a time: the sums of a row are a
block instruction, all else is the plain nest."""

from __future__ import annotations

from functools import partial
from math import prod

from ..blocks import has_block
from ..ir.build import convert
from ..ir.graph import Node
from ..ir.loops import Alloc, Block, Buffer, Expr, Invoke, Pointer, Space, Type, as_expr
from ..ir.types import DType
from ..ops.attributes import ints
from ..ops.int_normalize_nest import int_normalize
from ..ops.nest_tools import Index
from .generic import NestAdapter
from .kernel import KernelContext


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
    return ctx.vectorized(int_normalize(NestAdapter(ctx), node, partial(_sums, ctx, node)))


def _sums(ctx: KernelContext, node: Node, kept: Index) -> tuple[Block, Expr, Expr]:
    x, axes = node.operands[0], ints(node.attrs, "axes")
    sums = Buffer(ctx.names.fresh("sums"), Type(DType.I32), (2,), Space.STACK)
    index = (*kept[: min(axes)], *(as_expr(0) for _ in axes))
    ref = ctx.refs[x.name]
    pointers = (Pointer(ref.buffer, ref.at(index)), Pointer(sums, (as_expr(0),)))
    add = Invoke("byte_sums", pointers, (prod(x.shape[axis] for axis in axes),))
    return (Alloc(sums), add), sums[0], convert(sums[1], DType.U32)
