"""The shapes and types that a file declares, against those that ONNX infers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference

from ..errors import CcmlError, ErrorCode
from .model import ELEMENT_TYPES, Tensor
from .onnx_nodes import IR_VERSION, OPSET

_SMALL = 1024
"""Elements of constants that the inference is told."""


def check_shapes(
    nodes: Sequence[onnx.NodeProto],
    constants: Mapping[str, np.ndarray],
    inputs: Sequence[onnx.ValueInfoProto],
    tensors: Mapping[str, Tensor],
) -> None:
    """Raises ``INVALID_MODEL`` where one of ``tensors``, by names of values, has another shape or type than it says."""
    found = _inferred(nodes, constants, inputs)
    for name, tensor in tensors.items():
        if name not in found or tensor.type not in ELEMENT_TYPES:
            continue
        extents = [d.dim_value if d.HasField("dim_value") else None for d in found[name].shape.dim]
        if found[name].HasField("shape") and (
            len(extents) != len(tensor.shape)
            or any(extent not in (None, own) for extent, own in zip(extents, tensor.shape))
        ):
            reason = f"the file gives the tensor the shape {list(tensor.shape)}, its operator {extents}"
            raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=tensor.name)
        kind = helper.np_dtype_to_tensor_dtype(tensor.dtype)
        if found[name].elem_type not in (onnx.TensorProto.UNDEFINED, kind):
            made = onnx.TensorProto.DataType.Name(found[name].elem_type)
            reason = f"the file gives the tensor the type {tensor.type}, its operator {made}"
            raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=tensor.name)


def _inferred(
    nodes: Sequence[onnx.NodeProto], constants: Mapping[str, np.ndarray], inputs: Sequence[onnx.ValueInfoProto]
) -> dict[str, onnx.TypeProto.Tensor]:
    """What ONNX infers; nothing where it fails, for reasons that the import states better."""
    stored = [numpy_helper.from_array(array, name) for name, array in constants.items() if array.size <= _SMALL]
    large = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in constants.items()
        if array.size > _SMALL
    ]
    graph = helper.make_graph(nodes, "shapes", [*inputs, *large], [], stored)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    try:
        inferred = shape_inference.infer_shapes(proto, data_prop=True)
    except Exception:  # it raises whatever it meets, in words of its own
        return {}
    return {info.name: info.type.tensor_type for info in inferred.graph.value_info}
