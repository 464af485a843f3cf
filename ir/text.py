"""What both IR texts share: tokens, a cursor with errors that name the line, and the spelling of names and types."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from ..errors import CcmlError, ErrorCode
from .loops import Type
from .types import DType

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r]+|\#.*)
      | (?P<dense>dense<(?:sha256|base64):[^>]*>)
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:[a-z]\w*)?)
      | (?P<name>[A-Za-z_][\w.]*)
      | (?P<op>->|<<|>>|<=|>=|==|!=|[-+*/%&|^<>=()\[\]{},:@])""",
    re.VERBOSE | re.ASCII,
)
_NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)(.*)", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)
_TYPE = re.compile(rf"({'|'.join(dtype.value for dtype in DType)})(?:x([1-9]\d*))?", re.ASCII)


_FOUND = {
    "newline": "the end of the line",
    "indent": "an indentation",
    "dedent": "the end of the block",
    "end": "the end of the text",
}


class Token(NamedTuple):
    """``kind`` is a group of the token pattern, or ``newline``, ``indent``, ``dedent``, ``end``."""

    kind: str
    text: str
    line: int


def syntax_error(line: int, reason: str) -> CcmlError:
    return CcmlError(ErrorCode.IR_SYNTAX, f"line {line}: {reason}")


# ---------------------------------------------------------------- spelling


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def spell_name(name: str, reserved: frozenset[str] = frozenset()) -> str:
    """``name`` itself where it reads as a name, else quoted."""
    plain = _NAME.fullmatch(name) and name not in reserved and not _TYPE.fullmatch(name)
    return name if plain else quoted(name)


def spell_loc(loc: str) -> str:
    """The end of a line that names the ONNX nodes it came from."""
    return f"   @{quoted(loc)}" if loc else ""


def spell_shape(shape: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, shape))}]"


def spell_step(step: int) -> str:
    """How the text of an extent ends that is always a multiple of ``step``."""
    return f" by {step}" if step > 1 else ""


def type_named(text: str) -> Type | None:
    """The type spelled ``text`` (``f32``, ``i8x16``), or ``None``."""
    match = _TYPE.fullmatch(text)
    return Type(DType(match[1]), int(match[2] or 1)) if match else None


# ---------------------------------------------------------------- tokens


def tokenize(text: str, *, layout: bool) -> list[Token]:
    """All tokens of ``text``. With ``layout``, lines and indentation outside brackets become tokens as well."""
    tokens: list[Token] = []
    indents: list[int] = []
    depth = 0
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        found = list(_line_tokens(line, number))
        if not found:
            continue
        if layout and depth == 0:
            tokens.extend(_indentation(indents, len(line) - len(line.lstrip(" ")), number))
        tokens.extend(found)
        depth += sum((token.text in "([{") - (token.text in ")]}") for token in found if token.kind == "op")
        if layout and depth == 0:
            tokens.append(Token("newline", "", number))
    tokens.extend(Token("dedent", "", len(lines)) for _ in indents[1:])
    tokens.append(Token("end", "", len(lines)))
    return tokens


def _line_tokens(line: str, number: int) -> Iterator[Token]:
    position = 0
    while position < len(line):
        match = _TOKEN.match(line, position)
        if match is None:
            raise syntax_error(number, f"expected a name, number, string or operator, found {line[position]!r}")
        if match.lastgroup != "space":
            yield Token(str(match.lastgroup), match[0], number)
        position = match.end()


def _indentation(indents: list[int], width: int, line: int) -> Iterator[Token]:
    """The tokens that lead from the open ``indents`` (changed in place) to a line indented by ``width``."""
    if not indents:
        indents.append(width)
    if width > indents[-1]:
        indents.append(width)
        yield Token("indent", "", line)
    while width < indents[-1] and len(indents) > 1:
        indents.pop()
        yield Token("dedent", "", line)
    if width != indents[-1]:
        raise syntax_error(line, f"expected an indentation of {indents[-1]} spaces, found {width}")


# ---------------------------------------------------------------- reading


class Cursor:
    """A position in a list of tokens, with the readers of what both texts have in common."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self.position = 0

    def peek(self, ahead: int = 0) -> Token:
        return self._tokens[min(self.position + ahead, len(self._tokens) - 1)]

    def next(self) -> Token:
        token = self.peek()
        self.position += 1
        return token

    def fail(self, expected: str) -> NoReturn:
        """Raises the syntax error "expected ..., found ..." at the current token."""
        token = self.peek()
        raise syntax_error(token.line, f"expected {expected}, found {_FOUND.get(token.kind) or token.text}")

    def at(self, text: str, ahead: int = 0) -> bool:
        """Whether the operator or word ``text`` comes next."""
        token = self.peek(ahead)
        return token.text == text and token.kind in ("op", "name")

    def at_kind(self, kind: str) -> bool:
        return self.peek().kind == kind

    def accept(self, text: str) -> bool:
        found = self.at(text)
        self.position += found
        return found

    def expect(self, text: str) -> None:
        if not self.accept(text):
            self.fail(repr(text))

    def expect_kind(self, kind: str, expected: str) -> Token:
        if not self.at_kind(kind):
            self.fail(expected)
        return self.next()

    def name(self, expected: str = "a name") -> str:
        """A plain or a quoted name."""
        if self.at_kind("string"):
            return self.string()
        return self.expect_kind("name", expected).text

    def string(self, expected: str = "a string") -> str:
        token = self.expect_kind("string", expected)
        try:
            return str(json.loads(token.text))
        except ValueError:
            raise syntax_error(token.line, f"expected a string with JSON's escapes, found {token.text}") from None

    def number(self, expected: str = "a number") -> tuple[str, str]:
        """The digits of a number and its suffix."""
        match = _NUMBER.fullmatch(self.expect_kind("number", expected).text)
        assert match is not None
        return match[1], match[2]

    def integer(self, expected: str = "an integer") -> int:
        """A plain integer, perhaps negative."""
        sign = -1 if self.accept("-") else 1
        if not self.at_kind("number") or not self.peek().text.isdigit():
            self.fail(expected)
        return sign * int(self.next().text)

    def float(self, expected: str = "a number") -> float:
        """A number without suffix, ``inf`` or ``nan``, perhaps negative."""
        sign = -1.0 if self.accept("-") else 1.0
        if self.accept("inf"):
            return sign * math.inf
        if self.accept("nan"):
            return math.nan
        digits, suffix = self.number(expected)
        if suffix:
            self.position -= 1
            self.fail(expected)
        return sign * float(digits)

    def type(self) -> Type:
        found = type_named(self.peek().text) if self.at_kind("name") else None
        if found is None:
            self.fail("a type such as f32 or i8x16")
        self.position += 1
        return found

    def shape(self) -> tuple[int, ...]:
        self.expect("[")
        dims: list[int] = []
        while not self.accept("]"):
            dims.append(self.integer("an extent"))
            if not self.at("]"):
                self.expect(",")
        return tuple(dims)

    def loc(self) -> str:
        return self.string("a quoted location") if self.accept("@") else ""
