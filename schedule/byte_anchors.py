"""Anchors of int8 that block instructions of several cores compute."""

from __future__ import annotations

from math import prod

from ..ir.graph import Node
from ..ir.types import DType
from ..ops.infer import ints
from ..ops.integer import zero_point


def is_byte_contraction(anchor: Node) -> bool:
    """Whether it is a convolution of one group, channels last, or a product with a matrix, of int8 throughout."""
    x, w = anchor.inputs[0], anchor.inputs[1]
    if not _of_bytes(anchor) or x is None or w is None or x.shape[-1] == 0:
        return False
    if anchor.op == "conv":
        return anchor.attrs["layout"] == "channels_last" and anchor.attrs["group"] == 1
    plain = anchor.op == "matmul" and zero_point(anchor.attrs, "rhs_zero_point") == 0
    return plain and len(x.shape) >= 2 and len(w.shape) == 2


def is_byte_group_contraction(anchor: Node) -> bool:
    """Whether it is a convolution of some groups of several channels each, channels last, of int8 throughout."""
    x, w = anchor.inputs[0], anchor.inputs[1]
    if not _of_bytes(anchor) or anchor.op != "conv" or x is None or w is None:
        return False
    return anchor.attrs["layout"] == "channels_last" and anchor.attrs["group"] != 1 and w.shape[-1] > 1


def is_byte_depthwise(anchor: Node, ranks: tuple[int, ...] = (4,)) -> bool:
    """Whether it is a convolution, channels last, with one input and one output channel per group, of int8 throughout,
    whose weights have one of the ``ranks``."""
    x, w = anchor.inputs[0], anchor.inputs[1]
    if not _of_bytes(anchor) or anchor.op != "conv" or x is None or w is None:
        return False
    if anchor.attrs["layout"] != "channels_last" or len(w.shape) not in ranks or w.shape[-1] != 1:
        return False
    return anchor.attrs["group"] == w.shape[0] == x.shape[-1]


def is_plain_window(anchor: Node, kernel: int) -> bool:
    """Whether a depthwise convolution has a square ``kernel``, steps of one or two in both directions, less padding
    than taps, and no dilation."""
    w = anchor.inputs[1]
    stride, dilation, pad = (ints(anchor.attrs, name) for name in ("stride", "dilation", "pad"))
    square = w is not None and w.shape[1:3] == (kernel, kernel)
    return square and stride in ((1, 1), (2, 2)) and dilation == (1, 1) and max(pad) < kernel


def _of_bytes(anchor: Node) -> bool:
    x, w = anchor.inputs[0], anchor.inputs[1]
    known = x is not None and w is not None and x.dtype is DType.I8 and w.dtype is DType.I8
    return known and prod(anchor.output.shape) > 0
