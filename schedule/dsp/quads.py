"""Contractions of packed weights: four staged pixels by all channels, and the pixels that are left one by one.

Weights are packed two to a halfword (``blocks/quad.py``), which takes accumulators of at most 24 bits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...blocks import BLOCKS, has_block
from ...blocks.quad import PIXELS, PRE_SHIFT, SCALE, USUAL_SHIFT, packable, packed, packed_bias
from ...blocks.quad import QUAD as QUAD_STREAM
from ...ir.loops import Block, Buffer, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ...targets.target import Cpu
from ..byte_operands import start
from ..requantization import fixed_form
from ..staging import QUAD
from .base import Position, StagedContraction, rows_of


def fits_quads(cpu: Cpu, work: StagedContraction) -> bool:
    """Whether there are four pixels and two channels, and the weights and accumulators can be packed."""
    enough = work.channels >= QUAD_STREAM.tile and work.pixels(PIXELS)[0] >= PIXELS
    return has_block("quad_i8", cpu.extensions) and enough and is_packable(work)


def is_packable(work: StagedContraction) -> bool:
    """Whether weights and accumulators can be packed."""
    return packable(work.columns) and bool(np.all(work.reach < 1 << 23))


def lower_quads(work: StagedContraction) -> Block:
    """Four neighbours of a row at a time, or of all pixels where rows do not divide."""
    return _Quads(work).emit()


class _Quads:
    def __init__(self, work: StagedContraction) -> None:
        self.work, self.rq = work, work.requantization
        self.staging = work.staging(QUAD)
        self.fixed = None if self.rq is None else fixed_form(self.rq, *work.bounds, PRE_SHIFT)
        self.stream = self._stream()
        self.kind = "i32" if self.rq is None else "i8" if self.fixed is None else "fixed"
        self.values: Buffer | None = None
        if self.rq is None or not self.rq.whole:
            dtype = DType.I32 if self.rq is None else DType.I8
            self.values = work.ctx.temporary("made", dtype, (PIXELS, work.channels))

    def _parts(self) -> list[tuple[int, int]]:
        """First channels and their even numbers: where one channel would be left, the last two are a part of
        their own."""
        even = self.work.channels // QUAD_STREAM.tile * QUAD_STREAM.tile
        tile = QUAD_STREAM.tile
        return [(0, even)] + ([(self.work.channels - tile, tile)] if self.work.channels % tile else [])

    def _stream(self) -> Buffer:
        work = self.work
        bias, words = packed_bias(work.bias, work.columns), packed(work.columns)
        factors = None
        if self.fixed is not None:
            factors = self.fixed.factors
        elif self.rq is not None:
            factors = self.rq.scale / np.float32(SCALE)
        slices = (slice(begin, begin + count) for begin, count in self._parts())
        parts = [QUAD_STREAM.pack(bias[s], words[s], None if factors is None else factors[s]) for s in slices]
        return work.ctx.pack("w", np.concatenate(parts))

    def emit(self) -> Block:
        work = self.work
        pixels, outer, positions = work.pixels(PIXELS)
        quad, rest = Var(work.names.fresh("quad")), Var(work.names.fresh("rest"))
        first = quad * PIXELS
        staged = self.staging.stage_all(positions(first), work.in_rows(PIXELS))
        block = (*staged, *self._multiply("quad", positions(first), PIXELS))
        block = loop(quad, pixels // PIXELS, *block)
        if pixels % PIXELS:
            position = positions(rest + pixels // PIXELS * PIXELS)
            staged = self.staging.stage(position(as_expr(0)), as_expr(0))
            block += loop(rest, pixels % PIXELS, *staged, *self._multiply("lone", position, 1))
        return (*self.staging.prepare(), *work.around(outer, block))

    def _multiply(self, name: str, position: Position, count: int) -> Block:
        """All channels of ``count`` staged pixels."""
        work, begin = self.work, 0
        out: Block = ()
        for first, channels in self._parts():
            pointers = work.outputs(position, count) if self.values is None else rows_of(self.values, count)
            moved = (Pointer(p.buffer, (*p.index[:-1], p.index[-1] + first)) for p in pointers)
            operands = (start(self.stream, begin), start(self.staging.pixels), *moved)
            out += (self._invoke(f"{name}_{self.kind}", operands, channels),)
            begin += replace(QUAD_STREAM, factors=self.rq is not None).size(channels, work.groups)
        if self.values is None:
            return out
        if count == 1:
            return (*out, *work.finish(self.values, as_expr(0), position(as_expr(0))))
        slot = Var(work.names.fresh("slot"))
        return (*out, *loop(slot, count, *work.finish(self.values, slot, position(slot))))

    def _invoke(self, row: str, operands: tuple[Pointer, ...], channels: int) -> Invoke:
        scalars: tuple[int, ...] = (self.work.groups, channels)
        if self.rq is not None:
            scalars += (self.rq.zero_point,)
        if self.fixed is not None:
            usual = f"{row}{USUAL_SHIFT}"
            if self.fixed.shift == USUAL_SHIFT and usual in BLOCKS:
                return Invoke(usual, operands, scalars)
            scalars += (self.fixed.shift,)
        return Invoke(row, operands, scalars)
