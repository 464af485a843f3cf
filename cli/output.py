"""What commands print on stdout: JSON, or tables that are drawn on a terminal and plain elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import click


@dataclass(frozen=True)
class Column:
    """``number``: aligned to the right."""

    title: str
    number: bool = False


def columns(*titles: str) -> list[Column]:
    """Columns by title; one that begins with ``#`` holds numbers."""
    return [Column(title.removeprefix("#"), title.startswith("#")) for title in titles]


def print_json(content: object) -> None:
    from ..report.schema import json_text

    click.echo(json_text(content), nl=False)


def print_table(title: str, head: Sequence[Column], rows: Sequence[Sequence[object]]) -> None:
    """Cells are printed as they are, integers with separators."""
    cells = [[_cell(value) for value in row] for row in rows]
    if sys.stdout.isatty():
        _print_drawn(title, head, cells)
        return
    widths = [max(map(len, (column.title, *(row[i] for row in cells)))) for i, column in enumerate(head)]
    click.echo(f"{title}\n" if title else "", nl=False)
    for row in ([column.title for column in head], ["-" * width for width in widths], *cells):
        line = "  ".join(
            cell.rjust(width) if column.number else cell.ljust(width) for cell, width, column in zip(row, widths, head)
        )
        click.echo(line.rstrip())


def print_facts(facts: Sequence[tuple[str, object]]) -> None:
    """One ``name  value`` a line."""
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        click.echo(f"{name:<{width}}  {_cell(value)}")


def kibibytes(count: int | None) -> str:
    """``12,345 bytes (12.1 KiB)``."""
    if count is None:
        return "not known"
    return f"{count:,} bytes" if count < 1024 else f"{count:,} bytes ({count / 1024:,.1f} KiB)"


def shape_text(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) if shape else "scalar"


def shortened(name: str, limit: int = 48) -> str:
    """``name`` with its middle left out where it is long: the beginning and the end tell most."""
    if len(name) <= limit:
        return name
    return f"{name[: limit // 2 - 2]}...{name[-(limit - limit // 2 - 1) :]}"


@contextmanager
def progress(text: str) -> Iterator[None]:
    """A spinner on stderr while something takes its time; nothing where stderr is no terminal."""
    from .options import settings

    if not sys.stderr.isatty() or settings().verbosity:
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _print_drawn(title: str, head: Sequence[Column], cells: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD)
    for column in head:
        table.add_column(column.title, justify="right" if column.number else "left", overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    Console().print(table)
