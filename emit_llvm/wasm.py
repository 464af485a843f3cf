"""The structures of WebAssembly object files that ccml reads: symbols, code and data (tool-conventions, Linking.md)."""

from __future__ import annotations

from collections.abc import Iterator

MAGIC = b"\0asm\x01\0\0\0"

_CUSTOM, _IMPORT, _CODE, _DATA = 0, 2, 10, 11
_SEGMENT_INFO, _SYMBOL_TABLE = 5, 8
_FUNCTION, _DATA_SYMBOL, _SECTION_SYMBOL = 0, 1, 3
_LOCAL, _UNDEFINED, _EXPLICIT_NAME = 0x02, 0x10, 0x40
_IMPORT_FIELDS = {0: 1, 1: 0, 2: 0, 3: 2, 4: 2}
"""Numbers behind the kind of an import, but for limits: functions, tables, memories, globals, tags."""


class _Reader:
    """Numbers and names from ``at`` on."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def number(self) -> int:
        """An unsigned LEB128."""
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def name(self) -> str:
        return self.bytes(self.number()).decode()

    def bytes(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def skip_limits(self) -> None:
        bounded = self.number() & 1
        for _ in range(1 + bounded):
            self.number()


def symbols(image: bytes) -> Iterator[tuple[str, bool, bool]]:
    """(name, whether it is local, whether it is defined) of every function and datum, in their order."""
    imported = _imported_functions(image)
    table = _linking(image, _SYMBOL_TABLE)
    if table is None:
        return
    for _ in range(table.number()):
        kind, flags = table.number(), table.number()
        local, defined, name = bool(flags & _LOCAL), not flags & _UNDEFINED, ""
        if kind == _DATA_SYMBOL:
            name = table.name()
            for _ in range(3 if defined else 0):
                table.number()
        elif kind == _SECTION_SYMBOL:
            table.number()
        else:
            index = table.number()
            name = table.name() if defined or flags & _EXPLICIT_NAME else imported.get(index, "")
        if kind in (_FUNCTION, _DATA_SYMBOL):
            yield name, local, defined


def allocated(image: bytes) -> Iterator[tuple[str, int, bool]]:
    """(name, bytes, whether it is code) of the code and of every segment of data."""
    names = list(_segment_names(image))
    for kind, start, end in _sections(image):
        if kind == _CODE:
            yield ".text", end - start, True
        elif kind == _DATA:
            segments = _Reader(image, start)
            for number in range(segments.number()):
                _skip_offset(segments)
                size = segments.number()
                segments.at += size
                yield names[number] if number < len(names) else ".data", size, False


def _segment_names(image: bytes) -> Iterator[str]:
    info = _linking(image, _SEGMENT_INFO)
    if info is not None:
        for _ in range(info.number()):
            yield info.name()
            info.number()
            info.number()


def _skip_offset(segments: _Reader) -> None:
    """Past the constant expression in front of an active segment: ``i32.const n``, ``end``."""
    if segments.number() & 1:
        return
    segments.bytes(1)
    segments.number()
    segments.bytes(1)


def _imported_functions(image: bytes) -> dict[int, str]:
    found: dict[int, str] = {}
    for section, start, _ in _sections(image):
        if section != _IMPORT:
            continue
        reader = _Reader(image, start)
        for _ in range(reader.number()):
            reader.name()
            name, kind = reader.name(), reader.number()
            if kind == _FUNCTION:
                found[len(found)] = name
            if kind == 1:
                reader.number()
            for _ in range(_IMPORT_FIELDS[kind]):
                reader.number()
            if kind in (1, 2):
                reader.skip_limits()
    return found


def _linking(image: bytes, wanted: int) -> _Reader | None:
    """The beginning of a part of the section ``linking``."""
    for section, start, end in _sections(image):
        reader = _Reader(image, start)
        if section != _CUSTOM or reader.name() != "linking":
            continue
        reader.number()
        while reader.at < end:
            kind, size = reader.number(), reader.number()
            if kind == wanted:
                return reader
            reader.at += size
    return None


def _sections(image: bytes) -> Iterator[tuple[int, int, int]]:
    """(kind, start, end) of every section."""
    reader = _Reader(image, len(MAGIC))
    while reader.at < len(image):
        kind, size = reader.number(), reader.number()
        yield kind, reader.at, reader.at + size
        reader.at += size
