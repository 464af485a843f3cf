"""Activations of some pixels side by side, as the contractions of ``blocks/plain.py`` read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

from ...blocks.plain import PIXELS, WEIGHT_OFFSET
from ...ir.build import store
from ...ir.loops import I32, Alloc, Block, Buffer, Expr, Invoke, Let, Pointer, Space, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ...record import record
from ..halfword_rows import Elements
from ..kernel import KernelContext
from ..staging import neighbours as row_neighbours
from ..tensors import TensorRef
from ..window import Sink, Window, window_rows


@record
class _Source:
    """Runs of bytes of the input under a window."""

    x: TensorRef
    window: Window

    def run(self, where: Sequence[Expr]) -> Pointer:
        """The bytes from the pixel at ``where`` on."""
        return Pointer(self.x.buffer, self.x.at((*where, as_expr(0))))


class _Pixels:
    """Pixels side by side; ``run(slot)`` is where the taps of one go."""

    def __init__(self, ctx: KernelContext, x: TensorRef, window: Window, zero_point: int) -> None:
        self.ctx, self.source, self.window = ctx, _Source(x, window), window
        self.zero_point = zero_point

    def run(self, slot: Expr) -> Sink:
        raise NotImplementedError

    def stage(self, position: Sequence[Expr], slot: Expr) -> Block:
        """The pixel at ``position``."""
        return window_rows(self.ctx, self.window, position, self.run(slot))


class WordPixels(_Pixels):
    """A word for each activation of one pixel; the first word takes off what the offset of the weights adds."""

    def __init__(self, ctx: KernelContext, x: TensorRef, window: Window, zero_point: int) -> None:
        super().__init__(ctx, x, window, zero_point)
        self.words = ctx.temporary("words", DType.I32, (window.size + 1, 1))

    def part(self, window: Window, first: int) -> WordPixels:
        """A ``window`` on the channels from ``first`` on, in the same memory."""
        other = copy(self)
        other.window, other.source = window, _Source(self.source.x.last_part(first, window.depth), window)
        return other

    def run(self, slot: Expr) -> Sink:
        return _Words(self, slot)

    def stage(self, position: Sequence[Expr], slot: Expr) -> Block:
        return (store(self.words[0, slot], 0), *super().stage(position, slot))


class HalfwordPixels(WordPixels):
    """The same of activations of 16 bits."""

    def stage(self, position: Sequence[Expr], slot: Expr) -> Block:
        names, words = self.ctx.names, self.words
        total = Buffer(names.fresh("total"), I32, (1,), Space.REG)

        def put(at: Expr, value: Expr) -> Block:
            word = Var(names.fresh("word"), I32)
            return (Let(word, I32(value)), store(words[at + 1, slot], word), store(total[0], total[0] + word))

        sink = Elements(self.ctx, self.source.x, self.window, self.zero_point, put)
        gathered = window_rows(self.ctx, self.window, position, sink)
        taken = store(words[0, slot], total[0] * -WEIGHT_OFFSET)
        return (Alloc(total), store(total[0], 0), *gathered, taken)


@record
class _Words:
    staging: WordPixels
    slot: Expr

    def copy(self, first: Expr, taps: int, where: Sequence[Expr]) -> Block:
        staging = self.staging
        depth = staging.window.depth
        y = Pointer(staging.words, (first * depth + 1, self.slot))
        pointers = (staging.source.run(where), y, Pointer(staging.words, (as_expr(0), self.slot)))
        return (Invoke("spread", pointers, (taps * depth,)),)

    def fill(self, first: Expr, taps: int) -> Block:
        staging, i = self.staging, Var(self.staging.ctx.names.fresh("i"))
        size, total = taps * staging.window.depth, (as_expr(0), self.slot)
        at = (first * staging.window.depth + 1 + i, self.slot)
        taken = I32(-WEIGHT_OFFSET * size * staging.zero_point)
        return (
            *loop(i, size, store(staging.words[at], staging.zero_point)),
            store(staging.words[total], staging.words[total] + taken),
        )


class PairPixels(_Pixels):
    """A halfword for each activation of four pixels, with a byte plus 128."""

    def __init__(self, ctx: KernelContext, x: TensorRef, window: Window, zero_point: int) -> None:
        super().__init__(ctx, x, window, zero_point)
        self.words = ctx.temporary("pairs", DType.I8, (window.size, PIXELS, 2), align=8)

    def run(self, slot: Expr) -> Sink:
        return _Pairs(self, slot)

    def prepare(self) -> Block:
        """The upper bytes stay zero."""
        k, p = Var(self.ctx.names.fresh("k")), Var(self.ctx.names.fresh("p"))
        return loop(k, self.window.size, *loop(p, PIXELS, store(self.words[k, p, 1], 0)))

    def stage_all(self, position: Callable[[Expr], Sequence[Expr]], count: int, neighbours: bool) -> Block:
        """The pixels at the positions of the first ``count`` slots; ``neighbours`` are of a row."""
        window, slot = self.window, Var(self.ctx.names.fresh("slot"))
        if not neighbours or not window.kernel or not window.side_by_side:
            return loop(slot, count, *self.stage(position(slot), slot))
        sink = _Pairs(self, slot)

        def run(number: Expr, where: Sequence[Expr], first: Expr) -> Block:
            column = first + slot * window.stride[-1]
            return loop(slot, count, *sink.copy(number, window.kernel[-1], (*where, column)))

        return row_neighbours(self.ctx, window, position(as_expr(0)), count, slot, sink, run)


@record
class _Pairs:
    staging: PairPixels
    slot: Expr

    def copy(self, first: Expr, taps: int, where: Sequence[Expr]) -> Block:
        staging, depth = self.staging, self.staging.window.depth
        y = Pointer(staging.words, (first * depth, self.slot, as_expr(0)))
        return (Invoke("pack", (staging.source.run(where), y), (taps * depth,)),)

    def fill(self, first: Expr, taps: int) -> Block:
        staging, i = self.staging, Var(self.staging.ctx.names.fresh("i"))
        value, depth = (staging.zero_point + 256) % 256 - 128, staging.window.depth
        return loop(i, taps * depth, store(staging.words[first * depth + i, self.slot, 0], value))
