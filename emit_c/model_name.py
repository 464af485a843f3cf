"""The name of a model: the prefix of its symbols and the stem of its files."""

from __future__ import annotations

import re
from pathlib import Path

from ..errors import CcmlError, ErrorCode
from .system_headers import SYSTEM_HEADERS

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*\Z")
"""C++ reserves what has two underscores in a row, which symbols behind one at the end would have."""
_MAX_LENGTH = 64
_SYSTEM_LIBRARIES = """
    atomic c crypt dl EGL gcc gcc_s gomp log m nsl pthread resolv rt ssp stdc++ System unwind util vulkan z
"""
_TAKEN = SYSTEM_HEADERS | frozenset(_SYSTEM_LIBRARIES.lower().split())
"""In small letters: a model's library lies on the path of the linker and, in an app, of the loader, where it would
hide one of the system of the same name, as its header would on the path of the compiler."""


def is_prefix(text: str) -> bool:
    """Whether symbols may begin with ``text``."""
    return _IDENTIFIER.match(text) is not None


def model_name(path: Path, wanted: str | None) -> str:
    """``wanted``, or the file's name as a C identifier. Raises ``BAD_OPTION`` for a name that C cannot use."""
    if wanted is None:
        return _from_file(path)
    if not is_prefix(wanted) or len(wanted) > _MAX_LENGTH or wanted.lower() in _TAKEN:
        reason = f"'{wanted}' is no prefix of C symbols, or the name of a system's library"
        such = _from_file(Path(wanted))
        hint = f"letters, digits and single _ between them, at most {_MAX_LENGTH}, such as '{such}'"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, hint=hint)
    return wanted


def _from_file(path: Path) -> str:
    stem = re.sub(r"[\W_]+", "_", path.stem, flags=re.ASCII).strip("_") or "model"
    if not stem[0].isalpha():
        stem = f"m_{stem}"
    stem = stem[:_MAX_LENGTH].rstrip("_")
    return f"{stem}_model" if stem.lower() in _TAKEN else stem
