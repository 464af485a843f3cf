"""Tables looked up by vectors, where an instruction picks words of two vectors by number (VPERMI2D).

A table of constants lies in words of several vectors. Each pair of vectors gives the word with a number modulo their
lanes, and the further bits of the number choose among the pairs. Of narrower elements the word has several::

    number = place / 4                          elements of a byte: four in a word
    word   = number & 32 ? pick_words(number, w[2], w[3]) : pick_words(number, w[0], w[1])
    element = word >> 8 * (place % 4)
"""

from __future__ import annotations

from ..ir.build import ne, select
from ..ir.loops import I32, U32, Binary, Bitcast, Buffer, Call, Const, Convert, Expr, Load, Space, Type, as_expr
from ..ir.types import DType

LARGEST_TABLE = 1024
"""Bytes: as many as sixteen vectors have. From there on, picking takes longer than reading one by one."""

_ELEMENTS = frozenset(DType(name) for name in ("i8", "u8", "i16", "u16", "i32", "u32"))


def _is_table(buffer: Buffer) -> bool:
    """Whether it is one of a few hundred integers."""
    in_memory = buffer.space is Space.GLOBAL and buffer.type.lanes == 1
    if not in_memory or buffer.dtype not in _ELEMENTS or len(buffer.shape) != 1:
        return False
    size = buffer.shape[0] * buffer.dtype.size
    return 128 <= size <= LARGEST_TABLE and size & (size - 1) == 0


def table_place(load: Load) -> tuple[Expr, int] | None:
    """Of an element of a table the integer that its index is converted from, and what is added to that."""
    if not _is_table(load.buffer):
        return None
    index, offset = load.index[0], 0
    while isinstance(index, Binary) and index.op in ("add", "sub") and isinstance(index.y, Const):
        offset += int(index.y.value) if index.op == "add" else -int(index.y.value)
        index = index.x
    if not isinstance(index, Convert) or not index.x.type.dtype.is_integer or index.x.type.dtype.size > 4:
        return None
    return index.x, offset


def looked_up(table: Buffer, place: Expr) -> Expr:
    """The elements at the places, an i32 for each lane."""
    lanes, in_word = place.type.lanes, 4 // table.dtype.size
    words = I32.with_lanes(lanes)
    vectors = [_words(table, first, words) for first in range(0, table.shape[0], lanes * in_word)]
    bits = in_word.bit_length() - 1
    number = place >> bits if bits else place
    pairs = zip(vectors[::2], vectors[1::2], strict=True)
    picked: list[Expr] = [Call("pick_words", (number, *pair), words) for pair in pairs]
    bit = 2 * lanes
    while len(picked) > 1:
        upper = ne(number & bit, 0)
        picked = [select(upper, high, low) for low, high in zip(picked[::2], picked[1::2], strict=True)]
        bit *= 2
    (word,) = picked
    if in_word > 1:
        shift = (place & (in_word - 1)) << (3 if table.dtype.size == 1 else 4)
        word = Convert(words, Convert(U32.with_lanes(lanes), word) >> Convert(U32.with_lanes(lanes), shift))
    return Convert(Type(table.dtype, lanes), word)


def _words(table: Buffer, first: int, words: Type) -> Expr:
    """A vector of words of the table, from the element ``first`` on."""
    lanes = words.lanes * (4 // table.dtype.size)
    loaded = Load(table, (as_expr(first),), lanes)
    return loaded if loaded.type == words else Bitcast(words, loaded)
