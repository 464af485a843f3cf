"""Reads the C of a custom operator: one text, with the files of the same folder that it includes."""

from __future__ import annotations

import re
from pathlib import Path

from ..errors import CcmlError, ErrorCode
from ..ir.c_spelling import c_string

MAX_BYTES = 4 << 20
"""Of all files together."""
_MAX_DEPTH = 16
_INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')


def read_source(path: Path) -> str:
    """The text of ``path``, in which ``#include "file"`` stands for the file's text where that lies beside it or below;
    other includes stay. ``#line`` tells compilers of whose text the lines are. Raises ``BAD_OPTION`` where a file
    cannot be read, or all together are too large."""
    return _Reader(path.parent).text(path, 0)


class _Reader:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._left = MAX_BYTES

    def text(self, path: Path, depth: int) -> str:
        shown = c_string(path.relative_to(self._folder).as_posix())
        lines = [f"#line 1 {shown}"]
        for number, line in enumerate(self._read(path).splitlines(), 1):
            inner = self._included(line, path)
            if inner is None:
                lines.append(line)
                continue
            if depth == _MAX_DEPTH:
                raise _bad(path, f"files include each other more than {_MAX_DEPTH} deep")
            lines += [self.text(inner, depth + 1).rstrip("\n"), f"#line {number + 1} {shown}"]
        return "\n".join(lines) + "\n"

    def _included(self, line: str, path: Path) -> Path | None:
        found = _INCLUDE.match(line)
        if found is None:
            return None
        inner = path.parent / found[1]
        inside = inner.is_file() and inner.resolve().is_relative_to(self._folder.resolve())
        return inner if inside and ".." not in Path(found[1]).parts else None

    def _read(self, path: Path) -> str:
        try:
            with path.open("rb") as stream:
                content = stream.read(self._left + 1)
        except OSError as problem:
            raise _bad(path, f"cannot read the file: {problem.strerror or problem}") from problem
        self._left -= len(content)
        if self._left < 0:
            raise _bad(path, f"the C of a custom operator has more than {MAX_BYTES >> 20} MiB")
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            raise _bad(path, "the file is no text in UTF-8") from None


def has_function(code: str, name: str) -> bool:
    """Whether a function of that name seems to be defined: its name and, behind its parameters, a body."""
    plain = re.sub(r"/\*.*?\*/|//[^\n]*", " ", code, flags=re.DOTALL)
    return re.search(rf"\b{re.escape(name)}\s*\([^;{{}}]*\)\s*\{{", plain) is not None


def _bad(path: Path, reason: str) -> CcmlError:
    return CcmlError(ErrorCode.BAD_OPTION, reason, loc=str(path), hint="--custom-op DOMAIN::NAME=FILE.c names it")
