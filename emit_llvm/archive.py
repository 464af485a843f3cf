"""Writes static libraries: GNU ``ar`` format with a symbol index, the same bytes for the same objects."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from .object_file import defined_symbols

_MAGIC = b"!<arch>\n"


def static_library(objects: Sequence[tuple[str, bytes]]) -> bytes:
    """The archive of ``objects``, (file name, bytes) each, in their order; times and owners are zero."""
    long_names, headers = b"", []
    for name, image in objects:
        if len(name) < 16:
            headers.append(_header(f"{name}/", len(image)))
        else:
            headers.append(_header(f"/{len(long_names)}", len(image)))
            long_names += name.encode() + b"/\n"
    symbols = [(symbol, number) for number, (_, image) in enumerate(objects) for symbol in defined_symbols(image)]
    names = b"".join(symbol.encode() + b"\0" for symbol, _ in symbols)
    index_size = 4 + 4 * len(symbols) + len(names)
    start = len(_MAGIC) + len(_member("/", bytes(index_size)))
    prefix = _member("//", long_names) if long_names else b""
    offsets, end = [], start + len(prefix)
    for header, (_, image) in zip(headers, objects):
        offsets.append(end)
        end += len(header) + len(image) + len(image) % 2
    index = struct.pack(f">I{len(symbols)}I", len(symbols), *(offsets[number] for _, number in symbols)) + names
    members = (header + _even(image) for header, (_, image) in zip(headers, objects))
    return b"".join((_MAGIC, _member("/", index), prefix, *members))


def _header(name: str, size: int) -> bytes:
    mode = "644" if not name.startswith("/") or name[1:].isdigit() else "0"
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{mode:<8}{size:<10}`\n".encode()


def _member(name: str, data: bytes) -> bytes:
    return _header(name, len(data)) + _even(data)


def _even(data: bytes) -> bytes:
    return data + b"\n" * (len(data) % 2)
