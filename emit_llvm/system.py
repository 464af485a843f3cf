"""The functions of the system that an artifact may call, and a library of their names to link with where that of the
system itself is not at hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..targets import Machine
from . import elf
from .guard import AUXILIARY_VECTOR, SYSTEM_VALUE
from .threads import system_functions


def system_calls(images: Iterable[bytes], machine: Machine) -> list[str]:
    """Those that objects may call: what ELF objects expect from elsewhere, and for archives, and other formats, all
    whose names are somewhere in them."""
    known = (AUXILIARY_VECTOR, SYSTEM_VALUE, *system_functions(machine))
    called: set[str] = set()
    for image in images:
        if image.startswith(elf.MAGIC):
            called.update(elf.undefined_symbols(image))
        else:
            called.update(symbol for symbol in known if f"{symbol}\0".encode() in image)
    return [symbol for symbol in known if symbol in called]


def text_stub(functions: Sequence[str], library: str, target: str) -> str:
    """A text-based stub (``.tbd``, version 4) of a ``library`` of Apple's with ``functions``, for linkers to which the
    system is ``target``. What binds functions on their first call is in it, for linkers look it up there."""
    symbols = ", ".join(["dyld_stub_binder", *(f"_{function}" for function in functions)])
    return f"""--- !tapi-tbd
tbd-version: 4
targets: [ {target} ]
install-name: '{library}'
exports:
  - targets: [ {target} ]
    symbols: [ {symbols} ]
...
"""


def stub_text(functions: Sequence[str], triple: str) -> str:
    """A module that defines ``functions``: only their names matter to a linker."""
    stubs = (f"define void @{function}() {{\n  ret void\n}}\n" for function in functions)
    return f'target triple = "{triple}"\n{"".join(stubs)}'
