"""Reading a model file, which may be anything."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from ..errors import CcmlError, ErrorCode
from .external_data import load_external_data
from .file_kinds import FileKind, file_kind

_HEAD = 64
"""Bytes that tell the format of a file."""


def load_model(path: str | os.PathLike[str]) -> onnx.ModelProto:
    """Reads an ONNX model and the external data beside it.

    Raises ``NOT_ONNX`` for a file that cannot be read or is something else, ``INVALID_MODEL`` for a damaged model and
    ``EXTERNAL_DATA`` where its data file is missing or lies outside of the model's folder.
    """
    file = Path(path)
    try:
        content = file.read_bytes()
    except OSError as problem:
        kind = file_kind(file)
        if kind is not None and file.is_dir():
            raise _another(file, kind) from problem
        raise CcmlError(ErrorCode.NOT_ONNX, f"cannot read the file: {problem.strerror}", loc=str(file)) from problem
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError as problem:
        if (kind := file_kind(file, content[:_HEAD])) is not None:
            raise _another(file, kind) from problem
        raise CcmlError(
            ErrorCode.NOT_ONNX, "the file is not an ONNX model, or it is truncated", loc=str(file),
            hint="export the model again, or check that the file was copied whole",
        ) from problem  # fmt: skip
    if not model.ByteSize() or not model.HasField("graph"):
        if (kind := file_kind(file, content[:_HEAD])) is not None:
            raise _another(file, kind)
        reason = "the file is not an ONNX model: it has no graph" if content else "the file is empty"
        raise CcmlError(ErrorCode.NOT_ONNX, reason, loc=str(file))
    if not model.opset_import or not model.ir_version:
        raise CcmlError(ErrorCode.INVALID_MODEL, "the model has no IR version or no operator set", loc=str(file))
    load_external_data(model, file.parent)
    return model


def _another(file: Path, kind: FileKind) -> CcmlError:
    reason = f"the file is not an ONNX model but {kind.name}"
    return CcmlError(ErrorCode.NOT_ONNX, reason, loc=str(file), hint=kind.convert)
