"""Contractions of any integer weights: two staged pixels, or a single one, by all channels."""

from __future__ import annotations

from ...blocks.pair import PAIR as PAIR_STREAM
from ...blocks.pair import SINGLE, pack
from ...blocks.tiles import Stream
from ...ir.loops import Binary, Block, Buffer, Expr, If, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ..byte_operands import start
from ..staging import PAIR
from .base import Position, StagedContraction, rows_of


def _stream(work: StagedContraction, stream: Stream) -> Buffer:
    rq = work.requantization
    return work.ctx.pack("w", pack(stream, work.bias, work.columns, None if rq is None else rq.scale))


def lower_single(work: StagedContraction) -> Block:
    """One pixel: its activations are read once, and need not be staged."""
    origin = tuple(as_expr(0) for _ in work.shape)
    before, x = work.staging(PAIR).bytes(origin)
    w, rq = _stream(work, SINGLE), work.requantization
    if rq is None:
        acc = work.ctx.temporary("acc", DType.I32, (1, work.channels))
        block: Block = (Invoke("single_i32", (start(w), x, start(acc)), (work.groups, work.channels)),)
        return (*before, *block, *work.finish(acc, as_expr(0), origin))
    scalars = (work.groups, work.channels, rq.zero_point)
    if rq.whole:
        return (*before, Invoke("single_i8", (start(w), x, Pointer(work.y.buffer, work.y.at((*origin, 0)))), scalars))
    made = work.ctx.temporary("made", DType.I8, (1, work.channels))
    block = (Invoke("single_i8", (start(w), x, start(made)), scalars),)
    return (*before, *block, *work.finish(made, as_expr(0), origin))


def lower_pairs(work: StagedContraction) -> Block:
    """Two neighbours of a row at a time, or of all pixels where a row is odd. Where a pixel would be left, the last
    pair begins one pixel earlier and computes that one ``again``."""
    pixels, outer, positions = work.pixels(2)
    pair = Var(work.names.fresh("pair"))
    again = pair // (pixels // 2) if pixels % 2 else as_expr(0)
    position = positions(pair * 2 - again)
    staging = work.staging(PAIR)
    staged = staging.stage_all(position, work.in_rows(2))
    multiply = _multiply(work, staging.pixels, position, again)
    block = loop(pair, (pixels + 1) // 2, *staged, *multiply)
    return (*staging.prepare(), *work.around(outer, block))


def _multiply(work: StagedContraction, staged: Buffer, position: Position, again: Expr) -> Block:
    """All channels of the staged pair. The first ``again`` pixels have been finished before."""
    w, x, rq = start(_stream(work, PAIR_STREAM)), start(staged), work.requantization
    if rq is None:
        acc = work.ctx.temporary("acc", DType.I32, (2, work.channels))
        invoke = Invoke("pair_i32", (w, x, *rows_of(acc, 2)), (work.groups, work.channels))
        return (invoke, *_finish(work, acc, position, again))
    scalars = (work.groups, work.channels, rq.zero_point)
    if rq.whole:
        return (Invoke("pair_i8", (w, x, *work.outputs(position, 2)), scalars),)
    made = work.ctx.temporary("made", DType.I8, (2, work.channels))
    return (Invoke("pair_i8", (w, x, *rows_of(made, 2)), scalars), *_finish(work, made, position, again))


def _finish(work: StagedContraction, values: Buffer, position: Position, again: Expr) -> Block:
    slot = Var(work.names.fresh("slot"))
    block = work.finish(values, slot, position(slot))
    if again != as_expr(0):
        block = (If(Binary("ge", slot, again), block),)
    return loop(slot, 2, *block)


