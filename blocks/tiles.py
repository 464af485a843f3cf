"""The skeleton of contractions: tiles of channels by pixels over groups of k, and the stream of weights that they read.

A *stream* of weights is words in the order in which they are read. For each tile of channels: a bias per channel; for
each group of k some words per channel; and, where results are requantized, the factors of its channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from ..ir.build import store
from ..ir.loops import F32, I32, Alloc, Bitcast, Block, Buffer, Expr, Space, Stmt, Type, Var
from ..ir.loops_rewrite import loop
from ..record import record
from .common import Number

Size = TypeVar("Size", int, Number)


@record
class Stream:
    """``words`` of weights for a channel and group; ``factors`` of channels are words, or with ``halfwords`` two to a
    word."""

    tile: int
    words: int = 1
    factors: bool = True
    halfwords: bool = False

    def size(self, channels: Size, groups: Size) -> Size:
        """Words for a number of channels that fills tiles."""
        if self.halfwords:
            return (groups * self.words + 1) * channels + channels // 2
        return (groups * self.words + (1 + self.factors)) * channels

    def weight(self, at: Expr, group: Expr, c: Number, word: Number = 0) -> Expr:
        """Where a word of weights of channel ``c`` of the tile stands whose words begin ``at`` (with the biases)."""
        return at + group * (self.tile * self.words) + (self.tile + c * self.words) + word

    def factor(self, at: Expr, groups: Number, c: Number) -> Expr:
        return at + groups * (self.tile * self.words) + (self.tile + (c // 2 if self.halfwords else c))

    def pack(self, bias: np.ndarray, weights: np.ndarray, factors: np.ndarray | None = None) -> np.ndarray:
        """The stream of biases [o], weights [o, groups * words] and factors [o] (words or halfwords).

        Channels that fill no tile are zero.
        """
        if len(bias) == 0:
            return np.zeros(0, np.int32)
        tiles = -(-len(bias) // self.tile)
        groups = weights.shape[1] // self.words
        tiled = _padded(weights, tiles * self.tile).reshape(tiles, self.tile, groups, self.words).transpose(0, 2, 1, 3)
        parts = [_padded(bias, tiles * self.tile).reshape(tiles, -1), tiled.reshape(tiles, -1)]
        if factors is not None:
            bits = np.ascontiguousarray(_padded(factors, tiles * self.tile)).view("<i4")
            parts.append(bits.reshape(tiles, -1))
        return np.concatenate([part.astype(np.int64).astype(np.int32) for part in parts], axis=1).reshape(-1)


def _padded(values: np.ndarray, size: int) -> np.ndarray:
    out = np.zeros((size, *values.shape[1:]), values.dtype)
    out[: len(values)] = values
    return out


Group = Callable[..., tuple[Block, Callable[[Expr, int, int], Expr]]]
"""For a group of k (a variable for each loop): definitions, and how the accumulator of a channel and pixel goes on."""


def tile_block(
    shape: tuple[int, int],
    groups: Sequence[Number],
    start: Callable[[int, int], Expr],
    group: Group,
    finish: Callable[[int, int, Expr], Block],
    stem: str = "",
    type_: Type = I32,
) -> Block:
    """A tile of channels by pixels: each accumulator begins with ``start``, takes all groups, and is finished."""
    acc = Buffer(f"acc{stem}", type_, shape, Space.REG)
    places = [(c, p) for c in range(shape[0]) for p in range(shape[1])]

    out: list[Stmt] = [Alloc(acc), *(store(acc[c, p], start(c, p)) for c, p in places)]
    variables = [Var(f"g{n}{stem}") for n in range(len(groups))]
    before, product = group(*variables)
    steps: Block = (*before, *(store(acc[c, p], product(acc[c, p], c, p)) for c, p in places))
    for variable, extent in reversed(list(zip(variables, groups, strict=True))):
        steps = loop(variable, extent, *steps)
    out += steps
    return (*out, *(stmt for c, p in places for stmt in finish(c, p, acc[c, p])))


def as_scale(word: Expr) -> Expr:
    """A word of the stream as the float32 that it holds."""
    return Bitcast(F32, word)
