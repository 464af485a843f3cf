"""Objects or a linked program -> memory with code at addresses, and the functions in it.

Objects are linked here, so that a prediction needs no toolchain: every section that takes memory gets an address, and
the relocations that LLVM and GCC write for Thumb code are resolved (ELF for the Arm Architecture, IHI 0044, 5.6).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..emit_llvm.elf import ELF32, SHF_ALLOC, SHN_UNDEF, SHT_REL, SHT_SYMTAB
from ..record import record
from .decode import decode

BASE = 0x1000
"""The first address: small integers must not be mistaken for pointers, nor the other way around."""

_BEHIND = bytes(4)
"""The last instruction may be read as one of 32 bits."""

_SHT_NOBITS = 8
_PT_LOAD = 1
_STT_FUNC = 2
_ABS32, _REL32, _THM_CALL, _JUMP24, _MOVW, _MOVT, _PREL31, _TARGET1 = 2, 3, 10, 30, 47, 48, 42, 38


@dataclass(frozen=True, eq=False)
class Image:
    """``memory`` begins at address 0. ``functions`` maps names to (address, bytes); ``missing`` names what no object
    defines: helpers of the compiler's run-time library, by the address of a place that stands for them."""

    memory: bytes
    functions: Mapping[str, tuple[int, int]]
    missing: Mapping[str, int]

    def function(self, name: str) -> int:
        """The address of a function."""
        return self.functions[name][0]


@record
class _Symbol:
    name: str
    value: int
    size: int
    info: int
    section: int

    @property
    def is_function(self) -> bool:
        return self.info & 15 == _STT_FUNC

    @property
    def is_local(self) -> bool:
        return self.info >> 4 == 0


class _Object:
    """The tables of one ELF file."""

    def __init__(self, image: bytes) -> None:
        if image[:6] != b"\x7fELF\x01\x01":
            raise ValueError("not a little-endian 32-bit ELF file")
        self.image = image
        self.header = struct.unpack_from(ELF32.header, image, 16)
        start, count = self.header[5], self.header[11]
        self.sections = [struct.unpack_from(ELF32.section, image, start + i * ELF32.section_size) for i in range(count)]
        self.symbols = list(self._symbols())

    def _symbols(self) -> Iterator[_Symbol]:
        for section in self.sections:
            if section[1] != SHT_SYMTAB:
                continue
            names = self.sections[section[6]][4]
            for offset in range(section[4], section[4] + section[5], ELF32.symbol_size):
                name, value, size, info, _, where = struct.unpack_from(ELF32.symbol, self.image, offset)
                end = self.image.index(b"\0", names + name)
                yield _Symbol(self.image[names + name : end].decode(), value, size, info, where)

    def content(self, section: tuple[int, ...]) -> bytes:
        return bytes(section[5]) if section[1] == _SHT_NOBITS else self.image[section[4] : section[4] + section[5]]


def load_executable(image: bytes) -> Image:
    """A program that a linker made."""
    elf = _Object(image)
    offset, size, count = elf.header[4], elf.header[8], elf.header[9]
    segments = [struct.unpack_from("<IIIIIIII", image, offset + i * size) for i in range(count)]
    loaded = [segment for segment in segments if segment[0] == _PT_LOAD]
    memory = bytearray(max(segment[2] + segment[5] for segment in loaded))
    for segment in loaded:
        memory[segment[2] : segment[2] + segment[4]] = image[segment[1] : segment[1] + segment[4]]
    functions = {s.name: (s.value & ~1, s.size) for s in elf.symbols if s.is_function and s.section != SHN_UNDEF}
    return Image(bytes(memory) + _BEHIND, functions, {})


def function_addresses(image: bytes) -> dict[str, int]:
    """Where the functions of a linked program are."""
    return {s.name: s.value & ~1 for s in _Object(image).symbols if s.is_function and s.section != SHN_UNDEF}


def link_objects(images: Sequence[bytes]) -> Image:
    """Objects at addresses of ccml's choice."""
    return _Linker([_Object(image) for image in images]).image()


class _Linker:
    def __init__(self, objects: list[_Object]) -> None:
        self.objects = objects
        self.memory = bytearray(BASE)
        self.places = [self._place(elf) for elf in objects]
        self.globals: dict[str, int] = {}
        self.missing: dict[str, int] = {}
        for elf, places in zip(objects, self.places, strict=True):
            for symbol in elf.symbols:
                if symbol.name and not symbol.is_local and symbol.section in places:
                    self.globals.setdefault(symbol.name, places[symbol.section] + symbol.value)

    def _place(self, elf: _Object) -> dict[int, int]:
        """Addresses of the sections that take memory."""
        places = {}
        for number, section in enumerate(elf.sections):
            if section[2] & SHF_ALLOC and section[1] not in (SHT_REL, SHT_SYMTAB):
                align = max(section[8], 4)
                self.memory += bytes(-len(self.memory) % align)
                places[number] = len(self.memory)
                self.memory += elf.content(section)
        return places

    def image(self) -> Image:
        functions: dict[str, tuple[int, int]] = {}
        for elf, places in zip(self.objects, self.places, strict=True):
            self._relocate(elf, places)
            for symbol in elf.symbols:
                if symbol.is_function and symbol.section in places:
                    functions[symbol.name] = ((places[symbol.section] + symbol.value) & ~1, symbol.size)
        return Image(bytes(self.memory) + _BEHIND, functions, self.missing)

    def _relocate(self, elf: _Object, places: Mapping[int, int]) -> None:
        for section in elf.sections:
            if section[1] != SHT_REL or section[7] not in places:
                continue
            for offset in range(section[4], section[4] + section[5], 8):
                where, info = struct.unpack_from("<II", elf.image, offset)
                value = self._value(elf.symbols[info >> 8], places)
                self._apply(info & 255, places[section[7]] + where, value)

    def _value(self, symbol: _Symbol, places: Mapping[int, int]) -> int:
        if symbol.section in places and (symbol.is_local or symbol.name not in self.globals):
            return places[symbol.section] + symbol.value
        if symbol.name in self.globals:
            return self.globals[symbol.name]
        if symbol.name not in self.missing:
            self.missing[symbol.name] = len(self.memory) | 1
            self.memory += b"\x70\x47\x70\x47"  # bx lr, twice
        return self.missing[symbol.name]

    def _apply(self, kind: int, place: int, value: int) -> None:
        memory = self.memory
        if kind in (_ABS32, _TARGET1, _REL32):
            (addend,) = struct.unpack_from("<I", memory, place)
            struct.pack_into("<I", memory, place, (value + addend - (place if kind == _REL32 else 0)) & 0xFFFFFFFF)
        elif kind in (_THM_CALL, _JUMP24):
            _patch_branch(memory, place, value & ~1)
        elif kind in (_MOVW, _MOVT):
            _patch_half(memory, place, value, 16 if kind == _MOVT else 0)
        elif kind != _PREL31:
            raise ValueError(f"relocation {kind} is not known")


def _patch_branch(memory: bytearray, place: int, value: int) -> None:
    """BL and B.W. The addend is the offset that the instruction has."""
    offset = value + decode(bytes(memory[place : place + 4]), 0, 0).target - 4 - place
    sign = 1 if offset < 0 else 0
    j1, j2 = ((offset >> bit & 1) ^ 1 ^ sign for bit in (23, 22))
    (low,) = struct.unpack_from("<H", memory, place + 2)
    high = 0xF000 | sign << 10 | offset >> 12 & 0x3FF
    struct.pack_into("<HH", memory, place, high, low & 0xD000 | j1 << 13 | j2 << 11 | offset >> 1 & 0x7FF)


def _patch_half(memory: bytearray, place: int, value: int, shift: int) -> None:
    """MOVW and MOVT. The addend of both is 16 bits, signed."""
    high, low = struct.unpack_from("<HH", memory, place)
    addend = (high & 15) << 12 | (high >> 10 & 1) << 11 | (low >> 12 & 7) << 8 | low & 255
    half = (value + (addend ^ 0x8000) - 0x8000) >> shift & 0xFFFF
    high = high & 0xFBF0 | half >> 12 | (half >> 11 & 1) << 10
    struct.pack_into("<HH", memory, place, high, low & 0x8F00 | (half >> 8 & 7) << 12 | half & 255)
