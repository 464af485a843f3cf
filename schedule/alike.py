"""Loops of one node taken for another that is like it: layers of the same shapes with other weights."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ir.loops import Block, Buffer
from ..record import record

Taken = tuple[tuple[str, int], ...]


@record
class Nest:
    """Loops that were made, the names that were ``taken`` behind that, and the memory that they work in."""

    block: Block
    taken: Taken
    scratch: tuple[Buffer, ...]


@dataclass
class Alike:
    """What was made for one machine so far, and the ``structure`` of the node that is next: what its loops depend on
    but for the values of constants."""

    structure: object = None
    nests: dict[object, Nest] = field(default_factory=dict)
