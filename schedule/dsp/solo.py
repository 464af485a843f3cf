"""Contractions of a single pixel with packed weights: fully connected layers."""

from __future__ import annotations

import numpy as np

from ...blocks import has_block
from ...blocks.quad import PRE_SHIFT, SOLO, SOLO_HALFWORD, packed, packed_bias
from ...ir.loops import Block, Invoke, Pointer, as_expr
from ..byte_operands import start
from ..requantization import fixed_form, halfword_form
from ..staging import QUAD
from .base import StagedContraction
from .quads import is_packable


def lower_solo(work: StagedContraction) -> Block | None:
    """``None`` where the weights cannot be packed, or what follows is not one requantization in integers. Where the
    channels are no multiple of four, the last four overlap those before."""
    rq = work.requantization
    if not has_block("solo_fixed", work.ctx.cpu.extensions) or rq is None or not rq.whole or work.channels < SOLO.tile:
        return None
    if not is_packable(work):
        return None
    halfwords = halfword_form(rq, *work.bounds, PRE_SHIFT)
    fixed = halfwords or fixed_form(rq, *work.bounds, PRE_SHIFT)
    if fixed is None:
        return None
    row = "solo_fixed" if halfwords is None else "solo_halfword"
    origin = tuple(as_expr(0) for _ in work.shape)
    before, x = work.staging(QUAD).bytes(origin)
    stream = SOLO if halfwords is None else SOLO_HALFWORD
    bias, words = packed_bias(work.bias, work.columns), packed(work.columns)
    full = work.channels // stream.tile * stream.tile
    parts = [(0, full)] + ([(work.channels - stream.tile, stream.tile)] if full < work.channels else [])
    slices = (slice(begin, begin + channels) for begin, channels in parts)
    w = work.ctx.pack("w", np.concatenate([stream.pack(bias[s], words[s], fixed.factors[s]) for s in slices]))
    blocks: Block = ()
    for begin, channels in parts:
        y = Pointer(work.y.buffer, work.y.at((*origin, begin)))
        at = start(w, stream.size(full, work.groups) if begin else 0)
        blocks += (Invoke(row, (at, x, y), (work.groups, channels, rq.zero_point, fixed.shift)),)
    return (*before, *blocks)
