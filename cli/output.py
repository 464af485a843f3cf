"""What commands print on stdout: JSON, tables and facts; and what they are doing, on a terminal."""

from __future__ import annotations

import logging
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ..report.text import shortened

if TYPE_CHECKING:
    from ..report.schema import Totals

_LEAST_WIDTH = 12
"""To which a column of text shrinks on a narrow terminal."""


@dataclass(frozen=True)
class Column:
    """``number``: aligned to the right, and never cut."""

    title: str
    number: bool = False


def columns(*titles: str) -> list[Column]:
    """Columns by title; one that begins with ``#`` holds numbers."""
    return [Column(title.removeprefix("#"), title.startswith("#")) for title in titles]


def print_json(content: object) -> None:
    from ..report.schema import json_text

    click.echo(json_text(content), nl=False)


def print_table(title: str, head: Sequence[Column], rows: Sequence[Sequence[object]]) -> None:
    """Cells are printed as they are, integers with separators; on a terminal they are cut to its width."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, (column.title, *(row[i] for row in cells)))) for i, column in enumerate(head)]
    if sys.stdout.isatty():
        _fit(widths, head, shutil.get_terminal_size().columns)
    if title:
        click.secho(title, bold=True)
    for row in ([column.title for column in head], ["-" * width for width in widths], *cells):
        line = "  ".join(
            cell.rjust(width) if column.number else shortened(cell, width).ljust(width)
            for cell, width, column in zip(row, widths, head)
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


def ram_text(totals: Totals) -> str:
    """What each pool takes."""
    return ", ".join(f"{kibibytes(pool.ram_bytes)} of {pool.name}" for pool in totals.pools)


def cost_facts(totals: Totals) -> list[tuple[str, object]]:
    """What a run takes, where that was predicted."""
    if totals.instructions is None or totals.cycles is None:
        return []
    return [
        ("stack", kibibytes(totals.stack_bytes)),
        ("instructions", f"{totals.instructions:,} executed in a run; about {totals.cycles:,} cycles"),
    ]


def shape_text(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) if shape else "scalar"


@contextmanager
def progress() -> Iterator[None]:
    """Shows the latest step on stderr while something takes its time; nothing where stderr is no terminal."""
    logger = logging.getLogger("ccml")
    level = logger.level
    if not sys.stderr.isatty() or level < logging.WARNING:
        yield
        return
    status = _StatusLine()
    logger.handlers.insert(0, status)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(status)
        status.clear()


class _StatusLine(logging.Handler):
    """One line of the terminal, overwritten by each step, and out of the way of warnings."""

    def emit(self, record: logging.LogRecord) -> None:
        self.clear()
        if record.levelno == logging.INFO:
            text = shortened(f"{record.getMessage()} ...", shutil.get_terminal_size().columns - 1)
            click.echo(text, nl=False, err=True)

    def clear(self) -> None:
        click.echo("\r\x1b[K", nl=False, err=True)


def _fit(widths: list[int], head: Sequence[Column], limit: int) -> None:
    """Makes the widest columns of text smaller until a line has ``limit`` characters."""
    excess = sum(widths) + 2 * (len(widths) - 1) - limit
    for _ in range(excess):
        texts = [i for i, column in enumerate(head) if not column.number and widths[i] > _LEAST_WIDTH]
        if not texts:
            return
        widths[max(texts, key=widths.__getitem__)] -= 1


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
