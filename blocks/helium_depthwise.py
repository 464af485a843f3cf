"""Block instructions of cores with Helium: depthwise convolution of bytes, all taps of an output in one instruction.

Rows of the input are *interleaved*: the bytes of up to four rows at one column and channel make a word. The words of up
to four columns under a window, gathered, are sixteen k of an output, and the weights of the channel in the same order
(taps [column, row], zeros where there are fewer than four) its other operand. Of a kernel with at most three rows the
weights of the output one row below are the same, one byte further up in each word. Larger kernels take several such
steps.

The stream of weights is that of ``blocks/helium.py`` for tiles of four channels.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.loops import (
    I32,
    Access,
    Alloc,
    Binary,
    Bitcast,
    Block,
    Buffer,
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
from .helium import PIXELS_TILE, pad, param, store_results, tile_words
from .instruction import MVE, BlockInstruction

WORD = 4
"""Rows that are interleaved, and columns that are gathered."""
INTERLEAVED = 16
"""Words that are written at once: the last ones may be undefined."""

_WORDS = Type(DType.I32, 4)


def _interleave(size: int, outside: int, fill: int) -> Kernel:
    """Word ``i`` of ``y`` has byte ``i`` of the rows ``x0`` to ``x3``, or ``fill`` for row n where bit n of ``outside``
    is set."""
    rows = [param(f"x{n}", DType.I8, 0 if outside >> n & 1 else size, Access.READ) for n in range(WORD)]
    y = param("y", DType.I8, pad(size, INTERLEAVED) * WORD, Access.WRITE, 4)
    border = sum((fill & 255) << 8 * n for n in range(WORD) if outside >> n & 1)
    border -= 1 << 32 if border >> 31 else 0

    def words(at: Expr, active: Expr | None) -> Block:
        value: Expr = Const(border, _WORDS)
        for n, row in enumerate(rows):
            if outside >> n & 1:
                continue
            unsigned = Bitcast(Type(DType.U8, 4), Load(row, (at,), 4, active))
            byte: Expr = Convert(_WORDS, unsigned)
            value = Binary("or", value, Binary("shl", byte, Const(8 * n, _WORDS)) if n else byte)
        return (Store(y, (at * WORD,), Bitcast(Type(DType.I8, 16), value)),)

    i = Var("i")
    body = loop(i, size // 4, *words(i * 4, None))
    if size % 4:
        body += words(as_expr(size // 4 * 4), as_expr(size % 4))
    return Kernel("helium_interleave", (*rows, y), body)


@dataclass(frozen=True)
class _Depthwise:
    """Two outputs of each channel at a time: those of two rows, or of two pixels. ``steps`` are the words of a window
    (relative to its first) that each step gathers."""

    weights: Buffer
    x: Buffer
    outputs: tuple[Buffer, ...]
    shifted: bool
    steps: tuple[tuple[int, ...], ...]
    channels: int
    limits: tuple[int, int]

    def tiles(self, origins: tuple[Expr, ...], places: tuple[Expr, ...], stem: str) -> Block:
        """All channels of the outputs at ``places``, whose windows begin at the words ``origins``."""
        full, rest = divmod(self.channels, PIXELS_TILE)
        t = Var(f"t{stem}")
        block = loop(t, full, *self._tile(t, PIXELS_TILE, origins, places, stem))
        return (*block, *self._tile(as_expr(full), rest, origins, places, f"{stem}_rest")) if rest else block

    def _tile(
        self, t: Expr, active: int, origins: tuple[Expr, ...], places: tuple[Expr, ...], stem: str
    ) -> Block:
        words = tile_words(PIXELS_TILE, len(self.steps), True)
        at = t * words
        acc = Buffer(f"acc{stem}", I32, (len(places), PIXELS_TILE), Space.REG)
        out: list[Stmt] = [Alloc(acc)]
        sums = [[self._bias(at, c, out, stem)] * acc.shape[0] for c in range(PIXELS_TILE)]
        for s, step in enumerate(self.steps):
            columns = [
                self._gather(origin + t * PIXELS_TILE, step, out, f"{stem}_{s}_{n}") for n, origin in enumerate(origins)
            ]
            for c in range(PIXELS_TILE):
                w = Var(f"w{stem}_{c}_{s}", _WORDS)
                out.append(Let(w, Load(self.weights, (at + PIXELS_TILE * (1 + 4 * s) + c * 4,), 4)))
                for n in range(acc.shape[0]):
                    x = Load(columns[min(n, len(columns) - 1)], (as_expr(c * WORD),), WORD)
                    row: Expr = Binary("shl", w, Const(8, _WORDS)) if self.shifted and n else w
                    total = Reduce("add", Binary("mul", _bytes(x), _bytes(row)))
                    sums[c][n] = Binary("add", sums[c][n], total)
        for c, each in enumerate(sums):
            out += [Store(acc, (as_expr(n), as_expr(c)), value) for n, value in enumerate(each)]
        scale = Var(f"scale{stem}", Type(DType.F32, 4))
        out.append(Let(scale, Bitcast(scale.type, Load(self.weights, (at + (words - PIXELS_TILE),), 4))))
        for n in reversed(range(len(places))):
            where, name = places[n] + t * PIXELS_TILE, f"{stem}_{n}"
            out += store_results(self.outputs[n], where, acc, (n, 0), active, scale, self.limits, name)
        return tuple(out)

    def _bias(self, at: Expr, c: int, out: list[Stmt], stem: str) -> Expr:
        bias = Var(f"bias{stem}_{c}", I32)
        out.append(Let(bias, Load(self.weights, (at + c,))))
        return bias

    def _gather(self, origin: Expr, words: tuple[int, ...], out: list[Stmt], stem: str) -> Buffer:
        """The words of a step for four channels [channel, word]."""
        loaded, gathered = (
            Buffer(f"{name}{stem}", I32, (PIXELS_TILE * WORD,), Space.STACK, align=16) for name in ("xt", "x")
        )
        out += [Alloc(loaded), Alloc(gathered)]
        for lane, word in enumerate(words):
            four = Bitcast(_WORDS, Load(self.x, ((origin + word) * WORD,), 16))
            out.append(Store(loaded, (as_expr(lane * WORD),), four))
        for c in range(PIXELS_TILE):
            for lane in range(WORD):
                value = Load(loaded, (as_expr(lane * WORD + c),))
                out.append(Store(gathered, (as_expr(c * WORD + lane),), value))
        return gathered


def _bytes(words: Expr) -> Expr:
    """The sixteen signed bytes of four words as integers of 32 bits."""
    return Convert(Type(DType.I32, 16), Bitcast(Type(DType.I8, 16), words))


def _gathered(tap_step: int, taps: int) -> tuple[tuple[int, ...], ...]:
    """One step of ``taps`` words ``tap_step`` apart; the last one again where there are fewer than four."""
    return (tuple(min(tap, taps - 1) * tap_step for tap in range(WORD)),)


def _rows(pixels: int, pixel_step: int, tap_step: int, taps: int, channels: int, zero: int, lo: int) -> Kernel:
    """Two neighbouring rows of the output."""
    steps = _gathered(tap_step, taps)
    w, x, y = _params(pixels, pixel_step, steps, channels, ("y0", "y1"))
    work = _Depthwise(w, x, y, True, steps, channels, (zero, lo))
    pixel = Var("pixel")
    place = pixel * channels
    body = loop(pixel, pixels, *work.tiles((pixel * pixel_step,), (place, place), ""))
    return Kernel("helium_depthwise_rows", (w, x, *y), body)


def _pixels(pixels: int, pixel_step: int, tap_step: int, taps: int, channels: int, zero: int, lo: int) -> Kernel:
    """One row of the output, two pixels at a time; a last one that is left alone is computed twice."""
    return _pairs(pixels, pixel_step, _gathered(tap_step, taps), channels, (zero, lo))


def _windows(
    groups: int,
    blocks: int,
    plane: int,
    tap_step: int,
    pixels: int,
    pixel_step: int,
    channels: int,
    zero: int,
    lo: int,
) -> Kernel:
    """The same for kernels of ``groups`` times four rows, whose words are ``plane`` apart, and ``blocks`` times four
    columns."""
    places = [(group, block) for group in range(groups) for block in range(blocks)]
    steps = [tuple(g * plane + (b * WORD + tap) * tap_step for tap in range(WORD)) for g, b in places]
    return _pairs(pixels, pixel_step, tuple(steps), channels, (zero, lo))


def _pairs(
    pixels: int, pixel_step: int, steps: tuple[tuple[int, ...], ...], channels: int, limits: tuple[int, int]
) -> Kernel:
    w, x, y = _params(pixels, pixel_step, steps, channels, ("y",))
    work = _Depthwise(w, x, (*y, *y), False, steps, channels, limits)
    pair = Var("pair")
    both = [pair * 2 + slot for slot in range(2)]
    places = tuple(pixel * channels for pixel in both)
    body = loop(pair, pixels // 2, *work.tiles(tuple(pixel * pixel_step for pixel in both), places, ""))
    if pixels % 2:
        last = (as_expr((pixels - 1) * pixel_step),), (as_expr((pixels - 1) * channels),)
        body += work.tiles(*last, stem="_last")
    return Kernel("helium_depthwise_pixels", (w, x, *y), body)


def _params(
    pixels: int, pixel_step: int, steps: tuple[tuple[int, ...], ...], channels: int, names: tuple[str, ...]
) -> tuple[Buffer, Buffer, tuple[Buffer, ...]]:
    tiles = -(-channels // PIXELS_TILE)
    words = (pixels - 1) * pixel_step + max(map(max, steps)) + tiles * PIXELS_TILE
    w = param("w", DType.I32, tiles * tile_words(PIXELS_TILE, len(steps), True), Access.READ, 4)
    x = param("x", DType.I8, words * WORD, Access.READ, 4)
    return w, x, tuple(param(name, DType.I8, pixels * channels, Access.WRITE) for name in names)


_SCALARS = ("pixels", "pixel_step", "tap_step", "taps", "channels", "zero_point", "lo")
_WINDOWS = ("groups", "blocks", "plane", "tap_step", "pixels", "pixel_step", "channels", "zero_point", "lo")
ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction("helium_interleave", ("size", "outside", "fill"), _interleave, MVE, ((21, 9, -7),)),
    BlockInstruction("helium_depthwise_rows", _SCALARS, _rows, MVE, ((5, 12, 6, 3, 6, 1, -128),)),
    BlockInstruction("helium_depthwise_pixels", _SCALARS, _pixels, MVE, ((5, 12, 6, 3, 6, 1, -128),)),
    BlockInstruction("helium_depthwise_windows", _WINDOWS, _windows, MVE, ((2, 1, 90, 6, 5, 12, 6, 1, -128),)),
)
