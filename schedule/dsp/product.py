"""Products of two computed matrices on cores with DSP: two staged rows by all columns of the packed right matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import or_

from ...blocks.common import halves
from ...blocks.dsp_gemm import GEMM_3X2, GEMM_3X2_S16
from ...blocks.tiles import Stream
from ...ir.build import store
from ...ir.loops import (
    I32,
    U8,
    Alloc,
    Bitcast,
    Block,
    Buffer,
    Call,
    Expr,
    Invoke,
    Let,
    Pointer,
    Space,
    Stmt,
    Var,
    as_expr,
)
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ..block_contraction import Remainder, Tiling, rows_of
from ..byte_operands import start
from ..contraction_results import Position
from ..kernel import KernelContext
from ..products import Product
from ..requantization import LIMIT
from ..staging import TWO_PIXELS
from ..unroll import unroll_bytes

ONES = 0x00010001
"""In both halfwords of a word."""
MOST_WIDE = 1024
"""Bytes of a right matrix of halfwords."""


def lower_dsp_product(ctx: KernelContext) -> Block:
    """``matmul``, for which :func:`is_product` holds."""
    return _DspProduct(Product(ctx, 16, LIMIT, -128)).emit()


class _DspProduct(Tiling[Product]):
    """Digits are halfwords, as all that is staged."""

    pixels = 2
    remainder = Remainder.OVERLAP
    rows = True

    def __init__(self, work: Product) -> None:
        super().__init__(work)
        self.factor = work.exact_factor()
        """Sums take the terms of rows as they are where there is one, in place of their digits."""
        self.groups, self.whole_groups = -(-work.width // 4), -(-work.depth // 4)
        if self.factor is not None:
            self.groups = self.whole_groups
        small = self.whole_groups * 4 * work.channels * I32.dtype.size // 2 <= MOST_WIDE
        self.wide = self.factor is not None and small and not work.ctx.cpu.in_rows
        """The right matrix is halfwords without zero point, so that rows have no terms."""
        factors = work.requantization is not None and self.factor is None
        self.stream = GEMM_3X2_S16 if self.wide else replace(GEMM_3X2, factors=factors)
        size = self.stream.size(work.channels, self.groups)
        self.weights = work.ctx.temporary("w", DType.I32, (size,), align=4)
        terms = 0 if self.factor is None or self.wide else 1
        self.staged = work.ctx.temporary("pixels", DType.I32, (self.groups + terms, TWO_PIXELS.words), align=8)
        whole = work.requantization is not None and work.requantization.whole
        self.values = None if whole else work.scratch(self.pixels)
        self.row = work.ctx.temporary("row", DType.I8, (work.digits_at,), align=4) if work.depth % 4 else None

    # ---- the right matrix

    def enter(self, position: Sequence[Expr]) -> Block:
        """Its columns in tiles, those that are left over in tiles of one."""
        channels, tile = self.work.channels, self.stream.tile
        full = channels // tile * tile
        rest = replace(self.stream, tile=1)
        block = self._tiles(position, self.stream, (0, full // tile), 0)
        return (*block, *self._tiles(position, rest, (full, channels - full), self.stream.size(full, self.groups)))

    def _tiles(self, batch: Sequence[Expr], stream: Stream, tiles: tuple[int, int], begin: int) -> Block:
        """Tiles from a channel on, and how many."""
        work, (first, count) = self.work, tiles
        t, c, column = work.columns_of(stream.tile)
        at, q = t * stream.size(stream.tile, self.groups) + begin, Var(work.names.fresh("q"))
        total = Buffer(work.names.fresh("total"), I32, (1,), Space.REG)

        def put(number: Expr, word: Expr) -> Block:
            return (store(self.weights[stream.weight(at, number, c)], word),)

        def four(number: Expr, rows: int) -> Block:
            places = [work.place_of(work.rhs, (*batch, number * 4 + n, column + first)) for n in range(rows)]
            return wide_four(number, places) if self.wide else byte_four(number, places)

        def wide_four(number: Expr, places: Sequence[Sequence[Expr]]) -> Block:
            values = [I32(work.rhs.buffer[tuple(place)]) - work.zeros[1] for place in places]
            values += [I32(0)] * (4 - len(values))
            out: list[Stmt] = []
            for half in range(2):
                word = Var(work.names.fresh("word"), I32)
                added = Call("dot2_i16i16", (total[0], word, I32(ONES)), I32)
                target = self.weights[stream.weight(at, number, c, half)]
                out += [Let(word, halves(values[half], values[half + 2])), store(target, word), store(total[0], added)]
            return tuple(out)

        def byte_four(number: Expr, places: Sequence[Sequence[Expr]]) -> Block:
            low = [I32(Bitcast(U8, work.rhs.buffer[tuple(place)])) << 8 * n for n, place in enumerate(places)]
            word = Var(work.names.fresh("word"), I32)
            added: Expr = total[0]
            for widen in ("widen_even", "widen_odd"):
                added = Call("dot2_i16i16", (added, Call(widen, (word,), I32), I32(ONES)), I32)
            return (Let(word, reduce(or_, low)), *put(number, word), store(total[0], added))

        full, rest = divmod(work.depth, 4)
        block: list[Stmt] = [Alloc(total), store(total[0], 0), *loop(q, full, *four(q, 4))]
        block += four(as_expr(full), rest) if rest else ()
        block += work.digit_words(self.groups, put) if self.factor is None else ()
        bias = total[0] * -work.zeros[0] if self.wide else work.bias(total[0])
        block.append(store(self.weights[at + c], bias))
        if stream.factors:
            block.append(store(self.weights[stream.factor(at, self.groups, c)], I32(work.factor())))
        return loop(t, count, *loop(c, stream.tile, *block))

    # ---- rows

    def tile(self, position: Position, count: int, first: Expr, again: Expr | None) -> Block:
        work = self.work
        pointers = work.outputs(position, count) if self.values is None else rows_of(self.values, count)
        block = "gemm_3x2_i32"
        scalars: tuple[int, ...] = (self.groups, work.channels)
        if work.requantization is not None:
            zero_point = work.requantization.zero_point
            block, scalars = "gemm_3x2_i8", (*scalars, zero_point)
            if self.factor is not None:
                block = "gemm_3x2_s16_rounded" if self.wide else "gemm_3x2_rounded"
                scalars = (*scalars[:-1], self.factor, zero_point)
        slot = Var(work.names.fresh("slot"))
        stage = loop(slot, count, *self._stage(position(slot), slot))
        multiply = Invoke(block, (start(self.weights), start(self.staged), *pointers), scalars)
        after = () if self.values is None else work.epilogue(self.values, count, position, again)
        return (*stage, multiply, *after)

    def _stage(self, row: Sequence[Expr], slot: Expr) -> Block:
        """A row of the left matrix, and the digits of its sum."""
        work, k = self.work, Var(self.work.names.fresh("k"))
        index = work.place_of(work.lhs, (*row, k))
        copy: Block = ()
        source = Pointer(work.lhs.buffer, work.place_of(work.lhs, (*row, as_expr(0))))
        if self.row is not None:
            rest = (store(self.row[at], 0) for at in range(work.depth, work.digits_at))
            copy = (*loop(k, work.depth, store(self.row[k], work.lhs.buffer[index])), *rest)
            source = start(self.row)
        target = Pointer(self.staged, (as_expr(0), slot * TWO_PIXELS.between))
        copy += (Invoke(TWO_PIXELS.copy, (source, target), (self.whole_groups,)),)
        if self.wide or (not work.digits.weights and self.factor is None):
            return unroll_bytes(copy, work.names)
        if not work.digits.weights:
            return (*unroll_bytes(copy, work.names), self._term(slot, I32(0)))
        total, group = Buffer(work.names.fresh("total"), I32, (1,), Space.REG), Var(work.names.fresh("group"))
        added: Expr = total[0]
        for half in range(2):
            added = Call("dot2_i16i16", (added, self.staged[group, slot * 2 + half], I32(ONES)), I32)
        block = (*copy, Alloc(total), store(total[0], 0), *loop(group, self.whole_groups, store(total[0], added)))
        if self.factor is not None:
            return (*unroll_bytes(block, work.names), self._term(slot, total[0] * -work.zeros[1]))
        digits = work.digits.write(work.ctx, total[0], partial(self._digit, slot))
        return (*unroll_bytes(block, work.names), *digits)

    def _term(self, slot: Expr, value: Expr) -> Stmt:
        """What is added to all sums of a row."""
        return store(self.staged[self.groups, slot], value)

    def _digit(self, slot: Expr, number: Expr, digit: Expr) -> Block:
        """Alone in its word."""
        return (store(self.staged[self.whole_groups + number // 2, slot * 2 + number % 2], digit & 0xFFFF),)

