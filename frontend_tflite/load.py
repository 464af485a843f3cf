"""From a file to an ONNX model that means the same."""

from __future__ import annotations

from pathlib import Path

import onnx

from ..errors import CcmlError, ErrorCode

IDENTIFIER = b"TFL3"
"""What stands behind the first four bytes of such a file."""
SUFFIXES = (".tflite", ".lite")


def is_tflite(path: Path) -> bool:
    """Whether a file is a TensorFlow Lite model, by its suffix or by what it holds."""
    if path.suffix.lower() in SUFFIXES:
        return True
    try:
        with path.open("rb") as stream:
            return stream.read(8)[4:] == IDENTIFIER
    except OSError:
        return False


def read_tflite(path: Path) -> onnx.ModelProto:
    """The model as QDQ ONNX, in float32 where the file has no quantization.

    Raises ``NOT_ONNX`` for a file that cannot be read or is something else, ``INVALID_MODEL`` for a damaged one,
    ``UNSUPPORTED_OPERATOR`` and ``UNSUPPORTED_FEATURE`` for what ccml cannot do, and ``TOOLCHAIN`` where the packages
    that read such files are missing.
    """
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise CcmlError(ErrorCode.NOT_ONNX, f"cannot read the file: {problem.strerror}", loc=str(path)) from problem
    if content[4:8] != IDENTIFIER:
        reason = "the file is not a TensorFlow Lite model" if content else "the file is empty"
        hint = "give an .onnx or a .tflite file"
        raise CcmlError(ErrorCode.NOT_ONNX, reason, loc=str(path), hint=hint)
    from .reader import read_model  # with the translator, which models of ONNX do not wait for
    from .translate import translate

    return translate(read_model(content, str(path)), path.stem)
