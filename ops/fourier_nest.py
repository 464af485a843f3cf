"""Plain nest of fft: stages between two pairs of buffers, one for real and one for imaginary parts.

The innermost loops of all stages but the last run over neighbours in memory, so that they become vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir.build import store
from ..ir.graph import Node, Value
from ..ir.loops import Block, Buffer, Expr, as_expr
from ..record import record
from .attributes import integer
from .fourier import radices
from .nest_tools import Index, Lets, loops, operand, serial_loop, serial_loops
from .opdef import NestContext

Complex = tuple[Expr, Expr]
"""Real and imaginary part."""
Read = Callable[[Expr], Complex]
"""The number at a place of the operand or of a buffer."""


@record
class Stage:
    """``[length, rest]`` numbers, of which ``radix`` pieces of each row become rows of their own."""

    radix: int
    length: int
    rest: int

    @property
    def columns(self) -> int:
        """The numbers of a piece."""
        return self.rest // self.radix

    def source(self, j: Expr, k: Expr, v: int) -> Expr:
        return j * self.rest + (k + v * self.columns)

    def target(self, j: Expr, k: Expr, u: int) -> Expr:
        return (j + u * self.length) * self.columns + k


def stages(m: int) -> list[Stage]:
    """Of a transform of m complex numbers."""
    found, length = [], 1
    for radix in radices(m):
        found.append(Stage(radix, length, m // length))
        length *= radix
    return found


def fft(ctx: NestContext, node: Node) -> Block:
    """Loops over transforms around the stages; the first reads the operand, behind the last real numbers are taken
    apart."""
    x, table = operand(node, 0), operand(node, 1)
    batch, n, parts = x.shape
    m = n // 2 if parts == 1 else n
    made = [ctx.scratch(f"{stem}_{part}", x.dtype, (m,)) for stem in "ab" for part in ("re", "im")]
    buffers = [buffer for buffer, _ in made]
    pairs, allocs = (buffers[:2], buffers[2:]), tuple(stmt for _, alloc in made for stmt in alloc)

    def transform(at: Index) -> Block:
        def operand_at(k: Expr) -> Complex:
            if parts == 2:
                return ctx.read(x, (*at, k, as_expr(0))), ctx.read(x, (*at, k, as_expr(1)))
            return ctx.read(x, (*at, 2 * k, as_expr(0))), ctx.read(x, (*at, 2 * k + 1, as_expr(0)))

        read: Read = operand_at
        blocks: list[Block] = []
        for number, stage in enumerate(stages(m)):
            re, im = pairs[number % 2]
            blocks.append(_stage(ctx, stage, read, (re, im), table, n))
            read = buffer_reader(re, im)
        blocks.append(_results(ctx, node, at[0], read, m, table))
        return tuple(stmt for block in blocks for stmt in block)

    return (*allocs, *serial_loops(ctx, ("b",), (batch,), transform))


def buffer_reader(re: Buffer, im: Buffer) -> Read:
    return lambda k: (re[k], im[k])


def _root(ctx: NestContext, table: Value, number: Expr, lets: Lets) -> Complex:
    return tuple(lets.bind(stem, ctx.read(table, (number, as_expr(p)))) for p, stem in enumerate(("c", "s")))  # type: ignore[return-value]


def _stage(ctx: NestContext, stage: Stage, read: Read, to: Sequence[Buffer], table: Value, n: int) -> Block:
    radix, length = stage.radix, stage.length
    step = n // (radix * length)

    def row(j: Expr) -> Block:
        factors = Lets(ctx)
        turns = [_root(ctx, table, j * (v * step), factors) for v in range(1, radix)] if length > 1 else []

        def butterfly(at: Index) -> Block:
            lets = Lets(ctx)
            terms = []
            for v in range(radix):
                re, im = (lets.bind("x", part) for part in read(stage.source(j, at[0], v)))
                if v and turns:
                    c, s = turns[v - 1]
                    re, im = lets.bind("re", re * c - im * s), lets.bind("im", re * s + im * c)
                terms.append((re, im))
            results = combined(terms, lets)
            stores = [
                store(buffer[stage.target(j, at[0], u)], part)
                for u, numbers in enumerate(results)
                for buffer, part in zip(to, numbers)
            ]
            return (*lets.block, *stores)

        return (*factors.block, *serial_loops(ctx, ("k",), (stage.columns,), butterfly))

    return serial_loop(ctx, "j", length, row)


def combined(terms: Sequence[Complex], lets: Lets) -> list[Complex]:
    """The transform of two or four numbers."""

    def add(x: Complex, y: Complex) -> Complex:
        return lets.bind("sum", x[0] + y[0]), lets.bind("sum", x[1] + y[1])

    def sub(x: Complex, y: Complex) -> Complex:
        return lets.bind("dif", x[0] - y[0]), lets.bind("dif", x[1] - y[1])

    if len(terms) == 2:
        return [add(*terms), sub(*terms)]
    a, b = add(terms[0], terms[2]), sub(terms[0], terms[2])
    c, d = add(terms[1], terms[3]), sub(terms[1], terms[3])
    return [add(a, c), (b[0] + d[1], b[1] - d[0]), sub(a, c), (b[0] - d[1], b[1] + d[0])]


def _results(ctx: NestContext, node: Node, batch: Expr, read: Read, m: int, table: Value) -> Block:
    count = integer(node.attrs, "count")

    def write(k: Expr, number: Complex) -> Block:
        return tuple(s for p, part in enumerate(number) for s in ctx.write(node.output, (batch, k, as_expr(p)), part))

    if operand(node, 0).shape[-1] == 2:
        return loops(ctx, ("k",), (count,), lambda at: write(at[0], read(at[0])))

    def apart(at: Index) -> Block:
        """Element k + 1."""
        lets = Lets(ctx)
        k = at[0] + 1
        (re1, im1), (re2, im2) = read(k), read(m - k)
        re1, im1, re2, im2 = (lets.bind("z", part) for part in (re1, im1, re2, im2))
        even = (lets.bind("even", (re1 + re2) * 0.5), lets.bind("even", (im1 - im2) * 0.5))
        odd = (lets.bind("odd", (re1 - re2) * 0.5), lets.bind("odd", (im1 + im2) * 0.5))
        c, s = _root(ctx, table, k, lets)
        turned = (odd[0] * s + odd[1] * c, odd[1] * s - odd[0] * c)
        return (*lets.block, *write(k, (even[0] + turned[0], even[1] + turned[1])))

    ends = Lets(ctx)
    re, im = (ends.bind("z", part) for part in read(as_expr(0)))
    zero = as_expr(0.0, re.type)
    first = write(as_expr(0), (re + im, zero))
    last = write(as_expr(m), (re - im, zero)) if count == m + 1 else ()
    return (*ends.block, *first, *loops(ctx, ("k",), (min(count, m) - 1,), apart), *last)
