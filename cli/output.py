"""What commands print on stdout: JSON, tables and facts; and what they are doing, on a terminal."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

import click

from ..printable import MOST, printable
from ..report.text import shortened
from .table import Column, Kind, table_lines
from .verbosity import say, settings

if TYPE_CHECKING:
    from ..errors import CcmlError
    from ..report.schema import Totals


def print_json(content: Mapping[str, object]) -> None:
    """One document with the version of its format, ``schema``: it is raised when a field changes or goes away."""
    from ..report.schema import SCHEMA, json_text

    click.echo(json_text({"schema": SCHEMA, **content}), nl=False)
    settings().answered = True


def print_table(title: str, head: Sequence[Column], rows: Sequence[Sequence[object]]) -> None:
    """Cells are printed as they are, integers with separators; on a terminal the table fits its width."""
    if title:
        click.secho(title, bold=True)
    cells = [[_cell(value) for value in row] for row in rows]
    for place, column in enumerate(head):
        if column.kind is Kind.NAME:
            for row, name in zip(cells, shortened([row[place] for row in cells], MOST)):
                row[place] = name
    for line in table_lines(head, cells, terminal_width()):
        click.echo(line)


def print_facts(facts: Sequence[tuple[str, object]]) -> None:
    """One ``name  value`` a line; on a terminal long values are broken between words."""
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        click.echo(broken(f"{name:<{width}}  {_cell(value)}", width + 2))


def broken(text: str, indent: int = 0, stream: TextIO | None = None) -> str:
    """``text`` in lines that fit the terminal, if ``stream`` (stdout) is one; all but the first are indented."""
    text, limit = printable(text), terminal_width(stream)
    if limit is None or len(text) <= limit or limit <= 2 * indent:
        return text
    lines = textwrap.wrap(
        text, limit, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False,
        drop_whitespace=True, replace_whitespace=False,
    )  # fmt: skip
    return "\n".join(lines)


def terminal_width(stream: TextIO | None = None) -> int | None:
    """The columns of the terminal that ``stream`` (stdout) is, if it is one."""
    return shutil.get_terminal_size().columns if (stream or sys.stdout).isatty() else None


def print_error(error: CcmlError) -> None:
    """On stderr, with its code, the reason and the way out, which is not broken into lines: it may be there to copy."""
    for line in f"error: {error}".split("\n"):
        indent = 2 + len(line) - len(line.lstrip())
        text = line if line.startswith("  hint: ") else broken(line, indent, sys.stderr)
        head = next((head for head in ("error:", "  hint:") if text.startswith(head)), "")
        color = {"error:": "red", "  hint:": "cyan"}.get(head)
        say(click.style(head, fg=color, bold=True) + text[len(head) :] if head else text)


def print_json_error(error: CcmlError) -> None:
    """On stdout, in the place of the result that ``--json`` asked for."""
    from ..report.schema import SCHEMA, json_text

    fields = {
        "code": error.kind.code, "kind": error.kind.name, "exit_code": int(error.kind.exit_code), "where": error.loc,
        "reason": error.reason, "hint": error.hint,
    }  # fmt: skip
    click.echo(json_text({"schema": SCHEMA, "error": fields}), nl=False)


def kibibytes(count: int | None) -> str:
    """``12,345 bytes (12.1 KiB)``."""
    if count is None:
        return "not known"
    return f"{count:,} bytes" if count < 1024 else f"{count:,} bytes ({count / 1024:,.1f} KiB)"


def ram_text(totals: Totals) -> str:
    """What each pool takes."""
    return ", ".join(f"{kibibytes(pool.ram_bytes)} of {pool.name}" for pool in totals.pools)


def state_facts(totals: Totals) -> list[tuple[str, object]]:
    """The memory of states, where there is any."""
    if not totals.state_bytes:
        return []
    return [("state", f"{kibibytes(totals.state_bytes)}, aligned to {totals.state_align}, kept between runs")]


def cost_facts(totals: Totals) -> list[tuple[str, object]]:
    """What a run takes, where that was predicted; and what is not known."""
    if totals.uncounted:
        return [("not counted", f"what {', '.join(totals.uncounted)} computes: MACs, stack and instructions")]
    if totals.instructions is None:
        return []
    return [
        ("stack", kibibytes(totals.stack_bytes)),
        ("instructions", f"{totals.instructions:,} executed in a run{_cycles_text(totals)}"),
    ]


def _cycles_text(totals: Totals) -> str:
    if totals.cycles is None or totals.cycles_low is None or totals.cycles_high is None:
        return ""
    spread = f" ({totals.cycles_low:,} to {totals.cycles_high:,})" if totals.cycles_low < totals.cycles_high else ""
    return f"; about {totals.cycles:,} cycles{spread}"


_ROUTES = {"llvm": "by LLVM", "c": "by GCC"}


def route_facts(totals: Totals) -> list[tuple[str, object]]:
    """What the model takes by each way to machine code, where there are several."""
    if len(totals.routes) < 2:
        return []
    return [
        (_ROUTES[name], f"flash {kibibytes(route.flash_bytes)}, stack {kibibytes(route.stack_bytes)}")
        for name, route in totals.routes.items()
    ]


def shape_text(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) if shape else "scalar"


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else printable(str(value))
