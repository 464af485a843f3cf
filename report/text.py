"""How names are shown where there is little room."""

from __future__ import annotations

from collections.abc import Sequence

_GAP = ".."
_HEADS = (0, 4, 3, 2)
"""How much of the room the beginning of a name is tried with: none of it, or one part in so many."""


def shortened(names: Sequence[str], limit: int) -> list[str]:
    """``names``, the longer ones with a part left out such that they have ``limit`` characters.

    Names that differ still do: the end is kept, which distinguishes the layers of most models, or a part of the
    beginning as well where that does not suffice. Where neither does, the results are longer than ``limit``.
    """
    wanted, longest, room = len(set(names)), max(map(len, names), default=0), max(limit, len(_GAP) + 1)
    while room < longest:
        for part in _HEADS:
            cut = [_cut(name, room, (room - len(_GAP)) // part if part else 0) for name in names]
            if len(set(cut)) == wanted:
                return cut
        room += room // 4 + 1
    return list(names)


def _cut(name: str, limit: int, head: int) -> str:
    if len(name) <= limit:
        return name
    return f"{name[:head]}{_GAP}{name[len(name) - (limit - len(_GAP) - head) :]}"
