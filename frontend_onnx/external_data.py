"""Tensor data in files beside the model. Untrusted: nothing outside of the model's folder is ever opened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath

import onnx
from onnx import TensorProto

from ..errors import CcmlError, ErrorCode


def load_external_data(model: onnx.ModelProto, folder: Path) -> None:
    """Reads the data of every tensor that is stored outside of ``model`` into it."""
    for tensor in _tensors(model):
        if tensor.data_location == TensorProto.EXTERNAL:
            tensor.raw_data = _read(tensor, folder)
            tensor.data_location = TensorProto.DEFAULT
            del tensor.external_data[:]


def _read(tensor: onnx.TensorProto, folder: Path) -> bytes:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    file = _checked_file(entries.get("location", ""), folder, tensor.name)
    try:
        offset, length = int(entries.get("offset", "0")), int(entries.get("length", "-1"))
    except ValueError as problem:
        raise _error(tensor.name, f"offset or length is not a number: {problem}") from problem
    size = file.stat().st_size
    length = size - offset if length < 0 else length
    if offset < 0 or length < 0 or offset + length > size:
        raise _error(tensor.name, f"bytes {offset} to {offset + length} are not in {file.name}, which has {size}")
    with file.open("rb") as stream:
        stream.seek(offset)
        return stream.read(length)


def _checked_file(location: str, folder: Path, name: str) -> Path:
    """The file behind ``location``: a regular file below ``folder``, reached through no symbolic link."""
    parts = PurePosixPath(location).parts
    if not parts or PurePosixPath(location).is_absolute() or PureWindowsPath(location).drive or ".." in parts:
        raise _error(name, f"the data file '{location}' is outside of the model's folder")
    file = folder
    for part in parts:
        file = file / part
        if file.is_symlink():
            raise _error(name, f"the data file '{location}' is reached through a symbolic link")
    if not file.is_file():
        raise _error(name, f"the data file '{location}' is missing in {folder}", "copy it beside the model")
    return file


def _error(name: str, reason: str, hint: str | None = None) -> CcmlError:
    return CcmlError(ErrorCode.EXTERNAL_DATA, reason, loc=name, hint=hint)


def _tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Every tensor: initializers, and attributes of nodes in the graph, its subgraphs and functions."""
    graphs = [model.graph]
    nodes = [node for function in model.functions for node in function.node]
    while graphs or nodes:
        if graphs:
            graph = graphs.pop()
            nodes += graph.node
            yield from graph.initializer
            for sparse in graph.sparse_initializer:
                yield from (sparse.values, sparse.indices)
            continue
        for attribute in nodes.pop().attribute:
            graphs += [attribute.g] if attribute.HasField("g") else []
            graphs += attribute.graphs
            yield from attribute.tensors
            if attribute.HasField("t"):
                yield attribute.t
