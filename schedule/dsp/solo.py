"""Contractions of a single pixel with packed weights: fully connected layers."""

from __future__ import annotations

import numpy as np

from ...blocks import has_block
from ...blocks.quad import PRE_SHIFT, packed
from ...blocks.solo import TILE, factor_words, stream_words
from ...ir.loops import Block, Invoke, Pointer, as_expr
from ..byte_operands import start
from ..requantization import fixed_form, halfword_form
from ..staging import QUAD
from .base import StagedContraction
from .quads import is_packable, packed_bias


def lower_solo(work: StagedContraction) -> Block | None:
    """``None`` where the weights cannot be packed, or what follows is not one requantization in integers. Where the
    channels are no multiple of four, the last four overlap those before."""
    rq = work.requantization
    if not has_block("solo_fixed", work.ctx.cpu.extensions) or rq is None or not rq.whole or work.channels < TILE:
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
    bias, words = packed_bias(work), packed(work.columns)
    even = work.channels // TILE * TILE
    parts = [(0, even)] + ([(work.channels - TILE, TILE)] if even < work.channels else [])
    stream: list[np.ndarray] = []
    for begin, channels in parts:
        for first in range(begin, begin + channels, TILE):
            tile = slice(first, first + TILE)
            stream += [bias[tile], words[tile].T.reshape(-1), factor_words(fixed.factors[tile])]
    w = work.ctx.pack("w", np.concatenate(stream))
    blocks: Block = ()
    for begin, channels in parts:
        y = Pointer(work.y.buffer, work.y.at((*origin, begin)))
        at = start(w, stream_words(even, work.groups, halfwords is not None) if begin else 0)
        blocks += (Invoke(row, (at, x, y), (work.groups, channels, rq.zero_point, fixed.shift)),)
    return (*before, *blocks)
