"""The ELF structures that ccml reads and writes itself: little endian, 32 or 64 bits."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ..record import record
from ..targets import Elf

MAGIC = b"\x7fELF"
ET_REL = 1
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_REL = 1, 2, 3, 4, 9
SHF_ALLOC, SHF_EXECINSTR = 2, 4
STB_LOCAL, STB_GLOBAL = 0, 1
STT_NOTYPE, STT_OBJECT, STT_SECTION = 0, 1, 3
STV_HIDDEN = 2
SHN_UNDEF = 0


@record
class Layout:
    """The struct formats of one ELF class."""

    bits: int
    header: str
    section: str
    symbol: str

    @property
    def header_size(self) -> int:
        return 16 + struct.calcsize(self.header)

    @property
    def section_size(self) -> int:
        return struct.calcsize(self.section)

    @property
    def symbol_size(self) -> int:
        return struct.calcsize(self.symbol)

    def pack_symbol(self, name: int, value: int, size: int, info: int, other: int, section: int) -> bytes:
        if self.bits == 64:
            return struct.pack(self.symbol, name, info, other, section, value, size)
        return struct.pack(self.symbol, name, value, size, info, other, section)

    def unpack_symbol(self, data: bytes, offset: int) -> tuple[int, int, int]:
        """(offset of the name, info, section) of the symbol at ``offset``."""
        fields = struct.unpack_from(self.symbol, data, offset)
        return (fields[0], fields[1], fields[3]) if self.bits == 64 else (fields[0], fields[3], fields[5])


ELF32 = Layout(32, "<HHIIIIIHHHHHH", "<IIIIIIIIII", "<IIIBBH")
ELF64 = Layout(64, "<HHIQQQIHHHHHH", "<IIQQQQIIQQ", "<IBBHQQ")


def as_bare_metal(image: bytes, abi: Elf) -> bytes:
    """``image`` without what only operating systems read, as GCC writes objects of C code.

    Unwind tables, for 32-bit Arm 8 bytes of flash a function, become inactive sections. ``.note.GNU-stack`` becomes
    an empty ``.comment``: GNU ld warns where some objects have such a note and others do not.
    """
    name = b"\0.note.GNU-stack\0"
    out = bytearray(image.replace(name, b"\0.comment\0".ljust(len(name), b"\0")))
    layout, start, sections = _sections(image)
    tables = {number for number, section in enumerate(sections) if section[1] in abi.unwind}
    for number, section in enumerate(sections):
        if number in tables or (section[1] in (SHT_REL, SHT_RELA) and section[7] in tables):
            begin = start + number * layout.section_size
            out[begin : begin + layout.section_size] = bytes(layout.section_size)
    return bytes(out)


def with_mapping_symbols(image: bytes, symbol: str) -> bytes:
    """``image`` with ``symbol`` at the start of each code section in which LLVM wrote bytes and no instructions, so
    that debuggers and disassemblers know it for code: ``$t`` is Thumb code ("ELF for the Arm Architecture", 5.5.5).

    The symbols of such sections become these symbols: nothing else refers to them, and they have the same value.
    """
    layout, _, sections = _sections(image)
    out = bytearray(image)
    for table in (section for section in sections if section[1] == SHT_SYMTAB):
        names, length = sections[table[6]][4:6]
        mark = image.find(f"\0{symbol}\0".encode(), names, names + length) + 1 - names
        offsets = range(table[4], table[4] + table[5], layout.symbol_size)
        symbols = [layout.unpack_symbol(image, offset) for offset in offsets]
        mapped = {where for name, _, where in symbols if image[names + name] == ord("$")}
        for offset, (_, info, where) in zip(offsets, symbols, strict=True):
            if info == STT_SECTION and where not in mapped and sections[where][2] & SHF_EXECINSTR:
                out[offset : offset + layout.symbol_size] = layout.pack_symbol(mark, 0, 0, STT_NOTYPE, 0, where)
    return bytes(out)


def defined_symbols(image: bytes) -> list[str]:
    """The global symbols that an object defines, hidden ones included, in their order."""
    return [name for name, binding, section in _symbols(image) if binding != STB_LOCAL and section != SHN_UNDEF]


def undefined_symbols(image: bytes) -> list[str]:
    """The symbols that an object (or shared library) expects from elsewhere, in their order, but for the one that every
    linker defines: what 32-bit x86 computes addresses from."""
    symbols = (name for name, _, section in _symbols(image) if section == SHN_UNDEF)
    return [name for name in symbols if name not in ("", "_GLOBAL_OFFSET_TABLE_")]


def allocated(image: bytes) -> Iterator[tuple[str, int, bool]]:
    """(name, bytes, whether it is code) of the sections that are loaded."""
    layout, _, sections = _sections(image)
    names = sections[struct.unpack_from(layout.header, image, 16)[12]][4]
    for section in sections:
        if section[2] & SHF_ALLOC:
            begin = names + section[0]
            name = image[begin : image.index(b"\0", begin)].decode()
            yield name, section[5], bool(section[2] & SHF_EXECINSTR)


def _symbols(image: bytes) -> Iterator[tuple[str, int, int]]:
    """(name, binding, section) of every symbol."""
    layout, _, sections = _sections(image)
    for section in sections:
        if section[1] != SHT_SYMTAB:
            continue
        names = sections[section[6]][4]
        for offset in range(section[4], section[4] + section[5], layout.symbol_size):
            name, info, where = layout.unpack_symbol(image, offset)
            end = image.index(b"\0", names + name)
            yield image[names + name : end].decode(), info >> 4, where


def _sections(image: bytes) -> tuple[Layout, int, list[tuple[int, ...]]]:
    """The layout of an object, the offset of its section headers and their fields."""
    if not image.startswith(MAGIC) or image[5] != 1:
        raise ValueError("not a little-endian ELF object")
    layout = ELF64 if image[4] == 2 else ELF32
    header = struct.unpack_from(layout.header, image, 16)
    start, count = header[5], header[11]
    offsets = (start + number * layout.section_size for number in range(count))
    return layout, start, [struct.unpack_from(layout.section, image, offset) for offset in offsets]
