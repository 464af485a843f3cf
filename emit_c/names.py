"""C identifiers: making them valid, and keeping them apart."""

from __future__ import annotations

import re
from collections.abc import Iterable

_C_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while alignas alignof
    bool constexpr false nullptr static_assert thread_local true typeof typeof_unqual asm
"""
_CPP_KEYWORDS = """
    and and_eq atomic_cancel atomic_commit atomic_noexcept bitand bitor catch char8_t char16_t char32_t class co_await
    co_return co_yield compl concept const_cast consteval constinit decltype delete dynamic_cast explicit export friend
    mutable namespace new noexcept not not_eq operator or or_eq private protected public reflexpr reinterpret_cast
    requires static_cast synchronized template this throw try typeid typename using virtual wchar_t xor xor_eq
"""
# What the headers in use declare, and what gcc predefines without underscores in its default (gnu) modes.
_TAKEN = """
    linux unix i386 arm main NULL offsetof max_align_t ptrdiff_t size_t intptr_t uintptr_t intmax_t uintmax_t
"""
RESERVED = frozenset((_C_KEYWORDS + _CPP_KEYWORDS + _TAKEN).split())
_RESERVED_FORM = re.compile(r"u?int(_fast|_least)?\d+_t|U?INT.*|PTRDIFF_.*|SIZE_.*|ccml_.*|CCML_.*")


def c_identifier(text: str) -> str:
    """``text`` with everything that C identifiers may not hold turned into underscores.

    The result is never empty, begins with a letter, and is not a keyword of C or C++ or a name of the headers in use.
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_") or "value"
    if name[0].isdigit():
        name = f"v{name}"
    if name in RESERVED or _RESERVED_FORM.fullmatch(name):
        return f"v_{name}"
    return name


class Names:
    """Names in use, scope by scope. A name that is visible is never given out again, so nothing is ever shadowed."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._visible = set(reserved)
        self._scopes: list[list[str]] = [[]]

    def bind(self, preferred: str) -> str:
        """A free identifier for the innermost scope: ``preferred``, or that with a number."""
        stem = c_identifier(preferred)
        name, count = stem, 1
        while name in self._visible:
            count += 1
            name = f"{stem}_{count}"
        self._visible.add(name)
        self._scopes[-1].append(name)
        return name

    def push(self) -> None:
        self._scopes.append([])

    def pop(self) -> None:
        self._visible.difference_update(self._scopes.pop())
