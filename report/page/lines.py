"""Text in lines of a fixed-width font, for pictures, which break no lines themselves."""

from __future__ import annotations

import re
import unicodedata

_PARTS = re.compile(r"[^/;.:_+ -]*[/;.:_+ -]?")
"""A word of a name with the character behind which a line may end."""


def columns_of(text: str) -> int:
    """The columns that ``text`` takes: East Asian wide characters take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def wrapped(text: str, width: int, most: int) -> list[str]:
    """``text`` in at most ``most`` lines of ``width`` columns, broken behind separators where there are any; what does
    not fit is left out, with a mark."""
    lines = [""]
    for part in _PARTS.findall(text):
        if lines[-1] and columns_of(lines[-1] + part.rstrip()) > width:
            lines.append("")
        for char in part:
            if columns_of(lines[-1] + char) > width and char != " ":
                lines.append("")
            lines[-1] += char
        if len(lines) > most:
            return [*(line.strip() for line in lines[: most - 1]), lines[most - 1].strip()[: width - 2] + " …"]
    return [line.strip() for line in lines]
