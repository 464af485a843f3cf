"""Activations of some pixels side by side, as the contractions of ``blocks/plain.py`` read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass

from ...blocks.plain import PIXELS, WEIGHT_OFFSET
from ...ir.build import store
from ...ir.loops import I32, Block, Expr, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ..kernel import KernelContext
from ..staging import neighbours as row_neighbours
from ..tensors import TensorRef
from ..window import Window, window_rows


@dataclass(frozen=True)
class _Source:
    """Runs of bytes of the input under a window."""

    x: TensorRef
    window: Window

    def run(self, where: Sequence[Expr]) -> Pointer:
        """The bytes from the pixel at ``where`` on."""
        return Pointer(self.x.buffer, self.x.at((*where, as_expr(0))))


class WordPixels:
    """A word for each of ``pixels``; the first row takes off what the offset of the weights adds."""

    def __init__(self, ctx: KernelContext, x: TensorRef, window: Window, zero_point: int, pixels: int) -> None:
        self.ctx, self.source, self.window = ctx, _Source(x, window), window
        self.zero_point, self.pixels = zero_point, pixels
        self.words = ctx.temporary("words", DType.I32, (window.size + 1, pixels))

    def part(self, window: Window, first: int) -> WordPixels:
        """A ``window`` on the channels from ``first`` on, in the same memory."""
        other = copy(self)
        other.window, other.source = window, _Source(self.source.x.last_part(first, window.depth), window)
        return other

    def prepare(self) -> Block:
        return ()

    def stage_all(self, position: Callable[[Expr], Sequence[Expr]], count: int, neighbours: bool) -> Block:
        """The pixels at the positions of the first ``count`` slots; ``neighbours`` are of a row."""
        window, slot = self.window, Var(self.ctx.names.fresh("slot"))
        if not neighbours or not window.kernel or not window.side_by_side:
            return loop(slot, count, *self.stage(position(slot), slot))
        cleared = loop(slot, count, store(self.words[0, slot], 0))
        sink = _Words(self, slot)

        def run(number: Expr, where: Sequence[Expr], first: Expr) -> Block:
            column = first + slot * window.stride[-1]
            return loop(slot, count, *sink.copy(number, window.kernel[-1], (*where, column)))

        return (*cleared, *row_neighbours(self.ctx, window, position(as_expr(0)), count, slot, sink, run))

    def stage(self, position: Sequence[Expr], slot: Expr) -> Block:
        cleared = store(self.words[0, slot], 0)
        return (cleared, *window_rows(self.ctx, self.window, position, _Words(self, slot)))


@dataclass(frozen=True)
class _Words:
    staging: WordPixels
    slot: Expr

    def copy(self, first: Expr, taps: int, where: Sequence[Expr]) -> Block:
        staging = self.staging
        depth = staging.window.depth
        y = Pointer(staging.words, (first * depth + 1, self.slot))
        pointers = (staging.source.run(where), y, Pointer(staging.words, (as_expr(0), self.slot)))
        if staging.pixels == PIXELS:
            return (Invoke("spread_four", pointers, (taps * depth,)),)
        return (Invoke("spread", pointers, (taps * depth, staging.pixels)),)

    def fill(self, first: Expr, taps: int) -> Block:
        staging, i = self.staging, Var(self.staging.ctx.names.fresh("i"))
        size, total = taps * staging.window.depth, (as_expr(0), self.slot)
        at = (first * staging.window.depth + 1 + i, self.slot)
        taken = I32(-WEIGHT_OFFSET * size * staging.zero_point)
        return (
            *loop(i, size, store(staging.words[at], staging.zero_point)),
            store(staging.words[total], staging.words[total] + taken),
        )


class PackedPixels:
    """A word for each two of four pixels."""

    def __init__(self, ctx: KernelContext, x: TensorRef, window: Window, zero_point: int, pixels: int) -> None:
        assert pixels == PIXELS
        self.ctx, self.source, self.window, self.zero_point = ctx, _Source(x, window), window, zero_point
        self.words = ctx.temporary("pairs", DType.I8, (window.size, 2, 4), align=8)

    def prepare(self) -> Block:
        """The bytes between the two pixels stay zero."""
        k = Var(self.ctx.names.fresh("k"))
        zeros = (store(self.words[k, p, b], 0) for p in range(2) for b in (1, 3))
        return loop(k, self.window.size, *zeros)

    def stage_all(self, position: Callable[[Expr], Sequence[Expr]], count: int, neighbours: bool) -> Block:
        """The pixels at the positions of the first ``count`` slots, each of which has code of its own."""
        slots = (window_rows(self.ctx, self.window, position(as_expr(n)), _Packed(self, n)) for n in range(count))
        return tuple(stmt for block in slots for stmt in block)


@dataclass(frozen=True)
class _Packed:
    staging: PackedPixels
    slot: int

    def _at(self, k: Expr) -> tuple[Expr, ...]:
        return (k, as_expr(self.slot // 2), as_expr(self.slot % 2 * 2))

    def copy(self, first: Expr, taps: int, where: Sequence[Expr]) -> Block:
        staging, depth = self.staging, self.staging.window.depth
        y = Pointer(staging.words, self._at(first * depth))
        return (Invoke("pack", (staging.source.run(where), y), (taps * depth,)),)

    def fill(self, first: Expr, taps: int) -> Block:
        staging, i = self.staging, Var(self.staging.ctx.names.fresh("i"))
        value = (staging.zero_point + 256) % 256 - 128
        depth = staging.window.depth
        return loop(i, taps * depth, store(staging.words[self._at(first * depth + i)], value))
