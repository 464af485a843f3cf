"""What a model takes by each of the ways to machine code."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from ..costs.build import Build
from ..costs.predict import build_stack
from .schema import Route
from .sections import Section, allocated_sections, grouped

log = logging.getLogger(__name__)


def route_of(build: Build) -> Route:
    """The sizes and the stack of a model that was built for a target with a cost model."""
    own = [section for image in build.objects for section in allocated_sections(image)]
    linked = own if build.executable is None else list(allocated_sections(build.executable))
    known = not build.helpers or build.executable is not None
    if not known:
        log.warning(
            "flash is without functions of the compiler's run-time library, as GCC for the target is not installed: %s",
            ", ".join(build.helpers),
        )
    return Route(
        code_bytes=_size(section for section in linked if section.executable),
        flash_bytes=_size(linked),
        stack_bytes=build_stack(build),
        helper_bytes=_helper_bytes(build) if known else None,
        helpers=list(build.helpers),
        sections=grouped(linked),
    )


def _helper_bytes(build: Build) -> int:
    """What stands in the program but in none of the objects."""
    if not build.helpers or build.executable is None:
        return 0
    own = _size(section for image in build.objects for section in allocated_sections(image))
    return max(_size(allocated_sections(build.executable)) - own, 0)


def _size(sections: Iterable[Section]) -> int:
    return sum(section.size for section in sections)


def objects_route(sections: Sequence[Section]) -> Route:
    """Of LLVM's objects alone, for targets without a cost model."""
    return Route(_size(each for each in sections if each.executable), _size(sections), None, sections=grouped(sections))


def largest(numbers: Iterable[int | None]) -> int | None:
    """The largest of several; ``None`` where one is not known, or there is none."""
    found = list(numbers)
    return None if not found or None in found else max(number for number in found if number is not None)
