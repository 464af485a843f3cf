"""Depthwise convolution of bytes with up to nine taps on cores with Helium, without staging
(``blocks/helium_taps.py``).

Before::                                  After::

    for o, row, column, c:                  for o, row, some columns that see the same borders:
      acc = bias[c]                           invoke the block on what each tap sees: the input, or zero points
      for taps: acc += x[...] * w[c, taps]
      y[o, row, column, c] = requantize(acc)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

import numpy as np

from ...blocks.helium_taps import FACTOR_SHIFT, LARGEST_PAIR, NINE, SHIFT, SHIFTS, TAPS, TILE, pack, pack_halfwords
from ...ir.loops import Block, Expr, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ...ops.attributes import ints
from ...ops.halfword_factors import halfword_factors
from ...ops.integer import zero_point
from ...record import record
from ..block_depthwise import DepthwiseLayer, Order
from ..byte_anchors import is_byte_depthwise
from ..byte_operands import Columns, start
from ..kernel import KernelContext
from ..nibble_weights import are_nibbles
from ..requantization import MOST_PRODUCT, requantization_of
from .halfword_offsets import halfword_offsets

PIECE_BYTES = 512
"""That are written at a time: outputs that take the place of inputs lie so far before them."""
MOST_JOINED, ABOUT = 128, 1.1
"""Channels of neighbouring pixels that are side by side, as each has weights of its own; and what is about as fast."""
Outside = tuple[bool, ...]
"""Which taps see what is beyond a border."""


@record
class _Numbers:
    """What a ``block`` of some ``taps`` takes of a requantization: ``words`` are its stream, ``scalars`` its last."""

    block: str
    taps: int
    words: np.ndarray
    scalars: tuple[int, ...]

    @staticmethod
    def of(ctx: KernelContext) -> _Numbers | None:
        """``None`` where the requantization has no factors of halfwords, or where sums would not fit. Sums are kept in
        halfwords where that makes no difference."""
        anchor, constant = ctx.contraction
        assert constant is not None
        operands = Columns.of(ctx, anchor, constant)
        rq, weights = requantization_of(ctx, operands.reach, MOST_PRODUCT), operands.weights
        if rq is None or not rq.whole or not np.all(rq.scale > 0):
            return None
        bounds = [(int(low), int(high)) for low, high in zip(*operands.bounds, strict=True)]
        found = halfword_factors(rq.scale, bounds, rq.zero_point, -128, 127)
        few = weights.shape[1] <= TAPS
        if found is None or (few and np.any(np.abs(weights[:, : TAPS - 1]).sum(axis=1) > LARGEST_PAIR)):
            return None
        factors, shift = found
        count = TAPS if few else NINE
        taps = np.zeros((len(weights), count), np.int64)
        taps[:, : weights.shape[1]] = weights
        joined = _joined(ctx)

        def stream(pack: Callable[..., np.ndarray], *numbers: np.ndarray) -> np.ndarray:
            return pack(*(np.concatenate([each] * joined) for each in (taps, factors, *numbers)))

        wide = factors.astype(np.int64)
        halfwords = halfword_offsets(operands, wide, shift, rq.zero_point, zero_point(anchor.attrs))
        left = shift - FACTOR_SHIFT
        if halfwords is not None and not few:
            return _Numbers("helium_depthwise_nine_halfword", count, stream(pack_halfwords, *halfwords), (left,))
        if halfwords is not None and left in SHIFTS:
            block = f"helium_depthwise_taps_halfword_{left}"
            return _Numbers(block, count, stream(pack_halfwords, *halfwords), ())
        bias = operands.bias * wide + (rq.zero_point << shift) + (1 << shift - 1)
        if not few or np.any(np.abs(bias) >= 1 << 31):
            return None
        return _Numbers("helium_depthwise_taps", count, stream(pack, bias), (shift - SHIFT,))


def _order(ctx: KernelContext) -> Order:
    """A line is a row of pixels, or where its elements come one by one a column of them."""
    if len(ctx.output.shape) == 4:
        return 0, 1
    return (0, None) if ctx.by_rows else (None, 0)


def _joined(ctx: KernelContext) -> int:
    """How many neighbouring pixels are one to the block, their channels side by side: few channels leave tiles empty.
    Of numbers that take about the fewest tiles the least."""
    anchor, _ = ctx.contraction
    *_, columns, channels = anchor.output.shape
    alone = ints(anchor.attrs, "stride")[-1] != 1 or _order(ctx)[1] is None
    most = 1 if alone else min(MOST_JOINED // channels, columns)
    tiles = {joined: -(-joined * channels // TILE) / joined for joined in range(1, max(1, most) + 1)}
    return next(joined for joined, each in tiles.items() if each <= ABOUT * min(tiles.values()))


def is_helium_taps(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` with one channel per group of the input and of the output and at most
    ``NINE`` taps, of int8 with constant weights, and a requantization by factors behind it, which is all."""
    if not is_byte_depthwise(ctx, (3, 4)):
        return False
    _, weights = ctx.contraction
    if weights is None or weights[0].size > NINE or are_nibbles(weights):
        return False
    return _Numbers.of(ctx) is not None


def lower_helium_taps(ctx: KernelContext) -> Block:
    """``conv``, for which :func:`is_helium_taps` holds."""
    numbers = _Numbers.of(ctx)
    assert numbers is not None
    return _HeliumTaps(DepthwiseLayer(ctx, _order(ctx), MOST_PRODUCT), numbers).emit()


class _HeliumTaps:
    def __init__(self, layer: DepthwiseLayer, numbers: _Numbers) -> None:
        self.layer, self.ctx, self.numbers = layer, layer.ctx, numbers
        self.taps = [(row, column) for row in range(layer.kernel[0]) for column in range(layer.kernel[1])]
        self.joined = _joined(layer.ctx)
        self.piece = max(1, PIECE_BYTES // (self.joined * layer.channels)) * self.joined
        self.step = layer.stride[1] * layer.channels

    def _runs(self, dim: int) -> Iterator[tuple[int, int, Outside]]:
        """Rows (``dim`` 0) or columns (1) of the output that see the same borders: the first, how many, and which taps
        are beyond these."""
        layer = self.layer

        def outside(place: int) -> Outside:
            first = place * layer.stride[dim] - layer.pad[dim]
            return tuple(not 0 <= first + tap[dim] * layer.dilation[dim] < layer.extent[dim] for tap in self.taps)

        for found, places in groupby(range(layer.out[dim]), outside):
            first, *rest = places
            yield first, 1 + len(rest), found

    def emit(self) -> Block:
        layer, ctx = self.layer, self.ctx
        weights = start(ctx.pack("w", self.numbers.words))
        batch, row = (Var(layer.names.fresh(stem)) for stem in ("o", "row"))
        block = self._zeros()
        rows: Block = ()
        for first_row, count, above in self._runs(0):
            body: Block = ()
            for first, columns, beside in self._runs(1):
                outside = tuple(a or b for a, b in zip(above, beside))
                body += self._columns(weights, (batch, row + first_row), (first, columns), outside)
            rows += loop(row, count, *body)
        return (*block, *loop(batch, layer.batch, *rows))

    def _zeros(self) -> Block:
        """Zero points for the taps that are beyond a border, of as many pixels as see them at a time."""
        above = any(any(outside) for _, _, outside in self._runs(0))
        counts = [count for _, count, outside in self._runs(1) if above or any(outside)]
        if not counts:
            return ()
        size = (min(max(counts), self.piece) - 1) * self.step + self.layer.channels
        self.zeros = self.ctx.temporary("zeros", DType.I8, (size,), align=16)
        return (Invoke("helium_fill", (start(self.zeros),), (size, self.layer.zero)),)

    def _columns(self, weights: Pointer, place: tuple[Expr, Expr], columns: tuple[int, int], outside: Outside) -> Block:
        """Some columns from one on, a piece at a time, so that outputs may take the place of inputs."""
        (first, count), piece = columns, Var(self.layer.names.fresh("piece"))
        whole, rest = divmod(count, self.piece)
        block = loop(
            piece, whole, self._piece(weights, place, piece * self.piece + first, (self.piece, self.joined), outside)
        )
        done = first + whole * self.piece
        alone = rest % self.joined
        for begin, pixels, joined in ((done, rest - alone, self.joined), (first + count - alone, alone, alone)):
            if pixels:
                block += (self._piece(weights, place, as_expr(begin), (pixels, joined), outside),)
        return block

    def _piece(
        self, weights: Pointer, place: tuple[Expr, Expr], column: Expr, pixels: tuple[int, int], outside: Outside
    ) -> Invoke:
        """As many ``pixels`` as the first number says, so many together as the second one says."""
        layer, (batch, row), (count, joined) = self.layer, place, pixels
        top, left = row * layer.stride[0] - layer.pad[0], column * layer.stride[1] - layer.pad[1]

        def seen(number: int) -> Pointer:
            """What a tap sees, of those that fill up the block the last one again."""
            number = min(number, len(self.taps) - 1)
            if outside[number]:
                return start(self.zeros)
            down, right = (tap * step for tap, step in zip(self.taps[number], layer.dilation))
            return layer.pointer(layer.x, layer.place(batch, top + down, left + right))

        y = layer.pointer(layer.y, layer.place(batch, row, column))
        scalars = (count // joined, joined * self.step, joined * layer.channels, *self.numbers.scalars)
        return Invoke(self.numbers.block, (weights, *(seen(n) for n in range(self.numbers.taps)), y), scalars)
