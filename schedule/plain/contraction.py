"""Contractions on cores without packed arithmetic: four staged pixels, or a single one, by some channels at a time.

Accumulators go to scratch memory, from where a block instruction requantizes them to bytes, if nothing else follows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import accumulate

import numpy as np

from ...blocks import has_block
from ...blocks.plain import (
    ONE_PIXEL_CHANNELS,
    PAIR_CHANNELS,
    PIXELS,
    WEIGHT_OFFSET,
    offset_weights,
    paired_bias,
    paired_weights,
    tiled_weights,
)
from ...ir.loops import Block, Expr, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ...record import record
from ...targets.target import Cpu
from ..block_contraction import Contraction, Tiling, lower_by_cheapest
from ..byte_anchors import is_byte_contraction
from ..byte_operands import start
from ..contraction_results import Position
from ..halfword_rows import halfword_weights
from ..kernel import KernelContext
from ..nibble_weights import ByteTiles, KernelWeights, unpacked_bytes
from .finish import Finish, PixelRun
from .staging import HalfwordPixels, PairPixels, WordPixels

DEPTH = 1 << 15
"""Products of an accumulator at most: with the offset of the weights, sums stay in 32 bits."""
PART = 128
"""Activations of a single pixel that are staged at a time."""
HALFWORD_CHANNELS = 48
"""That share a staged halfword: about twelve cycles."""
ONE_PIXEL_CHUNK = 128
"""Channels of a single pixel whose accumulators are kept in memory at a time."""


def has_plain_blocks(cpu: Cpu) -> bool:
    """Whether a core has these blocks and none for packed arithmetic or vectors."""
    return has_block("gemm_1x4_pairs", cpu.extensions) and not cpu.extensions & {"dsp", "mve"}


def is_plain_contraction(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` (one group, channels last) or ``matmul`` of int8 with constant weights, or of
    int16 with such of int8, and the CPU has the block instructions."""
    if not has_plain_blocks(ctx.cpu) or not (is_byte_contraction(ctx) or _are_halfwords(ctx)):
        return False
    anchor, weights = ctx.contraction
    return weights is not None and weights.size <= DEPTH * anchor.output.shape[-1]


def _are_halfwords(ctx: KernelContext) -> bool:
    """Whether activations of 16 bits are worth being staged. Where all registers can be addressed, code of compilers
    takes as long for products as the block, so that many channels have to share what staging takes."""
    few = ctx.output.shape[-1:] < (HALFWORD_CHANNELS,) and has_block("gemm_2x4_pairs", ctx.cpu.extensions)
    return not few and halfword_weights(ctx) is not None


def lower_plain_contraction(ctx: KernelContext) -> Block:
    """A contraction, for which :func:`is_plain_contraction` holds."""
    work = Contraction(ctx)
    rows = [row for row in ROWS if not _of_halfwords(work) and has_block(row.block, ctx.cpu.extensions)]
    one: list[tuple[Contraction, Callable[[Contraction], Tiling[Contraction]]]] = [(work, _OnePixel)]
    return lower_by_cheapest(one + [(work, partial(_FourPixels, row=row)) for row in rows])


def _of_halfwords(work: Contraction) -> bool:
    return work.x.buffer.dtype is DType.I16


class _PlainTiling(Tiling[Contraction]):
    neighbours = True

    def __init__(self, work: Contraction) -> None:
        super().__init__(work)
        self.results = Finish(work.ctx, work.refs, work.operands.reach)

    def bytes_of(self, columns: np.ndarray, tile: int, pack: Callable[[np.ndarray], np.ndarray]) -> KernelWeights:
        """Weights [o, k] as ``pack`` has them, side by side for each ``tile`` of channels, or unpacked from nibbles."""
        work = self.work
        if not work.nibbles:
            return KernelWeights(work.ctx.pack("w", pack(columns), align=2), 0, lambda part: ())
        parts = columns.reshape(work.groups, len(columns) // work.groups, -1)
        return unpacked_bytes(work.ctx, ByteTiles(parts, tile, WEIGHT_OFFSET))

    def chunks(self, most: int, chunk: Callable[[Expr, int], Block]) -> Block:
        """``chunk(first, channels)`` for at most so many channels at a time."""
        channels, n = self.work.channels, Var(self.work.names.fresh("chunk"))
        full, rest = divmod(channels, most)
        block = loop(n, full, *chunk(n * most, most)) if full else ()
        return (*block, *chunk(as_expr(full * most), rest)) if rest else block


@record
class _Row:
    """A block, its packer of weights and how many channels stand side by side, and the channels of a ``chunk``, whose
    accumulators are in memory at a time."""

    block: str
    weights: Callable[[np.ndarray], np.ndarray]
    tile: int
    chunk: int


ROWS: tuple[_Row, ...] = (
    _Row("gemm_1x4_pairs", offset_weights, 1, 64),
    _Row("gemm_2x4_pairs", paired_weights, PAIR_CHANNELS, 32),
)


class _FourPixels(_PlainTiling):
    pixels = PIXELS

    def __init__(self, work: Contraction, row: _Row) -> None:
        super().__init__(work)
        self.row = row
        self.staging = PairPixels(work.ctx, work.x, work.window, work.zero)
        self.bias = work.ctx.pack("b", paired_bias(work.bias, work.columns))
        self.weights = self.bytes_of(work.columns, row.tile, row.weights)
        self.acc = work.ctx.temporary("acc", DType.I32, (min(work.channels, row.chunk), PIXELS))

    def prepare(self) -> Block:
        return (*self.weights.prepare(self.work.group), *self.staging.prepare())

    def tile(self, position: Position, count: int, first: Expr, again: Expr | None) -> Block:
        pixels = PixelRun(position, count, first if self.flat else None)
        staged = self.staging.stage_all(position, count, not self.flat)

        def chunk(channel: Expr, channels: int) -> Block:
            bias = Pointer(self.bias, (channel + self.work.first, as_expr(0)))
            weights = Pointer(self.weights.buffer, (channel, as_expr(0)))
            operands = (bias, weights, start(self.staging.words), start(self.acc))
            multiply = Invoke(self.row.block, operands, (self.work.depth, channels))
            return (multiply, *self.results.pixels(self.acc, channel + self.work.first, channels, pixels))

        return (*staged, *self.chunks(self.row.chunk, chunk))


class _OnePixel(_PlainTiling):
    """One pixel, of bytes or halfwords: some channels at a time, and of what they see a part at a time."""

    pixels = 1

    def __init__(self, work: Contraction) -> None:
        super().__init__(work)
        windows = [*work.window.parts(PART)]
        pixels = HalfwordPixels if _of_halfwords(work) else WordPixels
        staging = pixels(work.ctx, work.x, windows[0], work.zero)
        firsts = [0, *accumulate(window.size for window in windows)]
        self.parts = [staging.part(window, first) for window, first in zip(windows, firsts)]
        bias = np.zeros(_whole_tiles(len(work.bias)), np.int32)
        bias[: len(work.bias)] = work.bias
        self.bias = work.ctx.pack("b", bias)
        columns = np.pad(work.columns, ((0, bias.size - len(work.columns)), (0, 0)))
        seen = (columns[:, first : first + window.size] for first, window in zip(firsts, windows))
        self.weights = [self.bytes_of(columns, ONE_PIXEL_CHANNELS, tiled_weights) for columns in seen]
        size = _whole_tiles(min(work.channels, ONE_PIXEL_CHUNK))
        registers = has_block("gemm_2x4_pairs", work.ctx.cpu.extensions)
        self.block = "gemm_4x1_words" if registers or _of_halfwords(work) else "gemm_4x1_bytes"
        self.acc = [work.ctx.temporary("acc", DType.I32, (size, 1)) for _ in windows[:2]]

    def prepare(self) -> Block:
        return tuple(stmt for w in self.weights for stmt in w.prepare(self.work.group))

    def tile(self, position: Position, count: int, first: Expr, again: Expr | None) -> Block:
        origin, slot = position(as_expr(0)), as_expr(0)
        alone = len(self.parts) == 1

        def chunk(channel: Expr, channels: int) -> Block:
            block: Block = ()
            sums = Pointer(self.bias, (channel + self.work.first,))
            for number, (part, w) in enumerate(zip(self.parts, self.weights)):
                steps, result = part.window.size, start(self.acc[number % 2])
                first = (channel, as_expr(0)) if len(w.buffer.shape) == 2 else (channel * steps,)
                operands = (sums, Pointer(w.buffer, first), start(part.words), result)
                block += () if alone else part.stage(origin, slot)
                block += (Invoke(self.block, operands, (steps, _whole_tiles(channels))),)
                sums = result
            channel += self.work.first
            return (*block, *self.results.pixels(sums.buffer, channel, channels, PixelRun(position, 1)))

        return (*(self.parts[0].stage(origin, slot) if alone else ()), *self.chunks(ONE_PIXEL_CHUNK, chunk))


def _whole_tiles(channels: int) -> int:
    return -(-channels // ONE_PIXEL_CHANNELS) * ONE_PIXEL_CHANNELS
