"""Element types and tensor types, shared by the graph IR and the loop IR."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from functools import cached_property
from math import prod

import ml_dtypes
import numpy as np

from ..record import record


class DType(Enum):
    """An element type. The value is its spelling in both IR texts.

    ``INDEX`` exists in the loop IR only: a signed integer as wide as a pointer of the target. The *narrow* types, from
    ``BF16`` on, exist in the graph IR and at the interface only: they are moved and cast, and computed with after a
    cast to another type. A kernel sees the integers (``stored``) that hold their bits, one element in one or two bytes.
    ``CHAR`` exists at the interface only: a byte of a string (``ir/strings.py``), which the graph moves as ``U8``.
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
    BF16 = "bf16"
    F8E4M3FN = "f8e4m3fn"
    F8E4M3FNUZ = "f8e4m3fnuz"
    F8E5M2 = "f8e5m2"
    F8E5M2FNUZ = "f8e5m2fnuz"
    F8E8M0 = "f8e8m0"
    F6E2M3 = "f6e2m3"
    F6E3M2 = "f6e3m2"
    F4E2M1 = "f4e2m1"
    I4 = "i4"
    U4 = "u4"
    I2 = "i2"
    U2 = "u2"
    CHAR = "char"

    __hash__ = object.__hash__  # there is one object of each; Enum would hash the name each time

    @cached_property
    def is_float(self) -> bool:
        return self in _FLOATS

    @cached_property
    def is_signed(self) -> bool:
        return self in _SIGNED

    @cached_property
    def is_integer(self) -> bool:
        return not self.is_float and self is not DType.BOOL and self not in _STORED

    @cached_property
    def is_narrow(self) -> bool:
        """Whether nothing can be computed in this type. Narrow types are neither ``is_float`` nor ``is_integer``."""
        return self in _STORED and self is not DType.CHAR

    @cached_property
    def bits(self) -> int:
        """Bits of one element that tell its value; the lowest ones of ``stored``."""
        return _BITS.get(self, self.size * 8)

    @cached_property
    def stored(self) -> DType:
        """The element type of a tensor in memory: for a narrow type or ``CHAR`` the integer with its bits, else itself.

        Reading an element takes no notice of bits above ``bits``. Integers are written with their sign extended.
        """
        return _STORED.get(self, self)

    @cached_property
    def size(self) -> int:
        """Bytes of one element in memory (``BOOL`` is one byte; ``INDEX`` is never stored)."""
        return self.numpy.itemsize

    @cached_property
    def numpy(self) -> np.dtype:
        """The NumPy type with the same values, for narrow types one of ``ml_dtypes``. ``INDEX`` maps to int64, ``CHAR``
        to strings of one byte."""
        return np.dtype(_NUMPY[self])

    @staticmethod
    def from_numpy(dtype: np.dtype | type) -> DType:
        """Raises ``KeyError`` for a type that ccml does not have."""
        return _FROM_NUMPY[np.dtype(dtype)]


_FLOATS = frozenset({DType.F64, DType.F32, DType.F16})
_SIGNED = frozenset({DType.I64, DType.I32, DType.I16, DType.I8, DType.INDEX, DType.I4, DType.I2}) | _FLOATS
_STORED = {
    DType.BF16: DType.U16, DType.F8E4M3FN: DType.U8, DType.F8E4M3FNUZ: DType.U8, DType.F8E5M2: DType.U8,
    DType.F8E5M2FNUZ: DType.U8, DType.F8E8M0: DType.U8, DType.F6E2M3: DType.U8, DType.F6E3M2: DType.U8,
    DType.F4E2M1: DType.U8, DType.I4: DType.I8, DType.U4: DType.U8, DType.I2: DType.I8, DType.U2: DType.U8,
    DType.CHAR: DType.U8,
}  # fmt: skip
_BITS = {
    DType.F6E2M3: 6, DType.F6E3M2: 6, DType.F4E2M1: 4, DType.I4: 4, DType.U4: 4, DType.I2: 2, DType.U2: 2,
}  # fmt: skip
_NUMPY: dict[DType, str | type] = {
    DType.F64: "float64", DType.F32: "float32", DType.F16: "float16",
    DType.I64: "int64", DType.I32: "int32", DType.I16: "int16", DType.I8: "int8",
    DType.U64: "uint64", DType.U32: "uint32", DType.U16: "uint16", DType.U8: "uint8",
    DType.BOOL: "bool", DType.INDEX: "int64",
    DType.BF16: ml_dtypes.bfloat16, DType.F8E8M0: ml_dtypes.float8_e8m0fnu,
    DType.F8E4M3FN: ml_dtypes.float8_e4m3fn, DType.F8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
    DType.F8E5M2: ml_dtypes.float8_e5m2, DType.F8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
    DType.F6E2M3: ml_dtypes.float6_e2m3fn, DType.F6E3M2: ml_dtypes.float6_e3m2fn,
    DType.F4E2M1: ml_dtypes.float4_e2m1fn, DType.I4: ml_dtypes.int4, DType.U4: ml_dtypes.uint4,
    DType.I2: ml_dtypes.int2, DType.U2: ml_dtypes.uint2, DType.CHAR: "S1",
}  # fmt: skip
_FROM_NUMPY = {np.dtype(name): dtype for dtype, name in _NUMPY.items() if dtype is not DType.INDEX}


@record
class QuantParams:
    """Affine quantization: ``real = (stored - zero_point) * scale``.

    One scale and zero point for the tensor, or one each per index of ``axis``.
    """

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int | None = None


@record
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

    def __str__(self) -> str:
        return f"{self.dtype.value}[{','.join(map(str, self.shape))}]"
