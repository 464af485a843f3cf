"""The memory map over time, as text."""

from __future__ import annotations

from itertools import product
from string import ascii_letters, ascii_lowercase, ascii_uppercase

from .schema import Placement, PoolTotals, Report

_LEAST = 8
"""Columns of a pool."""


def memory_chart(report: Report, width: int = 64) -> list[str]:
    """A line for each layer, memory from left to right, pool by pool; a letter is a tensor, a point is free memory.

    Tensors that are smaller than a column still get one. Where there are more tensors than letters, a column takes as
    many characters as a tensor's label has: a capital letter and small ones.
    """
    pools = [(pool, _columns(pool, report, width)) for pool in report.totals.pools if pool.ram_bytes]
    if not pools:
        return ["the model needs no arena"]
    letters = {place.tensor: letter for letter, place in legend(report)}
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
    places = _by_time(report)
    return list(zip(_labels(len(places)), places))


def _labels(count: int) -> list[str]:
    """As many different labels, of equal length: letters, or a capital and small ones: Aa, Ab, ..."""
    if count <= len(ascii_letters):
        return list(ascii_uppercase + ascii_lowercase)[:count]
    small = 1
    while len(ascii_uppercase) * len(ascii_lowercase) ** small < count:
        small += 1
    words = product(ascii_uppercase, *[ascii_lowercase] * small)
    return ["".join(word) for word, _ in zip(words, range(count))]


def _by_time(report: Report) -> list[Placement]:
    return sorted(report.memory, key=lambda place: (place.first, place.offset))


def _columns(pool: PoolTotals, report: Report, width: int) -> int:
    """Of the chart's ``width``, at least enough to see something."""
    return max(pool.ram_bytes * width // report.totals.ram_bytes, min(max(_LEAST, len(pool.name)), width))


def _row(live: list[Placement], letters: dict[str, str], pool: PoolTotals, width: int) -> str:
    letter = len(next(iter(letters.values()), "."))
    count = max(width // letter, 1)
    cells = ["." * letter] * count
    for place in live:
        if place.pool != pool.name:
            continue
        first = place.offset * count // pool.ram_bytes
        last = max(first + 1, -(-(place.offset + place.bytes) * count // pool.ram_bytes))
        for cell in range(first, min(last, count)):
            cells[cell] = letters[place.tensor] if cells[cell][0] == "." else "*" * letter
    return "".join(cells).ljust(width)
