"""Small .tflite files, by the builders of the package ``tflite``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import flatbuffers
import numpy as np
import tflite

from tests.frontend_tflite.sparsity import Sparsity

TYPES = {
    np.dtype(np.float32): "FLOAT32", np.dtype(np.float16): "FLOAT16", np.dtype(np.int8): "INT8",
    np.dtype(np.int16): "INT16", np.dtype(np.int32): "INT32", np.dtype(np.int64): "INT64",
    np.dtype(np.uint8): "UINT8", np.dtype(np.bool_): "BOOL", np.dtype(np.float64): "FLOAT64",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class T:
    """A tensor: a constant where it has ``data``. ``scale`` and ``zero`` are one number, or one for each index of
    ``axis``. With ``sparsity``, ``data`` are the elements that are stored."""

    name: str
    shape: tuple[int, ...]
    dtype: type | str = np.float32
    scale: float | Sequence[float] | None = None
    zero: int | Sequence[int] = 0
    axis: int = 0
    data: np.ndarray | bytes | None = None
    variable: bool = False
    sparsity: Sparsity | None = None

    @property
    def type(self) -> str:
        return self.dtype if isinstance(self.dtype, str) else TYPES[np.dtype(self.dtype)]


def const(name: str, data: object, dtype: type = np.int32, **quantization: object) -> T:
    array = np.asarray(data, dtype)
    return T(name, array.shape, dtype, data=array, **quantization)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Op:
    """An operator with its tensors by name, "" where one is left out; ``kind`` is the type of its options."""

    name: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    kind: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    custom: bytes = b""


@dataclass(frozen=True, eq=False)
class G:
    tensors: Sequence[T]
    ops: Sequence[Op]
    inputs: Sequence[str]
    outputs: Sequence[str]


def build(*graphs: G) -> bytes:
    """A file with these subgraphs; the first is the model."""
    builder = flatbuffers.Builder(1024)
    names = list(dict.fromkeys(op.name for graph in graphs for op in graph.ops))
    buffers: list[bytes] = [b""]
    subgraphs = [_subgraph(builder, graph, names, buffers) for graph in graphs]
    codes = [_code(builder, name) for name in names]
    stored = []
    for content in buffers:
        data = _bytes(builder, content) if content else None
        tflite.BufferStart(builder)
        if data is not None:
            tflite.BufferAddData(builder, data)
        stored.append(tflite.BufferEnd(builder))
    fields = {"Subgraphs": subgraphs, "OperatorCodes": codes, "Buffers": stored}
    vectors = {name: _offsets(builder, offsets) for name, offsets in fields.items()}
    description = builder.CreateString("made by a test")
    tflite.ModelStart(builder)
    tflite.ModelAddVersion(builder, 3)
    tflite.ModelAddDescription(builder, description)
    for name, vector in vectors.items():
        getattr(tflite, f"ModelAdd{name}")(builder, vector)
    builder.Finish(tflite.ModelEnd(builder), b"TFL3")
    return bytes(builder.Output())


def _offsets(builder: flatbuffers.Builder, offsets: Sequence[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()


def _numbers(builder: flatbuffers.Builder, numbers: Sequence[float], dtype: type) -> int:
    return builder.CreateNumpyVector(np.asarray(numbers, dtype).reshape(-1))


def _bytes(builder: flatbuffers.Builder, content: bytes) -> int:
    builder.StartVector(1, len(content), 16)
    builder.head -= len(content)
    builder.Bytes[builder.Head() : builder.Head() + len(content)] = content
    return builder.EndVector()


def _code(builder: flatbuffers.Builder, name: str) -> int:
    number = getattr(tflite.BuiltinOperator, name, None)
    custom = builder.CreateString(name) if number is None else None
    number = tflite.BuiltinOperator.CUSTOM if number is None else number
    tflite.OperatorCodeStart(builder)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, min(number, 127))
    tflite.OperatorCodeAddBuiltinCode(builder, number)
    if custom is not None:
        tflite.OperatorCodeAddCustomCode(builder, custom)
    return tflite.OperatorCodeEnd(builder)


def _subgraph(builder: flatbuffers.Builder, graph: G, codes: list[str], buffers: list[bytes]) -> int:
    places = {tensor.name: n for n, tensor in enumerate(graph.tensors)} | {"": -1}
    tensors = _offsets(builder, [_tensor(builder, tensor, buffers) for tensor in graph.tensors])
    operators = _offsets(builder, [_operator(builder, op, codes, places) for op in graph.ops])
    inputs = _numbers(builder, [places[name] for name in graph.inputs], np.int32)
    outputs = _numbers(builder, [places[name] for name in graph.outputs], np.int32)
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddTensors(builder, tensors)
    tflite.SubGraphAddOperators(builder, operators)
    tflite.SubGraphAddInputs(builder, inputs)
    tflite.SubGraphAddOutputs(builder, outputs)
    return tflite.SubGraphEnd(builder)


def _tensor(builder: flatbuffers.Builder, tensor: T, buffers: list[bytes]) -> int:
    buffer = 0
    if tensor.data is not None:
        buffer = len(buffers)
        buffers.append(tensor.data if isinstance(tensor.data, bytes) else np.ascontiguousarray(tensor.data).tobytes())
    name, shape = builder.CreateString(tensor.name), _numbers(builder, tensor.shape, np.int32)
    quantization = None
    if tensor.scale is not None:
        scales = np.asarray(tensor.scale, np.float32).reshape(-1)
        zeros = np.broadcast_to(np.asarray(tensor.zero, np.int64), scales.shape)
        scale, zero = _numbers(builder, scales, np.float32), _numbers(builder, zeros, np.int64)
        tflite.QuantizationParametersStart(builder)
        tflite.QuantizationParametersAddScale(builder, scale)
        tflite.QuantizationParametersAddZeroPoint(builder, zero)
        tflite.QuantizationParametersAddQuantizedDimension(builder, tensor.axis)
        quantization = tflite.QuantizationParametersEnd(builder)
    sparsity = None if tensor.sparsity is None else _sparsity(builder, tensor.sparsity)
    tflite.TensorStart(builder)
    tflite.TensorAddShape(builder, shape)
    tflite.TensorAddType(builder, getattr(tflite.TensorType, tensor.type))
    tflite.TensorAddBuffer(builder, buffer)
    tflite.TensorAddName(builder, name)
    tflite.TensorAddIsVariable(builder, tensor.variable)
    if quantization is not None:
        tflite.TensorAddQuantization(builder, quantization)
    if sparsity is not None:
        tflite.TensorAddSparsity(builder, sparsity)
    return tflite.TensorEnd(builder)


def _sparsity(builder: flatbuffers.Builder, sparsity: Sparsity) -> int:
    levels = [_level(builder, each, number) for number, each in enumerate(sparsity.levels)]
    order, block_map = (_numbers(builder, each, np.int32) for each in (sparsity.order, sparsity.block_map))
    metadata = _offsets(builder, levels)
    tflite.SparsityParametersStart(builder)
    tflite.SparsityParametersAddTraversalOrder(builder, order)
    tflite.SparsityParametersAddBlockMap(builder, block_map)
    tflite.SparsityParametersAddDimMetadata(builder, metadata)
    return tflite.SparsityParametersEnd(builder)


def _level(builder: flatbuffers.Builder, level: int | tuple[Sequence[int], Sequence[int]], number: int) -> int:
    """Its vectors are of one of the three types that there are, by the number of the level."""
    if isinstance(level, int):
        tflite.DimensionMetadataStart(builder)
        tflite.DimensionMetadataAddFormat(builder, tflite.DimensionType.DENSE)
        tflite.DimensionMetadataAddDenseSize(builder, level)
        return tflite.DimensionMetadataEnd(builder)
    name, dtype = (("Int32", np.int32), ("Uint16", np.uint16), ("Uint8", np.uint8))[number % 3]
    vectors = []
    for numbers in level:
        values = _numbers(builder, numbers, dtype)
        getattr(tflite, f"{name}VectorStart")(builder)
        getattr(tflite, f"{name}VectorAddValues")(builder, values)
        vectors.append(getattr(tflite, f"{name}VectorEnd")(builder))
    kind = getattr(tflite.SparseIndexVector, f"{name}Vector")
    tflite.DimensionMetadataStart(builder)
    tflite.DimensionMetadataAddFormat(builder, tflite.DimensionType.SPARSE_CSR)
    tflite.DimensionMetadataAddArraySegmentsType(builder, kind)
    tflite.DimensionMetadataAddArraySegments(builder, vectors[0])
    tflite.DimensionMetadataAddArrayIndicesType(builder, kind)
    tflite.DimensionMetadataAddArrayIndices(builder, vectors[1])
    return tflite.DimensionMetadataEnd(builder)


def _operator(builder: flatbuffers.Builder, op: Op, codes: list[str], places: Mapping[str, int]) -> int:
    inputs = _numbers(builder, [places[name] for name in op.inputs], np.int32)
    outputs = _numbers(builder, [places[name] for name in op.outputs], np.int32)
    options = None if op.kind is None else _options(builder, op.kind, op.options)
    custom = _bytes(builder, op.custom) if op.custom else None
    tflite.OperatorStart(builder)
    tflite.OperatorAddOpcodeIndex(builder, codes.index(op.name))
    tflite.OperatorAddInputs(builder, inputs)
    tflite.OperatorAddOutputs(builder, outputs)
    if options is not None:
        tflite.OperatorAddBuiltinOptionsType(builder, getattr(tflite.BuiltinOptions, str(op.kind)))
        tflite.OperatorAddBuiltinOptions(builder, options)
    if custom is not None:
        tflite.OperatorAddCustomOptions(builder, custom)
    return tflite.OperatorEnd(builder)


def _options(builder: flatbuffers.Builder, kind: str, options: Mapping[str, object]) -> int:
    made = {}
    for name, value in options.items():
        if isinstance(value, str):
            made[name] = builder.CreateString(value)
        elif isinstance(value, (list, tuple)):
            made[name] = _numbers(builder, value, np.int32)
        else:
            made[name] = value
    getattr(tflite, f"{kind}Start")(builder)
    for name, value in made.items():
        getattr(tflite, f"{kind}Add{name}")(builder, value)
    return getattr(tflite, f"{kind}End")(builder)
