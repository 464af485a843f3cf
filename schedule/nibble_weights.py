"""Weights of 4 bits stay so in flash on cores with block instructions: a kernel unpacks them before it computes.

Before::                                   After::

    for tiles of pixels:                     for slices of the output's channels:
      stage activations                        unpack the slice's weights from flash to scratch memory
      invoke the block with w (flash)          for tiles of pixels:
                                                 stage activations
                                                 invoke the block with w (scratch memory)

What blocks read is the same, so are results. Storage follows from values: channels whose weights all lie within -8..7
are nibbles, words of others stand beside them in full, with their places, and take the place of what was unpacked
(*outliers*). A layer stays in bytes where that would save nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..blocks.nibbles import NIBBLES, WordForm
from ..blocks.tiles import Stream
from ..ir.build import store
from ..ir.loops import INDEX, Block, Buffer, Convert, Expr, Invoke, Pointer, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..record import record
from .kernel import KernelContext

LEAST_WEIGHTS = 256
"""Of a layer that is stored so: fewer save less than the call that unpacks them takes."""
_NIBBLE_SHARE = 0.75
"""Of the weights: an outlier takes 2 bytes (its nibble, 1 of 4 bytes of a word, and its part of the word's place)."""
SLICE_BYTES = 12 << 10
"""Of weights that are unpacked at a time, at most: pixels are staged again for each slice."""
PIXEL_SLICE_BYTES = 2 << 10
"""The same for a layer of a single pixel, which is not staged."""
_MOST_PLACES = 1 << 16


def are_nibbles(weights: np.ndarray) -> bool:
    """Whether ``weights`` [channel, ...] are stored with 4 bits. Channels of zeros alone say nothing of that: trained
    networks have many."""
    rows = weights.reshape(len(weights), -1)
    used = rows[np.any(rows, axis=1)]
    if rows.size < LEAST_WEIGHTS or not len(used):
        return False
    return bool(np.mean(np.all((used >= -8) & (used <= 7), axis=1)) >= _NIBBLE_SHARE)


def slices_of(channels: int, channel_bytes: int, most: int, unit: int = 4) -> int:
    """Into how many equal slices, multiples of ``unit``, channels are cut so that none takes more than ``most`` bytes;
    else into the most there can be."""
    counts = [n for n in range(1, channels + 1) if channels % n == 0 and (n == 1 or channels // n % unit == 0)]
    return next((n for n in counts if channels // n * channel_bytes <= most), counts[-1])


@record
class StreamLayout:
    """A stream as tiles of ``head`` words, ``body`` words of weights and ``tail`` words. A body that is odd has a
    tail."""

    head: int
    body: int
    tail: int

    @staticmethod
    def of(stream: Stream, groups: int) -> StreamLayout:
        """Of whole tiles over ``groups`` of k."""
        factors = stream.tile // 2 if stream.halfwords else stream.tile * stream.factors
        return StreamLayout(stream.tile, stream.tile * groups * stream.words, factors)

    @property
    def size(self) -> int:
        return self.head + self.body + self.tail

    @property
    def pairs(self) -> int:
        return (self.body + 1) // 2


@record
class KernelWeights:
    """The stream that a kernel's blocks read. ``prepare`` has it in place for a part; ``apart``: how far parts are from
    each other."""

    buffer: Buffer
    apart: int
    prepare: Callable[[Expr], Block]


def stored_words(ctx: KernelContext, parts: np.ndarray, layout: StreamLayout, form: WordForm | None) -> KernelWeights:
    """``parts`` [part, word] of a stream, as they are, or as nibbles of a ``form``, which are unpacked part by part."""
    count, size = parts.shape
    if form is None or size + 1 > _MOST_PLACES or layout.body % 2 > layout.tail:
        return KernelWeights(ctx.pack("w", parts.reshape(-1)), size, lambda part: ())
    tiled = parts.reshape(count, -1, layout.size)
    end = layout.head + layout.body
    tiles, body = tiled.shape[1], tiled[:, :, layout.head : end]
    bits = form.nibbles(np.ascontiguousarray(body))
    few = (bits & ~np.uint32(NIBBLES)) == 0
    stored = np.zeros((count, tiles, 2 * layout.pairs), np.uint32)
    stored[:, :, : layout.body] = np.where(few, bits, 0)
    nibbles = ctx.pack("w", (stored[..., 0::2] | stored[..., 1::2] << 4).view(np.int32).reshape(-1))
    others = ctx.pack("w_other", np.concatenate([tiled[:, :, : layout.head], tiled[:, :, end:]], axis=2).reshape(-1))
    buffer = ctx.temporary("weights", DType.I32, (size,), align=16)
    wide = np.zeros(tiled.shape, bool)
    wide[:, :, layout.head : end] = ~few
    outliers = _Outliers.of(ctx, parts, wide.reshape(count, size))

    def prepare(part: Expr) -> Block:
        scalars = (tiles, layout.head, layout.body, layout.tail, *form.scalars)
        pointers = (
            Pointer(nibbles, (part * (tiles * layout.pairs),)),
            Pointer(others, (part * (tiles * (layout.head + layout.tail)),)),
            Pointer(buffer, (as_expr(0),)),
        )
        return (Invoke("unpack_nibble_words", pointers, scalars), *outliers.place(buffer, part))

    return KernelWeights(buffer, 0, prepare)


@record
class _Outliers:
    """Words that no nibbles make, ``each`` many for a part: parts with fewer have one of theirs again, or their first
    word, which is none of weights."""

    ctx: KernelContext
    each: int
    places: Buffer | None = None
    words: Buffer | None = None

    @staticmethod
    def of(ctx: KernelContext, parts: np.ndarray, wide: np.ndarray) -> _Outliers:
        """Of ``parts`` [part, word] those that are ``wide``."""
        found = [np.flatnonzero(part) for part in wide]
        most = max(len(places) for places in found)
        if not most:
            return _Outliers(ctx, 0)
        places = np.stack([np.resize(each if len(each) else [0], most) for each in found])
        words = np.take_along_axis(parts, places, axis=1)
        return _Outliers(
            ctx, most, ctx.pack("place", places.astype(np.uint16).reshape(-1)), ctx.pack("outlier", words.reshape(-1))
        )

    def place(self, buffer: Buffer, part: Expr) -> Block:
        if self.places is None or self.words is None:
            return ()
        n = Var(self.ctx.names.fresh("n"))
        at = part * self.each + n
        return loop(n, self.each, store(buffer[Convert(INDEX, self.places[at])], self.words[at]))


# ---------------------------------------------------------------- bytes


@record
class ByteTiles:
    """Bytes of weights [part, channel, k], side by side for each ``tile`` of channels, and channel by channel for those
    that are left over: unsigned ones that are ``offset`` more than the weight, or signed ones where that is zero."""

    weights: np.ndarray
    tile: int
    offset: int

    @property
    def dtype(self) -> DType:
        return DType.U8 if self.offset else DType.I8

    def interleaved(self, weights: np.ndarray) -> np.ndarray:
        """[part, byte]."""
        parts, channels, depth = weights.shape
        full = channels // self.tile * self.tile
        tiled = weights[:, :full].reshape(parts, -1, self.tile, depth).swapaxes(2, 3)
        flat = [part.reshape(parts, -1) for part in (tiled, weights[:, full:])]
        return np.asarray(np.concatenate(flat, axis=1) + self.offset)

    def places(self, channels: np.ndarray) -> np.ndarray:
        """Where the first byte of each of the ``channels`` is, and how far its bytes are apart, [..., 2]."""
        depth, inside = self.weights.shape[2], channels < self.weights.shape[1] // self.tile * self.tile
        first = np.where(inside, channels // self.tile * self.tile * depth + channels % self.tile, channels * depth)
        return np.stack([first, np.where(inside, self.tile, 1)], axis=-1)


def unpacked_bytes(ctx: KernelContext, stored: ByteTiles) -> KernelWeights:
    """Bytes that are nibbles in flash, unpacked part by part; ``buffer`` is [channel, k]."""
    _, channels, depth = stored.weights.shape
    few = np.all((stored.weights >= -8) & (stored.weights <= 7), axis=2)
    flat = stored.interleaved(np.where(few[..., None], stored.weights, 0)) - (stored.offset - 8)
    size = flat.shape[1]
    even = np.pad(flat, ((0, 0), (0, size % 2))).astype(np.uint8)
    nibbles = ctx.pack("w", (even[:, 0::2] | even[:, 1::2] << 4).reshape(-1))
    rows = channels + size % 2
    buffer = ctx.temporary("weights", stored.dtype, (rows, depth), align=4)
    block = "unpack_nibble_bytes" if stored.offset else "unpack_nibble_signed_bytes"
    outliers = _outlier_rows(ctx, stored, few, buffer)

    def prepare(part: Expr) -> Block:
        pairs = even.shape[1] // 2
        pointers = (Pointer(nibbles, (part * pairs,)), Pointer(buffer, (as_expr(0), as_expr(0))))
        return (Invoke(block, pointers, (pairs, stored.offset - 8)), *outliers(part))

    return KernelWeights(buffer, 0, prepare)


def _outlier_rows(
    ctx: KernelContext, stored: ByteTiles, few: np.ndarray, buffer: Buffer
) -> Callable[[Expr], Block]:
    """Brings the rows that are no nibbles to their places, as many for each part: of a part with fewer, some again."""
    most = int((~few).sum(axis=1).max())
    if not most:
        return lambda part: ()
    depth = stored.weights.shape[2]
    found = [np.resize(np.flatnonzero(~part) if not part.all() else [0], most) for part in few]
    channels = np.stack(found)
    rows = np.take_along_axis(stored.weights, channels[:, :, None], axis=1)
    places = ctx.pack("place", stored.places(channels).astype(np.uint32).reshape(-1, 2))
    data = ctx.pack("outlier", (rows + stored.offset).astype(stored.dtype.numpy).reshape(-1, depth))

    def place(part: Expr) -> Block:
        n, k = Var(ctx.names.fresh("n")), Var(ctx.names.fresh("k"))
        at = part * most + n
        flat = Convert(INDEX, places[at, 0]) + k * Convert(INDEX, places[at, 1])
        return loop(n, most, *loop(k, depth, store(buffer[flat // depth, flat % depth], data[at, k])))

    return place
