"""Contractions of halfwords by bytes on cores with Helium, which multiplies sixteen bytes at a time: a pixel is split
into the upper and the lower bytes of what it sees, which the block of recurrent layers multiplies by all channels.

Before::                                  After::

    for o, c:                                 for o:
      acc = bias[c]                             for k: upper[k], lower[k] = x[o, k]
      for k: acc += x[o, k] * w[c, k]           invoke the block: acc[c] of all channels
      y[o, c] = requantize(acc)                 for c: y[o, c] = requantize(acc[c])
"""

from __future__ import annotations

import numpy as np

from ...blocks.halfword_gemm import FEW_STEPS, SPLIT_4X1, WORD, pack_split, split_block
from ...blocks.helium import STEP, pad
from ...blocks.nibbles import SIGNED_BYTES
from ...ir.build import store
from ...ir.loops import I32, Block, Expr, Invoke, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ..block_contraction import Tiling
from ..byte_operands import start
from ..contraction_results import Position
from ..halfword_rows import HalfwordContraction, each_element, halfword_weights, split
from ..kernel import KernelContext
from ..nibble_weights import StreamLayout, stored_words


def is_helium_halfword_contraction(ctx: KernelContext) -> bool:
    """Whether :func:`halfword_weights` has weights."""
    return halfword_weights(ctx) is not None


def lower_helium_halfword_contraction(ctx: KernelContext) -> Block:
    """A contraction, for which :func:`is_helium_halfword_contraction` holds."""
    return _SplitTiling(_NibbleContraction(ctx, sums=True)).emit()


class _NibbleContraction(HalfwordContraction):
    unpacks = True


class _SplitTiling(Tiling[HalfwordContraction]):
    """A pixel at a time."""

    pixels = 1

    def __init__(self, work: HalfwordContraction) -> None:
        super().__init__(work)
        ctx, self.width = work.ctx, pad(work.depth, STEP)
        missing = (work.bias.astype(np.int64) + 128 * work.columns.astype(np.int64).sum(axis=1)).astype(np.int32)
        words = np.stack([pack_split(missing[part], work.columns[part]) for part in work.parts])
        biases, layout = SPLIT_4X1, SPLIT_4X1 * self.width // WORD
        few = self.width // STEP in FEW_STEPS
        layout = StreamLayout(biases, layout, 0) if few else StreamLayout(0, layout, biases)
        self.weights = stored_words(ctx, words, layout, SIGNED_BYTES if work.nibbles else None)
        self.halves = ctx.temporary("halves", DType.I8, (2 * self.width,), align=STEP)
        self.sums = ctx.temporary("acc", DType.I32, (1, pad(work.channels, SPLIT_4X1)), align=STEP)

    def prepare(self) -> Block:
        """The weights of a group, and what fills the last vectors."""
        depth, i = self.work.depth, Var(self.work.names.fresh("i"))
        places = (self.halves[depth + i], self.halves[depth + self.width + i])
        filled = loop(i, self.width - depth, *(store(place, 0) for place in places)) if depth < self.width else ()
        return (*self.weights.prepare(self.work.group), *filled)

    def tile(self, position: Position, count: int, first: Expr, again: Expr | None) -> Block:
        work = self.work

        def put(at: Expr, value: Expr) -> Block:
            return split(value, at, self.halves, self.width, Var(work.names.fresh("word"), I32))

        gathered = each_element(work, position(as_expr(0)), put)
        weights = start(self.weights.buffer, work.group * self.weights.apart)
        pointers = (weights, start(self.halves), start(self.sums))
        vectors = self.width // STEP
        multiply = Invoke(split_block(vectors), pointers, (vectors, work.channels))
        return (*gathered, multiply, *work.epilogue(self.sums, 1, position))
