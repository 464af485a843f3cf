"""The runtime of one artifact: the header groups that its kernels need, joined into one self-contained header."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files

from .block_functions import block_functions
from .requirements import Requirements

_OWN_INCLUDE = re.compile(r'^#include "(ccml_\w+\.h)"\n\n?', re.MULTILINE)


def runtime_header(needs: Requirements) -> str:
    """The text of ``<name>_runtime.h``.

    Every group keeps its include guard, so that several models can meet in one translation unit.
    """
    blocks = block_functions(needs)
    groups = [_OWN_INCLUDE.sub("", _source(name)) for name in _closure(("ccml_base.h", *sorted(needs.headers)))]
    instances = [f"#ifndef {guard}\n#define {guard}\n{text}\n#endif\n" for guard, text in needs.instances()]
    return "\n".join([*groups, *instances, *blocks])


def _source(name: str) -> str:
    return (files("ccml.runtime_c") / name).read_text(encoding="utf-8")


def _closure(names: Iterable[str]) -> list[str]:
    """``names`` and what they include, every header after those that it includes."""
    ordered: list[str] = []

    def visit(name: str) -> None:
        if name not in ordered:
            for included in _OWN_INCLUDE.findall(_source(name)):
                visit(included)
            ordered.append(name)

    for name in names:
        visit(name)
    return ordered
