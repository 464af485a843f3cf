"""The memory map over time, as text."""

from __future__ import annotations

from .schema import Placement, PoolTotals, Report

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LEAST = 8
"""Columns of a pool."""


def memory_chart(report: Report, width: int = 64) -> list[str]:
    """A line for each layer, memory from left to right, pool by pool; a letter is a tensor, a point is free memory.

    Tensors that are smaller than a column still get one. Letters repeat after 52 tensors.
    """
    pools = [(pool, _columns(pool, report, width)) for pool in report.totals.pools if pool.ram_bytes]
    if not pools:
        return ["the model needs no arena"]
    letters = {place.tensor: _LETTERS[number % len(_LETTERS)] for number, place in enumerate(_by_time(report))}
    digits = len(str(len(report.layers)))
    lines = []
    if len(pools) > 1:
        lines.append(" " * digits + "  " + " ".join(pool.name[:columns].ljust(columns) for pool, columns in pools))
    for layer in report.layers:
        live = [place for place in report.memory if place.first <= layer.index <= place.last]
        line = "|".join(_row(live, letters, pool, columns) for pool, columns in pools)
        lines.append(f"{layer.index:>{digits}} |{line}| {layer.live_bytes:>9,}")
    return lines


def legend(report: Report) -> list[tuple[str, Placement]]:
    """The letter of each tensor of the chart, in the order in which they appear."""
    return [(_LETTERS[number % len(_LETTERS)], place) for number, place in enumerate(_by_time(report))]


def _by_time(report: Report) -> list[Placement]:
    return sorted(report.memory, key=lambda place: (place.first, place.offset))


def _columns(pool: PoolTotals, report: Report, width: int) -> int:
    """Of the chart's ``width``, at least enough to see something."""
    return max(pool.ram_bytes * width // report.totals.ram_bytes, min(_LEAST, width))


def _row(live: list[Placement], letters: dict[str, str], pool: PoolTotals, width: int) -> str:
    cells = ["."] * width
    for place in live:
        if place.pool != pool.name:
            continue
        first = place.offset * width // pool.ram_bytes
        last = max(first + 1, -(-(place.offset + place.bytes) * width // pool.ram_bytes))
        for cell in range(first, min(last, width)):
            cells[cell] = letters[place.tensor] if cells[cell] == "." else "*"
    return "".join(cells)
