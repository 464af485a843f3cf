"""Block instructions of cores with Helium: depthwise convolution of bytes, all taps of an output in one instruction.

Rows of the input are *interleaved*: the bytes of up to four rows at one column and channel make a word. The words of up
to four columns under a window, gathered, are the sixteen k of an output, and the weights of the channel in the same
order (taps [column, row], zeros where there are fewer than four) its other operand. Of a kernel with at most three rows
the weights of the output one row below are the same, one byte further up in each word.

The stream of weights is that of ``ir/blocks_helium.py`` for one step and tiles of four channels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .blocks_helium import PIXELS_TILE, pad, param, store_results, tile_words
from .loops import (
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
    loop,
)
from .types import DType

WORD = 4
"""Rows that are interleaved, and columns that are gathered."""
INTERLEAVED = 16
"""Words that are written at once: the last ones may be undefined."""
STREAM = tile_words(PIXELS_TILE, 1, True)

_WORDS = Type(DType.I32, 4)


def _interleave(size: int, row_step: int, s0: int, s1: int, s2: int, s3: int, fill: int) -> Kernel:
    """Word ``i`` of ``y`` has byte ``i`` of the rows ``s0`` to ``s3`` of ``x``, or ``fill`` for a row -1."""
    sources = (s0, s1, s2, s3)
    last = max(sources)
    x = param("x", DType.I8, last * row_step + size if last >= 0 else 0, Access.READ)
    y = param("y", DType.I8, pad(size, INTERLEAVED) * WORD, Access.WRITE, 4)
    border = sum((fill & 255) << 8 * n for n, source in enumerate(sources) if source < 0)
    border -= 1 << 32 if border >> 31 else 0

    def words(at: Expr, active: Expr | None) -> Block:
        value: Expr = Const(border, _WORDS)
        for n, source in enumerate(sources):
            if source < 0:
                continue
            unsigned = Bitcast(Type(DType.U8, 4), Load(x, (at + source * row_step,), 4, active))
            byte: Expr = Convert(_WORDS, unsigned)
            value = Binary("or", value, Binary("shl", byte, Const(8 * n, _WORDS)) if n else byte)
        return (Store(y, (at * WORD,), Bitcast(Type(DType.I8, 16), value)),)

    i = Var("i")
    body = loop(i, size // 4, *words(i * 4, None))
    if size % 4:
        body += words(as_expr(size // 4 * 4), as_expr(size % 4))
    return Kernel("helium_interleave", (x, y), body)


@dataclass(frozen=True)
class _Depthwise:
    """Two outputs of each channel at a time: those of two rows, or of two pixels."""

    weights: Buffer
    x: Buffer
    outputs: tuple[Buffer, ...]
    shifted: bool
    tap_step: int
    taps: int
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
        at = t * STREAM
        acc = Buffer(f"acc{stem}", I32, (len(places), PIXELS_TILE), Space.REG)
        out: list[Stmt] = [Alloc(acc)]
        for c in range(PIXELS_TILE):
            out += self._channel(at, c, tuple(origin + (t * PIXELS_TILE + c) for origin in origins), acc, stem)
        scale = Var(f"scale{stem}", Type(DType.F32, 4))
        out.append(Let(scale, Bitcast(scale.type, Load(self.weights, (at + (STREAM - PIXELS_TILE),), 4))))
        for n in reversed(range(len(places))):
            where, name = places[n] + t * PIXELS_TILE, f"{stem}_{n}"
            out += store_results(self.outputs[n], where, acc, (n, 0), active, scale, self.limits, name)
        return tuple(out)

    def _channel(self, at: Expr, c: int, origins: tuple[Expr, ...], acc: Buffer, stem: str) -> Block:
        bias, w = Var(f"bias{stem}_{c}", I32), Var(f"w{stem}_{c}", _WORDS)
        out: list[Stmt] = [Let(bias, Load(self.weights, (at + c,)))]
        out.append(Let(w, Load(self.weights, (at + PIXELS_TILE + c * 4,), 4)))
        for n in range(acc.shape[0]):
            if n < len(origins):
                lanes = Buffer(f"x{stem}_{c}_{n}", I32, (4,), Space.STACK, align=16)
                out.append(Alloc(lanes))
                for tap in range(4):
                    word = origins[n] + min(tap, self.taps - 1) * self.tap_step
                    out.append(Store(lanes, (as_expr(tap),), Bitcast(I32, Load(self.x, (word * WORD,), WORD))))
            row: Expr = Binary("shl", w, Const(8, _WORDS)) if self.shifted and n else w
            products = Binary("mul", _bytes(Load(lanes, (as_expr(0),), 4)), _bytes(row))
            out.append(Store(acc, (as_expr(n), as_expr(c)), Binary("add", bias, Reduce("add", products))))
        return tuple(out)


def _bytes(words: Expr) -> Expr:
    """The sixteen signed bytes of four words as integers of 32 bits."""
    return Convert(Type(DType.I32, 16), Bitcast(Type(DType.I8, 16), words))


def _rows(pixels: int, pixel_step: int, tap_step: int, taps: int, channels: int, zero: int, lo: int) -> Kernel:
    """Two neighbouring rows of the output."""
    w, x, y = _params(pixels, pixel_step, tap_step, taps, channels, ("y0", "y1"))
    work = _Depthwise(w, x, y, True, tap_step, taps, channels, (zero, lo))
    pixel = Var("pixel")
    place = pixel * channels
    body = loop(pixel, pixels, *work.tiles((pixel * pixel_step,), (place, place), ""))
    return Kernel("helium_depthwise_rows", (w, x, *y), body)


def _pixels(pixels: int, pixel_step: int, tap_step: int, taps: int, channels: int, zero: int, lo: int) -> Kernel:
    """One row of the output, two pixels at a time; a last one that is left alone is computed twice."""
    w, x, y = _params(pixels, pixel_step, tap_step, taps, channels, ("y",))
    work = _Depthwise(w, x, (*y, *y), False, tap_step, taps, channels, (zero, lo))
    pair = Var("pair")
    both = [pair * 2 + slot for slot in range(2)]
    places = tuple(pixel * channels for pixel in both)
    body = loop(pair, pixels // 2, *work.tiles(tuple(pixel * pixel_step for pixel in both), places, ""))
    if pixels % 2:
        last = (as_expr((pixels - 1) * pixel_step),), (as_expr((pixels - 1) * channels),)
        body += work.tiles(*last, stem="_last")
    return Kernel("helium_depthwise_pixels", (w, x, *y), body)


def _params(
    pixels: int, pixel_step: int, tap_step: int, taps: int, channels: int, names: tuple[str, ...]
) -> tuple[Buffer, Buffer, tuple[Buffer, ...]]:
    tiles = -(-channels // PIXELS_TILE)
    words = (pixels - 1) * pixel_step + (taps - 1) * tap_step + tiles * PIXELS_TILE
    w = param("w", DType.I32, tiles * STREAM, Access.READ, 4)
    x = param("x", DType.I8, words * WORD, Access.READ, 4)
    return w, x, tuple(param(name, DType.I8, pixels * channels, Access.WRITE) for name in names)


_SCALARS = ("pixels", "pixel_step", "tap_step", "taps", "channels", "zero_point", "lo")
DEPTHWISE_ROWS: tuple[tuple[str, tuple[str, ...], Callable[..., Kernel]], ...] = (
    ("helium_interleave", ("size", "row_step", "s0", "s1", "s2", "s3", "fill"), _interleave),
    ("helium_depthwise_rows", _SCALARS, _rows),
    ("helium_depthwise_pixels", _SCALARS, _pixels),
)
