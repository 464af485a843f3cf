"""Softmax of bytes on cores with Helium: a block instruction for each row."""

from __future__ import annotations

from ...ir.loops import Block, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ...ops.attributes import integer
from ...ops.integer import softmax_division, softmax_rounding
from ..kernel import KernelContext

_LARGEST_STEP = 2**31 - 1
"""A scalar of a block instruction is a word."""


def is_helium_softmax(ctx: KernelContext) -> bool:
    """Whether the anchor is an ``int_softmax`` of signed bytes to such along the last dimension, alone."""
    node = ctx.anchor
    assert node is not None
    x, y = node.operands[0], node.output
    last = integer(node.attrs, "axis") == len(x.shape) - 1
    known = x.name in ctx.refs and y.name == ctx.output.name and integer(node.attrs, "step") <= _LARGEST_STEP
    return last and known and x.dtype is y.dtype is DType.I8 and 0 not in x.shape


def lower_helium_softmax(ctx: KernelContext) -> Block:
    """``int_softmax``, for which :func:`is_helium_softmax` holds."""
    node = ctx.anchor
    assert node is not None
    x, table, y = (ctx.refs[value.name] for value in (*node.operands, node.output))
    outer = [Var(ctx.names.fresh("o")) for _ in x.shape[:-1]]
    index = (*(as_expr(0) if extent == 1 else var for var, extent in zip(outer, x.shape)), as_expr(0))
    shift = integer(node.attrs, "shift")
    start, digits = softmax_division(shift)
    numbers = (x.shape[-1], integer(node.attrs, "step"), start, digits, shift, softmax_rounding(node.attrs))
    pointers = (Pointer(x.buffer, x.at(index)), Pointer(table.buffer, (as_expr(0),)), Pointer(y.buffer, y.at(index)))
    block: Block = (Invoke("helium_softmax", pointers, numbers),)
    for var, extent in reversed(list(zip(outer, x.shape))):
        block = loop(var, extent, *block)
    return block
