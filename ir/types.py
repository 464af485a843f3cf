"""Element types and tensor types, shared by the graph IR and the loop IR."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from math import prod

import numpy as np


class DType(Enum):
    """An element type. The value is its spelling in both IR texts.

    ``INDEX`` exists in the loop IR only: a signed integer as wide as a pointer of the target.
    """

    F64 = "f64"
    F32 = "f32"
    F16 = "f16"
    I64 = "i64"
    I32 = "i32"
    I16 = "i16"
    I8 = "i8"
    U64 = "u64"
    U32 = "u32"
    U16 = "u16"
    U8 = "u8"
    BOOL = "bool"
    INDEX = "index"

    @property
    def is_float(self) -> bool:
        return self in _FLOATS

    @property
    def is_signed(self) -> bool:
        return self in _SIGNED

    @property
    def is_integer(self) -> bool:
        return not self.is_float and self is not DType.BOOL

    @property
    def size(self) -> int:
        """Bytes of one element in memory (``BOOL`` is one byte; ``INDEX`` is never stored)."""
        return self.numpy.itemsize

    @property
    def numpy(self) -> np.dtype:
        """The NumPy type with the same values. ``INDEX`` maps to int64."""
        return np.dtype(_NUMPY[self])

    @staticmethod
    def from_numpy(dtype: np.dtype | type) -> DType:
        """Raises ``KeyError`` for a type that ccml does not have."""
        return _FROM_NUMPY[np.dtype(dtype)]


_FLOATS = frozenset({DType.F64, DType.F32, DType.F16})
_SIGNED = frozenset({DType.I64, DType.I32, DType.I16, DType.I8, DType.INDEX}) | _FLOATS
_NUMPY = {
    DType.F64: "float64", DType.F32: "float32", DType.F16: "float16",
    DType.I64: "int64", DType.I32: "int32", DType.I16: "int16", DType.I8: "int8",
    DType.U64: "uint64", DType.U32: "uint32", DType.U16: "uint16", DType.U8: "uint8",
    DType.BOOL: "bool", DType.INDEX: "int64",
}  # fmt: skip
_FROM_NUMPY = {np.dtype(name): dtype for dtype, name in _NUMPY.items() if dtype is not DType.INDEX}


@dataclass(frozen=True)
class QuantParams:
    """Affine quantization: ``real = (stored - zero_point) * scale``.

    One scale and zero point for the tensor, or one each per index of ``axis``.
    """

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int | None = None


@dataclass(frozen=True)
class TensorType:
    """Element type, static shape, and quantization where the tensor is quantized."""

    dtype: DType
    shape: tuple[int, ...]
    quant: QuantParams | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.size

    def with_shape(self, shape: tuple[int, ...]) -> TensorType:
        return replace(self, shape=tuple(shape))

    def with_dtype(self, dtype: DType) -> TensorType:
        return replace(self, dtype=dtype)

    def __str__(self) -> str:
        return f"{self.dtype.value}[{','.join(map(str, self.shape))}]"
