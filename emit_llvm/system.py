"""The functions of the system that an artifact may call, and a library of their names to link with where that of the
system itself is not at hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..targets import Machine
from . import elf
from .guard import SYSTEM_FUNCTION
from .threads import system_functions


def system_calls(images: Iterable[bytes], machine: Machine) -> list[str]:
    """Those that objects may call: what ELF objects expect from elsewhere, and for archives, and other formats, all
    whose names are somewhere in them."""
    known = (SYSTEM_FUNCTION, *system_functions(machine))
    called: set[str] = set()
    for image in images:
        if image.startswith(elf.MAGIC):
            called.update(elf.undefined_symbols(image))
        else:
            called.update(symbol for symbol in known if f"{symbol}\0".encode() in image)
    return [symbol for symbol in known if symbol in called]


def stub_text(functions: Sequence[str], triple: str) -> str:
    """A module that defines ``functions``: only their names matter to a linker."""
    stubs = (f"define void @{function}() {{\n  ret void\n}}\n" for function in functions)
    return f'target triple = "{triple}"\n{"".join(stubs)}'
