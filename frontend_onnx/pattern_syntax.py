"""Regular expressions of RE2's syntax, parsed to a tree.

Source: https://github.com/google/re2/wiki/Syntax. What a finite automaton cannot do, or not without looking around
(back-references, look-around), is an error; so are names of scripts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Union

from ..record import record
from .code_points import LAST, Ranges, negated, normal, of_category, without_case

MAX_REPEATS = 1000
"""The greatest count of a repetition, as RE2 has it."""

MAX_DEPTH = 100
"""Nested groups."""


class RegexError(ValueError):
    """What is wrong with a pattern, or not supported of it."""


@record
class Characters:
    """One of these characters."""

    ranges: Ranges


class Edge(Enum):
    """A place between characters: the beginning of the text, its end, where a word begins or ends, and where none does.
    Words are of letters, digits and underscores in ASCII."""

    BEGIN = "begin"
    END = "end"
    WORD = "word"
    NO_WORD = "no word"


@record
class Sequence:
    parts: tuple[Tree, ...]


@record
class Choice:
    parts: tuple[Tree, ...]


@record
class Repeat:
    """``least`` to ``most`` times; without a limit where that is ``None``."""

    part: Tree
    least: int
    most: int | None


Tree = Union[Characters, Edge, Sequence, Choice, Repeat]

_DIGITS: Ranges = ((48, 57),)
_SPACES: Ranges = normal([(9, 10), (12, 13), (32, 32)])
WORDS: Ranges = normal([(48, 57), (65, 90), (95, 95), (97, 122)])
_CLASSES: Mapping[str, Ranges] = {
    "d": _DIGITS, "D": negated(_DIGITS), "s": _SPACES, "S": negated(_SPACES), "w": WORDS, "W": negated(WORDS),
}  # fmt: skip
_POSIX: Mapping[str, Ranges] = {
    "alnum": normal([(48, 57), (65, 90), (97, 122)]), "alpha": normal([(65, 90), (97, 122)]), "ascii": ((0, 127),),
    "blank": normal([(9, 9), (32, 32)]), "cntrl": normal([(0, 31), (127, 127)]), "digit": _DIGITS,
    "graph": ((33, 126),), "lower": ((97, 122),), "print": ((32, 126),),
    "punct": normal([(33, 47), (58, 64), (91, 96), (123, 126)]), "space": normal([(9, 13), (32, 32)]),
    "upper": ((65, 90),), "word": WORDS, "xdigit": normal([(48, 57), (65, 70), (97, 102)]),
}  # fmt: skip
_EDGES = {"A": Edge.BEGIN, "z": Edge.END, "b": Edge.WORD, "B": Edge.NO_WORD}
_CONTROLS = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_NEWLINE: Ranges = ((10, 10),)


@record
class _Flags:
    ignore_case: bool = False
    dot_all: bool = False


def parse(pattern: str) -> Tree:
    """The tree of a pattern. Raises :class:`RegexError`."""
    parser = _Parser(pattern)
    tree, _ = parser.alternatives(_Flags(), 0)
    if parser.place < len(pattern):
        raise RegexError("a ')' without '('")
    return tree


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern, self.place = pattern, 0

    def peek(self, text: str) -> bool:
        return self.pattern.startswith(text, self.place)

    def take(self, text: str) -> bool:
        """Goes on behind ``text`` where it stands here."""
        there = self.peek(text)
        self.place += len(text) if there else 0
        return there

    def next(self) -> str:
        if self.place >= len(self.pattern):
            raise RegexError("an end where something has to follow")
        self.place += 1
        return self.pattern[self.place - 1]

    def alternatives(self, flags: _Flags, depth: int) -> tuple[Tree, _Flags]:
        """Everything up to a ')' or the end. Flags that are set hold until then."""
        if depth > MAX_DEPTH:
            raise RegexError(f"more than {MAX_DEPTH} nested groups")
        choices: list[Tree] = []
        parts: list[Tree] = []
        while self.place < len(self.pattern) and not self.peek(")"):
            if self.take("|"):
                choices.append(Sequence(tuple(parts)))
                parts = []
            elif self.take("\\Q"):
                parts += [self._literal(character, flags) for character in self._quoted()]
            elif self.peek("(?") and (changed := self._own_flags(flags)) is not None:
                flags = changed
            else:
                parts.append(self._repeated(self._atom(flags, depth)))
        choices.append(Sequence(tuple(parts)))
        return (choices[0] if len(choices) == 1 else Choice(tuple(choices))), flags

    def _quoted(self) -> str:
        end = self.pattern.find("\\E", self.place)
        text = self.pattern[self.place : end if end >= 0 else None]
        self.place = len(self.pattern) if end < 0 else end + 2
        return text

    def _own_flags(self, flags: _Flags) -> _Flags | None:
        """``(?i)`` and the like, which hold for what follows."""
        end = self.pattern.find(")", self.place)
        text = self.pattern[self.place + 2 : end]
        if end < 0 or not text or not set(text) <= set("imsU-"):
            return None
        self.place = end + 1
        return _with_flags(flags, text)

    def _atom(self, flags: _Flags, depth: int) -> Tree:
        character = self.next()
        if character == "(":
            return self._group(flags, depth)
        if character == "[":
            return _of_case(self._class(), flags)
        if character == ".":
            return Characters(((0, LAST),) if flags.dot_all else negated(_NEWLINE))
        if character in "^$":
            return Edge.END if character == "$" else Edge.BEGIN
        if character in "*+?":
            raise RegexError(f"a '{character}' behind nothing that can be repeated")
        if character == "\\":
            return self._escape(flags)
        return self._literal(character, flags)

    @staticmethod
    def _literal(character: str, flags: _Flags) -> Tree:
        return _of_case(((ord(character), ord(character)),), flags)

    def _group(self, flags: _Flags, depth: int) -> Tree:
        if self.take("?P<") or (self.peek("?<") and not self.peek("?<=") and not self.peek("?<!") and self.take("?<")):
            end = self.pattern.find(">", self.place)
            if end < 0:
                raise RegexError("a name of a group without '>'")
            self.place = end + 1
        elif self.take("?"):
            start = self.place
            while self.place < len(self.pattern) and self.pattern[self.place] in "imsU-":
                self.place += 1
            text = self.pattern[start : self.place]
            if not self.take(":"):
                kind = "look-around" if self.pattern[start : start + 1] in ("=", "!", "<") else "another kind of group"
                raise RegexError(f"{kind}, '(?{self.pattern[start : start + 2]}', which is not supported")
            flags = _with_flags(flags, text)
        tree, _ = self.alternatives(flags, depth + 1)
        if not self.take(")"):
            raise RegexError("a '(' without ')'")
        return tree

    def _repeated(self, tree: Tree) -> Tree:
        """A tree with the repetitions behind it; a ``?`` behind these changes what is found, not whether."""
        while self.place < len(self.pattern):
            if self.take("*"):
                least, most = 0, None
            elif self.take("+"):
                least, most = 1, None
            elif self.take("?"):
                least, most = 0, 1
            elif self.peek("{") and (counts := self._counts()) is not None:
                least, most = counts
            else:
                break
            self.take("?")
            tree = Repeat(tree, least, most)
        return tree

    def _counts(self) -> tuple[int, int | None] | None:
        """``{n}``, ``{n,}`` or ``{n,m}``; any other brace is a character."""
        end = self.pattern.find("}", self.place)
        least, comma, most = self.pattern[self.place + 1 : max(end, 0)].partition(",")
        if end < 0 or not least.isdecimal() or not (most.isdecimal() or not most):
            return None
        self.place = end + 1
        low, high = int(least), int(most) if most else None if comma else int(least)
        if low > MAX_REPEATS or (high is not None and (high > MAX_REPEATS or high < low)):
            raise RegexError(f"a repetition {{{least}{comma}{most}}}, which is not from 0 to {MAX_REPEATS}")
        return low, high

    def _escape(self, flags: _Flags) -> Tree:
        for character, edge in _EDGES.items():
            if self.take(character):
                return edge
        return _of_case(self._escaped(), flags)

    def _escaped(self) -> Ranges:
        """The characters that an escape stands for, in a class or outside."""
        character = self.next()
        if character in _CLASSES:
            return _CLASSES[character]
        if character in "pP":
            return self._category(character == "P")
        if character in _CONTROLS:
            code = _CONTROLS[character]
        elif character == "x":
            code = self._hexadecimal()
        elif character in "01234567":
            code = self._octal(character)
        elif character.isalnum() and character.isascii():
            raise RegexError(f"'\\{character}', which is not supported")
        else:
            code = ord(character)
        return ((code, code),)

    def _octal(self, first: str) -> int:
        digits = first
        while len(digits) < 3 and self.place < len(self.pattern) and self.pattern[self.place] in "01234567":
            digits += self.next()
        if first != "0" and len(digits) < 3:
            raise RegexError(f"a back-reference, '\\{first}', which is not supported")
        return int(digits, 8)

    def _hexadecimal(self) -> int:
        if self.take("{"):
            end = self.pattern.find("}", self.place)
            digits = self.pattern[self.place : max(end, 0)]
            self.place = end + 1
        else:
            digits = self.next() + self.next()
        if not digits or len(digits) > 8 or not set(digits) <= set("0123456789abcdefABCDEF") or int(digits, 16) > LAST:
            raise RegexError(f"'\\x{digits}', which is no character")
        return int(digits, 16)

    def _category(self, negate: bool) -> Ranges:
        if self.take("{"):
            end = self.pattern.find("}", self.place)
            name = self.pattern[self.place : max(end, 0)]
            self.place = end + 1
        else:
            name = self.next()
        negate ^= name.startswith("^")
        ranges = of_category(name.removeprefix("^"))
        if ranges is None:
            raise RegexError(f"'\\p{{{name}}}', which is no general category of Unicode")
        return negated(ranges) if negate else ranges

    def _class(self) -> Ranges:
        """The characters of ``[...]``."""
        negate = self.take("^")
        found: list[tuple[int, int]] = []
        first = True
        while first or not self.peek("]"):
            first = False
            if self.take("[:"):
                found += self._posix()
                continue
            low = self._member()
            if self.peek("-") and not self.peek("-]"):
                self.take("-")
                high = self._member()
                if len(low) != 1 or len(high) != 1 or low[0][0] != low[0][1] or high[0][0] < low[0][0]:
                    raise RegexError("a range of characters that is none")
                found.append((low[0][0], high[0][1]))
            else:
                found += low
        self.take("]")
        ranges = normal(found)
        return negated(ranges) if negate else ranges

    def _member(self) -> Ranges:
        character = self.next()
        return self._escaped() if character == "\\" else ((ord(character), ord(character)),)

    def _posix(self) -> Ranges:
        end = self.pattern.find(":]", self.place)
        name = self.pattern[self.place : max(end, 0)]
        ranges = _POSIX.get(name.removeprefix("^"))
        if end < 0 or ranges is None:
            raise RegexError(f"a class [:{name}:], which does not exist")
        self.place = end + 2
        return negated(ranges) if name.startswith("^") else ranges


def _of_case(ranges: Ranges, flags: _Flags) -> Characters:
    return Characters(without_case(ranges) if flags.ignore_case else ranges)


def _with_flags(flags: _Flags, text: str) -> _Flags:
    on, _, off = text.partition("-")
    if "m" in on:
        raise RegexError("the flag m (lines), which is not supported")
    case = ("i" in on) or (flags.ignore_case and "i" not in off)
    return replace(flags, ignore_case=case, dot_all=("s" in on) or (flags.dot_all and "s" not in off))
