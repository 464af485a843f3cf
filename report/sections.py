"""How much memory an object takes on the device, from its section table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..emit_llvm.object_file import allocated
from ..record import record


@record
class Section:
    name: str
    size: int
    executable: bool


def allocated_sections(image: bytes) -> Iterator[Section]:
    """The sections of an object that are loaded, empty ones left out."""
    return (Section(name, size, executable) for name, size, executable in allocated(image) if size)


def sections_of(objects: Iterable[tuple[str, bytes]]) -> list[Section]:
    """The sections of several objects, given with their names."""
    return [section for _, image in objects for section in allocated_sections(image)]


def grouped(sections: Iterable[Section]) -> dict[str, int]:
    """Sizes by the kind of section: ``.text.kws_run`` counts as ``.text``."""
    sizes: dict[str, int] = {}
    for section in sections:
        kind = "." + section.name.split(".")[1] if section.name.startswith(".") else section.name
        sizes[kind] = sizes.get(kind, 0) + section.size
    return dict(sorted(sizes.items()))


def code_size(sections: Iterable[Section]) -> int:
    """The bytes that are executed."""
    return sum(section.size for section in sections if section.executable)
