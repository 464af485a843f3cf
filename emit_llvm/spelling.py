"""How LLVM IR spells the types and constants of the loop IR."""

from __future__ import annotations

import struct

import numpy as np

from ..ir.loops import Type
from ..ir.types import DType

_SCALARS = {
    DType.F64: "double", DType.F32: "float", DType.F16: "half",
    DType.I64: "i64", DType.I32: "i32", DType.I16: "i16", DType.I8: "i8",
    DType.U64: "i64", DType.U32: "i32", DType.U16: "i16", DType.U8: "i8",
    DType.BOOL: "i1",
}  # fmt: skip


def vector(scalar: str, lanes: int) -> str:
    """``scalar`` itself for one lane, else the vector type."""
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


def scalar_name(dtype: DType, pointer_bits: int) -> str:
    """The type of one value in a register; ``index`` is an integer as wide as a pointer."""
    return f"i{pointer_bits}" if dtype is DType.INDEX else _SCALARS[dtype]


def memory_name(dtype: DType) -> str:
    """The type of one element in memory, where a ``bool`` is a byte."""
    return "i8" if dtype is DType.BOOL else _SCALARS[dtype]


def type_name(type_: Type, pointer_bits: int) -> str:
    return vector(scalar_name(type_.dtype, pointer_bits), type_.lanes)


def mangled(type_: Type) -> str:
    """The suffix that overloaded intrinsics carry: ``f32``, ``i8``, ``v16f32``. Never ``index``."""
    bits = 1 if type_.dtype is DType.BOOL else type_.dtype.size * 8
    scalar = f"f{bits}" if type_.dtype.is_float else f"i{bits}"
    return scalar if type_.lanes == 1 else f"v{type_.lanes}{scalar}"


def constant(value: int | float | bool, type_: Type) -> str:
    """A literal; with several lanes, the same value in each."""
    text = _scalar_constant(value, type_.dtype)
    if type_.lanes == 1:
        return text
    return f"splat ({scalar_name(type_.dtype, 0)} {text})"


def _scalar_constant(value: int | float | bool, dtype: DType) -> str:
    if dtype is DType.BOOL:
        return "true" if value else "false"
    if dtype is DType.INDEX:
        return str(int(value))
    if dtype is DType.F16:
        return f"0xH{int(np.float16(value).view(np.uint16)):04X}"
    if dtype.is_float:
        exact = float(np.float32(value)) if dtype is DType.F32 else float(value)
        return "0x" + struct.pack(">d", exact).hex().upper()
    bits = dtype.size * 8
    wrapped = int(value) & ((1 << bits) - 1)
    return str(wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped)
