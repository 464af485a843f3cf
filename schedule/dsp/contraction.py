"""Contractions on cores with DSP: four or two staged pixels, or a single one, by all channels.

Weights are packed two to a halfword (``blocks/dsp_packed_gemm.py``) where weights and accumulators allow it. A single
pixel (a fully connected layer) is not staged: its activations are read once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import prod

import numpy as np

from ...blocks import BLOCKS
from ...blocks.dsp_gemm import GEMM_3X2, GEMM_8X1, pack
from ...blocks.dsp_packed_gemm import (
    PACKED_2X4,
    PACKED_4X1,
    PACKED_4X1_HALFWORD,
    PIXELS,
    SCALE,
    packable,
    packed,
    packed_bias,
)
from ...blocks.nibbles import PACKED_HALFWORDS
from ...blocks.tiles import Stream
from ...ir.loops import Block, Expr, Invoke, Pointer, as_expr
from ...ir.shifts import PRE_SHIFT, USUAL_SHIFT
from ...record import record
from ..block_contraction import (
    Contraction,
    Remainder,
    Tiling,
    lower_by_cheapest,
    merges,
    rows_of,
    rows_of_whole_tiles,
)
from ..byte_anchors import is_byte_contraction, is_byte_group_contraction
from ..byte_operands import start
from ..contraction_results import Position
from ..kernel import KernelContext
from ..nibble_weights import StreamLayout, stored_words
from ..requantization import Fixed, fixed_form, halfword_form
from ..staging import FOUR_PIXELS, TWO_PIXELS, Layout, Staging
from ..transposed import transposed_together
from .gathered import gathered

MERGED = 16
"""Channels that groups see which are taken as one, at most."""


def is_dsp_contraction(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` (channels last) or ``matmul`` of int8 with constant weights; groups have several
    channels of the input."""
    several = ctx.contraction[0].operands[1].shape[-1] > 1
    return is_byte_contraction(ctx) or (several and is_byte_group_contraction(ctx))


def lower_dsp_contraction(ctx: KernelContext) -> Block:
    """A contraction, for which :func:`is_dsp_contraction` holds."""
    return lower_contractions([gathered(ctx, count) for count in merges(ctx.contraction[0], MERGED)])


def lower_dsp_transposed(ctx: KernelContext) -> Block:
    """``conv_transpose``, for which :func:`is_transposed` holds."""
    out: Block = ()
    for phases in transposed_together(ctx):
        out += lower_contractions([phases])
    return out


def lower_contractions(works: Sequence[Contraction]) -> Block:
    """The cheapest of several forms of one contraction, by the block that takes the fewest cycles."""
    for work in works:
        for each in (work, *work.together):
            each.settle()
    remainders = (Remainder.SINGLE, Remainder.OVERLAP, Remainder.JOINED)
    rows = [*ROWS, *(_in_rows(row, remainder) for row in ROWS for remainder in remainders)]
    ways = [(work, row) for work in works for row in rows if all(map(row.applies, (work, *work.together)))]
    unpacking = [(work, row) for work, row in ways if work.nibbles and row.packed]
    return lower_by_cheapest([(work, partial(_DspTiling, row=row)) for work, row in unpacking or ways])


def _in_rows(row: _Row, remainder: Remainder) -> _Row:
    """With tiles that keep to rows of pixels, so that neighbours are staged."""
    return replace(row, remainder=remainder, in_rows=True)


# ---------------------------------------------------------------- the blocks


@record
class _Numbers:
    """How a block requantizes: the end of its name, the scalars behind the channels, and the factors of its stream."""

    suffix: str
    scalars: tuple[int, ...]
    factors: np.ndarray | None


def _plain_numbers(work: Contraction) -> _Numbers | None:
    """With float32 scales, or not at all."""
    rq = work.requantization
    return _Numbers("i32", (), None) if rq is None else _Numbers("i8", (rq.zero_point,), rq.scale)


def _packed_numbers(work: Contraction) -> _Numbers | None:
    """By multipliers where these are exact, else by scales of accumulators that are multiples of 256."""
    rq = work.requantization
    fixed = None if rq is None else fixed_form(rq, *work.operands.bounds, PRE_SHIFT)
    if rq is None or fixed is None:
        plain = _plain_numbers(work)
        assert plain is not None
        return plain if rq is None else replace(plain, factors=rq.scale / np.float32(SCALE))
    return _Numbers("fixed", (rq.zero_point, fixed.shift), fixed.factors)


def _one_pixel_numbers(work: Contraction) -> _Numbers | None:
    """By multipliers, best by halfwords, of all that follows, or not at all; ``None`` where more follows than a
    requantization to bytes, or that is not exact."""
    rq = work.requantization
    if rq is None:
        return _Numbers("i32", (), None)
    if not rq.whole:
        return None
    halfwords = halfword_form(rq, *work.operands.bounds, PRE_SHIFT)
    fixed: Fixed | None = halfwords or fixed_form(rq, *work.operands.bounds, PRE_SHIFT)
    if fixed is None:
        return None
    suffix = "fixed" if halfwords is None else "halfword"
    return _Numbers(suffix, (rq.zero_point, fixed.shift), fixed.factors)


@record
class _Row:
    """A block: its name and that for a pixel that is left over, the stream of its weights, how pixels are staged
    (``pixels`` of them; 1: not at all), whether weights are ``packed`` two to a halfword, what it can do with results,
    and what becomes of pixels that fill no tile. Channels that fill no tile follow as tiles of one, where weights are
    packed in a last tile that overlaps the one before."""

    block: str
    remainder_block: str
    stream: Stream
    pixels: int
    layout: Layout
    packed: bool
    numbers: Callable[[Contraction], _Numbers | None]
    remainder: Remainder
    in_rows: bool = False

    def applies(self, work: Contraction) -> bool:
        single = self.remainder is Remainder.SINGLE
        if self.remainder is Remainder.JOINED and not self._joins_rows(work):
            return False
        if (self.in_rows and not self._is_cut(work)) or (single and not self.remainder_block):
            return False
        if self.packed:
            least = work.channels >= self.stream.tile and np.all(work.operands.reach < 1 << 23)
            if not least or not packable(work.padded_columns(4)):
                return False
        if (self.pixels == 1) != work.one_pixel:
            return False
        enough = not self.packed or self.run(work) >= self.pixels
        return enough and self.numbers(work) is not None

    def _is_cut(self, work: Contraction) -> bool:
        """Whether rows are no multiple of a tile and longer than one; none sees anything beyond a border, where several
        tiles of a row would be slower than is predicted."""
        cut = len(work.shape) > 1 and work.shape[-1] > self.pixels > 1 and work.shape[-1] % self.pixels != 0
        return cut and bool(work.window.kernel) and work.window.within

    def _joins_rows(self, work: Contraction) -> bool:
        """Whether what rows leave over is whole tiles, and layers need not go row by row."""
        if work.ctx.cpu.in_rows or len(work.shape) < 2:
            return False
        return work.shape[-2] % rows_of_whole_tiles(work.shape[-1], self.pixels) == 0

    def run(self, work: Contraction) -> int:
        """Pixels of a run: of a row, or all where rows do not divide."""
        nested = len(work.shape) == 1 or work.shape[-1] % self.pixels == 0
        return work.shape[-1] if nested else prod(work.shape)


ROWS: tuple[_Row, ...] = (
    _Row("gemm_packed_4x1", "", PACKED_4X1, 1, FOUR_PIXELS, True, _one_pixel_numbers, Remainder.SHORTER),
    _Row("gemm_8x1", "", GEMM_8X1, 1, TWO_PIXELS, False, _plain_numbers, Remainder.SHORTER),
    _Row(
        "gemm_packed_2x4", "gemm_packed_2x1", PACKED_2X4, PIXELS, FOUR_PIXELS, True, _packed_numbers, Remainder.SINGLE
    ),
    _Row("gemm_3x2", "", GEMM_3X2, 2, TWO_PIXELS, False, _plain_numbers, Remainder.OVERLAP),
)


class _DspTiling(Tiling[Contraction]):
    def __init__(self, work: Contraction, row: _Row) -> None:
        super().__init__(work)
        self.row, self.pixels, self.remainder, self.rows = row, row.pixels, row.remainder, row.in_rows
        numbers = row.numbers(work)
        assert numbers is not None
        self.numbers = numbers
        self.gathering = work.gather()
        self.staging = Staging(work.ctx, work.x, work.window, work.zero, row.layout)
        self.groups = -(-work.depth // 4)
        stream = PACKED_4X1_HALFWORD if numbers.suffix == "halfword" else row.stream
        self.stream = replace(stream, factors=numbers.factors is not None)
        self.parts = self._parts()
        form = PACKED_HALFWORDS if row.packed and work.nibbles else None
        parts = self._packed_weights().reshape(work.groups, -1)
        self.weights = stored_words(work.ctx, parts, StreamLayout.of(self.stream, self.groups), form)
        whole = work.requantization is not None and work.requantization.whole
        self.values = None if whole else work.scratch(row.pixels)
        self.together = [_DspTiling(each, row) for each in work.together]

    def _parts(self) -> list[tuple[int, int]]:
        """First channels, and how many, of what the block is invoked for."""
        channels, tile = self.work.channels, self.stream.tile
        if not self.row.packed:
            return [(0, channels)]
        full = channels // tile * tile
        return [(0, full)] + ([(channels - tile, tile)] if full < channels else [])

    def _packed_weights(self) -> np.ndarray:
        columns, factors, bias = self.work.padded_columns(4), self.numbers.factors, self.work.bias
        pack_part: Callable[..., np.ndarray] = partial(pack, self.stream)
        if self.row.packed:
            columns, bias, pack_part = packed(columns), packed_bias(bias, columns), self.stream.pack
        firsts = (group.start + begin for group in self.work.parts for begin, _ in self.parts)
        counts = (count for _ in self.work.parts for _, count in self.parts)
        parts = [slice(first, first + count) for first, count in zip(firsts, counts)]
        return np.concatenate([pack_part(bias[s], columns[s], None if factors is None else factors[s]) for s in parts])

    # ---- loops

    def prepare(self) -> Block:
        unpack = self.weights.prepare(self.work.group)
        return unpack if self.work.one_pixel else (*unpack, *self.gathering, *self.staging.prepare())

    def tile(self, position: Position, count: int, first: Expr, again: Expr | None) -> Block:
        block, x = self._stage(position, count)
        for each in (self, *self.together):
            block += each.multiply(x, position, count, again, self.in_rows)
        return block

    def multiply(self, x: Pointer, position: Position, count: int, again: Expr | None, in_rows: bool) -> Block:
        """The results of ``count`` pixels that are staged at ``x``; ``in_rows``: they are neighbours in a row."""
        before: Block = ()
        pointers = self.work.outputs(position, count) if self.values is None else rows_of(self.values, count)
        block = self.row.block if count == self.pixels else self.row.remainder_block
        at = self.work.group * self.weights.apart
        for begin, channels in self.parts:
            moved = (Pointer(p.buffer, (*p.index[:-1], p.index[-1] + begin)) for p in pointers)
            before += (self._invoke(block, (start(self.weights.buffer, at), x, *moved), channels),)
            at += self.stream.size(channels, self.groups)
        if self.values is None:
            return before
        together = count if in_rows and self.work.step == 1 else 1
        return (*before, *self.work.epilogue(self.values, count, position, again, together))

    def _stage(self, position: Position, count: int) -> tuple[Block, Pointer]:
        origin = as_expr(0)
        if self.work.one_pixel:
            return self.staging.bytes(position(origin))
        if count < self.pixels:
            return self.staging.stage(position(origin), origin), start(self.staging.pixels)
        return self.staging.stage_all(position, self.in_rows), start(self.staging.pixels)

    def _invoke(self, block: str, operands: tuple[Pointer, ...], channels: int) -> Invoke:
        name, scalars = f"{block}_{self.numbers.suffix}", (self.groups, channels, *self.numbers.scalars)
        usual = f"{name}{USUAL_SHIFT}"
        if self.numbers.suffix == "fixed" and scalars[-1] == USUAL_SHIFT and usual in BLOCKS:
            return Invoke(usual, operands, scalars[:-1])
        return Invoke(name, operands, scalars)
