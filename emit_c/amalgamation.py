"""The runtime of one artifact: the header groups that its kernels need, joined into one self-contained header."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.resources import files
from types import MappingProxyType

from .block_functions import block_functions
from .requirements import Requirements

_OWN_INCLUDE = re.compile(r'^#include "(ccml_\w+\.h)"\n\n?', re.MULTILINE)


def runtime_header(needs: Requirements, sections: Mapping[str, str] = MappingProxyType({})) -> str:
    """The text of ``<name>_runtime.h``, with block instructions in assembly in the ``sections`` of their names.

    Every group keeps its include guard, so that several models can meet in one translation unit.
    """
    blocks = block_functions(needs)
    placed = {f"ccml_{block}.h": section for block, section in sections.items()}
    groups = [
        _in_section(_OWN_INCLUDE.sub("", _source(name)), placed.get(name, ""))
        for name in _closure(("ccml_base.h", *sorted(needs.headers)))
    ]
    instances = [f"#ifndef {guard}\n#define {guard}\n{text}\n#endif\n" for guard, text in needs.instances()]
    return "\n".join([*groups, *instances, *blocks])


def _in_section(text: str, section: str) -> str:
    """A group whose functions in assembly are in ``section``, if that is one."""
    if not section:
        return text
    begin = f'#undef CCML_BLOCK_CODE\n#define CCML_BLOCK_CODE CCML_SECTION("{section}")\n'
    return f"{begin}{text}#undef CCML_BLOCK_CODE\n#define CCML_BLOCK_CODE\n"


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
