"""Integer contractions through block instructions: pixels staged a few at a time, multiplied by all channels.

Before::                                  After::

    for o, row, c:                            for o, quad:
      acc = bias[c]                             stage the activations of four pixels
      for k: acc += x[o, row, k] * w[c, k]      invoke quad_i8(weights, staged, the four pixels of y)
      y[o, row, c] = requantize(acc)

Where more than an exact requantization follows, its bytes (or the accumulators, where there is none) are left in
scratch memory and the kernel's own body finishes them. A single pixel (a fully connected layer) is not staged: its
activations are read once.
"""

from __future__ import annotations

from math import prod

from ...blocks import has_block
from ...ir.graph import Node
from ...ir.loops import Block
from ...ops.infer import integer
from ..byte_anchors import is_byte_contraction, is_byte_group_contraction
from ..kernel import KernelContext, OneScratch
from .base import StagedContraction
from .pairs import lower_pairs, lower_single
from .quads import fits_quads, lower_quads
from .solo import lower_solo

MOST_GROUPS = 16
"""Each group has code of its own."""


def is_staged(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` (channels last) or ``matmul`` of int8 with constant weights, and the CPU has the
    block instructions."""
    anchor, weights = ctx.contraction
    if weights is None or not has_block("pair_i8", ctx.cpu.extensions):
        return False
    return is_byte_contraction(anchor) or (is_byte_group_contraction(anchor) and _groups(anchor) <= MOST_GROUPS)


def _groups(anchor: Node) -> int:
    return integer(anchor.attrs, "group") if "group" in anchor.attrs else 1


def lower_staged(ctx: KernelContext) -> Block:
    """A contraction, for which :func:`is_staged` holds."""
    node, weights = ctx.contraction
    assert weights is not None
    shared = OneScratch.of(ctx)
    out: Block = ()
    for group in range(_groups(node)):
        out += lower_contraction(StagedContraction(shared, node, weights, group))
    return out


def lower_contraction(work: StagedContraction) -> Block:
    if prod(work.shape) == 1:
        return lower_solo(work) or lower_single(work)
    return lower_quads(work) if fits_quads(work.ctx.cpu, work) else lower_pairs(work)
