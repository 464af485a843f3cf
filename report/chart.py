"""The memory map over time, as text."""

from __future__ import annotations

from .schema import Placement, Report

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def memory_chart(report: Report, width: int = 64) -> list[str]:
    """A line for each layer, the arena from left to right; a letter is a tensor, a point is free memory.

    Tensors that are smaller than a column still get one. Letters repeat after 52 tensors.
    """
    arena = report.totals.ram_bytes
    if not arena:
        return ["the model needs no arena"]
    letters = {place.tensor: _LETTERS[number % len(_LETTERS)] for number, place in enumerate(_by_time(report))}
    digits = len(str(len(report.layers)))
    lines = []
    for layer in report.layers:
        live = [place for place in report.memory if place.first <= layer.index <= place.last]
        line = _row(live, letters, arena, width)
        lines.append(f"{layer.index:>{digits}} |{line}| {layer.live_bytes:>9,}")
    return lines


def legend(report: Report) -> list[tuple[str, Placement]]:
    """The letter of each tensor of the chart, in the order in which they appear."""
    return [(_LETTERS[number % len(_LETTERS)], place) for number, place in enumerate(_by_time(report))]


def _by_time(report: Report) -> list[Placement]:
    return sorted(report.memory, key=lambda place: (place.first, place.offset))


def _row(live: list[Placement], letters: dict[str, str], arena: int, width: int) -> str:
    cells = ["."] * width
    for place in live:
        first = place.offset * width // arena
        last = max(first + 1, -(-(place.offset + place.bytes) * width // arena))
        for cell in range(first, min(last, width)):
            cells[cell] = letters[place.tensor] if cells[cell] == "." else "*"
    return "".join(cells)
