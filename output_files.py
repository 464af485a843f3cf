"""Whether results can be written where the user wants them, found before the work is done."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .errors import CcmlError, ErrorCode


def check_output_file(path: Path | str | None, suffix: str) -> None:
    """Raises ``BAD_OPTION`` where the name of ``path`` does not end in ``suffix``, the only kind that is written.

    Raises ``OUTPUT_FOLDER`` where the file cannot be written, for want of its folder or of permission. Nothing is left
    behind. ``None`` stands for no file.
    """
    if path is None:
        return
    file = Path(path)
    if file.suffix.lower() != suffix:
        hint = f"give a name that ends in {suffix}: {file.with_suffix(suffix).name}" if file.name else None
        raise CcmlError(ErrorCode.BAD_OPTION, f"what is written is {_KINDS[suffix]}", loc=str(path), hint=hint)
    if file.is_dir():
        raise _refused(path, "it is a folder")
    if not file.parent.is_dir():
        raise _refused(path, f"there is no folder {file.parent}")
    if file.exists():
        if not os.access(file, os.W_OK):
            raise _refused(path, "permission denied")
        return
    _try(path, file.parent, None)


def check_output_folder(folder: Path, option: str) -> None:
    """Raises ``OUTPUT_FOLDER`` where files could not be written into ``folder``, which may have to be made first.

    ``option`` is what names another one.
    """
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    hint = f"choose another folder with {option}"
    if not there.is_dir():
        raise _refused(folder, "it is not a folder" if there == folder else f"{there} is not a folder", hint)
    _try(folder, there, hint)


_KINDS = {
    ".npz": "an .npz, numpy's file of several arrays",
    ".onnx": "an ONNX model",
    ".json": "JSON",
    ".html": "a page of HTML, which browsers show",
    ".svg": "SVG, a picture that browsers show",
}


def _try(path: Path | str, folder: Path, hint: str | None) -> None:
    try:
        with tempfile.NamedTemporaryFile(prefix=".ccml-", dir=folder):
            pass
    except OSError as problem:
        raise _refused(path, problem.strerror or str(problem), hint) from problem


def _refused(path: Path | str, reason: str, hint: str | None = None) -> CcmlError:
    return CcmlError(ErrorCode.OUTPUT_FOLDER, f"cannot write: {reason}", loc=str(path), hint=hint)
