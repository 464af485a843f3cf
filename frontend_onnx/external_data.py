"""Tensor data in files beside the model. Untrusted: nothing outside of the model's folder is ever opened."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from pathlib import Path, PurePosixPath, PureWindowsPath

import onnx
from onnx import TensorProto, helper

from ..errors import CcmlError, ErrorCode
from ..record import record

READS_PER_BYTE = 4
"""Tensors may share data in a file, but not all of a large file by the thousand."""


def load_external_data(model: onnx.ModelProto, folder: Path) -> None:
    """Reads the data of every tensor that is stored outside of ``model`` into it.

    What a tensor wants is checked before anything is read: it has to be in the file, and as long as the tensor's type
    says. Raises ``EXTERNAL_DATA`` where it is not, or where many tensors want the same large data.
    """
    external = [tensor for tensor in _tensors(model) if tensor.data_location == TensorProto.EXTERNAL]
    places = [_place(tensor, folder) for tensor in external]
    files = {place.file: place.size for place in places}
    if sum(place.length for place in places) > READS_PER_BYTE * sum(files.values()):
        wanted, there = sum(place.length for place in places), sum(files.values())
        raise _error(external[-1].name, f"the tensors want {wanted} bytes of data, and the data files have {there}")
    for tensor, place in zip(external, places):
        tensor.raw_data = place.read()
        tensor.data_location = TensorProto.DEFAULT
        del tensor.external_data[:]


def stored_bytes(model: onnx.ModelProto) -> int:
    """How many bytes of tensors a model holds."""
    return sum(len(tensor.raw_data) or tensor.ByteSize() for tensor in _tensors(model))


@record
class _Place:
    """Where data is in a file of ``size`` bytes."""

    file: Path
    size: int
    offset: int
    length: int

    def read(self) -> bytes:
        with self.file.open("rb") as stream:
            stream.seek(self.offset)
            return stream.read(self.length)


def _place(tensor: onnx.TensorProto, folder: Path) -> _Place:
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
    wanted = _nbytes(tensor)
    if wanted is not None and length != wanted:
        shape = list(tensor.dims)
        raise _error(tensor.name, f"its data has {length} bytes, but a tensor of the shape {shape} takes {wanted}")
    return _Place(file, size, offset, length)


def _nbytes(tensor: onnx.TensorProto) -> int | None:
    """What the elements take; ``None`` where the element type does not exist, which is reported where it is used."""
    if tensor.data_type not in TensorProto.DataType.values() or tensor.data_type in _WITHOUT_SIZE:
        return None
    bits = _PACKED_BITS.get(TensorProto.DataType.Name(tensor.data_type))
    if bits is None:
        bits = 8 * helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
    return -(-prod(tensor.dims) * bits // 8)


_WITHOUT_SIZE = (TensorProto.UNDEFINED, TensorProto.STRING)
_PACKED_BITS = {"INT4": 4, "UINT4": 4, "FLOAT4E2M1": 4, "INT2": 2, "UINT2": 2}


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
