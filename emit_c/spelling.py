"""How element types, vector types and literals are spelled in C."""

from __future__ import annotations

import math

import numpy as np
from pycparser import c_ast

from ..errors import CcmlError, ErrorCode
from ..ir.c_spelling import MEMORY_TYPES
from ..ir.loops import Type
from ..ir.program import Parameter, Role
from ..ir.types import DType
from . import tree


def pointee(parameter: Parameter, rows_type: str) -> str:
    """What a parameter of the run function points to; ``rows_type`` is what brings the rows of inputs."""
    if parameter.role is Role.THREADS:
        return "ccml_threads"
    if parameter.by_rows:
        return rows_type
    return "void" if parameter.dtype is None else MEMORY_TYPES[parameter.dtype]


SCALAR_TYPE = "int32_t"
"""Of a kernel's and a block instruction's scalars."""

# Narrower integers are promoted to int by C's operators, so results have to be cast back.
PROMOTED = frozenset({DType.I8, DType.I16, DType.U8, DType.U16, DType.F16})


def value_type(type_: Type) -> str:
    """The C type of a value (a local variable) of ``type_``."""
    if type_.lanes > 1:
        return f"ccml_{type_}"
    return "_Bool" if type_.dtype is DType.BOOL else MEMORY_TYPES[type_.dtype]


def wide_type(dtype: DType) -> str:
    """The unsigned type in which integers of ``dtype`` are computed, so that they wrap around."""
    return "uint64_t" if dtype.size == 8 else "uint32_t"


def literal(value: float | bool, dtype: DType) -> c_ast.Node:
    """A constant of the scalar type, exact."""
    if dtype is DType.F16:
        return tree.integer(int(np.float16(value).view(np.uint16)), "u")
    if dtype.is_float:
        return _float_literal(float(value), dtype)
    return _integer_literal(int(value), dtype)


def _float_literal(value: float, dtype: DType) -> c_ast.Node:
    """The shortest decimal that reads back as the same number; infinities and NaN by macros of ccml_base.h."""
    if math.isnan(value) or math.isinf(value):
        special: c_ast.Node = tree.name("CCML_NAN" if math.isnan(value) else "CCML_INFINITY")
        special = tree.unary("-", special) if value < 0 else special
        return special if dtype is DType.F32 else tree.cast("double", special)
    rounded = np.float32(value) if dtype is DType.F32 else np.float64(value)
    number = c_ast.Constant("float", f"{abs(rounded)!s}{'f' if dtype is DType.F32 else ''}")
    return tree.unary("-", number) if math.copysign(1.0, value) < 0 else number


def _integer_literal(value: int, dtype: DType) -> c_ast.Node:
    if dtype in (DType.U32, DType.U64):
        return tree.integer(value % 2 ** (8 * dtype.size), "u")
    if dtype in (DType.I32, DType.I64) and value == -(2 ** (8 * dtype.size - 1)):
        return tree.name("INT32_MIN" if dtype is DType.I32 else "INT64_MIN")
    return tree.integer(value)


def check_vector(type_: Type) -> None:
    """Raises for vectors that C has no form for."""
    if type_.lanes > 1 and (type_.dtype is DType.INDEX or type_.lanes & (type_.lanes - 1) or type_.lanes > 64):
        hint = "numbers and bool in 2 to 64 lanes, a power of two"
        raise CcmlError(ErrorCode.IR_INVALID, f"the C runtime has no vector type {type_}", hint=hint)
