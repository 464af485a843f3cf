"""Attributes of graph operators: what the rows of the operator table say of them, and access by type.

A row has an :class:`Attribute` for each name. The verifier refuses nodes whose attributes break that (G12), so that
what reads them by the functions at the end of this file need not look again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TypeVar

from ..ir.graph import AttrValue, Graph
from ..ir.types import DType
from ..record import record

Attrs = Mapping[str, AttrValue]
T = TypeVar("T")


class AttrKind(Enum):
    """The types of attributes; ``NUMBER`` is an int or a float, as the operand's elements are."""

    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    NUMBER = "number"
    TEXT = "text"
    DTYPE = "element type"
    INTS = "ints"
    FLOATS = "floats"
    TEXTS = "texts"
    GRAPH = "graph"


@record
class Attribute:
    """``choices`` are the texts that are allowed, ``least`` bounds a number or all of several. One that is not
    ``required`` may be absent; the row's summary or the code that reads it says what that means."""

    kind: AttrKind
    choices: tuple[str, ...] = ()
    least: int | None = None
    required: bool = True

    def accepts(self, value: AttrValue) -> bool:
        if not _FITS[self.kind](value):
            return False
        items = value if isinstance(value, tuple) else (value,)
        if self.choices:
            return all(item in self.choices for item in items)
        return self.least is None or all(item >= self.least for item in items)  # type: ignore[operator]

    def __str__(self) -> str:
        text = " | ".join(self.choices) or self.kind.value
        text += "" if self.least is None else f" >= {self.least}"
        return text if self.required else f"{text}, optional"


def _all(kind: type) -> Callable[[AttrValue], bool]:
    return lambda value: isinstance(value, tuple) and all(type(item) is kind for item in value)


_FITS: dict[AttrKind, Callable[[AttrValue], bool]] = {
    AttrKind.BOOL: lambda value: type(value) is bool,
    AttrKind.INT: lambda value: type(value) is int,
    AttrKind.FLOAT: lambda value: type(value) is float,
    AttrKind.NUMBER: lambda value: type(value) in (int, float),
    AttrKind.TEXT: lambda value: type(value) is str,
    AttrKind.DTYPE: lambda value: type(value) is DType,
    AttrKind.INTS: _all(int),
    AttrKind.FLOATS: _all(float),
    AttrKind.TEXTS: _all(str),
    AttrKind.GRAPH: lambda value: type(value) is Graph,
}

Schema = Mapping[str, Attribute]

BOOL, INT, FLOAT, NUMBER = (Attribute(kind) for kind in (AttrKind.BOOL, AttrKind.INT, AttrKind.FLOAT, AttrKind.NUMBER))
DTYPE, GRAPH = Attribute(AttrKind.DTYPE), Attribute(AttrKind.GRAPH)
TEXT = Attribute(AttrKind.TEXT)
INTS, FLOATS, TEXTS = Attribute(AttrKind.INTS), Attribute(AttrKind.FLOATS), Attribute(AttrKind.TEXTS)
COUNT, AXIS = Attribute(AttrKind.INT, least=1), Attribute(AttrKind.INT, least=0)
COUNTS = Attribute(AttrKind.INTS, least=1)
AXES = EXTENTS = Attribute(AttrKind.INTS, least=0)
OPTIONAL_COUNT = Attribute(AttrKind.INT, least=1, required=False)
OPTIONAL_BOOL = Attribute(AttrKind.BOOL, required=False)
OPTIONAL_INT, OPTIONAL_FLOAT = Attribute(AttrKind.INT, required=False), Attribute(AttrKind.FLOAT, required=False)


def one_of(*choices: str, required: bool = True) -> Attribute:
    return Attribute(AttrKind.TEXT, choices, required=required)


def complaint(schema: Schema, attrs: Attrs) -> str | None:
    """What breaks ``schema``, if anything."""
    for name in attrs:
        if name not in schema:
            return f"there is no attribute {name!r}"
    for name, attribute in schema.items():
        if name not in attrs:
            if attribute.required:
                return f"the attribute {name!r} ({attribute}) is missing"
        elif not attribute.accepts(attrs[name]):
            return f"the attribute {name!r} is {attrs[name]!r}, expected {attribute}"
    return None


# ---------------------------------------------------------------- access


def _typed(attrs: Attrs, name: str, kind: type[T]) -> T:
    value = attrs[name]
    assert isinstance(value, kind), name
    return value


def flag(attrs: Attrs, name: str) -> bool:
    return _typed(attrs, name, bool)


def integer(attrs: Attrs, name: str) -> int:
    return _typed(attrs, name, int)


def number(attrs: Attrs, name: str) -> float:
    """An attribute that is a float, or an int (exact however large)."""
    value = attrs[name]
    assert isinstance(value, (int, float)), name
    return value


def text(attrs: Attrs, name: str) -> str:
    return _typed(attrs, name, str)


def element_type(attrs: Attrs, name: str) -> DType:
    return _typed(attrs, name, DType)


def ints(attrs: Attrs, name: str) -> tuple[int, ...]:
    return _typed(attrs, name, tuple)


def floats(attrs: Attrs, name: str) -> tuple[float, ...]:
    return _typed(attrs, name, tuple)


def texts(attrs: Attrs, name: str) -> tuple[str, ...]:
    return _typed(attrs, name, tuple)


def subgraph(attrs: Attrs, name: str) -> Graph:
    return _typed(attrs, name, Graph)
