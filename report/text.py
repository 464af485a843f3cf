"""How names are shown where there is little room."""

from __future__ import annotations


def shortened(name: str, limit: int = 48) -> str:
    """``name`` with its middle left out where it is long: the beginning and the end tell most."""
    if len(name) <= limit:
        return name
    end = (limit - 2) // 2
    return f"{name[: limit - 2 - end]}..{name[len(name) - end :]}"
