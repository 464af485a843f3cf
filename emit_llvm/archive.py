"""Writes static libraries: GNU's or BSD's ``ar`` format with a symbol index, the same bytes for the same objects."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import chain

from ..targets import Machine
from .object_file import defined_symbols

_MAGIC = b"!<arch>\n"


def archive(objects: Sequence[tuple[str, bytes]], machine: Machine) -> list[bytes]:
    """The static library of ``objects``, (file name, bytes) each, as the linkers of ``machine`` take it: its bytes, in
    pieces, as objects may be large."""
    form = machine.abi.objects
    named = [(form.object_file(name), image) for name, image in objects]
    return [bsd_static_library(named)] if form.bsd_archives else _pieces(named)


def static_library(objects: Sequence[tuple[str, bytes]]) -> bytes:
    """The archive of ``objects``, (file name, bytes) each, in their order; times and owners are zero."""
    return b"".join(_pieces(objects))


def _pieces(objects: Sequence[tuple[str, bytes]]) -> list[bytes]:
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
    members = ((header, image, _padding(image)) for header, (_, image) in zip(headers, objects))
    return [_MAGIC, _member("/", index), prefix, *chain.from_iterable(members)]


def bsd_static_library(objects: Sequence[tuple[str, bytes]]) -> bytes:
    """The archive as BSD's ``ar`` writes it, which Apple's linker wants: ``__.SYMDEF`` in front, names behind the
    headers of their members, objects at multiples of 8 bytes (ranlib(5), mach-o/ranlib.h)."""
    symbols = [(symbol, number) for number, (_, image) in enumerate(objects) for symbol in defined_symbols(image)]
    names, places = b"", []
    for symbol, _ in symbols:
        places.append(len(names))
        names += b"_" + symbol.encode() + b"\0"
    names += bytes(-len(names) % 8)
    end = len(_MAGIC) + len(_bsd_member("__.SYMDEF", bytes(8 + 8 * len(symbols) + len(names))))
    members, offsets = [], []
    for name, image in objects:
        offsets.append(end)
        members.append(_bsd_member(name, image))
        end += len(members[-1])
    table = b"".join(struct.pack("<II", place, offsets[number]) for place, (_, number) in zip(places, symbols))
    index = struct.pack("<I", len(table)) + table + struct.pack("<I", len(names)) + names
    return b"".join((_MAGIC, _bsd_member("__.SYMDEF", index), *members))


def _bsd_member(name: str, data: bytes) -> bytes:
    """A member whose data begin at a multiple of 8 bytes, if it does so itself less the signature of the archive."""
    header_size = 60
    long_name = name.encode()
    long_name += bytes(-(len(_MAGIC) + header_size + len(long_name)) % 8)
    data += b"\n" * (-len(data) % 8)
    head = f"#1/{len(long_name):<13}{0:<12}{0:<6}{0:<6}{'644':<8}{len(long_name) + len(data):<10}`\n"
    return head.encode() + long_name + data


def _header(name: str, size: int) -> bytes:
    mode = "644" if not name.startswith("/") or name[1:].isdigit() else "0"
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{mode:<8}{size:<10}`\n".encode()


def _member(name: str, data: bytes) -> bytes:
    return _header(name, len(data)) + data + _padding(data)


def _padding(data: bytes) -> bytes:
    """What makes the size of a member even."""
    return b"\n" * (len(data) % 2)
