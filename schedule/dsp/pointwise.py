"""Contractions of int8 on few channels of a pixel, alone or in groups: rows of pixels as they are
(``blocks/pointwise.py``).

Before::                                    After::

    for o, row, column, c:                    for o, row:
      acc = bias[c]                             invoke the block for the pixels of the row
      for k: acc += x[o, row, column, k] * w[c, k]
      y[o, row, column, c] = requantize(acc)

Groups of fewer channels are taken together, with zeros among their weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ...blocks.nibbles import HALFWORDS
from ...blocks.pointwise import MOST_GROUPED_WORDS, MOST_RESULTS, MOST_WORDS, WORD, pack
from ...ir.loops import Block, Expr, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ..block_contraction import Contraction, merges, number_of_groups, settled
from ..byte_anchors import is_byte_contraction, is_byte_depthwise, is_byte_group_contraction
from ..byte_operands import Columns, start
from ..cycles import predicted_cycles
from ..kernel import KernelContext
from ..nibble_weights import StreamLayout, stored_words
from ..requantization import requantization_of, rounded_form
from ..window import Window

RUN_BYTES, RUN_SHARE = 256, 32
"""Of operand and result so many bytes are computed at once, or such a part of the smaller one."""


def is_dsp_pointwise(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` (channels last) or ``matmul`` of int8 with constant weights that sees a few
    channels of one of several pixels, and upper words of products requantize exactly all that follows."""
    if not (is_byte_contraction(ctx) or is_byte_group_contraction(ctx) or is_byte_depthwise(ctx, (3, 4))):
        return False
    anchor, _ = ctx.contraction
    window = Window.of(anchor)
    if prod(window.kernel) != 1 or not window.within or prod(anchor.output.shape[:-1]) <= 1:
        return False
    return bool(_merges(ctx)) and _factors(ctx) is not None


def _merges(ctx: KernelContext) -> list[int]:
    """How many groups may be taken as one, so that what that sees is at least a word and no more than blocks take."""
    anchor, _ = ctx.contraction
    depth = anchor.operands[1].shape[0 if anchor.op == "matmul" else -1]
    counts = merges(anchor, MOST_GROUPED_WORDS * WORD)
    return [count for count in counts if WORD <= count * depth <= MOST_WORDS * WORD]


def _factors(ctx: KernelContext) -> np.ndarray | None:
    """Of the requantization, where that is all that follows."""
    anchor, weights = ctx.contraction
    assert weights is not None
    operands = Columns.of(ctx, anchor, weights)
    rq = requantization_of(ctx, operands.reach)
    if rq is None or not rq.whole:
        return None
    operands, rq = settled(operands, rq)
    return rounded_form(rq, *operands.bounds)


def lower_dsp_pointwise(ctx: KernelContext) -> Block:
    """A contraction for which :func:`is_dsp_pointwise` holds."""
    counts, factors = _merges(ctx), _factors(ctx)
    assert factors is not None

    def cycles(count: int) -> float:
        return predicted_cycles(_Pointwise(ctx.trial(), count, factors).emit(), ctx.cpu)

    decided = ctx.form(len(counts))
    best = min(counts, key=cycles) if decided is None else counts[decided]
    return _Pointwise(ctx, best, factors).emit()


class _Pointwise:
    """With ``merged`` groups taken as one."""

    def __init__(self, ctx: KernelContext, merged: int, factors: np.ndarray) -> None:
        self.work = work = Contraction(ctx, merged=merged)
        work.settle()
        self.words = -(-work.depth // WORD)
        self.together = number_of_groups(work.node) > merged and self._fits_together
        """Whether a block goes through all groups of a pixel."""
        words = pack(work.bias, work.columns, factors)
        layout, form = StreamLayout(1, words.shape[1] - 2, 1), HALFWORDS if work.nibbles else None
        self.weights = stored_words(ctx, words.reshape(1 if self.together else work.groups, -1), layout, form)

    @property
    def _fits_together(self) -> bool:
        return self.words <= MOST_GROUPED_WORDS and self.work.channels <= MOST_RESULTS

    def emit(self) -> Block:
        work = self.work
        outer = [Var(work.names.fresh("o")) for _ in work.shape[:-1]]
        block = self._row(tuple(as_expr(0) if extent == 1 else var for var, extent in zip(outer, work.shape)))
        for var, extent in reversed(list(zip(outer, work.shape))):
            block = loop(var, extent, *block)
        if self.together:
            return (*self.weights.prepare(as_expr(0)), *block)
        return work.over_groups((*self.weights.prepare(work.group), *block))

    def _row(self, lead: Sequence[Expr]) -> Block:
        """The pixels of the last dimension, some at a time."""
        pixels, most = self.work.shape[-1], self._most_at_once
        whole = self.work.node.output.shape[-2] if self.work.ctx.cpu.in_rows else pixels
        least = 0 if whole < pixels else most // 2
        each = next((n for n in range(min(most, whole), least, -1) if whole % n == 0), most)
        run, rest = Var(self.work.names.fresh("run")), pixels % each
        block = loop(run, pixels // each, *self._invoke((*lead, run * each), each))
        return (*block, *self._invoke((*lead, as_expr(pixels - rest)), rest)) if rest else block

    @property
    def _most_at_once(self) -> int:
        """Pixels of one invocation. Memory need not hold operand and result of more at a time."""
        x, y = (self.work.refs[name] for name in self._names)
        bytes_ = max(RUN_BYTES, min(prod(ref.shape) for ref in (x, y)) // RUN_SHARE)
        return min(self.work.shape[-1], max(1, bytes_ // max(x.buffer.shape[-1], y.buffer.shape[-1])))

    @property
    def _names(self) -> tuple[str, str]:
        return self.work.node.operands[0].name, self.work.ctx.output.name

    def _invoke(self, position: Sequence[Expr], pixels: int) -> Block:
        """``pixels`` pixels from one on."""
        work = self.work
        assert work.requantization is not None
        steps = (1, *work.window.stride) if work.window.stride else (1,) * len(work.shape)
        x, y = (work.refs[name] for name in self._names) if self.together else (work.x, work.y)
        source = Pointer(x.buffer, x.at((*(place * step for place, step in zip(position, steps)), 0)))
        target = Pointer(y.buffer, y.at((*position, 0)))
        w = start(self.weights.buffer, as_expr(0) if self.together else work.group * self.weights.apart)
        groups = (work.groups,) if self.together else ()
        apart = (steps[-1] * x.buffer.shape[-1], y.buffer.shape[-1])
        scalars = (pixels, *groups, work.depth, work.channels, *apart, work.requantization.zero_point)
        return (Invoke(self._block, (w, source, target), scalars),)

    @property
    def _block(self) -> str:
        whole = self.words * WORD
        if not self.together:
            return f"pointwise_{whole}"
        return f"grouped_pointwise_{whole if self.work.depth == whole else whole - 1}"
