"""Block instructions that bring weights of 4 bits from flash into the form in which contractions read them.

A weight w is stored as the nibble ``w + 8``, so that no sign has to be extended: of words whose bytes are nibbles, one
addition and one exclusive or make the words of a stream (:class:`WordForm`), and none of the four bytes carries into
the next. A stored word has eight weights: its low nibbles are a word of the stream, its high nibbles the next.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..ir.build import store
from ..ir.loops import I8, I32, U8, Access, Block, Expr, Kernel, Let, Type, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..record import record
from .common import Number, param
from .instruction import THUMB, BlockInstruction

NIBBLES = 0x0F0F0F0F


@record
class WordForm:
    """A word of a stream is ``(nibbles + add) ^ flip``, modulo 2^32."""

    add: int
    flip: int

    def nibbles(self, words: np.ndarray) -> np.ndarray:
        """The nibbles (uint32, one in each byte) that make ``words`` (int32); where none do, any other bytes."""
        bits = words.view(np.uint32)
        return np.asarray((bits ^ np.uint32(self.flip)) - np.uint32(self.add))

    @property
    def scalars(self) -> tuple[int, int]:
        return _signed(self.add), _signed(self.flip)


SIGNED_BYTES = WordForm(0x78787878, 0x80808080)
"""Bytes ``w``: the nibble plus 120 is the byte plus 128."""
PACKED_HALFWORDS = WordForm(0x77F877F8, 0x80008000)
"""Halfwords ``256 * w1 + w0``: the nibbles' halfword, plus 2^15 less 8 * 257, is that halfword plus 2^15."""
HALFWORDS = WordForm(0x7FF87FF8, 0x80008000)
"""Halfwords ``w``, whose upper bytes are no nibbles: 8 bits a weight."""


def _signed(word: int) -> int:
    return word - (1 << 32 if word >> 31 else 0)


def _words(tiles: Number, head: Number, body: Number, tail: Number, add: Number, flip: Number) -> Kernel:
    """The stream of some ``tiles`` of ``head`` words, ``body`` words of weights and ``tail`` words. Of an odd body, the
    last nibbles stand for a word that the tail takes the place of."""
    pairs, size, kept = (body + 1) // 2, head + body + tail, head + tail
    nibbles = param("nibbles", DType.I32, tiles * pairs, Access.READ, 4)
    others = param("others", DType.I32, tiles * kept, Access.READ, 4)
    y = param("y", DType.I32, tiles * size, Access.WRITE, 4)
    t, first, pair, last, word = Var("t"), Var("first"), Var("pair"), Var("last"), Var("word", I32)

    def made(stored: Expr) -> Expr:
        return ((stored & NIBBLES) + I32(add)) ^ I32(flip)

    at = t * size
    body_at = at + head + pair * 2
    stores = (store(y[body_at], made(word)), store(y[body_at + 1], made(word >> 4)))
    tile: Block = (
        *loop(first, head, store(y[at + first], others[t * kept + first])),
        *loop(pair, pairs, Let(word, nibbles[t * pairs + pair]), *stores),
        *loop(last, tail, store(y[at + head + body + last], others[t * kept + head + last])),
    )
    return Kernel("unpack_nibble_words", (nibbles, others, y), loop(t, tiles, *tile))


def _bytes(type_: Type, pairs: Number, add: Number) -> Kernel:
    """Bytes ``w + 8 + add``, of which the even ones are low nibbles."""
    nibbles, y = param("nibbles", DType.U8, pairs, Access.READ), param("y", type_.dtype, pairs * 2, Access.WRITE)
    pair, byte = Var("pair"), Var("byte", I32)
    stores = (store(y[pair * 2 + n], type_((half & 15) + I32(add))) for n, half in enumerate((byte, byte >> 4)))
    return Kernel("unpack_nibble_bytes", (nibbles, y), loop(pair, pairs, Let(byte, I32(nibbles[pair])), *stores))


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "unpack_nibble_words", ("tiles", "head", "body", "tail", "add", "flip"), _words, THUMB,
        ((3, 2, 6, 2, *PACKED_HALFWORDS.scalars), (2, 1, 3, 1, *SIGNED_BYTES.scalars)), weighed=False,
    ),
    BlockInstruction("unpack_nibble_bytes", ("pairs", "add"), partial(_bytes, U8), THUMB, ((5, 120),), weighed=False),
    BlockInstruction(
        "unpack_nibble_signed_bytes", ("pairs", "add"), partial(_bytes, I8), THUMB, ((7, -8),), weighed=False
    ),
)  # fmt: skip
