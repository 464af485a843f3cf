"""Contractions of halfwords by bytes on cores with DSP: the blocks of bytes, whose activations are halfwords anyway.

A word of four weights is widened to (w0, w2) and (w1, w3). Activations are staged two halfwords side by side as they
lie in memory, (x0, x1) and (x2, x3), so the weights of each four are packed as w0, w2, w1, w3. A single pixel takes the
block of recurrent layers, where weights of two channels share halfwords.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...blocks.dsp_gemm import GEMM_3X2, pack
from ...blocks.halfword_gemm import GROUP, PACKED_4X1, can_be_packed, pack_pairs
from ...blocks.helium import pad
from ...ir.build import load, store
from ...ir.loops import I16, I32, Bitcast, Block, Buffer, Expr, Invoke, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ...ops.integer import sum_shift, zero_point
from ..block_contraction import Contraction, Remainder, Tiling, rows_of
from ..byte_operands import start
from ..contraction_results import Position
from ..kernel import KernelContext
from ..staging import TWO_PIXELS
from ..window import window_rows

PIXELS = 2
_ORDER = (0, 2, 1, 3)
"""Of four k in a word of weights."""


def is_halfword_contraction(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` (one group, channels last) or ``matmul`` of int16 by constant int8 weights, with
    sums of 32 bits. Of a single pixel, weights have to fit their block."""
    anchor, weights = ctx.contraction
    if weights is None or weights.dtype != np.int8 or anchor.operands[0].dtype is not DType.I16:
        return False
    channels = anchor.output.shape[-1]
    if sum_shift(anchor.attrs) or not anchor.operands[0].shape[-1] or anchor.output.type.size < channels:
        return False
    if anchor.output.type.size == channels and not _fits_one_pixel(weights, anchor.op == "matmul"):
        return False
    if anchor.op == "conv":
        return anchor.attrs["layout"] == "channels_last" and anchor.attrs["group"] == 1
    return zero_point(anchor.attrs, "rhs_zero_point") == 0 and weights.ndim == 2 and len(anchor.operands[0].shape) > 1


def lower_halfword_contraction(ctx: KernelContext) -> Block:
    """A contraction, for which :func:`is_halfword_contraction` holds."""
    work = _HalfwordContraction(ctx, limit=0)
    return (_PixelTiling if work.one_pixel else _HalfwordTiling)(work).emit()


def _fits_one_pixel(weights: np.ndarray, matmul: bool) -> bool:
    """Whether ``gemm_4x1_s16s8_i32`` has words for the weights, and for all of their sums without bias."""
    columns = weights.T if matmul else weights.reshape(len(weights), -1)
    return can_be_packed(weights) and bool(np.all(np.abs(columns.astype(np.int64)).sum(axis=1) < 1 << 16))


class _HalfwordContraction(Contraction):
    unpacks = False


class _HalfwordTiling(Tiling[Contraction]):
    """The block leaves accumulators, which the body takes from scratch memory."""

    pixels = PIXELS
    remainder = Remainder.OVERLAP

    def __init__(self, work: Contraction) -> None:
        super().__init__(work)
        ctx = work.ctx
        self.groups = -(-work.depth // GROUP)
        columns = work.padded_columns(4).reshape(work.channels, -1, 4)[:, :, list(_ORDER)].reshape(work.channels, -1)
        self.weights = ctx.pack("w", pack(replace(GEMM_3X2, factors=False), work.bias, columns, None))
        self.staged = ctx.temporary("pixels", DType.I32, (self.groups, TWO_PIXELS.words), align=8)
        self.column = ctx.temporary("column", DType.I16, (self.groups * 4,), align=4)
        self.values = work.scratch(PIXELS)

    def prepare(self) -> Block:
        """The activations that fill the last group."""
        return tuple(store(self.column[at], 0) for at in range(self.work.depth, self.groups * 4))

    def tile(self, position: Position, count: int, first: Expr, again: Expr | None) -> Block:
        slot = Var(self.work.names.fresh("slot"))
        stage = loop(slot, count, *self._stage(position(slot), slot))
        pointers = (start(self.weights), start(self.staged), *rows_of(self.values, PIXELS))
        multiply = Invoke("gemm_3x2_i32", pointers, (self.groups, self.work.channels))
        return (*stage, multiply, *self.work.epilogue(self.values, count, position, again))

    def _stage(self, position: Sequence[Expr], slot: Expr) -> Block:
        work, g = self.work, Var(self.work.names.fresh("g"))
        gathered = window_rows(work.ctx, work.window, position, _Column(work, self.column))
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
        self.sums = ctx.temporary("sums", DType.I32, (pad(work.channels, PACKED_4X1),), align=4)
        self.values = work.scratch(1)

    def tile(self, position: Position, count: int, first: Expr, again: Expr | None) -> Block:
        work, c = self.work, Var(self.work.names.fresh("c"))
        behind = tuple(store(self.column[at], 0) for at in range(work.depth, self.groups * GROUP))
        gathered = window_rows(work.ctx, work.window, position(as_expr(0)), _Column(work, self.column))
        pointers = (start(self.weights), start(self.column), start(self.sums))
        multiply = Invoke("gemm_4x1_s16s8_i32", pointers, (self.groups, work.channels))
        biased = loop(c, work.channels, store(self.values[0, c], self.sums[c] + self.bias[c]))
        return (*behind, *gathered, multiply, *biased, *work.epilogue(self.values, 1, position))


@dataclass(frozen=True)
class _Column:
    """Into a column of halfwords."""

    work: Contraction
    column: Buffer

    def copy(self, first: Expr, taps: int, where: Sequence[Expr]) -> Block:
        x, window = self.work.x, self.work.window
        *at, channel = x.at((*where, 0))
        if not window.kernel:
            return self._each(first, taps, lambda i: x.buffer[*at, channel + i])
        *lead, width, channels = x.buffer.shape
        flat = replace(x.buffer, shape=(*lead, width * channels))
        return self._each(first, taps, lambda i: flat[*at[:-1], at[-1] * channels + channel + i])

    def fill(self, first: Expr, taps: int) -> Block:
        return self._each(first, taps, lambda _: I16(self.work.zero))

    def _each(self, first: Expr, taps: int, value: Callable[[Expr], Expr]) -> Block:
        i, depth = Var(self.work.names.fresh("i")), self.work.window.depth
        return self.work.ctx.vectorized(loop(i, taps * depth, store(self.column[first * depth + i], value(i))))
