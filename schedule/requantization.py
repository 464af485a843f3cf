"""Where an integer anchor's body is one requantization, as block instructions compute it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ir.types import DType
from ..ops.infer import integer
from .kernel import KernelContext


@dataclass(frozen=True)
class Requantization:
    """The scale of each channel, and the zero point of the result."""

    scale: np.ndarray
    zero_point: int


def requantization_of(ctx: KernelContext, reach: np.ndarray, limit: int) -> Requantization | None:
    """What follows the anchor, where it is a requantization to all of int8 and no more.

    ``reach`` bounds the accumulators of each channel; times its scale it has to stay below ``limit``.
    """
    node, body = ctx.anchor, ctx.body
    last = body.nodes[-1]
    assert node is not None
    if len(body.nodes) != 2 or last.op != "requantize" or last.operands[0].name != node.output.name:
        return None
    limits = (integer(last.attrs, "lo"), integer(last.attrs, "hi"))
    scale = ctx.constant(last.operands[1])
    if last.attrs["to"] is not DType.I8 or limits != (-128, 127) or scale is None:
        return None
    if scale.size != 1 and scale.shape[-1:] != (scale.size,):
        return None
    scales = np.broadcast_to(scale.astype(np.float32).reshape(-1), reach.shape)
    if not np.all(reach * np.abs(scales.astype(np.float64)) < limit):
        return None
    return Requantization(scales, integer(last.attrs, "zero_point"))
