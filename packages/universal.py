"""Universal files: the same library for several processors in one file (mach-o/fat.h)."""

from __future__ import annotations

import struct
from collections.abc import Mapping

PROCESSORS = {"arm64": (0x0100000C, 0), "x86_64": (0x01000007, 3)}
"""Type and subtype of each processor, by the name that Apple's tools have for it (mach/machine.h)."""

_MAGIC = 0xCAFEBABE
_ALIGN = 14
"""Of each part, as a power of two: a page of the largest size."""


def universal(parts: Mapping[str, bytes]) -> bytes:
    """One file of ``parts`` by processor; a single one is the file itself."""
    if len(parts) == 1:
        return next(iter(parts.values()))
    out = struct.pack(">II", _MAGIC, len(parts))
    place, places = 8 + 20 * len(parts), []
    for image in parts.values():
        place += -place % (1 << _ALIGN)
        places.append(place)
        place += len(image)
    for (name, image), start in zip(parts.items(), places, strict=True):
        out += struct.pack(">IIIII", *PROCESSORS[name], start, len(image), _ALIGN)
    for image, start in zip(parts.values(), places, strict=True):
        out = out.ljust(start, b"\0") + image
    return out
