"""Text from a model, which may be anything, as it can be shown."""

from __future__ import annotations

import json
import re
import unicodedata

MOST = 200
"""Characters of a name that are shown where nobody has to type it."""

_SUSPECT = re.compile(r"[^\x20-\x7e\n\u00a0-\u05ff]")


def printable(text: str) -> str:
    """``text`` with its control characters (but for line feeds) as escapes, and those that turn the direction of what
    follows, or are invisible: a name does nothing to a terminal, and looks like what it is. Escapes are JSON's."""
    return _SUSPECT.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    char = match.group()
    if unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return char
    return json.dumps(char)[1:-1]


def in_short(text: str, most: int = MOST) -> str:
    """``text`` with its middle left out where it is very long."""
    if len(text) <= most:
        return text
    end = most // 2
    return f"{text[: most - end - 2]}..{text[len(text) - end :]}"
