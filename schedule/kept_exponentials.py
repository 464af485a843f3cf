"""Softmax of bytes on machines with vectors: vectors look up no table, but all arithmetic behind it is theirs.

Exponentials are looked up once, one by one, into working memory that is read as vectors. Microcontrollers rather look
them up twice than spend four bytes of memory an element.
"""

from __future__ import annotations

from ..ir.loops import Block
from ..ops.integer_nests import int_softmax
from .generic import NestAdapter
from .kernel import KernelContext


def lower_kept_exponentials(ctx: KernelContext) -> Block:
    """The nest of the anchor, an ``int_softmax``."""
    assert ctx.anchor is not None
    divide_long = "long_lanes" in ctx.cpu.features
    return ctx.vectorized(int_softmax(NestAdapter(ctx), ctx.anchor, keep=True, divide_long=divide_long), once=True)
