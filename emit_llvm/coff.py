"""The structures of COFF object files that ccml reads, symbols and sections ("PE Format", 3 to 5), and what it writes
of import libraries."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

MACHINES = {0x8664, 0xAA64}
"""x64 and Arm64, the first word of an object."""

_HEADER, _SECTION, _SYMBOL = struct.Struct("<HHIIIHH"), struct.Struct("<8sIIIIIIHHI"), struct.Struct("<8sIhHBB")
_IMPORT, _CODE_BY_NAME = struct.Struct("<HHHHIIHH"), 1 << 2
_IMPORTED = b"\0\0\xff\xff"
_UNDEFINED = 0
_EXTERNAL, _WEAK_EXTERNAL = 2, 105
_CODE, _INFO, _REMOVE = 0x20, 0x200, 0x800


def is_coff(image: bytes) -> bool:
    """Whether an object is COFF, for a processor that ccml compiles for, or stands for one in an import library."""
    whole = len(image) >= _HEADER.size and int.from_bytes(image[:2], "little") in MACHINES
    return whole or image.startswith(_IMPORTED)


def symbols(image: bytes) -> Iterator[tuple[str, bool, bool]]:
    """(name, whether it is local, whether it is defined) of every symbol, in their order. What stands for an imported
    function defines it, and the place of its address."""
    if image.startswith(_IMPORTED):
        name = image[_IMPORT.size : image.index(b"\0", _IMPORT.size)].decode()
        yield from ((name, False, True), (f"__imp_{name}", False, True))
        return
    _, _, _, start, count, _, _ = _HEADER.unpack_from(image)
    number = 0
    while number < count:
        raw, _, section, _, kind, more = _SYMBOL.unpack_from(image, start + number * _SYMBOL.size)
        yield _symbol_name(image, raw), kind not in (_EXTERNAL, _WEAK_EXTERNAL), section != _UNDEFINED
        number += 1 + more


def allocated(image: bytes) -> Iterator[tuple[str, int, bool]]:
    """(name, bytes, whether it is code) of every section that is loaded, ``.text.kws_run`` for ``.text$kws_run``."""
    _, count, _, _, _, optional, _ = _HEADER.unpack_from(image)
    for number in range(count):
        place = _HEADER.size + optional + number * _SECTION.size
        raw, _, _, size, _, _, _, _, _, flags = _SECTION.unpack_from(image, place)
        if not flags & (_INFO | _REMOVE):
            yield _section_name(image, raw).replace("$", ".", 1), size, bool(flags & _CODE)


def import_objects(library: str, functions: Sequence[str], like: bytes) -> list[tuple[str, bytes]]:
    """The members of an import library by which a linker knows that ``functions`` are in the DLL ``library``, where
    they are found by their names ("PE Format", 7 and 8): (file name, bytes) each. They are for the processor of
    the object ``like``."""
    found = []
    for function in functions:
        names = function.encode() + b"\0" + library.encode() + b"\0"
        head = _IMPORT.pack(0, 0xFFFF, 0, int.from_bytes(like[:2], "little"), 0, len(names), 0, _CODE_BY_NAME)
        found.append((f"{function}.obj", head + names))
    return found


def _strings(image: bytes) -> int:
    """Where the table of strings begins: behind the symbols."""
    _, _, _, start, count, _, _ = _HEADER.unpack_from(image)
    return int(start + count * _SYMBOL.size)


def _long_name(image: bytes, offset: int) -> str:
    begin = _strings(image) + offset
    return image[begin : image.index(b"\0", begin)].decode()


def _symbol_name(image: bytes, raw: bytes) -> str:
    if raw[:4] == bytes(4):
        return _long_name(image, int.from_bytes(raw[4:], "little"))
    return raw.rstrip(b"\0").decode()


def _section_name(image: bytes, raw: bytes) -> str:
    name = raw.rstrip(b"\0").decode()
    return _long_name(image, int(name[1:])) if name.startswith("/") else name
