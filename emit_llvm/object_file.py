"""What objects define, need and take, whatever their format."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from . import coff, elf, macho, wasm


def defined_symbols(image: bytes) -> list[str]:
    """The global symbols that an object defines, hidden ones included, in their order."""
    listed = _symbols(image)
    return elf.defined_symbols(image) if listed is None else [name for name, local, own in listed if own and not local]


def undefined_symbols(image: bytes) -> list[str]:
    """The symbols that an object (or shared library) expects from elsewhere, in their order."""
    listed = _symbols(image)
    return elf.undefined_symbols(image) if listed is None else [name for name, _, own in listed if not own]


def allocated(image: bytes) -> Iterator[tuple[str, int, bool]]:
    """(name, bytes, whether it is code) of what of an object is loaded."""
    reader = _reader(image)
    return elf.allocated(image) if reader is None else reader.allocated(image)


def _symbols(image: bytes) -> Iterator[tuple[str, bool, bool]] | None:
    reader = _reader(image)
    return None if reader is None else reader.symbols(image)


def _reader(image: bytes) -> ModuleType | None:
    """What reads a format other than ELF."""
    if image.startswith(wasm.MAGIC):
        return wasm
    if image.startswith(macho.MAGIC):
        return macho
    return coff if coff.is_coff(image) else None
