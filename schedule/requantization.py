"""Where an integer anchor's body is one requantization, as block instructions compute it."""

from __future__ import annotations

import numpy as np

from ..ir.graph import Node
from ..ir.shifts import PRE_SHIFT, USUAL_SHIFT
from ..ir.types import DType
from ..ops.attributes import integer
from ..ops.fixed_point import common_multipliers
from ..ops.halfword_factors import halfword_factors
from ..record import record
from .kernel import KernelContext

LIMIT = 2**15 - 512
"""What block instructions can round: some have the result, and a zero point, in a halfword before it is clamped."""

MOST_PRODUCT = 2**21
"""What blocks of vectors can round, which clamp words."""

MOST_SHIFT = 15
"""With results below LIMIT, what is shifted fits 32 bits."""


@record
class Requantization:
    """The scale of each channel, the zero point and the least value of the result, and the name of its value;
    ``whole`` where nothing follows."""

    scale: np.ndarray
    zero_point: int
    value: str
    whole: bool
    least: int = -128

    def result(self, acc: np.ndarray) -> np.ndarray:
        """The result for an accumulator of each channel."""
        product = np.rint(acc.astype(np.int32).astype(np.float32) * self.scale).astype(np.float64)
        return np.clip(product + self.zero_point, -128, 127).astype(np.int64)


@record
class Fixed:
    """``(((acc << pre_shift) * factor >> 32) + 2^(shift - 1)) >> shift`` for each channel: what is exact without floats
    for all accumulators that occur. Factors that are halfwords are multiplied as ``factor << 16``."""

    factors: np.ndarray
    shift: int


def fixed_form(rq: Requantization, lowest: np.ndarray, highest: np.ndarray, pre_shift: int) -> Fixed | None:
    """The form for accumulators within bounds; ``None`` where a channel has none. Layers with shifted accumulators
    should agree on a shift, so that they share code in which it is constant, and have the same factors whatever the
    shift of accumulators is; for others it is smaller, as few weights make large scales. Multipliers have 31 bits; for
    15 there is :func:`halfword_form`."""
    if not np.all(rq.scale > 0):
        return None
    usual = USUAL_SHIFT - (PRE_SHIFT - pre_shift) if pre_shift else USUAL_SHIFT // 2
    shifts = sorted(range(1, MOST_SHIFT + 1), key=lambda shift: abs(shift - usual))
    bounds = _pairs(lowest, highest)
    found = common_multipliers(rq.scale, bounds, rq.zero_point, -128, 127, pre_shift, shifts)
    return None if found is None else Fixed(*found)


def rounded_form(
    rq: Requantization, lowest: np.ndarray, highest: np.ndarray, pre_shift: int = 0
) -> np.ndarray | None:
    """The factors with which ``(acc << pre_shift) * factor + 2^31 >> 32`` is exact for accumulators within bounds;
    ``None`` where a channel has none. They have fewer bits than those of :func:`fixed_form`, but nothing is left to
    shift."""
    if not np.all(rq.scale > 0) or max(np.abs(lowest).max(), np.abs(highest).max()) >= 1 << 31 - pre_shift:
        return None
    found = common_multipliers(rq.scale, _pairs(lowest, highest), rq.zero_point, -128, 127, pre_shift, (0,))
    return None if found is None else found[0]


def halfword_form(rq: Requantization, lowest: np.ndarray, highest: np.ndarray, pre_shift: int) -> Fixed | None:
    """``(((acc << pre_shift) * factor >> 16) + 2^(shift - 1)) >> shift`` with factors that are halfwords, exact for
    accumulators within bounds; ``None`` where a channel has none."""
    if not np.all(rq.scale > 0):
        return None
    found = halfword_factors(rq.scale, _pairs(lowest, highest), rq.zero_point, -128, 127)
    return None if found is None else Fixed(found[0], found[1] + pre_shift - 16)


def _pairs(lowest: np.ndarray, highest: np.ndarray) -> list[tuple[int, int]]:
    return [(int(low), int(high)) for low, high in zip(lowest, highest, strict=True)]


def requantization_of(
    ctx: KernelContext, reach: np.ndarray, limit: int = LIMIT, least: int | None = -128
) -> Requantization | None:
    """What follows the anchor first, where it is a requantization to int8 from ``least`` (``None``: any) to 127.

    ``reach`` bounds the accumulators of each channel; times its scale it has to stay below ``limit``.
    """
    node, body = ctx.anchor, ctx.body
    assert node is not None
    users = [n for n in body.nodes if any(v.name == node.output.name for v in n.operands)]
    if len(users) != 1 or users[0].op != "requantize" or body.outputs[0].name == node.output.name:
        return None
    found = users[0]
    scales, lo = _byte_scales(ctx, found, reach, limit), integer(found.attrs, "lo")
    if scales is None or least not in (None, lo):
        return None
    return Requantization(scales, integer(found.attrs, "zero_point"), found.output.name, len(body.nodes) == 2, lo)


def _byte_scales(ctx: KernelContext, requantize: Node, reach: np.ndarray, limit: int) -> np.ndarray | None:
    """The scale of each channel of a ``requantize`` to int8 without an upper bound; ``None`` where it is another, or
    where accumulators up to ``reach`` times their scales do not stay below ``limit``."""
    scale = ctx.constant(requantize.operands[1])
    if requantize.attrs["to"] is not DType.I8 or integer(requantize.attrs, "hi") != 127 or scale is None:
        return None
    if scale.size != 1 and scale.shape[-1:] != (scale.size,):
        return None
    scales = np.broadcast_to(scale.astype(np.float32).reshape(-1), reach.shape)
    return scales if np.all(reach * np.abs(scales.astype(np.float64)) < limit) else None
