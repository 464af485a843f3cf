"""Contractions of halfwords by bytes on cores with DSP: the blocks of bytes, whose activations are halfwords anyway.

A word of four weights is widened to (w0, w2) and (w1, w3). Activations are staged two halfwords side by side as they
lie in memory, (x0, x1) and (x2, x3), so the weights of each four are packed as w0, w2, w1, w3. A single pixel takes the
block of recurrent layers, where weights of two channels share halfwords.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...blocks.dsp_gemm import GEMM_3X2, pack
from ...blocks.halfword_gemm import GROUP, PACKED_4X1, can_be_packed, pack_pairs
from ...blocks.helium import pad
from ...ir.build import load, store
from ...ir.loops import I32, Bitcast, Block, Expr, Invoke, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ..block_contraction import Contraction, Remainder, Tiling, rows_of
from ..byte_operands import start
from ..contraction_results import Position
from ..halfword_rows import HalfwordContraction, each_element, halfword_weights
from ..kernel import KernelContext
from ..staging import TWO_PIXELS

PIXELS = 2
_ORDER = (0, 2, 1, 3)
"""Of four k in a word of weights."""


def is_halfword_contraction(ctx: KernelContext) -> bool:
    """Whether :func:`halfword_weights` has weights. Of a single pixel, they have to fit their block."""
    weights, anchor = halfword_weights(ctx), ctx.contraction[0]
    if weights is None:
        return False
    return anchor.output.type.size > anchor.output.shape[-1] or _fits_one_pixel(weights, anchor.op == "matmul")


def lower_halfword_contraction(ctx: KernelContext) -> Block:
    """A contraction, for which :func:`is_halfword_contraction` holds."""
    work = HalfwordContraction(ctx, sums=False)
    if work.one_pixel:
        return _PixelTiling(HalfwordContraction(ctx, sums=True)).emit()
    work.settle()
    return _HalfwordTiling(work).emit()


def _fits_one_pixel(weights: np.ndarray, matmul: bool) -> bool:
    """Whether ``gemm_4x1_s16s8_i32`` has words for the weights, and for all of their sums without bias."""
    columns = weights.T if matmul else weights.reshape(len(weights), -1)
    return can_be_packed(weights) and bool(np.all(np.abs(columns.astype(np.int64)).sum(axis=1) < 1 << 16))


class _HalfwordTiling(Tiling[Contraction]):
    """The block leaves bytes, or accumulators in scratch memory, which the body takes from there."""

    pixels = PIXELS
    remainder = Remainder.OVERLAP

    def __init__(self, work: Contraction) -> None:
        super().__init__(work)
        ctx = work.ctx
        self.groups = -(-work.depth // GROUP)
        columns = work.padded_columns(4).reshape(work.channels, -1, 4)[:, :, list(_ORDER)].reshape(work.channels, -1)
        rq = work.requantization
        stream = replace(GEMM_3X2, factors=rq is not None)
        self.weights = ctx.pack("w", pack(stream, work.bias, columns, None if rq is None else rq.scale))
        self.staged = ctx.temporary("pixels", DType.I32, (self.groups, TWO_PIXELS.words), align=8)
        self.column = ctx.temporary("column", DType.I16, (self.groups * 4,), align=4)
        self.values = None if rq is not None and rq.whole else work.scratch(PIXELS)

    def prepare(self) -> Block:
        """The activations that fill the last group."""
        return tuple(store(self.column[at], 0) for at in range(self.work.depth, self.groups * 4))

    def tile(self, position: Position, count: int, first: Expr, again: Expr | None) -> Block:
        slot = Var(self.work.names.fresh("slot"))
        stage = loop(slot, count, *self._stage(position(slot), slot))
        work, rq, values = self.work, self.work.requantization, self.values
        out = work.outputs(position, count) if values is None else rows_of(values, PIXELS)
        name, scalars = ("gemm_3x2_i32", ()) if rq is None else ("gemm_3x2_i8", (rq.zero_point,))
        pointers = (start(self.weights), start(self.staged), *out)
        multiply = Invoke(name, pointers, (self.groups, work.channels, *scalars))
        return (*stage, multiply, *(() if values is None else work.epilogue(values, count, position, again)))

    def _stage(self, position: Sequence[Expr], slot: Expr) -> Block:
        work, g = self.work, Var(self.work.names.fresh("g"))
        gathered = each_element(work, position, lambda at, value: (store(self.column[at], value),))
        pairs = (Bitcast(I32, load(self.column, g * 4 + 2 * half, lanes=2)) for half in range(2))
        words = (store(self.staged[g, slot * TWO_PIXELS.between + half], pair) for half, pair in enumerate(pairs))
        return (*gathered, *loop(g, self.groups, *words))


class _PixelTiling(Tiling[Contraction]):
    """One pixel, whose sums are without biases."""

    pixels = 1

    def __init__(self, work: Contraction) -> None:
        super().__init__(work)
        ctx = work.ctx
        self.groups = -(-work.depth // GROUP)
        self.weights = ctx.pack("w", pack_pairs(np.zeros_like(work.bias), work.columns))
        self.bias = ctx.pack("bias", work.bias.astype(np.int32))
        self.column = ctx.temporary("column", DType.I16, (self.groups * GROUP,), align=4)
        self.sums = ctx.temporary("sums", DType.I32, (1, pad(work.channels, PACKED_4X1)), align=4)

    def tile(self, position: Position, count: int, first: Expr, again: Expr | None) -> Block:
        work = self.work
        behind = tuple(store(self.column[at], 0) for at in range(work.depth, self.groups * GROUP))
        gathered = each_element(work, position(as_expr(0)), lambda at, value: (store(self.column[at], value),))
        pointers = (start(self.weights), start(self.column), start(self.sums))
        multiply = Invoke("gemm_4x1_s16s8_i32", pointers, (self.groups, work.channels))
        return (*behind, *gathered, multiply, *work.epilogue(self.sums, 1, position, bias=self.bias))
