"""Depthwise convolution: which loops compute it, and in which type.

Vectors of integers are widened to 16 bits where the machine multiplies these into sums of 32 bits. Where it adds up
four products of bytes, these are the rows of the kernel. Where it has other vectors, they are multiplied as floats:
products and sums of bytes stay below 2^24, so that float32 holds them exactly, and a fused multiply-add takes one
instruction.
"""

from __future__ import annotations

import numpy as np

from ..ir.loops import Block
from ..ir.types import DType
from ..ops.integer import sum_shift
from ..targets.target import Cpu
from .depthwise_columns import ColumnDepthwise, column_dots
from .depthwise_lanes import EXACT_FLOATS, Depthwise, product_reach
from .dots import has_dot
from .kernel import KernelContext


def is_depthwise(ctx: KernelContext) -> bool:
    """Whether the anchor, a convolution, has constant weights [channels, k..., 1], one input and one output channel per
    group, channels last, and sums that have a type in which they are exact."""
    node, weights = ctx.contraction
    x = node.operands[0].dtype
    if weights is None or node.attrs["layout"] != "channels_last" or not has_dot(ctx.cpu, x) or sum_shift(node.attrs):
        return False
    if weights.shape[-1] != 1 or node.attrs["group"] != weights.shape[0] or weights.ndim < 3:
        return False
    return compute_type(ctx.cpu, x, weights) is not None


def lower_depthwise(ctx: KernelContext) -> Block:
    """``conv``, for which :func:`is_depthwise` holds."""
    node, weights = ctx.contraction
    assert weights is not None
    kind = compute_type(ctx.cpu, node.operands[0].dtype, weights)
    assert kind is not None
    dots = column_dots(ctx.cpu, node.operands[0].dtype, weights)
    if dots:
        return ColumnDepthwise(ctx, node, weights, dots).emit()
    return Depthwise(ctx, node, weights, kind).emit()


def compute_type(cpu: Cpu, activation: DType, weights: np.ndarray) -> DType | None:
    """In what products of ``activation`` with ``weights`` are added: float where it is exact and vectors help, else
    32-bit integers. None for bfloat16, whose products are dots over channels: a single channel is padded to a pair."""
    if activation is DType.BF16:
        return None
    if activation.is_float:
        return DType.F16 if activation is DType.F16 and "f16" in cpu.features else DType.F32
    if max(cpu.f32_lanes) == 1 or (cpu.widening_lanes and np.can_cast(activation.numpy, np.int16)):
        return DType.I32
    return DType.F32 if product_reach(weights, activation).max() < EXACT_FLOATS else None
