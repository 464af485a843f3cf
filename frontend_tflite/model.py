"""A TensorFlow Lite model as plain data: what of the file decides about the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

ELEMENT_TYPES: Mapping[str, np.dtype] = {
    "FLOAT32": np.dtype(np.float32), "FLOAT16": np.dtype(np.float16), "FLOAT64": np.dtype(np.float64),
    "INT4": np.dtype(np.int8), "INT8": np.dtype(np.int8), "INT16": np.dtype(np.int16), "INT32": np.dtype(np.int32),
    "INT64": np.dtype(np.int64), "UINT8": np.dtype(np.uint8), "UINT16": np.dtype(np.uint16),
    "UINT32": np.dtype(np.uint32), "UINT64": np.dtype(np.uint64), "BOOL": np.dtype(np.bool_),
}  # fmt: skip
"""Element types by their names in the schema. Packed 4-bit integers become bytes when they are read."""

Option = int | float | bool | bytes | tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Quantization:
    """``real = (stored - zero_point) * scale``: one pair, or one for each index of ``axis``."""

    scale: np.ndarray
    zero_point: np.ndarray
    axis: int

    @property
    def per_tensor(self) -> bool:
        return self.scale.size == 1

    def same(self, other: Quantization | None) -> bool:
        if other is None or (self.axis != other.axis and not self.per_tensor):
            return False
        return np.array_equal(self.scale, other.scale) and np.array_equal(self.zero_point, other.zero_point)


@dataclass(frozen=True, eq=False)
class Tensor:
    """``data`` are the bytes of a constant; a tensor that an operator computes, or that is an input, has none."""

    name: str
    shape: tuple[int, ...]
    type: str
    quantization: Quantization | None
    data: memoryview | None
    is_variable: bool

    @property
    def dtype(self) -> np.dtype:
        return ELEMENT_TYPES[self.type]

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @cached_property
    def array(self) -> np.ndarray:
        """The elements of a constant."""
        assert self.data is not None
        if self.type != "INT4":
            return np.frombuffer(self.data, self.dtype).reshape(self.shape)
        packed = np.frombuffer(self.data, np.int8)
        return np.stack([packed << 4 >> 4, packed >> 4], axis=-1).reshape(-1)[: self.size].reshape(self.shape)


@dataclass(frozen=True, eq=False)
class Operator:
    """``inputs`` and ``outputs`` are indices of tensors, -1 where one is left out; ``options`` go by the names that
    their accessors have in the schema. ``name`` is that of the builtin operator or of the custom one."""

    name: str
    number: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Option]
    custom: bytes


@dataclass(frozen=True, eq=False)
class Subgraph:
    tensors: tuple[Tensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: tuple[Operator, ...]


@dataclass(frozen=True, eq=False)
class Model:
    """The first subgraph is the model, the others belong to its operators of control flow."""

    description: str
    subgraphs: tuple[Subgraph, ...]
