"""Automata of regular expressions, against Python's ``re``."""

from __future__ import annotations

import itertools
import re
import unicodedata

import pytest
from ccml.frontend_onnx.regular_expressions import Automaton, RegexError, automaton

WORDS = [
    *("".join(word) for count in range(5) for word in itertools.product("abx_", repeat=count)), "straße", "STRASSE",
    "1.5", "27", "日x本", "日\n本", "éà", "é×", "\U0001f600", "A", ".*", "foo@bar.com", "foo@bar.net", "www.a9", "a b",
    "a-b", "x{,3}", "ab\n", "\n", "-", "]", "ABBA", "Zoë",
]  # fmt: skip


def matches(found: Automaton, text: str) -> bool:
    state = 0
    for byte in text.encode():
        state = int(found.table[state, found.classes[byte]])
    return bool(found.accepting[state])


@pytest.mark.parametrize(
    "pattern",
    [
        "", "a*", "(ab|ba)+", "[a-b]{2,3}x?", "^a.b$", r"\d+\.\d*", "[^abx]+", "(a|^b|x$)*", r"\w+@[\w\.]+\.(com|org)",
        "日.本", "(?s)日.本", "[à-ÿ]+", "(?s).*", "a{2}", "(?:a|b){0,3}", r"(W|w)ww\.[a-z0-9]*", "a{2,}?b*?",
        "(?P<n>a)(b)", r"x\{,3\}", r"\x41|\x7a", r"[\d\s-]+", r"[]a]+", r"[^\n]", r"\.\*", "(?i)abBA", "(?i:a)b",
        r"\ba.*", r"a\b.\bb", r"\b", r"(a|\b|x)*", "a|", "|", "()", "(|a)+b", r"[\x61-b]+",
    ],
)  # fmt: skip
def test_matches_what_python_matches(pattern: str) -> None:
    found = automaton(pattern)
    flags = re.ASCII if "(?i" in pattern or "\\" in pattern else 0
    for word in WORDS:
        expected = re.fullmatch(pattern.replace("$", r"\Z"), word, flags) is not None
        assert matches(found, word) == expected, (pattern, word)


def test_what_python_does_not_know() -> None:
    for pattern, yes, no in (
        (r"\pL+", ["abc", "Ελ", "日本"], ["", "a1"]), (r"\p{Lu}\P{Lu}", ["Aa", "É1"], ["aa", "AA"]),
        (r"[[:alpha:]_]+", ["a_Z"], ["é", ""]), (r"[[:^digit:]]", ["a"], ["1"]), (r"\Q.*\E", [".*"], ["aa"]),
        (r"\x{1F600}", ["\U0001f600"], ["x"]), ("(?U)a+", ["aa"], [""]), (r"\101", ["A"], ["a"]),
        ("a**", ["aa", ""], ["b"]), (r"\B", [""], ["a"]), (r"-\B.*", ["-", "--"], ["-a"]),
        ("(?i)straße", ["STRAẞE", "straße"], ["strasse"]), (r"a\z", ["a"], ["az"]), ("x{,3}", ["x{,3}"], ["", "xx"]),
    ):  # fmt: skip
        found = automaton(pattern)
        assert [matches(found, word) for word in (*yes, *no)] == [True] * len(yes) + [False] * len(no), pattern


def test_every_letter_is_a_letter() -> None:
    found = automaton(r"\pL")
    for code in range(1, 0x30000, 7):
        letter = unicodedata.category(chr(code))[0] == "L"
        assert 0xD800 <= code < 0xE000 or matches(found, chr(code)) == letter, hex(code)


def test_automata_are_small() -> None:
    assert automaton("(aa|ab|ac|ad){3}").table.shape == (8, 3)
    assert automaton("(foo|bar)+").table.shape[0] == 7


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(a)\1", "a back-reference"), ("(?=a)b", "look-around"), ("(?<=a)b", "look-around"), ("(", "without ')'"),
        (")", "without '('"), ("[a", "an end"), ("a{3,2}", "a repetition"), ("(?m)^a", "the flag m"),
        (r"\p{Greek}", "no general category"), ("*a", "nothing that can be repeated"), ("a{1001}", "a repetition"),
        ("[b-a]", "a range of characters"), ("[[:nope:]]", "does not exist"), (r"\y", "not supported"),
        ("a\\", "an end"),
        (r"\x{110000}", "no character"), ("(?P<a", "without '>'"),
        ("(a|b)*a(a|b){14}", "too many choices"), ("((a{100}){100}){100}", "states"), ("(" * 200, "nested groups"),
    ],
)  # fmt: skip
def test_what_is_wrong_or_not_supported(pattern: str, reason: str) -> None:
    with pytest.raises(RegexError, match=re.escape(reason)):
        automaton(pattern)
