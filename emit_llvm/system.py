"""The functions of the C library that an artifact may call, and a library of their names to link with where the C
library itself is not at hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .guard import SYSTEM_FUNCTION
from .threads import SYSTEM_FUNCTIONS as OF_THREADS


def system_calls(images: Iterable[bytes]) -> list[str]:
    """Those that objects, or archives of them, may call: all whose names are in their tables of strings."""
    found = list(images)
    known = (SYSTEM_FUNCTION, *OF_THREADS)
    return [symbol for symbol in known if any(f"{symbol}\0".encode() in image for image in found)]


def stub_text(functions: Sequence[str], triple: str) -> str:
    """A module that defines ``functions``: only their names matter to a linker."""
    stubs = (f"define void @{function}() {{\n  ret void\n}}\n" for function in functions)
    return f'target triple = "{triple}"\n{"".join(stubs)}'
