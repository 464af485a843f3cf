"""Depthwise convolution of bytes on cores with Helium: rows interleaved into words, all taps of an output at once.

Before::                                  After::

    for o, column, c:                         for strip:
      acc = bias[c]                             interleave the rows under one or two rows of the output
      for taps: acc += x[...] * w[c, taps]      invoke helium_depthwise_rows(weights, words, y[o], y[o + 1])
      y[o, column, c] = requantize(acc)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from ...blocks.helium import GEMM_4X2, pad
from ...blocks.helium_depthwise import INTERLEAVED, WORD
from ...blocks.nibbles import SIGNED_BYTES
from ...ir.loops import Block, Expr, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ..block_depthwise import DepthwiseLayer
from ..byte_anchors import is_byte_depthwise
from ..byte_operands import Columns, start
from ..kernel import KernelContext
from ..nibble_weights import StreamLayout, are_nibbles, stored_words
from ..requantization import MOST_PRODUCT, requantization_of
from .finish import finish_pixels, made_pixels
from .numbers import helium_numbers

_Rows = Callable[[int], Pointer]
"""Where a row of the input is."""
OUTSIDE = -1
MOST_MULTIPLIER = 8
"""Channels of the output for one of the input."""
LARGEST = 16
"""Rows and columns of the largest kernel that is computed so: each four times four take a copy of their rows."""


def is_helium_depthwise(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` with one input channel and up to ``MOST_MULTIPLIER`` output channels per group,
    of int8 with constant weights, a kernel of at most ``LARGEST`` taps a side and an exact requantization behind it."""
    if not is_byte_depthwise(ctx, (3, 4), MOST_MULTIPLIER):
        return False
    anchor, weights = ctx.contraction
    if weights is None or len(weights) == 1 or max(weights.shape[1:-1]) > LARGEST:
        return False
    return requantization_of(ctx, Columns.of(ctx, anchor, weights).reach, MOST_PRODUCT, None) is not None


def lower_helium_depthwise(ctx: KernelContext) -> Block:
    """``conv``, for which :func:`is_helium_depthwise` holds. A line is a column of pixels, so that few of its elements
    are copied at a time."""
    order = (0, None if len(ctx.output.shape) == 3 else 1)
    return _HeliumDepthwise(DepthwiseLayer(ctx, order, MOST_PRODUCT, None)).emit()


@dataclass(frozen=True)
class _Strip:
    """``rows`` rows of the output from ``first`` on; ``sources`` are the rows of the input in each word of each group,
    counted from row ``base``, ``OUTSIDE`` for those that are beyond the border."""

    first: int
    rows: int
    base: int
    sources: tuple[int, ...]


class _HeliumDepthwise:
    def __init__(self, layer: DepthwiseLayer) -> None:
        self.layer, self.ctx, self.names, self.channels = layer, layer.ctx, layer.names, layer.channels
        assert layer.requantization is not None
        self.requantization = layer.requantization
        rows, columns = layer.kernel
        self.groups = -(-rows // WORD)
        self.column = self.groups > 1 and columns == 1 and self.groups <= WORD
        self.windows = not self.column and (self.groups > 1 or columns > WORD)
        self.blocks = -(-columns // WORD) if self.windows else 1
        self.numbers = helium_numbers(self.requantization, layer.operands, fixed=not self.windows)

    def _stream(self) -> np.ndarray:
        """The weights as ``blocks/helium_depthwise.py`` describes them."""
        wide, high = (1, WORD) if self.column else (self.blocks * WORD, self.groups)
        (rows, columns), layer = self.layer.kernel, self.layer
        taps = np.zeros((self.channels, wide, high * WORD), np.int8)
        taps[:, :columns, :rows] = layer.taps.transpose(0, 2, 1)
        grouped = taps.reshape(self.channels, wide, high, WORD).transpose(0, 2, 1, 3)
        words = np.ascontiguousarray(grouped).reshape(self.channels, -1).view("<i4")
        assert self.numbers.factors is not None
        return GEMM_4X2.pack(layer.bias, words, self.numbers.factors)

    # ---- rows

    def _strips(self) -> Iterator[_Strip]:
        """Two rows at a time where a word holds what both see."""
        layer = self.layer
        paired = layer.stride[0] == 1 and layer.dilation[0] == 1 and layer.kernel[0] < WORD and not self.windows
        first = 0
        while first < layer.out[0]:
            rows = 2 if paired and first + 1 < layer.out[0] else 1
            yield self._strip(first, rows)
            first += rows

    def _strip(self, first: int, rows: int) -> _Strip:
        layer = self.layer
        top = first * layer.stride[0] - layer.pad[0]
        seen = [top + n * layer.dilation[0] for n in range(layer.kernel[0] + rows - 1)]
        inside = [0 <= row < layer.extent[0] for row in seen]
        base = next((row for row, there in zip(seen, inside) if there), 0)
        sources = [row - base if there else OUTSIDE for row, there in zip(seen, inside)]
        any_row = 0 if any(inside) else OUTSIDE
        return _Strip(first, rows, base, tuple((sources + [any_row] * WORD)[: WORD * self.groups]))

    # ---- loops

    def emit(self) -> Block:
        stream = self._stream()
        form = SIGNED_BYTES if are_nibbles(self.layer.operands.weights) else None
        steps = (stream.size // pad(self.channels, GEMM_4X2.tile) - 2) // GEMM_4X2.words
        stored = stored_words(self.ctx, stream[None], StreamLayout.of(GEMM_4X2, steps), form)
        words = self.ctx.temporary("words", DType.I8, (self.groups * self.group_step * WORD,), align=16)
        w, x, batch = start(stored.buffer), start(words), Var(self.names.fresh("o"))
        if self.layer.multiplier > 1:
            self.lines = self.ctx.temporary("lines", DType.I8, (WORD, self.layer.inner * self.channels), align=16)
        block: Block = ()
        for _, group in groupby(self._strips(), key=lambda strip: (strip.rows, strip.sources)):
            strips = list(group)
            step = Var(self.names.fresh("strip"))
            index = as_expr(0) if len(strips) == 1 else step
            block += loop(step, len(strips), *self._row(batch, strips, index, w, x))
        before = stored.prepare(as_expr(0))
        for number in range(self.groups):
            before += self._fill(x, number, 0, self.layer.pad[1])
            if not self._overwritten:
                before += self._right(x, number)
        return (*before, *loop(batch, self.layer.batch, *block))

    @property
    def group_step(self) -> int:
        """Words of a group of rows, with what is read and written beyond."""
        layer = self.layer
        written = layer.pad[1] * self.channels + pad(layer.inner * self.channels, INTERLEAVED)
        beyond = (self.blocks * WORD - layer.kernel[1]) * layer.dilation[1] if self.windows else 0
        return pad(max((layer.columns + beyond) * self.channels, written) + GEMM_4X2.tile, 4)

    @property
    def _overwritten(self) -> bool:
        """Whether interleaving leaves undefined words behind the row."""
        return self.layer.inner * self.channels % INTERLEAVED != 0

    def _right(self, words: Pointer, group: int) -> Block:
        """The border behind the row."""
        done = self.layer.pad[1] + self.layer.inner
        return self._fill(words, group, done, self.layer.columns - done)

    def _fill(self, words: Pointer, group: int, column: int, columns: int) -> Block:
        """The border at a side."""
        if columns <= 0:
            return ()
        place = Pointer(words.buffer, (as_expr((group * self.group_step + column * self.channels) * WORD),))
        return (Invoke("helium_fill", (place,), (columns * self.channels * WORD, self.layer.zero)),)

    def _interleave(self, strip: _Strip, row: Callable[[int], Pointer], words: Pointer) -> Block:
        """The rows under a strip, four at a time."""
        block: Block = ()
        for group in range(self.groups):
            inner = group * self.group_step + self.layer.pad[1] * self.channels
            target = Pointer(words.buffer, (as_expr(inner * WORD),))
            sources = strip.sources[group * WORD : (group + 1) * WORD]
            repeat, row_of = self._repeated(sources, row)
            outside = sum(1 << n for n, source in enumerate(sources) if source == OUTSIDE)
            scalars = (self.layer.inner * self.channels, outside, self.layer.zero)
            block += (*repeat, Invoke("helium_interleave", (*map(row_of, sources), target), scalars))
            if self._overwritten:
                block += self._right(words, group)
        return block

    def _repeated(self, sources: Sequence[int], row: _Rows) -> tuple[Block, _Rows]:
        """Rows of the input with each channel as often as channels of the output see it, and where they are then."""
        layer, times = self.layer, self.layer.multiplier
        if times == 1:
            return (), row
        lines = self.lines
        found = sorted(set(sources) - {OUTSIDE})
        places = {OUTSIDE: 0} | {source: n for n, source in enumerate(found)}

        def line(source: int) -> Pointer:
            return Pointer(lines, (as_expr(places[source]), as_expr(0)))

        scalars = (layer.inner * self.channels // times, times)
        return tuple(Invoke("helium_repeat", (row(source), line(source)), scalars) for source in found), line

    def _row(self, batch: Expr, strips: list[_Strip], step: Expr, w: Pointer, x: Pointer) -> Block:
        """The strips that are ``step`` apart, which read the input alike."""
        strip = strips[0]
        apart = strips[1] if len(strips) > 1 else strip
        first = step * (apart.first - strip.first) + strip.first
        base = step * (apart.base - strip.base) + strip.base
        layer = self.layer

        def row(source: int) -> Pointer:
            return layer.input_line(batch, base + max(source, 0))

        rows = [layer.pointer(layer.y, layer.place(batch, first + n, 0)) for n in range(strip.rows)]
        finish: Block = ()
        if not self.requantization.whole:
            rows, finish = self._finished(strip.rows, (batch, first))
        kind = "rows" if strip.rows == 2 else "windows" if self.windows else "pixels"
        name = f"helium_depthwise_{kind}{'_fixed' if self.numbers.kind == 'fixed' else ''}"
        multiply = Invoke(name, (w, x, *rows), self._scalars())
        return (*self._interleave(strip, row, x), multiply, *finish)

    def _finished(self, rows: int, place: tuple[Expr, Expr]) -> tuple[list[Pointer], Block]:
        """Memory for the requantized bytes of some rows from ``place`` on, and what of the body follows."""
        layer, columns, (batch, first) = self.layer, self.layer.out[1], place
        made = made_pixels(self.ctx, rows * columns, self.channels)
        block: Block = ()
        for n in range(rows):

            def index(column: Expr, row: Expr = first + n) -> tuple[Expr, ...]:
                return layer.place(batch, row, column)

            part = (n * columns, columns)
            block += finish_pixels(self.ctx, self.ctx.refs, made, part, self.requantization.value, index)
        return [Pointer(made, (as_expr(n * columns), as_expr(0))) for n in range(rows)], block

    def _scalars(self) -> tuple[int, ...]:
        layer = self.layer
        pixels = (layer.out[1], layer.stride[1] * self.channels)
        tail = (self.channels, *self.numbers.scalars)
        tap_step = layer.dilation[1] * self.channels
        if self.windows:
            return (self.groups, self.blocks, self.group_step, tap_step, *pixels, *tail)
        if self.column:
            return (*pixels, self.group_step, self.groups, *tail)
        return (*pixels, tap_step, layer.kernel[1], *tail)
