"""ONNX element types and tensors as ccml's."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from ..errors import CcmlError, ErrorCode
from ..ir.types import DType

MAX_ELEMENTS = 2**31
"""No value of a model may have more elements."""

MAX_RANK = 64
"""What NumPy takes."""

DTYPES: dict[int, DType] = {
    TensorProto.FLOAT: DType.F32, TensorProto.DOUBLE: DType.F64, TensorProto.FLOAT16: DType.F16,
    TensorProto.INT64: DType.I64, TensorProto.INT32: DType.I32, TensorProto.INT16: DType.I16,
    TensorProto.INT8: DType.I8, TensorProto.UINT64: DType.U64, TensorProto.UINT32: DType.U32,
    TensorProto.UINT16: DType.U16, TensorProto.UINT8: DType.U8, TensorProto.BOOL: DType.BOOL,
    TensorProto.BFLOAT16: DType.BF16, TensorProto.STRING: DType.CHAR,
} | {
    getattr(TensorProto, name): dtype
    for name, dtype in {
        "FLOAT8E4M3FN": DType.F8E4M3FN, "FLOAT8E4M3FNUZ": DType.F8E4M3FNUZ, "FLOAT8E5M2": DType.F8E5M2,
        "FLOAT8E5M2FNUZ": DType.F8E5M2FNUZ, "FLOAT8E8M0": DType.F8E8M0, "FLOAT6E2M3": DType.F6E2M3,
        "FLOAT6E3M2": DType.F6E3M2, "FLOAT4E2M1": DType.F4E2M1, "INT4": DType.I4, "UINT4": DType.U4,
        "INT2": DType.I2, "UINT2": DType.U2,
    }.items()
    if hasattr(TensorProto, name)
}  # fmt: skip

def dtype_of(elem_type: int, loc: str) -> DType:
    """The element type behind an ONNX number. Raises ``UNSUPPORTED_FEATURE`` naming the type."""
    if elem_type in DTYPES:
        return DTYPES[elem_type]
    if elem_type not in TensorProto.DataType.values() or elem_type == TensorProto.UNDEFINED:
        raise CcmlError(ErrorCode.INVALID_MODEL, f"element type {elem_type} does not exist", loc=loc)
    names = ["string" if dtype is DType.CHAR else dtype.value for dtype in DTYPES.values()]
    raise CcmlError(
        ErrorCode.UNSUPPORTED_FEATURE,
        f"element type {TensorProto.DataType.Name(elem_type).lower()} is not supported",
        loc=loc,
        hint=f"supported types are {', '.join(names)}",
    )


def to_array(tensor: onnx.TensorProto, loc: str) -> np.ndarray:
    """The elements of a tensor that is stored in the model. Raises a :class:`CcmlError` where it is malformed."""
    if tensor.data_location == TensorProto.EXTERNAL:
        raise CcmlError(
            ErrorCode.EXTERNAL_DATA, "the data is in another file and was not loaded", loc=loc,
            hint="load the model with ccml.frontend_onnx.load_model",
        )  # fmt: skip
    dtype_of(tensor.data_type, loc)
    size = 1
    for extent in tensor.dims:
        size *= extent
        if extent < 0 or size > MAX_ELEMENTS:
            raise CcmlError(ErrorCode.INVALID_MODEL, f"a tensor cannot have the shape {list(tensor.dims)}", loc=loc)
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError, OverflowError) as problem:
        raise CcmlError(ErrorCode.INVALID_MODEL, f"the tensor's data is damaged: {problem}", loc=loc) from problem
