"""Anchors of int8 that block instructions of several cores compute."""

from __future__ import annotations

from math import prod

from ..ir.graph import Node
from ..ir.types import DType
from ..ops.attributes import ints
from ..ops.integer import zero_point
from .kernel import KernelContext


def is_byte_contraction(ctx: KernelContext) -> bool:
    """Whether it is a convolution of one group, channels last, or a product with a matrix, of int8 throughout and with
    constant weights."""
    anchor, weights = ctx.contraction
    if not _of_bytes(anchor) or weights is None or anchor.operands[0].shape[-1] == 0:
        return False
    if anchor.op == "conv":
        return anchor.attrs["layout"] == "channels_last" and anchor.attrs["group"] == 1
    plain = anchor.op == "matmul" and zero_point(anchor.attrs, "rhs_zero_point") == 0
    return plain and len(anchor.operands[0].shape) >= 2 and weights.ndim == 2


def is_byte_group_contraction(ctx: KernelContext) -> bool:
    """Whether it is a convolution of groups that have several channels each, of the input or the output, channels last,
    of int8 throughout and with constant weights."""
    anchor, weights = ctx.contraction
    if not _of_bytes(anchor) or anchor.op != "conv" or weights is None:
        return False
    several = weights.shape[-1] > 1 or len(weights) > anchor.operands[0].shape[-1]
    return anchor.attrs["layout"] == "channels_last" and anchor.attrs["group"] != 1 and several


def is_byte_depthwise(ctx: KernelContext, ranks: tuple[int, ...] = (4,), most: int | None = 1) -> bool:
    """Whether it is a convolution, channels last, with one input channel and up to ``most`` output channels per group
    (``None``: any number), of int8 throughout, whose weights are constant and have one of the ``ranks``."""
    anchor, weights = ctx.contraction
    if not _of_bytes(anchor) or anchor.op != "conv" or weights is None:
        return False
    if anchor.attrs["layout"] != "channels_last" or weights.ndim not in ranks or weights.shape[-1] != 1:
        return False
    channels = anchor.operands[0].shape[-1]
    return anchor.attrs["group"] == channels and (most is None or len(weights) <= most * channels)


def is_plain_window(anchor: Node, kernel: int) -> bool:
    """Whether a depthwise convolution has a square ``kernel``, steps of one or two in both directions, less padding
    than taps, and no dilation."""
    w = anchor.operands[1]
    stride, dilation, pad = (ints(anchor.attrs, name) for name in ("stride", "dilation", "pad"))
    square = w.shape[1:3] == (kernel, kernel)
    return square and stride in ((1, 1), (2, 2)) and dilation == (1, 1) and max(pad) < kernel


def _of_bytes(anchor: Node) -> bool:
    known = all(operand.dtype is DType.I8 for operand in anchor.operands[:2])
    return known and prod(anchor.output.shape) > 0
