"""The bytes of a file -> :class:`Model`. The file may be anything: every offset in it may point anywhere.

The generated readers follow offsets without a look at the file's end. What they raise is caught in one place; lengths
are checked before anything goes through a vector. Tables cannot be cyclic where their depth is fixed, as it is here,
but any number of references may lead to the same table: each table and each element that is read is paid for out of a
budget that every file without such tricks can afford.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CcmlError, ErrorCode
from .model import ELEMENT_TYPES, Model, Operator, Option, Quantization, Subgraph, Tensor
from .sparse import Level, dense

if TYPE_CHECKING:
    import flatbuffers
    import tflite

MOST_ELEMENTS = 1 << 40
"""Of a tensor: more than any machine has, less than what overflows."""
MOST_RANK = 8
_STRANGE = (struct.error, ValueError, TypeError, LookupError, OverflowError, AttributeError, MemoryError)
"""What the generated readers raise where an offset leads out of the file."""


def read_model(content: bytes, loc: str) -> Model:
    """Raises ``INVALID_MODEL`` for damaged files, ``TOOLCHAIN`` where the packages that read them are missing."""
    try:
        import tflite
    except ImportError as problem:
        raise CcmlError(
            ErrorCode.TOOLCHAIN, "TensorFlow Lite models need the packages 'tflite' and 'flatbuffers'", loc=loc,
            hint="pip install 'ccml[tflite]'",
        ) from problem  # fmt: skip
    try:
        return _Reader(content, tflite.Model.GetRootAs(content, 0)).model()
    except CcmlError as problem:
        raise CcmlError(problem.kind, problem.reason, loc=problem.loc or loc, hint=problem.hint) from None
    except _STRANGE as problem:
        raise _damaged(f"an offset leads out of the file ({problem})", loc) from problem


def _damaged(reason: str, loc: str | None = None) -> CcmlError:
    hint = "convert the model again, or check that the file was copied whole"
    return CcmlError(ErrorCode.INVALID_MODEL, f"the file is damaged: {reason}", loc=loc, hint=hint)


def _enumerators(names: type) -> dict[int, str]:
    return {value: name for name, value in vars(names).items() if isinstance(value, int)}


class _Reader:
    def __init__(self, content: bytes, root: tflite.Model) -> None:
        import tflite

        self.tflite, self.content, self.root = tflite, content, root
        self.budget = 4 * len(content) + 4096
        self.bytes_budget = 64 * len(content) + (64 << 20)
        self.types = _enumerators(tflite.TensorType)
        self.operators = _enumerators(tflite.BuiltinOperator)
        self.option_types = _enumerators(tflite.BuiltinOptions)
        self.option_types_2 = _enumerators(tflite.BuiltinOptions2)
        self.index_types = _enumerators(tflite.SparseIndexVector)

    def model(self) -> Model:
        codes = [self._code(n) for n in self._range(self.root.OperatorCodesLength())]
        subgraphs = tuple(self._subgraph(n, codes) for n in self._range(self.root.SubgraphsLength()))
        if not subgraphs:
            raise _damaged("it has no graph")
        return Model(self._text(self.root.Description()), subgraphs)

    def _range(self, count: int) -> range:
        """Of a vector with so many elements, which are paid for."""
        self.budget -= 4 * count + 4
        if self.budget < 0:
            raise _damaged("its vectors have more elements than the file has bytes")
        return range(count)

    def _numbers(self, table: object, field: str) -> np.ndarray:
        """A vector of numbers; an absent one is empty."""
        self._range(getattr(table, f"{field}Length")())
        numbers = getattr(table, f"{field}AsNumpy")()
        return numbers if isinstance(numbers, np.ndarray) else np.zeros(0, np.int64)

    def _integers(self, table: object, field: str) -> tuple[int, ...]:
        return tuple(self._numbers(table, field).tolist())

    def _text(self, content: bytes | None) -> str:
        self._range(len(content or b""))
        return (content or b"").decode("utf-8", "replace")

    def _code(self, number: int) -> str:
        code = self.root.OperatorCodes(number)
        builtin = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        name = self.operators.get(builtin, f"operator number {builtin}")
        return self._text(code.CustomCode()) or "CUSTOM" if name == "CUSTOM" else name

    def _subgraph(self, number: int, codes: Sequence[str]) -> Subgraph:
        graph = self.root.Subgraphs(number)
        tensors = tuple(self._tensor(graph.Tensors(n), n) for n in self._range(graph.TensorsLength()))
        inputs, outputs = self._integers(graph, "Inputs"), self._integers(graph, "Outputs")
        operators = tuple(self._operator(graph.Operators(n), n, codes) for n in self._range(graph.OperatorsLength()))
        for what, indices in (("an input", inputs), ("an output", outputs)):
            if not all(0 <= index < len(tensors) for index in indices):
                raise _damaged(f"{what} of subgraph {number} is a tensor that is not there")
        for operator in operators:
            if not all(-1 <= index < len(tensors) for index in (*operator.inputs, *operator.outputs)):
                raise _damaged(f"{operator.name}_{operator.number} has a tensor that is not there")
        return Subgraph(tensors, inputs, outputs, operators)

    def _tensor(self, table: tflite.Tensor, number: int) -> Tensor:
        name = self._text(table.Name()) or f"tensor_{number}"
        shape = self._integers(table, "Shape")
        type_ = self.types.get(table.Type(), f"type number {table.Type()}")
        elements = 1
        for extent in shape:
            elements *= extent
            if extent < 0 or elements > MOST_ELEMENTS or len(shape) > MOST_RANK:
                raise _damaged(f"the shape {list(shape[:MOST_RANK])} is not that of a tensor", name)
        data = self._buffer(table.Buffer(), name)
        if data is not None and type_ in ELEMENT_TYPES:
            if table.Sparsity() is not None:
                data = self._dense(table.Sparsity(), data, type_, shape, name)
            bits = elements * 4 if type_ == "INT4" else elements * ELEMENT_TYPES[type_].itemsize * 8
            if len(data) != -(-bits // 8):
                raise _damaged(f"{type_} {list(shape)} has a buffer of {len(data)} bytes", name)
        quantization = self._quantization(table.Quantization(), shape, name)
        return Tensor(name, shape, type_, quantization, data, bool(table.IsVariable()))

    def _buffer(self, number: int, name: str) -> memoryview | None:
        """The bytes of a buffer; the first one is the empty one of tensors without constants."""
        if number == 0:
            return None
        if number >= self.root.BuffersLength():
            raise _damaged(f"there is no buffer {number}", name)
        buffer = self.root.Buffers(number)
        offset, size = buffer.Offset(), buffer.Size()
        if offset > 1:  # of large models: behind the flatbuffer
            if offset + size > len(self.content):
                raise _damaged("its buffer lies behind the end of the file", name)
        else:
            size = buffer.DataLength()
            if size == 0:
                return None
            data = buffer.DataAsNumpy()
            if not isinstance(data, np.ndarray):
                raise _damaged("its buffer has no data", name)
            self._pay_bytes(size)
            return memoryview(data.tobytes())
        self._pay_bytes(size)
        return memoryview(self.content)[offset : offset + size]

    def _dense(
        self, table: tflite.SparsityParameters, data: memoryview, type_: str, shape: tuple[int, ...], name: str
    ) -> memoryview:
        """The bytes of all elements of a sparse constant, of which ``data`` has those that are stored."""
        if type_ == "INT4":
            reason, hint = "sparse tensors of 4 bits are not supported", "convert the model without sparsity"
            raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=name, hint=hint)
        dtype = ELEMENT_TYPES[type_]
        self._pay_bytes(prod(shape) * dtype.itemsize)
        levels = [self._level(table.DimMetadata(n)) for n in self._range(table.DimMetadataLength())]
        order, block_map = (self._integers(table, field) for field in ("TraversalOrder", "BlockMap"))
        if len(levels) > 2 * MOST_RANK:
            raise _damaged(f"its elements have places in {len(levels)} dimensions", name)
        try:
            return memoryview(dense(shape, order, block_map, levels, np.frombuffer(data, dtype)).tobytes())
        except ValueError as problem:
            raise _damaged(f"the tensor is sparse, and {problem}", name) from problem

    def _level(self, table: tflite.DimensionMetadata) -> Level:
        if table.Format() == self.tflite.DimensionType.DENSE:
            return Level(table.DenseSize())
        segments = self._sparse_index(table.ArraySegments(), table.ArraySegmentsType())
        return Level(0, segments, self._sparse_index(table.ArrayIndices(), table.ArrayIndicesType()))

    def _sparse_index(self, union: flatbuffers.table.Table, kind: int) -> np.ndarray:
        vector = getattr(self.tflite, self.index_types[kind])()
        vector.Init(union.Bytes, union.Pos)
        return self._numbers(vector, "Values").astype(np.int64)

    def _pay_bytes(self, count: int) -> None:
        self.bytes_budget -= count
        if self.bytes_budget < 0:
            raise _damaged("too many tensors share a buffer")

    def _quantization(
        self, table: tflite.QuantizationParameters | None, shape: tuple[int, ...], name: str
    ) -> Quantization | None:
        if table is None or not table.ScaleLength():
            return None
        scale = self._numbers(table, "Scale").astype(np.float32)
        zero_point = self._numbers(table, "ZeroPoint").astype(np.int64)
        if not zero_point.size:
            zero_point = np.zeros(scale.size, np.int64)
        axis = table.QuantizedDimension()
        if zero_point.size == 1 and scale.size > 1:
            zero_point = np.repeat(zero_point, scale.size)
        if zero_point.size != scale.size:
            raise _damaged(f"there are {scale.size} scales and {zero_point.size} zero points", name)
        if scale.size > 1 and not (0 <= axis < len(shape) and shape[axis] == scale.size):
            raise _damaged(f"{scale.size} scales along dimension {axis} do not fit the shape {list(shape)}", name)
        if not np.all(np.isfinite(scale) & (scale > 0)):
            raise _damaged("a scale is not positive and finite", name)
        return Quantization(scale, zero_point, axis if scale.size > 1 else 0)

    def _operator(self, table: tflite.Operator, number: int, codes: Sequence[str]) -> Operator:
        if table.OpcodeIndex() >= len(codes):
            raise _damaged(f"operator {number} has a code that is not there")
        custom = self._numbers(table, "CustomOptions").tobytes()
        return Operator(
            codes[table.OpcodeIndex()], number, self._integers(table, "Inputs"), self._integers(table, "Outputs"),
            self._options(table), custom,
        )  # fmt: skip

    def _options(self, table: tflite.Operator) -> Mapping[str, Option]:
        """The options under the names of their accessors."""
        found: dict[str, Option] = {}
        for union, kind in (
            (table.BuiltinOptions(), self.option_types.get(table.BuiltinOptionsType())),
            (table.BuiltinOptions2(), self.option_types_2.get(table.BuiltinOptions2Type())),
        ):
            if union is None or kind in (None, "NONE"):
                continue
            options = getattr(self.tflite, str(kind))()
            options.Init(union.Bytes, union.Pos)
            found |= self._fields(options)
        return found

    def _fields(self, options: object) -> dict[str, Option]:
        names = [name for name in dir(options) if name[0].isupper() and name != "Init"]
        vectors = {name.removesuffix("AsNumpy") for name in names if name.endswith("AsNumpy")}
        found: dict[str, Option] = {name: self._integers(options, name) for name in vectors}
        for name in names:
            if not name.startswith(tuple(vectors)):
                value = _scalar(getattr(options, name))
                if value is not None:
                    found[name] = value
        return found


def _scalar(accessor: Callable[[], object]) -> Option | None:
    """What an accessor gives that is no table and no vector of tables."""
    if accessor.__code__.co_argcount > 1:
        return None
    value = accessor()
    return value if isinstance(value, (int, float, bytes)) else None
