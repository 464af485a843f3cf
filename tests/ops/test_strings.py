"""Operators on strings: their nests against their meaning, and the meaning against Python's own strings."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from ccml.ops.table import OPS

from tests.ops.nest_harness import check_nest, run_nest
from tests.ops.strings import text, texts

WORDS = ("", "a", "ab", "abc", "b", "ba", "Zoë", "日本語", "\U0001f600x", "zz")


def evaluate(op: str, *arrays: np.ndarray, **attrs: int | bool) -> tuple[np.ndarray, ...]:
    check_nest(op, *arrays, **attrs)
    return OPS[op].evaluate(arrays, attrs)


def test_concat() -> None:
    a, b = [x for x in WORDS for _ in WORDS], [y for _ in WORDS for y in WORDS]
    (y,) = evaluate("string_concat", text(*a), text(*b))
    assert texts(y) == [x + z for x, z in zip(a, b)]
    (y,) = evaluate("string_concat", text("x"), text(*WORDS))
    assert texts(y) == ["x" + word for word in WORDS]
    (y,) = evaluate("string_concat", text(*WORDS), text("ü"))
    assert texts(y) == [word + "ü" for word in WORDS]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10])
@pytest.mark.parametrize("width", [1, 3, 12])
def test_find(count: int, width: int) -> None:
    """Keys that are shorter and longer than the strings, in the order of their bytes."""
    keys = sorted(WORDS, key=lambda word: word.encode())[:count]
    asked = [word for word in (*WORDS, "aa", "日本", "zzz") if len(word.encode()) <= width]
    (y,) = evaluate("string_find", text(*asked, "x" * width), text(*keys))
    assert y.tolist() == [keys.index(word) if word in keys else count for word in (*asked, "x" * width)]


def test_match() -> None:
    """An automaton for (ab)*, of which state 2 is what no byte leads out of."""
    classes = np.zeros(256, np.uint8)
    classes[[97, 98]] = 1, 2
    table = np.array([[2, 1, 2], [2, 2, 0], [2, 2, 2]], np.uint8)
    asked = ["", "ab", "abab", "aba", "b", "abx", "ababab"]
    (y,) = evaluate("string_match", text(*asked), classes, table)
    assert [state == 0 for state in y] == [re.fullmatch("(ab)*", word) is not None for word in asked]


def test_map() -> None:
    """Ranges of ASCII, of every second character, and of characters that take more bytes behind the change."""
    ranges = [(97, 122, 1, -32), (0x101, 0x12F, 2, -1), (0x23F, 0x240, 1, 10815), (0x10428, 0x1044F, 1, -40)]
    columns = [np.array(column, np.int32) for column in zip(*ranges)]
    words = ["hello, World", "āĂăx", "ȿɀȿ", "\U00010428\U00010400", "ß日", ""]
    (y,) = evaluate("string_map", text(*words), *columns, bytes=18)
    assert texts(y) == ["HELLO, WORLD", "ĀĂĂX", "ȿɀȿ".upper(), "\U00010400\U00010400", "ß日", ""]
    (short,) = evaluate("string_map", text(*words), *columns, bytes=4)
    assert texts(short) == ["HELL", "ĀĂ", "ȿ".upper(), "\U00010400", "ß", ""]


def test_map_stays_within_its_memory_for_what_is_no_utf8() -> None:
    """Cut off characters and lone bytes give something; the harness finds accesses out of bounds."""
    columns = [np.array([number], np.int32) for number in (97, 122, 1, -32)]
    damaged = np.array([[0xE2, 0x82, 0], [0xF0, 0xFF, 0x80], [0x80, 97, 0xC3], [0xFF, 0xFF, 0xFF]], np.uint8)
    (y,) = run_nest("string_map", damaged, *columns, bytes=4)
    assert y.shape == (4, 4)


SPLIT = ["", "a", "a,b", ",a,,b,", ",,", "one,two,three,four", "日,本"]


@pytest.mark.parametrize("limit", [1, 2, 3, 20])
def test_split_by_a_delimiter(limit: int) -> None:
    for delimiter in (",", "e,", "本"):
        y, counts = evaluate("string_split", text(*SPLIT), text(delimiter), limit=limit, merge=False)
        check_parts(y, counts, [word.split(delimiter, limit - 1) for word in SPLIT])


@pytest.mark.parametrize("limit", [1, 2, 3, 12])
def test_split_by_whitespace(limit: int) -> None:
    words = ["", " ", "a", " a  b ", "a\t b\n c  d ", "one two\u3000three", "\u3000x  "]
    y, counts = evaluate("string_split", text(*words), text(" ", "\t", "\n", "\u3000"), limit=limit, merge=True)
    check_parts(y, counts, [word.split(None, limit - 1) for word in words])


def test_split_into_characters() -> None:
    words = ["", "ab", "a \u00e4\u672cc", " \U00010428 "]
    y, counts = evaluate("string_split", text(*words), text(" "), limit=text(*words).shape[1], merge=True, each=True)
    check_parts(y, counts, [[c for c in word if c != " "] for word in words])


def check_parts(y: np.ndarray, counts: np.ndarray, expected: Sequence[Sequence[str]]) -> None:
    assert counts.tolist() == [len(parts) for parts in expected]
    for row, parts in zip(y, expected):
        assert texts(row) == [*parts, *[""] * (len(row) - len(parts))]
