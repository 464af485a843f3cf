"""Tables as lines of text that fit a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from enum import Enum

from ..record import record
from ..report.text import shortened

_SPACE = "  "
_LEAST_NAME = 24
"""Characters to which a column of names shrinks; where that does not suffice, names get a line of their own."""
_LEAST_PROSE = 12


class Kind(Enum):
    """What a column holds. Only names lose anything on a narrow terminal, and stay different then."""

    TEXT = ""
    NUMBER = "#"
    NAME = "@"
    PROSE = "~"


@record
class Column:
    """Numbers are aligned to the right, and prose is broken into lines between words."""

    title: str
    kind: Kind = Kind.TEXT


def columns(*titles: str) -> list[Column]:
    """Columns by title; what it begins with says what the column holds: ``#`` numbers, ``@`` names, ``~`` prose."""
    kinds = {kind.value: kind for kind in Kind if kind.value}
    return [Column(title[1:], kinds[title[0]]) if title[:1] in kinds else Column(title) for title in titles]


def table_lines(head: Sequence[Column], rows: Sequence[Sequence[str]], limit: int | None) -> list[str]:
    """The table with its titles, in lines of ``limit`` characters, or as wide as it is.

    Where numbers and names do not fit side by side, the names of a row stand in a line above it.
    """
    named = len(head) > 2 and any(column.kind is Kind.NAME for column in head)
    if limit is not None and named and _total(_least_widths(head, rows)) > limit:
        return _above(head, rows, limit)
    return _side_by_side(head, rows, limit)


def _side_by_side(head: Sequence[Column], rows: Sequence[Sequence[str]], limit: int | None) -> list[str]:
    widths = _widths(head, rows)
    if limit is not None:
        _shrink(widths, _least_widths(head, rows), limit)
    cells = _transposed([_fitted(column, [row[i] for row in rows], widths[i]) for i, column in enumerate(head)])
    widths = _widths(head, cells)
    titles = [column.title for column in head]
    return [
        line
        for row in (titles, ["-" * width for width in widths], *cells)
        for line in _lines(head, row, widths)
    ]  # fmt: skip


def _above(head: Sequence[Column], rows: Sequence[Sequence[str]], limit: int) -> list[str]:
    """Two lines for each row: its number, where that is the first column, with its names, and the rest."""
    numbered = head[0].kind is not Kind.NAME and len(head[0].title) <= 1
    names = [i for i, column in enumerate(head) if column.kind is Kind.NAME]
    upper = [0, *names] if numbered else names
    lower = [i for i in range(len(head)) if i not in upper]
    pad = " " * (_widths(head, rows)[0] + len(_SPACE)) if numbered else _SPACE
    first = _part(head, rows, upper, limit)
    second = [pad + line for line in _part(head, rows, lower, limit - len(pad))]
    lines = [line for pair in zip(first, second) for line in pair]
    return [lines[0], lines[1], lines[3], *lines[4:]]


def _part(head: Sequence[Column], rows: Sequence[Sequence[str]], chosen: Sequence[int], limit: int) -> list[str]:
    """Some columns of the table, with one line for the titles, for the rule and for each row: prose is not broken."""
    kept = [Column(head[i].title) if head[i].kind is Kind.PROSE else head[i] for i in chosen]
    return _side_by_side(kept, [[row[i] for i in chosen] for row in rows], limit)


def _widths(head: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[int]:
    return [
        max(len(line) for cell in (column.title, *(row[i] for row in rows)) for line in cell.split("\n"))
        for i, column in enumerate(head)
    ]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_SPACE) * (len(widths) - 1)


def _least_widths(head: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[int]:
    widths = _widths(head, rows)
    return [_least(column, [row[i] for row in rows], widths[i]) for i, column in enumerate(head)]


def _least(column: Column, cells: Sequence[str], width: int) -> int:
    """How far a column may shrink."""
    if column.kind is Kind.NAME:
        return min(width, max(_LEAST_NAME, *map(len, shortened(cells, _LEAST_NAME)), len(column.title)))
    if column.kind is Kind.PROSE:
        words = [word for cell in cells for word in cell.split()]
        return min(width, max(_LEAST_PROSE, *map(len, words), len(column.title)))
    return width


def _shrink(widths: list[int], least: Sequence[int], limit: int) -> None:
    """Makes the widest columns smaller that can be, until a line has ``limit`` characters."""
    while _total(widths) > limit:
        movable = [i for i, width in enumerate(widths) if width > least[i]]
        if not movable:
            return
        widths[max(movable, key=widths.__getitem__)] -= 1


def _fitted(column: Column, cells: Sequence[str], width: int) -> list[str]:
    """Names as long as the column is wide; prose with line breaks."""
    if column.kind is Kind.NAME:
        return shortened(cells, width)
    if column.kind is Kind.PROSE:
        return ["\n".join(textwrap.wrap(c, width, break_long_words=False, break_on_hyphens=False)) for c in cells]
    return list(cells)


def _lines(head: Sequence[Column], row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """A row, whose cells of prose may have several lines."""
    parts = [cell.split("\n") for cell in row]
    for number in range(max(map(len, parts), default=0)):
        cells = [part[number] if number < len(part) else "" for part in parts]
        yield _SPACE.join(
            cell.rjust(width) if column.kind is Kind.NUMBER else cell.ljust(width)
            for cell, width, column in zip(cells, widths, head)
        ).rstrip()


def _transposed(parts: Sequence[Sequence[str]]) -> list[list[str]]:
    return [list(row) for row in zip(*parts)]
