"""How much memory an object takes on the device, from its section table."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..emit_llvm import wasm
from ..emit_llvm.elf import ELF32, ELF64, SHF_ALLOC

_SHF_EXECINSTR = 4


@dataclass(frozen=True)
class Section:
    name: str
    size: int
    executable: bool


def allocated_sections(image: bytes) -> Iterator[Section]:
    """The sections of an object that are loaded, empty ones left out."""
    if image.startswith(wasm.MAGIC):
        yield from (Section(name, size, executable) for name, size, executable in wasm.allocated(image) if size)
        return
    layout = ELF64 if image[4] == 2 else ELF32
    header = struct.unpack_from(layout.header, image, 16)
    start, count, names_index = header[5], header[11], header[12]
    table = [struct.unpack_from(layout.section, image, start + i * layout.section_size) for i in range(count)]
    names = table[names_index][4]
    for entry in table:
        name, flags, size = entry[0], entry[2], entry[5]
        if flags & SHF_ALLOC and size:
            end = image.index(b"\0", names + name)
            yield Section(image[names + name : end].decode(), size, bool(flags & _SHF_EXECINSTR))


def sections_of(objects: Iterable[tuple[str, bytes]]) -> list[Section]:
    """The sections of several objects, given with their names."""
    return [section for _, image in objects for section in allocated_sections(image)]


def grouped(sections: Iterable[Section]) -> dict[str, int]:
    """Sizes by the kind of section: ``.text.kws_run`` counts as ``.text``."""
    sizes: dict[str, int] = {}
    for section in sections:
        kind = "." + section.name.split(".")[1] if section.name.startswith(".") else section.name
        sizes[kind] = sizes.get(kind, 0) + section.size
    return dict(sorted(sizes.items()))


def code_size(sections: Iterable[Section]) -> int:
    """The bytes that are executed."""
    return sum(section.size for section in sections if section.executable)
