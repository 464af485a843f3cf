"""Block instructions of cores with Helium (Armv8.1-M vectors): contractions of bytes, sixteen products an instruction.

*Weights* are a stream of 32-bit words in the order in which they are read. For each tile of channels: a bias per
channel; for each step of sixteen k four words of bytes per channel; and, for rows that requantize, the float32 scale of
each channel. Where channels or k do not fill a tile or a step, the stream has zeros.

*Activations* are read where they lie: ``runs`` of ``vectors`` steps each, ``run_step`` bytes apart. A step may reach
beyond the k that count: into what follows, as long as that is memory of the same tensor.

*Requantization* is ``clamp(zero_point + round_half_even(float32(acc) * scale), lo, 127)``; the product stays below
2^21.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..ir.loops import (
    I32,
    INDEX,
    Access,
    Alloc,
    Binary,
    Bitcast,
    Block,
    Buffer,
    Call,
    Const,
    Convert,
    Expr,
    Kernel,
    Let,
    Load,
    Reduce,
    Space,
    Stmt,
    Store,
    Type,
    Var,
    as_expr,
)
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .instruction import MVE, BlockInstruction

STEP = 16
"""k that one instruction multiplies and adds."""
PIXELS_TILE = 4
"""Channels that ``helium_pixels`` rows compute together, for two pixels."""
PIXEL_TILE = 8
"""Channels that ``helium_pixel`` rows compute together."""
FEW_STEPS = 8
"""Steps that ``helium_few_pixels_i8`` can take, in one run."""
SHORT_RUN = 12
"""Steps of a run that ``helium_runs_of_pixels_i8`` can take."""
STRAIGHT = {PIXELS_TILE: 6, PIXEL_TILE: 1}
"""Steps that the meaning runs through at most before it loops, by tile: with more, addresses are spilled."""

_I8 = Type(DType.I8)


def pad(size: int, unit: int) -> int:
    """The next multiple of ``unit``."""
    return -(-size // unit) * unit


def tile_words(tile: int, steps: int, requantize: bool) -> int:
    """The length of a tile's part of the stream."""
    return tile * (1 + steps * STEP // 4 + requantize)


def param(name: str, dtype: DType, size: int, access: Access, align: int = 0) -> Buffer:
    return Buffer(name, Type(dtype), (size,), Space.GLOBAL, access, align)


@dataclass(frozen=True)
class _Contraction:
    """All channels of the pixels that begin at ``origins`` of ``x``, into the memory from ``places`` of ``y`` on."""

    weights: Buffer
    x: Buffer
    y: Buffer
    runs: int
    vectors: int
    run_step: int
    channels: int
    tile: int
    zero_point: int = 0
    lo: int = -128

    @property
    def requantize(self) -> bool:
        return self.y.dtype is DType.I8

    def tiles(self, origins: tuple[Expr, ...], places: tuple[Expr, ...], stem: str) -> Block:
        full = self.channels // self.tile
        t = Var(f"t{stem}")
        block = loop(t, full, *self._tile(t, self.tile, origins, places, stem))
        rest = self.channels - full * self.tile
        return (*block, *self._tile(as_expr(full), rest, origins, places, f"{stem}_rest")) if rest else block

    def _tile(
        self, t: Expr, active: int, origins: tuple[Expr, ...], places: tuple[Expr, ...], stem: str
    ) -> Block:
        steps = self.runs * self.vectors
        at = t * tile_words(self.tile, steps, self.requantize)
        acc = Buffer(f"acc{stem}", I32, (len(origins), self.tile), Space.REG)
        out: list[Stmt] = [Alloc(acc)]
        for c in range(self.tile):
            bias = Var(f"bias{stem}_{c}", I32)
            out.append(Let(bias, Load(self.weights, (at + c,))))
            out += [Store(acc, (as_expr(p), as_expr(c)), bias) for p in range(len(origins))]
        out += self._products(at + self.tile, origins, acc, stem)
        scales = at + self.tile * (1 + steps * STEP // 4)
        for part in range(0, self.tile, 4):
            scale = Var(f"scale{stem}_{part}", Type(DType.F32, 4))
            if self.requantize:
                out.append(Let(scale, Bitcast(scale.type, Load(self.weights, (scales + part,), 4))))
            for p, place in enumerate(places):
                where, name = place + (t * self.tile + part), f"{stem}_{p}_{part}"
                limits = (self.zero_point, self.lo)
                out += store_results(self.y, where, acc, (p, part), active - part, scale, limits, name)
        return tuple(out)

    def _products(self, at: Expr, origins: tuple[Expr, ...], acc: Buffer, stem: str) -> Block:
        if self.runs * self.vectors <= STRAIGHT[self.tile]:
            pairs = [(r, v) for r in range(self.runs) for v in range(self.vectors)]
            steps = [self._step(at, as_expr(r), as_expr(v), origins, acc, f"{stem}_{r}_{v}") for r, v in pairs]
            return tuple(stmt for step in steps for stmt in step)
        run, v = Var(f"run{stem}"), Var(f"v{stem}")
        straight = max(n for n in range(1, STRAIGHT[self.tile] + 1) if self.vectors % n == 0)
        body: Block = ()
        for n in range(straight):
            body += self._step(at, run, v * straight + n, origins, acc, f"{stem}_{n}")
        return loop(run, self.runs, *loop(v, self.vectors // straight, *body))

    def _step(
        self, at: Expr, run: Expr, vector: Expr, origins: tuple[Expr, ...], acc: Buffer, stem: str
    ) -> Block:
        """Sixteen products for each channel and pixel."""
        at += (run * self.vectors + vector) * (self.tile * STEP // 4)
        offset = run * self.run_step + vector * STEP
        wide = Type(DType.I32, STEP)
        out: list[Stmt] = []
        columns = []
        for p, origin in enumerate(origins):
            column = Var(f"x{stem}_{p}", wide)
            out.append(Let(column, Convert(wide, Load(self.x, (origin + offset,), STEP))))
            columns.append(column)
        for c in range(self.tile):
            row = Var(f"w{stem}_{c}", wide)
            words = Load(self.weights, (at + c * (STEP // 4),), STEP // 4)
            out.append(Let(row, Convert(wide, Bitcast(Type(DType.I8, STEP), words))))
            for p, column in enumerate(columns):
                where = (as_expr(p), as_expr(c))
                total = Reduce("add", Binary("mul", column, row))
                out.append(Store(acc, where, Binary("add", Load(acc, where), total)))
        return tuple(out)


def store_results(
    y: Buffer,
    place: Expr,
    acc: Buffer,
    first: Sequence[int],
    active: int,
    scale: Expr,
    limits: tuple[int, int],
    stem: str,
) -> Block:
    """The four accumulators from ``first`` on, of which ``active`` count, requantized with the zero point and the least
    result ``limits`` where ``y`` holds bytes."""
    lanes = Buffer(f"lanes{stem}", I32, (4,), Space.STACK, align=16)
    out: list[Stmt] = [Alloc(lanes)]
    *outer, start = first
    for n in range(4):
        where = (*map(as_expr, outer), as_expr(start + n))
        out.append(Store(lanes, (as_expr(n),), Load(acc, where)))
    value: Expr = Load(lanes, (as_expr(0),), 4)
    if y.dtype is not DType.I8:
        return (*out, Store(y, (place,), value))
    value = requantized(value, scale, *limits)
    if active < 4:
        return (*out, Store(y, (place,), value, as_expr(active))) if active > 0 else ()
    return (*out, Store(y, (place,), value))


def requantized(acc: Expr, scale: Expr, zero_point: int, lo: int) -> Expr:
    """Four results as bytes."""
    wide, words = Type(DType.F32, 4), Type(DType.I32, 4)
    product = Binary("mul", Convert(wide, acc), scale)
    steps = Binary("add", Convert(words, Call("round_even", (product,), wide)), Const(zero_point, words))
    limited = Binary("min", Binary("max", steps, Const(lo, words)), Const(127, words))
    return Convert(Type(DType.I8, 4), limited)


def _pixels(out: DType) -> Callable[..., Kernel]:
    """``pixels`` pixels, two at a time; a last one that is left alone is computed twice."""

    def meaning(
        runs: int, vectors: int, run_step: int, pixels: int, pixel_step: int, channels: int, zero: int = 0, lo: int = 0
    ) -> Kernel:
        tiles = -(-channels // PIXELS_TILE)
        words = tiles * tile_words(PIXELS_TILE, runs * vectors, out is DType.I8)
        row = channels if out is DType.I8 else tiles * PIXELS_TILE
        w = param("w", DType.I32, words, Access.READ, 4)
        x = param("x", DType.I8, (pixels - 1) * pixel_step + _reach(runs, vectors, run_step), Access.READ)
        y = param("y", out, pixels * row, Access.WRITE)
        work = _Contraction(w, x, y, runs, vectors, run_step, channels, PIXELS_TILE, zero, lo)
        pair = Var("pair")
        two = [pair * 2 + slot for slot in range(2)]
        body = loop(pair, pixels // 2, *work.tiles(*_both(two, pixel_step, row), stem=""))
        if pixels % 2:
            body += work.tiles(*_both([as_expr(pixels - 1)], pixel_step, row), stem="_last")
        return Kernel("helium_pixels", (w, x, y), body)

    return meaning


def _few_pixels(vectors: int, pixels: int, pixel_step: int, channels: int, zero: int, lo: int) -> Kernel:
    return _pixels(DType.I8)(1, vectors, 0, pixels, pixel_step, channels, zero, lo)


def _both(pixels: list[Expr], pixel_step: int, row: int) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """Where pixels begin in the input and in the output."""
    return tuple(pixel * pixel_step for pixel in pixels), tuple(pixel * row for pixel in pixels)


def _reach(runs: int, vectors: int, run_step: int) -> int:
    """Bytes from the first to behind the last that a pixel reads."""
    return (runs - 1) * run_step + vectors * STEP


def _pixel(out: DType) -> Callable[..., Kernel]:
    """One pixel of one run by all channels."""

    def meaning(vectors: int, channels: int, zero: int = 0, lo: int = 0) -> Kernel:
        tiles = -(-channels // PIXEL_TILE)
        w = param("w", DType.I32, tiles * tile_words(PIXEL_TILE, vectors, out is DType.I8), Access.READ, 4)
        x = param("x", DType.I8, vectors * STEP, Access.READ)
        y = param("y", out, channels if out is DType.I8 else tiles * PIXEL_TILE, Access.WRITE)
        work = _Contraction(w, x, y, 1, vectors, 0, channels, PIXEL_TILE, zero, lo)
        return Kernel("helium_pixel", (w, x, y), work.tiles((as_expr(0),), (as_expr(0),), ""))

    return meaning


def _copy(runs: int, size: int, x_step: int, y_step: int) -> Kernel:
    """``runs`` of ``size`` bytes each."""
    x = param("x", DType.I8, (runs - 1) * x_step + size, Access.READ)
    y = param("y", DType.I8, (runs - 1) * y_step + size, Access.WRITE)
    run, v = Var("run"), Var("v")
    whole, rest = size // STEP, size % STEP
    body: Block = ()
    for first, trips, active in ((0, whole, None), (whole, 1 if rest else 0, as_expr(rest))):
        at = (v + first) * STEP
        value = Load(x, (run * x_step + at,), STEP, active)
        body += loop(v, trips, Store(y, (run * y_step + at,), value, active))
    return Kernel("helium_copy", (x, y), loop(run, runs, *body))


def _fill(size: int, value: int) -> Kernel:
    """The same byte throughout, as at borders."""
    y = param("y", DType.I8, size, Access.WRITE)
    v, wide = Var("v"), Const(value, Type(DType.I8, STEP))
    body = loop(v, size // STEP, Store(y, (v * STEP,), wide))
    if size % STEP:
        body += (Store(y, (as_expr(size // STEP * STEP),), wide, as_expr(size % STEP)),)
    return Kernel("helium_fill", (y,), body)


def _lookup(size: int) -> Kernel:
    """``table[x + 128]``"""
    x, table = param("x", DType.I8, size, Access.READ), param("table", DType.I8, 256, Access.READ)
    y, i, rest = param("y", DType.I8, size, Access.WRITE), Var("i"), Var("rest")

    def result(at: Expr) -> Stmt:
        place = Convert(INDEX, Convert(I32, Load(x, (at,)))) + 128
        return Store(y, (at,), Load(table, (place,)))

    whole = size // 4 * 4
    body = loop(i, size // 4, *(result(i * 4 + lane) for lane in range(4)))
    return Kernel("helium_lookup", (x, table, y), (*body, *loop(rest, size - whole, result(rest + whole))))


def _rescale(size: int, m1: int, m2: int, bias: int, shift: int, lo: int, hi: int) -> Kernel:
    """``clamp((x1 * m1 + x2 * m2 + bias) >> shift, lo, hi)``, as the operator ``rescale`` has it."""
    x1, x2 = (param(name, DType.I8, size, Access.READ) for name in ("x1", "x2"))
    y = param("y", DType.I8, size, Access.WRITE)
    words, i = Type(DType.I32, 4), Var("i")

    def results(at: Expr, active: Expr | None) -> Stmt:
        terms = [
            Binary("mul", Convert(words, Load(x, (at,), 4, active)), Const(m, words)) for x, m in ((x1, m1), (x2, m2))
        ]
        total = Binary("add", Binary("add", *terms), Const(bias, words))
        steps = Binary("shr", total, Const(shift, words))
        limited = Binary("min", Binary("max", steps, Const(lo, words)), Const(hi, words))
        return Store(y, (at,), Convert(Type(DType.I8, 4), limited), active)

    body = loop(i, size // 4, results(i * 4, None))
    if size % 4:
        body += (results(as_expr(size // 4 * 4), as_expr(size % 4)),)
    return Kernel("helium_rescale", (x1, x2, y), body)


def _sum(rows: int, channels: int, start: int) -> Kernel:
    """``start`` and the bytes of all rows, added up for each channel."""
    x = param("x", DType.I8, rows * channels, Access.READ)
    y = param("y", DType.I32, pad(channels, 4), Access.WRITE, 4)
    words, row, t = Type(DType.I32, 4), Var("row"), Var("t")

    def results(c: Expr, active: Expr | None, stem: str) -> Block:
        acc = Buffer(f"acc{stem}", words, (1,), Space.REG)
        value = Convert(words, Load(x, (row * channels + c,), 4, active))
        add = Store(acc, (as_expr(0),), Binary("add", Load(acc, (as_expr(0),)), value))
        return (
            Alloc(acc),
            Store(acc, (as_expr(0),), Const(start, words)),
            *loop(row, rows, add),
            Store(y, (c,), Load(acc, (as_expr(0),))),
        )

    body = loop(t, channels // 4, *results(t * 4, None, ""))
    if channels % 4:
        body += results(as_expr(channels // 4 * 4), as_expr(channels % 4), "_rest")
    return Kernel("helium_sum", (x, y), body)


_PIXELS = ("runs", "vectors", "run_step", "pixels", "pixel_step", "channels")
ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction("helium_copy", ("runs", "size", "x_step", "y_step"), _copy, MVE, ((3, 21, 30, 24),)),
    BlockInstruction("helium_fill", ("size", "value"), _fill, MVE, ((35, -3),)),
    BlockInstruction("helium_lookup", ("size",), _lookup, MVE, ((11,),)),
    BlockInstruction(
        "helium_rescale", ("size", "m1", "m2", "bias", "shift", "lo", "hi"), _rescale,
        MVE, ((13, 3, -4, 5, 6, -100, 90),),
    ),
    BlockInstruction("helium_sum", ("rows", "channels", "start"), _sum, MVE, ((5, 7, -9),)),
    BlockInstruction(
        "helium_pixels_i8", (*_PIXELS, "zero_point", "lo"), _pixels(DType.I8),
        MVE, ((2, 3, 60, 5, 16, 6, -128, -9),), frozenset({"runs", "vectors", "channels"}),
    ),
    BlockInstruction(
        "helium_runs_of_pixels_i8", (*_PIXELS, "zero_point", "lo"), _pixels(DType.I8),
        MVE, ((2, 3, 60, 5, 16, 8, -128, -9),),
    ),
    BlockInstruction(
        "helium_few_pixels_i8", ("vectors", *_PIXELS[3:], "zero_point", "lo"), _few_pixels,
        MVE, ((3, 5, 16, 8, -128, -9),),
    ),
    BlockInstruction("helium_pixels_i32", _PIXELS, _pixels(DType.I32), MVE, ((3, 5, 80, 4, 48, 5),)),
    BlockInstruction(
        "helium_pixel_i8", ("vectors", "channels", "zero_point", "lo"), _pixel(DType.I8), MVE, ((14, 11, 7, -128),),
    ),
    BlockInstruction("helium_pixel_i32", ("vectors", "channels"), _pixel(DType.I32), MVE, ((2, 9),)),
)
