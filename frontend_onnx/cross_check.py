"""``onnx.shape_inference`` as a second opinion on the shapes that the importer found."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import onnx
from onnx import helper, shape_inference

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Value
from ..ir.types import TensorType
from .scope import Scope

_SMALL = 1024
"""Elements; larger initializers (weights, not shapes) are declared without their data."""


def check_inferred_shapes(model: onnx.ModelProto, types: Mapping[str, TensorType], scope: Scope) -> None:
    """Raises ``INVALID_MODEL`` where a static extent that ONNX infers differs from that of the imported value.

    The inference itself may fail (it knows less than the importer); then there is no second opinion.
    """
    if model.functions:
        return  # the walk has expanded them with its own bounds; the inference recurses without
    try:
        inferred = shape_inference.infer_shapes(_skeleton(model, types), data_prop=True)
    except Exception:
        return
    for info in inferred.graph.value_info:
        value = scope.values.get(info.name)
        if not isinstance(value, Value) or not info.type.tensor_type.HasField("shape"):
            continue
        dims = info.type.tensor_type.shape.dim
        extents = [d.dim_value if d.WhichOneof("value") == "dim_value" else None for d in dims]
        same_rank = len(extents) == len(value.shape)
        if not same_rank or any(e is not None and e != own for e, own in zip(extents, value.shape)):
            raise CcmlError(
                ErrorCode.INVALID_MODEL,
                f"the shape is {list(value.shape)}, but onnx.shape_inference finds {extents}",
                loc=info.name,
            )


def _skeleton(model: onnx.ModelProto, types: Mapping[str, TensorType]) -> onnx.ModelProto:
    """The model with its inputs' shapes bound and without the data of its weights and its declared shapes."""
    inputs = [
        helper.make_tensor_value_info(name, int(helper.np_dtype_to_tensor_dtype(t.dtype.numpy)), t.shape)
        for name, t in types.items()
    ]
    small = []
    for tensor in model.graph.initializer:
        if prod(tensor.dims) <= _SMALL:
            small.append(tensor)
        else:
            inputs.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    outputs = [helper.make_value_info(value.name, onnx.TypeProto()) for value in model.graph.output]
    graph = helper.make_graph(model.graph.node, "skeleton", inputs, outputs, initializer=small)
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
