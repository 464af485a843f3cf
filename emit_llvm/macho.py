"""The structures of 64-bit Mach-O object files that ccml reads: symbols and sections (mach-o/loader.h, nlist.h)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

MAGIC = b"\xcf\xfa\xed\xfe"

_HEADER_BYTES = 32
_SEGMENT, _SYMBOL_TABLE = 0x19, 0x2
_SECTION, _SYMBOL = struct.Struct("<16s16sQQIIIIIIII"), struct.Struct("<IBBHQ")
_SECTIONS_AT = 72
_DEBUGGING, _PRIVATE_EXTERNAL, _TYPE, _EXTERNAL = 0xE0, 0x10, 0x0E, 0x01
_CODE = 0x80000400


def symbols(image: bytes) -> Iterator[tuple[str, bool, bool]]:
    """(name, whether it is local, whether it is defined) of every symbol in their order, named as C does: without the
    underscore in front. Labels of the assembler are left out."""
    for name, kind, section, _ in _symbols(image):
        yield name, not kind & _EXTERNAL, section != 0 or bool(kind & _TYPE)


def allocated(image: bytes) -> Iterator[tuple[str, int, bool]]:
    """(name, bytes, whether it is code) of what is loaded: ``.text.kws_run`` for each function, from its symbol to the
    next one, and the sections of data."""
    places = sorted((value, name, section) for name, _, section, value in _symbols(image) if section)
    for number, (raw, _, start, size, _, _, _, _, flags, _, _, _) in enumerate(_sections(image), 1):
        if not flags & _CODE:
            yield raw.rstrip(b"\0").decode(), size, False
            continue
        inside = [(value, name) for value, name, section in places if section == number]
        ends = [*(value for value, _ in inside[1:]), start + size]
        yield from ((f".text.{name}", end - value, True) for (value, name), end in zip(inside, ends))


def _commands(image: bytes) -> Iterator[tuple[int, int]]:
    """(kind, place) of the load commands."""
    count, place = struct.unpack_from("<I", image, 16)[0], _HEADER_BYTES
    for _ in range(count):
        kind, size = struct.unpack_from("<II", image, place)
        yield kind, place
        place += size


def _sections(image: bytes) -> Iterator[tuple[bytes, bytes, int, int, int, int, int, int, int, int, int, int]]:
    for kind, place in _commands(image):
        if kind == _SEGMENT:
            (count,) = struct.unpack_from("<I", image, place + 64)
            for number in range(count):
                yield _SECTION.unpack_from(image, place + _SECTIONS_AT + number * _SECTION.size)


def _symbols(image: bytes) -> Iterator[tuple[str, int, int, int]]:
    """(name, kind, section, value) of the symbols of C."""
    for kind, place in _commands(image):
        if kind != _SYMBOL_TABLE:
            continue
        start, count, strings, _ = struct.unpack_from("<IIII", image, place + 8)
        for number in range(count):
            name_at, flags, section, _, value = _SYMBOL.unpack_from(image, start + number * _SYMBOL.size)
            begin = strings + name_at
            name = image[begin : image.index(b"\0", begin)].decode()
            if name.startswith("_") and not flags & _DEBUGGING:
                yield name[1:], flags, section, value
