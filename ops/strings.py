"""Operators on strings: types and meaning.

Strings are rows of bytes, ``u8[rows, bytes]``: UTF-8, filled up with zeros. What is no UTF-8 gives some result within
the bounds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

import numpy as np

from ..ir.types import DType, TensorType
from .attributes import flag, integer
from .infer import operand
from .opdef import Arrays, Attrs, Types
from .pointwise import present_arrays


def _rows(types: Types, position: int) -> TensorType:
    x = operand(types, position)
    if x.rank != 2 or x.dtype is not DType.U8:
        raise ValueError(f"no rows of bytes: {x}")
    return x


def _list(types: Types, position: int, dtype: DType, size: int | None = None) -> TensorType:
    x = operand(types, position)
    if x.rank != 1 or x.dtype is not dtype or (size is not None and x.size != size):
        raise ValueError(f"operand {position} is {x}")
    return x


def text_of(row: np.ndarray) -> bytes:
    """The string in a row."""
    return row.tobytes().split(b"\0")[0]


def rows_of(texts: Sequence[bytes], bound: int) -> np.ndarray:
    """Strings as rows of ``bound`` bytes; longer ones are cut off."""
    data = b"".join(text[:bound].ljust(bound, b"\0") for text in texts)
    return np.frombuffer(data, np.uint8).reshape(len(texts), bound).copy()


def infer_string_concat(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    a, b = _rows(types, 0), _rows(types, 1)
    if a.shape[0] != b.shape[0] and 1 not in (a.shape[0], b.shape[0]):
        raise ValueError(f"{a} and {b} have different numbers of rows")
    return (TensorType(DType.U8, (max(a.shape[0], b.shape[0]), a.shape[1] + b.shape[1])),)


def evaluate_string_concat(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """A single row stands before or behind each of the others."""
    a, b = present_arrays(arrays)
    count = max(len(a), len(b))
    firsts, seconds = (np.broadcast_to(rows, (count, rows.shape[1])) for rows in (a, b))
    return (rows_of([text_of(x) + text_of(y) for x, y in zip(firsts, seconds)], a.shape[1] + b.shape[1]),)


def infer_string_find(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, keys = _rows(types, 0), _rows(types, 1)
    if not keys.shape[0]:
        raise ValueError(f"no keys: {keys}")
    return (TensorType(DType.I32, x.shape[:1]),)


def evaluate_string_find(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """The place of each row among sorted keys, their number where it is none of them."""
    x, keys = present_arrays(arrays)
    known, found = [text_of(key) for key in keys], []
    for text in map(text_of, x):
        place = bisect_left(known, text)
        found.append(place if place < len(known) and known[place] == text else len(known))
    return (np.array(found, np.int32),)


def infer_string_match(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, table = _rows(types, 0), operand(types, 2)
    _list(types, 1, DType.U8, 256)
    if table.rank != 2 or table.dtype not in (DType.U8, DType.U16) or not table.size:
        raise ValueError(f"no table of transitions: {table}")
    return (TensorType(DType.I32, x.shape[:1]),)


def evaluate_string_match(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """The state in which a finite automaton ends that begins in state 0."""
    x, classes, table = present_arrays(arrays)
    states = np.zeros(len(x), np.int64)
    for column in x.T:
        states = np.where(column == 0, states, table[states, classes[column]])
    return (states.astype(np.int32),)


def infer_string_map(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, first = _rows(types, 0), _list(types, 1, DType.I32)
    for position in (2, 3, 4):
        _list(types, position, DType.I32, first.size)
    if not first.size:
        raise ValueError("no ranges of characters")
    return (TensorType(DType.U8, (x.shape[0], integer(attrs, "bytes"))),)


def evaluate_string_map(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """Every step-th character of the sorted ranges first..last becomes the one that stands ``offset`` further on.

    A character that does not fit into the result any more is left out.
    """
    x, first, last, step, offset = present_arrays(arrays)
    ranges = zip(first.tolist(), last.tolist(), step.tolist(), offset.tolist())
    changed = {code: code + by for a, b, n, by in ranges for code in range(a, b + 1, n)}
    bound = integer(attrs, "bytes")
    return (rows_of([_mapped(text_of(row), changed, bound) for row in x], bound),)


def _mapped(text: bytes, changed: Mapping[int, int], bound: int) -> bytes:
    found = b""
    for character in text.decode("utf-8", "replace").translate(changed):
        data = character.encode("utf-8", "replace")
        found += data if len(found) + len(data) <= bound else b""
    return found


def infer_string_split(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, separators = _rows(types, 0), _rows(types, 1)
    limit = integer(attrs, "limit")
    if limit < 1 or not separators.size:
        raise ValueError(f"{limit} parts at most, by {separators}")
    if attrs.get("each", False) and (limit < x.shape[1] or not flag(attrs, "merge")):
        raise ValueError(f"{limit} parts of {x} for characters")
    return TensorType(DType.U8, (x.shape[0], limit, x.shape[1])), TensorType(DType.I64, x.shape[:1])


def evaluate_string_split(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """Parts between separators, ``limit`` at most, of which the last has the rest; empty strings behind them.

    With ``merge`` neighbouring separators count as one, and none begins a part; with ``each`` every character does
    that is none.
    """
    x, separators = present_arrays(arrays)
    limit, merge, each = integer(attrs, "limit"), flag(attrs, "merge"), bool(attrs.get("each", False))
    known = [text_of(separator) for separator in separators]
    parts = [_parts(text_of(row), known, limit, merge, each) for row in x]
    y = np.zeros((x.shape[0], limit, x.shape[1]), np.uint8)
    for number, found in enumerate(parts):
        if found:
            y[number, : len(found)] = rows_of(found, x.shape[1])
    return y, np.array([len(found) for found in parts], np.int64)


def _continues(byte: int) -> bool:
    """Whether a byte of UTF-8 is not the first of a character."""
    return byte & 0xC0 == 0x80


def _parts(text: bytes, separators: Sequence[bytes], limit: int, merge: bool, each: bool) -> list[bytes]:
    found: list[bytes] = [] if merge else [b""]
    inside, place = not merge, 0
    while place < len(text):
        separator = next((s for s in separators if text.startswith(s, place)), b"")
        if separator and not (len(found) == limit and inside):
            place += len(separator)
            inside = not merge
            if not merge:
                found.append(b"")
            continue
        if not inside or (each and not _continues(text[place])):
            found.append(b"")
            inside = True
        found[-1] += text[place : place + 1]
        place += 1
    return found
