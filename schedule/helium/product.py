"""Products of two computed matrices on cores with Helium: some rows by all columns of the packed right matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...blocks.helium import FEW_STEPS, GEMM_4X2, PRE_SHIFT, STEP, pad
from ...blocks.helium_product import COLUMNS
from ...ir.build import minimum, store
from ...ir.loops import I8, I32, Block, Buffer, Expr, Invoke, LoopKind, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ..block_contraction import Tiling
from ..byte_operands import start
from ..contraction_results import Position
from ..kernel import KernelContext
from ..products import Product
from ..requantization import MOST_PRODUCT
from .rows import copy_of

ROWS, LINES = 16, 32
"""Rows that are copied at a time, if they have to be; and of one step."""


def lower_helium_product(ctx: KernelContext) -> Block:
    """``matmul``, for which :func:`is_product` holds."""
    return _HeliumProduct(Product(ctx, 8, MOST_PRODUCT, None)).emit()


class _HeliumProduct(Tiling[Product]):
    rows = True

    def __init__(self, work: Product) -> None:
        super().__init__(work)
        requantize = work.requantization is not None
        self.kind, self.limits, self.factor = self._numbers() if requantize else ("i32", (), 0)
        self.short = self.kind == "fixed" and work.depth <= STEP
        self.pixels = min(LINES if self.short else ROWS if requantize else 2, work.shape[-1])
        self.stream = COLUMNS if self.short else replace(GEMM_4X2, factors=requantize)
        self.steps = 1 if self.short else pad(work.width, STEP) // STEP
        size = self.stream.size(pad(work.channels, self.stream.tile), self.steps)
        self.weights = work.ctx.temporary("w", DType.I32, (size,), align=4)
        self.lines: Buffer | None
        if self.short:
            self.lines = work.ctx.temporary("rows", DType.I8, (self.pixels, STEP), align=STEP)
            return
        self.totals = work.ctx.temporary("totals", DType.I32, (pad(work.channels, 4),), align=4)
        self.copied = work.width % STEP != 0 or bool(work.digits.weights)
        width = self.steps * STEP
        self.lines = work.ctx.temporary("rows", DType.I8, (self.pixels, width), align=STEP) if self.copied else None
        if work.digits.weights:
            self.depth_steps = pad(work.depth, STEP) // STEP
            self.ones = work.ctx.pack("ones", self._ones())
            self.sums = work.ctx.temporary("sums", DType.I32, (self.pixels, GEMM_4X2.tile), align=STEP)

    def _numbers(self) -> tuple[str, tuple[int, ...], int]:
        """What the blocks make, the last of their scalars, and the word of all factors."""
        rq = self.work.requantization
        assert rq is not None
        exact = self.work.exact_factor(PRE_SHIFT) if rq.least == -128 else None
        if exact is None:
            return "i8", (rq.zero_point, rq.least), self.work.factor()
        return "fixed", (rq.zero_point,), exact

    def _ones(self) -> np.ndarray:
        """The stream of a column that adds up a row."""
        column = np.zeros((1, self.depth_steps * STEP), np.int8)
        column[:, : self.work.depth] = 1
        return replace(GEMM_4X2, factors=False).pack(np.zeros(1, np.int64), column.view("<i4"))

    # ---- the right matrix

    def enter(self, position: Sequence[Expr]) -> Block:
        """It goes to the places of its columns."""
        work, words, tile = self.work, self.stream.words, self.stream.tile
        first = Pointer(work.rhs.buffer, work.place_of(work.rhs, (*position, as_expr(0), as_expr(0))))
        scalars = (work.depth, work.channels, work.channels, self.stream.size(tile, self.steps))
        pack = Invoke("helium_pack", (first, start(self.weights, as_expr(tile))), scalars)
        if self.short:
            return (*self._clear(), pack)
        block: Block = (
            pack,
            Invoke("helium_sum", (first, start(self.totals)), (work.depth, work.channels, 0)),
        )

        def column(at: Expr, c: Var, number: Expr) -> Block:
            def put(word: Expr, value: Expr) -> Block:
                return (store(self.weights[self.stream.weight(at, word // words, c, word % words)], value),)

            bias = store(self.weights[at + c], work.bias(self.totals[number]))
            out = (*work.digit_words(self.steps * words, put), bias)
            if not self.stream.factors:
                return out
            return (*out, store(self.weights[self.stream.factor(at, self.steps, c)], I32(self.factor)))

        return (*block, *self._columns(column))

    def _clear(self) -> Block:
        """Zeros where no row of the right matrix goes to."""
        words = pad(self.work.depth, 4) // 4

        def column(at: Expr, c: Var, _: Expr) -> Block:
            places = (self.stream.weight(at, as_expr(0), c, word) for word in range(words, self.stream.words))
            return tuple(store(self.weights[place], I32(0)) for place in places)

        return self._columns(column) if words < self.stream.words else ()

    def _columns(self, column: Callable[[Expr, Var, Expr], Block]) -> Block:
        """``column(at, c, number)`` for each, whose tile begins ``at``; the last one again where a tile is not full."""
        t, c, number = self.work.columns_of(self.stream.tile)
        if self.work.channels % self.stream.tile:
            number = minimum(number, as_expr(self.work.channels - 1))
        at = t * self.stream.size(self.stream.tile, self.steps)
        tiles = -(-self.work.channels // self.stream.tile)
        return loop(t, tiles, *loop(c, self.stream.tile, *column(at, c, number), kind=LoopKind.UNROLL))

    # ---- rows

    def tile(self, position: Position, count: int, first: Expr, again: Expr | None) -> Block:
        work, rq = self.work, self.work.requantization
        before, x, step = self._stage(position, count)
        if rq is None:
            acc = work.ctx.temporary("acc", DType.I32, (self.pixels, pad(work.channels, self.stream.tile)), align=STEP)
            multiply = self._multiply("helium_gemm_4x2_i32", x, start(acc), count, step, ())
            return (*before, multiply, *work.epilogue(acc, count, position))
        few = self.steps <= FEW_STEPS and work.channels % self.stream.tile == 0
        block = f"helium_gemm_4x2_{'one_run_' if few else ''}{self.kind}"
        if rq.whole:
            (out,) = work.outputs(position, 1)
            return (*before, self._multiply(block, x, out, count, step, self.limits))
        made = work.scratch(self.pixels, STEP)
        multiply = self._multiply(block, x, start(made), count, step, self.limits)
        return (*before, multiply, *work.epilogue(made, count, position))

    def _multiply(
        self, block: str, x: Pointer, y: Pointer, count: int, step: int, limits: tuple[int, ...]
    ) -> Invoke:
        if self.short:
            (zero_point,) = limits
            scalars = (self.work.depth, count, step, self.work.channels, *self.work.zeros, self.factor, zero_point)
            return Invoke("helium_product", (start(self.weights), x, y), scalars)
        runs = (self.steps,) if "one_run" in block else (1, self.steps, 0)
        return Invoke(block, (start(self.weights), x, y), (*runs, count, step, self.work.channels, *limits))

    def _stage(self, position: Position, count: int) -> tuple[Block, Pointer, int]:
        """The rows from where they are read, and how far they are apart."""
        work, lhs, lines = self.work, self.work.lhs, self.lines
        source = Pointer(lhs.buffer, work.place_of(lhs, (*position(as_expr(0)), as_expr(0))))
        apart = lhs.buffer.shape[-1]
        if lines is None:
            return (), source, apart
        width = lines.shape[-1]
        block: Block = (copy_of(source, start(lines), count, work.depth, apart, width),)
        if work.digits.weights and not self.short:
            scalars = (1, self.depth_steps, 0, count, width, 1)
            block += (Invoke("helium_gemm_4x2_i32", (start(self.ones), start(lines), start(self.sums)), scalars),)
            slot = Var(work.names.fresh("slot"))
            put = partial(self._digit, lines, slot)
            block += loop(slot, count, *work.digits.write(work.ctx, self.sums[slot, 0], put))
        return block, start(lines), width

    def _digit(self, lines: Buffer, slot: Expr, number: Expr, digit: Expr) -> Block:
        return (store(lines[slot, number + self.work.digits_at], I8(digit)),)
