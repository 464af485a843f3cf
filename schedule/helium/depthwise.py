"""Depthwise convolution of bytes on cores with Helium: rows interleaved into words, all taps of an output at once.

Before::                                  After::

    for o, column, c:                         for strip:
      acc = bias[c]                             interleave the rows under one or two rows of the output
      for taps: acc += x[...] * w[c, taps]      invoke helium_depthwise_rows(weights, words, y[o], y[o + 1])
      y[o, column, c] = requantize(acc)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import numpy as np

from ...blocks.helium import GEMM_4X2, pad
from ...blocks.helium_depthwise import INTERLEAVED, WORD
from ...blocks.nibbles import SIGNED_BYTES
from ...ir.loops import Block, Expr, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ...record import record
from ..block_depthwise import DepthwiseLayer
from ..byte_anchors import is_byte_depthwise
from ..byte_operands import Columns, start
from ..cycles import predicted_cycles
from ..kernel import KernelContext
from ..nibble_weights import StreamLayout, are_nibbles, stored_words
from ..requantization import MOST_PRODUCT, requantization_of
from .finish import finish_pixels, made_pixels
from .numbers import helium_numbers
from .window_words import places_of, planes_of, weights_of

_Rows = Callable[[int], Pointer]
"""Where a row of the input is."""
OUTSIDE = -1
MOST_MULTIPLIER = 8
"""Channels of the output for one of the input."""
MOST_JOINED, ABOUT = 64, 1.1
"""Channels of neighbouring columns that are side by side, as each has weights of its own; and what is about as fast."""
ALIKE = {2: "twice", 4: "four"}
"""Channels of the output that may see the same words, with names of blocks in which they do; else bytes are staged as
often as they are seen."""
MOST_STAGED, SHARE, LEAST_PART = 8192, 4, 48
"""Bytes of words for windows, of whose channels else a part is staged at a time: these, or that share of both tensors;
and the fewest channels that are worth it."""
LARGEST = 16
"""Rows and columns of the largest kernel that is computed so: each four times four take a copy of their rows."""


def is_helium_depthwise(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` with one input channel and up to ``MOST_MULTIPLIER`` output channels per group,
    of int8 with constant weights, a kernel of at most ``LARGEST`` taps a side and an exact requantization behind it."""
    if not is_byte_depthwise(ctx, (3, 4), MOST_MULTIPLIER):
        return False
    anchor, weights = ctx.contraction
    if weights is None or max(weights.shape[1:-1]) > LARGEST:
        return False
    return requantization_of(ctx, Columns.of(ctx, anchor, weights).reach, MOST_PRODUCT, None) is not None


def lower_helium_depthwise(ctx: KernelContext) -> Block:
    """``conv``, for which :func:`is_helium_depthwise` holds. A line is a column of pixels, so that few of its elements
    are copied at a time."""
    order = (0, None if len(ctx.output.shape) == 3 else 1)
    return _HeliumDepthwise(DepthwiseLayer(ctx, order, MOST_PRODUCT, None)).emit()


@record
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
        self.planes = planes_of(*layer.kernel)
        words = sum(plane.words for plane in self.planes)
        self.column = 1 < len(self.planes) <= WORD and layer.kernel[1] == 1
        self.windows = not self.column and (len(self.planes) > 1 or words > WORD or self.planes[0].depth > 1)
        self.numbers = helium_numbers(self.requantization, layer.operands, fixed=True)
        self.alike = self._alike()
        self.staged = self.channels // self.alike
        if self.windows:
            self.staged = self._part()
            self.places = places_of(self.planes, self.plane_step, layer.dilation[1] * self.staged)
        self.joined = 1 if self.in_parts else self._joined()

    def _alike(self) -> int:
        """How many channels see the same words: all that see the same channel of the input, or one."""
        one_row = all(strip.rows == 1 for strip in self._strips()) and not self.windows
        shared = one_row and self.numbers.kind == "fixed" and self.layer.multiplier in ALIKE
        return self.layer.multiplier if shared else 1

    def _part(self) -> int:
        """How many channels are staged at a time: all, unless their words would take most of the memory."""
        layer, channels = self.layer, self.channels
        most = max(MOST_STAGED, (layer.node.operands[0].type.size + layer.node.output.type.size) // SHARE)
        if layer.multiplier > 1:
            return channels
        sizes = [channels, *(pad(-(-channels // parts), INTERLEAVED) for parts in range(2, channels // LEAST_PART + 1))]
        fitting = (size for size in sizes if len(self.planes) * self._plane_step(size) * WORD <= most)
        return next(fitting, sizes[-1])

    def _joined(self) -> int:
        """How many neighbouring columns are one pixel to the block, their channels side by side and with weights of
        their own: few channels fill no tile, or leave a loop over pixels short. Of numbers that take about the fewest
        cycles the least."""
        rows = [strip.rows for strip in self._strips()]

        def cycles(joined: int) -> float:
            blocks = tuple(self._multiply(count, (), joined, self.channels) for count in rows)
            return predicted_cycles(blocks, self.ctx.cpu)

        columns = self.layer.out[1] if self.layer.stride[1] == 1 else 1
        most = max(1, min(MOST_JOINED // self.channels, columns))
        taken = {joined: cycles(joined) for joined in range(1, most + 1) if columns % joined == 0}
        return next(joined for joined, each in taken.items() if each <= ABOUT * min(taken.values()))

    def _stream(self) -> np.ndarray:
        """The weights as ``blocks/helium_depthwise.py`` describes them."""
        assert self.numbers.factors is not None
        each = (self.layer.bias, weights_of(self.planes, self.layer.taps), self.numbers.factors)
        bias, weights, factors = (np.concatenate([array] * self.joined) for array in each)
        return GEMM_4X2.pack(bias, weights, factors)

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
        return _Strip(first, rows, base, tuple((sources + [any_row] * WORD)[: WORD * len(self.planes)]))

    # ---- loops

    def emit(self) -> Block:
        stream = self._stream()
        form = SIGNED_BYTES if are_nibbles(self.layer.operands.weights) else None
        self.channel_words = stream.size // pad(self.joined * self.channels, GEMM_4X2.tile)
        steps = (self.channel_words - 2) // GEMM_4X2.words
        stored = stored_words(self.ctx, stream[None], StreamLayout.of(GEMM_4X2, steps), form)
        size = len(self.planes) * self.plane_step * WORD
        words = self.ctx.temporary("words", DType.I8, (size,), align=16)
        w, x, batch = start(stored.buffer), start(words), Var(self.names.fresh("o"))
        if self._repeats:
            self.lines = self.ctx.temporary("lines", DType.I8, (WORD, self.layer.inner * self.staged), align=16)
        before = stored.prepare(as_expr(0)) + self._borders(x)
        if self.windows:
            self.offsets = self.ctx.pack("offsets", np.array(self.places, np.int32) * WORD)
        block: Block = ()
        for _, group in groupby(self._strips(), key=lambda strip: (strip.rows, strip.sources)):
            strips = list(group)
            step = Var(self.names.fresh("strip"))
            index = as_expr(0) if len(strips) == 1 else step
            block += loop(step, len(strips), *self._row(batch, strips, index, w, x))
        return (*before, *loop(batch, self.layer.batch, *block))

    def _borders(self, words: Pointer) -> Block:
        """What stays while rows are put between: of planes, and of the lines from which those are made whose words are
        several columns deep."""
        layer = self.layer
        out: Block = ()
        for number, plane in enumerate(self.planes):
            if plane.depth == 1:
                out += self._fill(words, number, 0, layer.pad[1])
                if not self._overwritten:
                    out += self._right(words, number)
                continue
            lines = len({row for row, _ in plane.taps})
            length = (layer.columns + (plane.depth - 1) * layer.dilation[1]) * self.staged
            self.padded = self.ctx.temporary("padded", DType.I8, (lines, length), align=16)
            place = Pointer(self.padded, (as_expr(0), as_expr(0)))
            out += (Invoke("helium_fill", (place,), (lines * length, layer.zero)),)
        return out

    @property
    def plane_step(self) -> int:
        return self._plane_step(self.staged)

    def _plane_step(self, staged: int) -> int:
        """Words of a plane of so many channels, with what is read and written beyond."""
        layer = self.layer
        written = layer.pad[1] * staged + pad(layer.inner * staged, INTERLEAVED)
        if any(plane.depth > 1 for plane in self.planes):
            written = max(written, pad(layer.columns * staged, INTERLEAVED))
        return pad(max(layer.columns * staged, written) + GEMM_4X2.tile, 4)

    @property
    def _overwritten(self) -> bool:
        """Whether interleaving leaves undefined words behind the row."""
        return self.layer.inner * self.staged % INTERLEAVED != 0

    def _right(self, words: Pointer, group: int) -> Block:
        """The border behind the row."""
        done = self.layer.pad[1] + self.layer.inner
        return self._fill(words, group, done, self.layer.columns - done)

    def _fill(self, words: Pointer, group: int, column: int, columns: int) -> Block:
        """The border at a side."""
        if columns <= 0:
            return ()
        place = Pointer(words.buffer, (as_expr((group * self.plane_step + column * self.staged) * WORD),))
        return (Invoke("helium_fill", (place,), (columns * self.staged * WORD, self.layer.zero)),)

    def _interleave(self, strip: _Strip, row: _Rows, words: Pointer, size: int) -> Block:
        """The rows under a strip, four at a time: of as many channels as are staged, or of the ``size`` that are
        left."""
        block: Block = ()
        for number, plane in enumerate(self.planes):
            if plane.depth > 1:
                block += self._interleave_columns(strip, row, words, number, size)
                continue
            inner = number * self.plane_step + self.layer.pad[1] * self.staged
            target = Pointer(words.buffer, (as_expr(inner * WORD),))
            sources = strip.sources[number * WORD : (number + 1) * WORD]
            repeat, row_of = self._repeated(sources, row)
            outside = sum(1 << n for n, source in enumerate(sources) if source == OUTSIDE)
            pointers, once = (*map(row_of, sources), target), self.layer.inner * self.staged
            if self.in_parts:
                column, steps = Var(self.names.fresh("column")), (self.channels,) * WORD + (self.staged * WORD,)
                pointers = tuple(_behind(each, column * step) for each, step in zip(pointers, steps, strict=True))
                once = size
            interleave: Block = (Invoke("helium_interleave", pointers, (once, outside, self.layer.zero)),)
            block += (*repeat, *(loop(column, self.layer.inner, *interleave) if self.in_parts else interleave))
            if self._overwritten:
                block += self._right(words, number)
        return block

    def _interleave_columns(self, strip: _Strip, row: _Rows, words: Pointer, number: int, size: int) -> Block:
        """A plane whose words are several columns deep, from lines with the borders of the rows."""
        layer, plane, inner = self.layer, self.planes[number], self.layer.inner
        rows = sorted({row for row, _ in plane.taps})
        left = layer.pad[1] * self.staged
        block: Block = ()
        for line, kernel_row in enumerate(rows):
            source = strip.sources[kernel_row]
            if source == OUTSIDE or inner == 0:
                continue
            place = Pointer(self.padded, (as_expr(line), as_expr(left)))
            if layer.multiplier > 1:
                scalars: tuple[int, ...] = (inner * layer.inputs, layer.multiplier)
                copy = Invoke("helium_repeat", (row(source), place), scalars)
            else:
                scalars = (inner, size, self.channels, self.staged) if self.in_parts else (1, inner * size, 0, 0)
                copy = Invoke("helium_copy", (row(source), place), scalars)
            block += (copy,)
        step = layer.dilation[1] * self.staged
        taps = (plane.taps + ((rows[0], 0),) * WORD)[:WORD]
        pointers = [Pointer(self.padded, (as_expr(tap - rows[0]), as_expr(behind * step))) for tap, behind in taps]
        outside = sum(1 << n for n, (tap, _) in enumerate(taps) if strip.sources[tap] == OUTSIDE)
        target = Pointer(words.buffer, (as_expr(number * self.plane_step * WORD),))
        scalars = (layer.columns * self.staged, outside, layer.zero)
        return (*block, Invoke("helium_interleave", (*pointers, target), scalars))

    @property
    def in_parts(self) -> bool:
        """Whether some channels are staged at a time."""
        return self.staged * self.alike < self.channels

    @property
    def _repeats(self) -> bool:
        """Whether bytes are staged as often as channels of the output see them."""
        return self.layer.multiplier != self.alike

    def _repeated(self, sources: Sequence[int], row: _Rows) -> tuple[Block, _Rows]:
        """Rows of the input with each channel as often as channels of the output see it, and where they are then."""
        layer, times = self.layer, self.layer.multiplier
        if not self._repeats:
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

        rows = [layer.pointer(layer.y, layer.place(batch, first + n, 0)) for n in range(strip.rows)]
        finish: Block = ()
        if not self.requantization.whole:
            rows, finish = self._finished(strip.rows, (batch, first))
        whole, rest = divmod(self.channels, self.staged * self.alike)
        block: Block = ()
        for begin, count, size in ((0, whole, self.staged * self.alike), (self.channels - rest, min(rest, 1), rest)):
            part = Var(self.names.fresh("part"))
            channel = part * size + begin if count > 1 else as_expr(begin)

            def row(source: int, channel: Expr = channel) -> Pointer:
                return _behind(layer.input_line(batch, base + max(source, 0)), channel)

            weights = _behind(w, channel * self.channel_words)
            operands = (weights, start(self.offsets), x) if self.windows else (weights, x)
            results = (_behind(each, channel) for each in rows)
            multiply = self._multiply(strip.rows, (*operands, *results), self.joined, size)
            block += loop(part, count, *self._interleave(strip, row, x, size), multiply)
        return (*block, *finish)

    def _multiply(self, rows: int, pointers: tuple[Pointer, ...], joined: int, size: int) -> Invoke:
        """The block for ``size`` channels of some rows of the output, of whose columns ``joined`` are a pixel."""
        kind = "rows" if rows == 2 else "windows" if self.windows else "pixels"
        if self.alike > 1:
            kind = f"{kind}_{ALIKE[self.alike]}"
        name = f"helium_depthwise_{kind}{'_fixed' if self.numbers.kind == 'fixed' else ''}"
        return Invoke(name, pointers, self._scalars(joined, size))

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

    def _scalars(self, joined: int, size: int) -> tuple[int, ...]:
        layer = self.layer
        pixels = (layer.out[1] // joined, layer.stride[1] * joined * self.staged)
        tail = (joined * size, *self.numbers.scalars)
        tap_step = layer.dilation[1] * self.staged
        if self.windows:
            apart = joined * self.channels
            return (len(self.places) // WORD, max(self.places), *pixels, joined * size, apart, *self.numbers.scalars)
        if self.column:
            return (*pixels, self.plane_step, len(self.planes), *tail)
        return (*pixels, tap_step, layer.kernel[1], *tail)


def _behind(pointer: Pointer, by: Expr | int) -> Pointer:
    """The memory from an element on that is ``by`` behind, in the last dimension."""
    *lead, last = pointer.index
    return Pointer(pointer.buffer, (*lead, last + by))
