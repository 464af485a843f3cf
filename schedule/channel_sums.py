"""Sums over all positions (average pooling of whole maps) on cores with DSP or Helium: channels in lanes."""

from __future__ import annotations

from math import prod

from ..blocks.helium import pad
from ..blocks.row_sums import CHANNELS, MOST_ROWS
from ..ir.loops import Block, Invoke, Pointer, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..ops.attributes import ints
from ..ops.integer import zero_point
from .kernel import KernelContext


def is_helium_sum(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``reduce`` of a sum of bytes over neighbouring dimensions behind the first ones, with the
    last one kept."""
    node = ctx.anchor
    assert node is not None
    x = node.operands[0]
    if x.dtype is not DType.I8 or prod(x.shape) == 0:
        return False
    axes, ref = sorted(ints(node.attrs, "axes")), ctx.refs.get(x.name)
    if node.attrs["kind"] != "sum" or "zero_point" not in node.attrs:
        return False
    return bool(axes) and axes == list(range(axes[0], len(x.shape) - 1)) and ref is not None and ref.dense


def is_dsp_sum(ctx: KernelContext) -> bool:
    """Whether the anchor is one of these whose sums are halfwords, with whole eights of channels."""
    if not is_helium_sum(ctx):
        return False
    rows, channels = _extents(ctx)
    return rows <= MOST_ROWS and channels % CHANNELS == 0


def _extents(ctx: KernelContext) -> tuple[int, int]:
    """What is summed up, and channels."""
    assert ctx.anchor is not None
    shape = ctx.anchor.operands[0].shape
    return prod(shape[min(ints(ctx.anchor.attrs, "axes")) : -1]), shape[-1]


def lower_helium_sum(ctx: KernelContext) -> Block:
    """``reduce``, for which :func:`is_helium_sum` holds."""
    return _lower(ctx, "helium_sum")


def lower_dsp_sum(ctx: KernelContext) -> Block:
    """``reduce``, for which :func:`is_dsp_sum` holds."""
    return _lower(ctx, "channel_sums")


def _lower(ctx: KernelContext, block_name: str) -> Block:
    node = ctx.anchor
    assert node is not None
    x = node.operands[0]
    axes, ref = sorted(ints(node.attrs, "axes")), ctx.refs[x.name]
    rows, channels = _extents(ctx)
    acc = ctx.temporary("acc", DType.I32, (pad(channels, 4),), align=16)
    outer = [Var(ctx.names.fresh("o")) for _ in x.shape[: axes[0]]]
    index = [as_expr(0) if extent == 1 else var for var, extent in zip(outer, x.shape)]
    source = Pointer(ref.buffer, ref.at((*index, *(0 for _ in axes), 0)))
    add = Invoke(block_name, (source, Pointer(acc, (as_expr(0),))), (rows, channels, -rows * zero_point(node.attrs)))
    c = Var(ctx.names.fresh("c"))
    kept = [as_expr(0) for _ in axes] if node.attrs["keepdims"] else []
    block: Block = (add, *loop(c, channels, *ctx.store_element((*index, *kept, c), acc[c])))
    for var, extent in reversed(list(zip(outer, x.shape))):
        block = loop(var, extent, *block)
    return block
