"""Plain nest of block_fft: the stages of fft with 16-bit integers, and an exponent for each transform."""

from __future__ import annotations

from ..ir.build import convert, ge, maximum, select, store
from ..ir.graph import Node, Value
from ..ir.loops import I16, I32, Block, Buffer, Expr, as_expr
from ..ir.types import DType
from ..record import record
from .attributes import integer
from .fourier import GUARD, ONE
from .fourier_nest import Complex, Stage, combined, stages
from .nest_tools import Index, Lets, accumulate, accumulator, operand, read_as, serial_loop, serial_loops
from .opdef import NestContext

_HALVES = (8, 4, 2, 1)
"""Steps of the search for the leading one of 15 bits."""


def block_fft(ctx: NestContext, node: Node) -> Block:
    """Loops over frames around the window, the stages, and the end, where real numbers are taken apart.

    Each loop collects the bits of all magnitudes that it stores, for the shift of the next.
    """
    n = integer(node.attrs, "n")
    first, alloc = ctx.scratch("a", DType.I16, (n // 2, 2))
    second, more = ctx.scratch("b", DType.I16, (n // 2, 2))

    def transform(at: Index) -> Block:
        return _Transform(ctx, node, at[0], n).block((first, second))

    return (*alloc, *more, *serial_loops(ctx, ("b",), (operand(node, 0).shape[0],), transform))


@record
class _Transform:
    """One frame."""

    ctx: NestContext
    node: Node
    batch: Expr
    n: int

    @property
    def table(self) -> Value:
        return operand(self.node, 2)

    def block(self, buffers: tuple[Buffer, Buffer]) -> Block:
        exponent, init = accumulator(self.ctx, "exponent", DType.I32, 0)
        seen, set_up = accumulator(self.ctx, "seen", DType.I32, 0)
        blocks: list[Block] = [init, set_up, self._windowed(buffers[0], seen, exponent)]
        steps = stages(self.n // 2)
        for number, stage in enumerate(steps):
            blocks.append(self._stage(stage, buffers[number % 2], buffers[(number + 1) % 2], seen, exponent))
        blocks.append(self._apart(buffers[len(steps) % 2], seen, exponent))
        blocks.append(self.ctx.write(self.node.outputs[1], (self.batch,), exponent[0]))
        return tuple(stmt for block in blocks for stmt in block)

    # ---- shifts

    def _bits(self, seen: Buffer, lets: Lets) -> Expr:
        """The place behind the leading one of what was collected."""
        rest = lets.bind("rest", seen[0])
        bits: Expr = I32(0)
        for half in _HALVES:
            high = lets.bind("high", ge(rest, 1 << half))
            rest = lets.bind("rest", select(high, rest >> half, rest))
            bits = lets.bind("bits", bits + select(high, I32(half), I32(0)))
        return lets.bind("bits", bits + rest)

    def _shift(self, room: int, seen: Buffer, exponent: Buffer, lets: Lets) -> tuple[Expr, Block]:
        """By how many bits more than ``room`` a result may need is shifted right, and what notes that."""
        right = lets.bind("right", maximum(self._bits(seen, lets) - (15 - room), 0))
        return right, (accumulate("add", exponent, right), store(seen[0], 0))

    @staticmethod
    def _collect(seen: Buffer, value: Expr) -> Block:
        return (accumulate("or", seen, value ^ (value >> 31)),)

    # ---- passes

    def _windowed(self, to: Buffer, seen: Buffer, exponent: Buffer) -> Block:
        """Two passes: the bits of the frame; the frame, shifted to fill 15 bits, times the window."""
        ctx, (x, window) = self.ctx, (operand(self.node, p) for p in range(2))
        length = x.shape[1]

        def look(k: Expr) -> Block:
            lets = Lets(ctx)
            value = lets.bind("x", read_as(ctx, x, (self.batch, k), DType.I32))
            return (*lets.block, *self._collect(seen, value))

        def one(k: Expr, place: Expr, part: int) -> Block:
            lets = Lets(ctx)
            value = read_as(ctx, x, (self.batch, k), DType.I32) << left
            product = value * read_as(ctx, window, (k,), DType.I32)
            value = lets.bind("value", (product + ONE // 2) >> 15)
            return (*lets.block, store(to[place, part], I16(value)), *self._collect(seen, value))

        def zero(at: Index) -> Block:
            k = at[0] + -(-length // 2)
            return (store(to[k, 0], 0), store(to[k, 1], 0))

        first = serial_loop(ctx, "k", length, look)
        lets = Lets(ctx)
        left = lets.bind("left", 15 - self._bits(seen, lets))
        note = (accumulate("add", exponent, -left), store(seen[0], 0))
        second = serial_loop(ctx, "k", length // 2, lambda k: one(2 * k, k, 0) + one(2 * k + 1, k, 1))
        odd = as_expr(length // 2)
        last = (*one(2 * odd, odd, 0), store(to[odd, 1], 0)) if length % 2 else ()
        rest = serial_loops(ctx, ("k",), (self.n // 2 + -length // 2,), zero) if length < self.n - 1 else ()
        return (*first, *lets.block, *note, *second, *last, *rest)

    def _stage(
        self, stage: Stage, source: Buffer, to: Buffer, seen: Buffer, exponent: Buffer
    ) -> Block:
        ctx, (radix, length) = self.ctx, (stage.radix, stage.length)
        step = self.n // (radix * length)
        shifts = Lets(ctx)
        right, note = self._shift(3 if radix == 4 else 2, seen, exponent, shifts)
        count = shifts.bind("count", right + GUARD)
        half = shifts.bind("half", (I32(1) << count) >> 1)

        def row(j: Expr) -> Block:
            factors = Lets(ctx)
            turns = [self._root(j * (v * step), factors) for v in range(1, radix)] if length > 1 else []

            def butterfly(k: Expr) -> Block:
                lets = Lets(ctx)
                terms: list[Complex] = []
                for v in range(radix):
                    place = stage.source(j, k, v)
                    numbers = tuple(lets.bind("x", convert(source[place, part], DType.I32)) for part in range(2))
                    if v and turns:
                        re, im = self._product((numbers[0], numbers[1]), turns[v - 1], lets)
                    else:
                        re, im = numbers[0] << GUARD, numbers[1] << GUARD
                    terms.append((re + half, im + half) if v == 0 else (re, im))
                block: list[Block] = []
                for u, numbers in enumerate(combined(terms, lets)):
                    for part, number in enumerate(numbers):
                        last = Lets(ctx)
                        value = last.bind("value", number >> count)
                        place = stage.target(j, k, u)
                        block.append((*last.block, store(to[place, part], I16(value)), *self._collect(seen, value)))
                return (*lets.block, *(stmt for part in block for stmt in part))

            return (*factors.block, *serial_loop(ctx, "k", stage.columns, butterfly))

        return (*shifts.block, *note, *serial_loop(ctx, "j", length, row))

    def _root(self, number: Expr, lets: Lets) -> Complex:
        parts = (read_as(self.ctx, self.table, (number, as_expr(p)), DType.I32) for p in range(2))
        c, s = (lets.bind(stem, part) for stem, part in zip("cs", parts))
        return c, s

    def _product(self, number: Complex, factor: Complex, lets: Lets) -> Complex:
        (re, im), (c, s), half = number, factor, 1 << 14 - GUARD
        return (
            lets.bind("re", (re * c - im * s + half) >> 15 - GUARD),
            lets.bind("im", (re * s + im * c + half) >> 15 - GUARD),
        )

    def _apart(self, source: Buffer, seen: Buffer, exponent: Buffer) -> Block:
        ctx, m, y = self.ctx, self.n // 2, self.node.outputs[0]
        wanted = integer(self.node.attrs, "count")
        shifts = Lets(ctx)
        right, note = self._shift(2, seen, exponent, shifts)
        count = shifts.bind("count", right + (GUARD + 1))
        half = shifts.bind("half", (I32(1) << count) >> 1)

        def read(k: Expr) -> Complex:
            re, im = (convert(source[k, part], DType.I32) for part in range(2))
            return re, im

        def write(k: Expr, re: Expr, im: Expr) -> Block:
            parts = (I16((part + half) >> count) for part in (re, im))
            return tuple(s for p, part in enumerate(parts) for s in ctx.write(y, (self.batch, k, as_expr(p)), part))

        def element(at: Expr) -> Block:
            """Element at + 1."""
            lets = Lets(ctx)
            k = at + 1
            re1, im1, re2, im2 = (lets.bind("z", part) for part in (*read(k), *read(m - k)))
            odd = (lets.bind("odd", re1 - re2), lets.bind("odd", im1 + im2))
            re, im = self._product(odd, self._root(k, lets), lets)
            return (*lets.block, *write(k, ((re1 + re2) << GUARD) + im, ((im1 - im2) << GUARD) - re))

        ends = Lets(ctx)
        re, im = (ends.bind("z", part) for part in read(as_expr(0)))
        zero = as_expr(0, re.type)
        first = write(as_expr(0), (re + im) << GUARD + 1, zero)
        last = write(as_expr(m), (re - im) << GUARD + 1, zero) if wanted == m + 1 else ()
        inner = serial_loop(ctx, "k", min(wanted, m) - 1, element) if wanted > 1 else ()
        return (*shifts.block, *note, *ends.block, *first, *inner, *last)
