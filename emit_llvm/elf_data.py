"""Writes a relocatable ELF object that holds nothing but read-only data.

Large weights would cost LLVM seconds and gigabytes as text; here they are copied once.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

import numpy as np

from ..ir.by_content import ByContent
from ..record import record
from ..targets import Elf
from . import elf
from .elf import Layout


@record
class DataSymbol:
    """``data`` under a hidden global ``name``, aligned to ``align`` bytes (a power of two)."""

    name: str
    data: bytes | memoryview
    align: int


def data_object(abi: Elf, pointer_bits: int, section: str, symbols: Iterable[DataSymbol]) -> bytes:
    """An object for the machine of ``abi`` with ``symbols`` one after the other in the section ``section``, equal data
    once."""
    layout = elf.ELF64 if pointer_bits == 64 else elf.ELF32
    parts, places = _pack(symbols)
    strings = _Strings()
    table = [layout.pack_symbol(0, 0, 0, 0, 0, 0)]
    info = (elf.STB_GLOBAL << 4) | elf.STT_OBJECT
    for symbol, offset in places:
        name = strings.add(symbol.name)
        table.append(layout.pack_symbol(name, offset, len(symbol.data), info, elf.STV_HIDDEN, 1))
    align = max((symbol.align for symbol, _ in places), default=1)
    sections = (
        _Section(section, elf.SHT_PROGBITS, parts, align, flags=elf.SHF_ALLOC),
        _Section(
            ".symtab", elf.SHT_SYMTAB, tuple(table), pointer_bits // 8, link=3, info=1, entry=layout.symbol_size
        ),
        _Section(".strtab", elf.SHT_STRTAB, strings.parts),
        _Section(".note.GNU-stack", elf.SHT_PROGBITS, ()),
    )
    return _object(layout, abi, sections)


class _Strings:
    """A string table; offset 0 is the empty string."""

    def __init__(self) -> None:
        self._parts = [b"\0"]
        self._size = 1

    def add(self, text: str) -> int:
        offset = self._size
        self._parts.append(text.encode() + b"\0")
        self._size += len(self._parts[-1])
        return offset

    @property
    def parts(self) -> tuple[bytes, ...]:
        return tuple(self._parts)


@record
class _Section:
    """``parts``: its bytes, in pieces."""

    name: str
    type: int
    parts: tuple[bytes | memoryview, ...]
    align: int = 1
    flags: int = 0
    link: int = 0
    info: int = 0
    entry: int = 0

    @property
    def size(self) -> int:
        return sum(map(len, self.parts))


def _pack(symbols: Iterable[DataSymbol]) -> tuple[tuple[bytes | memoryview, ...], list[tuple[DataSymbol, int]]]:
    """The bytes of all symbols, each at its alignment, and their offsets."""
    parts: list[bytes | memoryview] = []
    places: list[tuple[DataSymbol, int]] = []
    known: ByContent[int] = ByContent()
    end = 0
    for symbol in symbols:
        content = np.frombuffer(symbol.data, np.uint8)
        offset = known.get(content)
        if offset is None or offset % symbol.align:
            offset = end + -end % symbol.align
            parts += [bytes(offset - end), symbol.data]
            known.set(content, offset)
            end = offset + len(symbol.data)
        places.append((symbol, offset))
    return tuple(parts), places


def _object(layout: Layout, abi: Elf, sections: tuple[_Section, ...]) -> bytes:
    """ELF header, the sections' bytes, and the section headers (the null section first, the names last)."""
    names = _Strings()
    offsets_of_names = [names.add(section.name) for section in sections]
    own_name = names.add(".shstrtab")
    sections = (*sections, _Section(".shstrtab", elf.SHT_STRTAB, names.parts))
    headers = [bytes(layout.section_size)]
    parts, end = list[bytes | memoryview](), layout.header_size
    for section, name in zip(sections, (*offsets_of_names, own_name)):
        padding = -end % section.align
        parts += [bytes(padding), *section.parts]
        end += padding
        headers.append(
            struct.pack(
                layout.section, name, section.type, section.flags, 0, end, section.size,
                section.link, section.info, section.align, section.entry,
            )
        )  # fmt: skip
        end += section.size
    padding = -end % 8
    header = struct.pack(
        layout.header, elf.ET_REL, abi.machine, 1, 0, 0, end + padding, abi.flags,
        layout.header_size, 0, 0, layout.section_size, len(headers), len(headers) - 1,
    )  # fmt: skip
    magic = elf.MAGIC + bytes((layout.bits // 32, 1, 1)) + bytes(9)
    return b"".join((magic, header, *parts, bytes(padding), *headers))
