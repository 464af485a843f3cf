"""What objects define and need, whatever their format."""

from __future__ import annotations

from . import elf, wasm


def defined_symbols(image: bytes) -> list[str]:
    """The global symbols that an object defines, hidden ones included, in their order."""
    if image.startswith(wasm.MAGIC):
        return [name for name, local, defined in wasm.symbols(image) if defined and not local]
    return elf.defined_symbols(image)


def undefined_symbols(image: bytes) -> list[str]:
    """The symbols that an object (or shared library) expects from elsewhere, in their order."""
    if image.startswith(wasm.MAGIC):
        return [name for name, _, defined in wasm.symbols(image) if not defined]
    return elf.undefined_symbols(image)
