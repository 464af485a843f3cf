"""What the C of a custom operator can ask the preprocessor about the node that it is compiled for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np
from onnx import TensorProto, helper

from ..ir.c_spelling import MEMORY_TYPES, c_string
from ..ir.types import DType, TensorType
from .signature import AttributeValue

MAX_ELEMENTS = 1 << 16
"""Of an attribute that is a tensor or a list."""


def constants(
    inputs: Sequence[TensorType | None],
    input_dtypes: Sequence[DType],
    outputs: Sequence[TensorType | None],
    output_dtypes: Sequence[DType],
    attributes: Mapping[str, AttributeValue],
    workspace: int,
) -> str:
    """The lines before the user's code. Names of the model's tensors are not among them; attributes are quoted.

    Raises :class:`ValueError` where an attribute cannot be said in C.
    """
    lines = [*_element_types(), f"#define CCML_NUM_INPUTS {len(inputs)}", f"#define CCML_NUM_OUTPUTS {len(outputs)}"]
    for number, (type_, dtype) in enumerate(zip(inputs, input_dtypes, strict=True)):
        lines += _tensor(f"CCML_IN{number}", type_, dtype)
    for number, (type_, dtype) in enumerate(zip(outputs, output_dtypes, strict=True)):
        lines += _tensor(f"CCML_OUT{number}", type_, dtype)
    seen: dict[str, str] = {}
    for name, value in attributes.items():
        macro = f"CCML_ATTR_{re.sub(r'[^A-Za-z0-9_]', '_', name)}"
        if macro in seen:
            raise ValueError(f"attributes '{seen[macro]}' and '{name}' would both be {macro}")
        seen[macro] = name
        lines += _attribute(macro, name, value)
    if workspace >= 0:
        lines.append(f"#define CCML_WORKSPACE_SIZE {workspace}")
    head = ["#include <math.h>"] if any("INFINITY" in line or "NAN" in line for line in lines) else []
    return "\n".join([*head, *lines]) + "\n"


def _number(dtype: DType) -> int:
    """ONNX's number of an element type."""
    return int(helper.np_dtype_to_tensor_dtype(dtype.numpy))


def _element_types() -> Iterator[str]:
    """Element types by the names and numbers that ONNX gives them."""
    for dtype in DType:
        if dtype not in (DType.INDEX, DType.CHAR):
            name = TensorProto.DataType.Name(_number(dtype))
            yield f"#define CCML_{name} {_number(dtype)}"


def _tensor(macro: str, type_: TensorType | None, dtype: DType) -> Iterator[str]:
    yield f"#define {macro} {int(type_ is not None)}"
    yield f"#define {macro}_TYPE {MEMORY_TYPES[dtype]}"
    yield f"#define {macro}_DTYPE {_number(dtype)}"
    if type_ is not None:
        yield from _shape(macro, type_.shape)


def _shape(macro: str, shape: Sequence[int]) -> Iterator[str]:
    yield f"#define {macro}_RANK {len(shape)}"
    yield f"#define {macro}_SIZE {prod(shape)}"
    yield f"#define {macro}_DIMS {{{', '.join(map(str, shape)) or '1'}}}"
    for axis, extent in enumerate(shape):
        yield f"#define {macro}_DIM{axis} {extent}"


def _attribute(macro: str, name: str, value: AttributeValue) -> Iterator[str]:
    """A scalar is an expression, a list or tensor an initializer."""
    if isinstance(value, np.ndarray):
        dtype = DType.from_numpy(value.dtype)
        yield f"#define {macro}_TYPE {MEMORY_TYPES[dtype]}"
        yield f"#define {macro}_DTYPE {_number(dtype)}"
        yield from _shape(macro, value.shape)
        value = value.view(dtype.stored.numpy) if dtype.is_narrow else value
        value = value.view(np.uint16) if dtype is DType.F16 else value
        value = value.reshape(-1).tolist() if dtype is not DType.F64 else [np.float64(v) for v in value.reshape(-1)]
    if isinstance(value, list):
        if len(value) > MAX_ELEMENTS:
            raise ValueError(f"attribute '{name}' has {len(value)} elements, more than {MAX_ELEMENTS}")
        yield f"#define {macro}_COUNT {len(value)}"
        yield f"#define {macro} {{{', '.join(map(_literal, value)) or '0'}}}"
    else:
        yield f"#define {macro} {_literal(value)}"


def _literal(value: object) -> str:
    if isinstance(value, bytes):
        return c_string(value)
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, np.float64):
        return _float(float(value), repr(float(value)), "")
    if isinstance(value, float):
        return _float(value, str(np.float32(value)), "f")
    raise ValueError(f"{type(value).__name__} is no attribute for C")


def _integer(value: int) -> str:
    if value == -(2**63):
        return "(-9223372036854775807LL - 1)"
    suffix = "" if -(2**31) < value < 2**31 else "ULL" if value >= 2**63 else "LL"
    return f"({value}{suffix})" if value < 0 else f"{value}{suffix}"


def _float(value: float, digits: str, suffix: str) -> str:
    """The shortest decimal that reads back as the same number."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value) or digits.lstrip("-") == "inf":
        return "INFINITY" if value > 0 else "(-INFINITY)"
    return f"({digits}{suffix})" if math.copysign(1, value) < 0 else f"{digits}{suffix}"
