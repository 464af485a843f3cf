"""Features in front of a model: one graph from samples or pixels to the model's results."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, version_converter

from ..errors import CcmlError, ErrorCode
from ..frontend_onnx.feature_function import DOMAIN, OPSET
from ..record import record
from .graph import IR_VERSION, FeatureGraph, FeatureWriter

_FLOATS: Mapping[int, type[Any]] = {
    TensorProto.FLOAT: np.float32, TensorProto.FLOAT16: np.float16, TensorProto.DOUBLE: np.float64,
}  # fmt: skip
_BYTES: Mapping[int, type[Any]] = {TensorProto.INT8: np.int8, TensorProto.UINT8: np.uint8}


@record
class ModelInput:
    """The input of a model that features go to. Open dimensions count as 1."""

    name: str
    element_type: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return prod(self.shape)

    def __str__(self) -> str:
        return f"{self.name} {list(self.shape)}"


def model_input(model: onnx.ModelProto, name: str | None = None) -> ModelInput:
    """The input ``name``, or the only one. Raises ``BAD_OPTION`` where that cannot be told."""
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = {value.name: value for value in model.graph.input if value.name not in constants}
    if name is None and len(inputs) != 1:
        raise _refused("--input", f"the model has {len(inputs)} inputs", f"name one: {', '.join(inputs) or 'none'}")
    chosen = name if name is not None else next(iter(inputs))
    if chosen not in inputs:
        raise _refused("--input", f"the model has no input {chosen}", f"there is {', '.join(inputs)}")
    tensor = inputs[chosen].type.tensor_type
    if not tensor.HasField("shape"):
        raise _refused("--into", f"the model does not say which shape {chosen} has")
    return ModelInput(chosen, tensor.elem_type, tuple(max(dim.dim_value, 1) for dim in tensor.shape.dim))


def into_model(features: FeatureGraph, value: str, model: onnx.ModelProto, target: ModelInput) -> onnx.ModelProto:
    """``model`` with the nodes of ``features`` before it; ``value`` of that graph has the elements of ``target``, as
    numbers that are features when they are multiplied by the graph's scale.

    Raises ``BAD_OPTION`` where element types or names do not go together, ``UNSUPPORTED_FEATURE`` where an old model
    cannot be brought to an operator set of today.
    """
    whole = _modern(model)
    writer = features.writer
    writer.stage = "model_input"
    shaped = writer.reshape(_typed(writer, value, features.scale, whole, target), *target.shape)
    writer.nodes.append(helper.make_node("Identity", [shaped], [target.name], name=f"features/{target.name}"))
    graph = whole.graph
    _check_names(writer, graph, features)
    others = [each for each in graph.input if each.name != target.name]
    del graph.input[:]
    graph.input.extend([tensor.proto() for tensor in features.inputs] + others)
    graph.output.extend(tensor.proto() for tensor in features.outputs)
    nodes = [*writer.nodes, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    whole.functions.extend(features.functions)
    if features.functions and all(entry.domain != DOMAIN for entry in whole.opset_import):
        whole.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    whole.ir_version = max(whole.ir_version, IR_VERSION)
    return whole


def _modern(model: onnx.ModelProto) -> onnx.ModelProto:
    version = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 1)
    if version >= OPSET:
        found = onnx.ModelProto()
        found.CopyFrom(model)
        return found
    try:
        return version_converter.convert_version(model, OPSET)
    except Exception as problem:  # the converter raises what it likes
        reason = f"operator set {version} cannot be brought to {OPSET}: {str(problem).splitlines()[0][:120]}"
        hint = f"export the model for operator set {OPSET} or later"
        raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc="--into", hint=hint) from problem


def _typed(writer: FeatureWriter, value: str, scale: float, model: onnx.ModelProto, target: ModelInput) -> str:
    """``value`` times ``scale`` in the type of the model's input."""
    if target.element_type in _FLOATS:
        return writer.cast(_scaled(writer, value, scale), _FLOATS[target.element_type])
    if target.element_type not in _BYTES:
        kind = TensorProto.DataType.Name(target.element_type).lower()
        raise _refused("--into", f"the model takes {kind}", "floats, int8 or uint8 work")
    dtype = _BYTES[target.element_type]
    step, zero = _quantization(model, target)
    return writer.emit(
        "QuantizeLinear", _scaled(writer, value, scale), writer.constant(np.array(step, np.float32)),
        writer.constant(np.array(zero, dtype)),
    )  # fmt: skip


def _scaled(writer: FeatureWriter, value: str, scale: float) -> str:
    floats = writer.cast(value, np.float32)
    return floats if scale == 1.0 else writer.emit("Mul", floats, writer.constant(np.array(scale, np.float32)))


def _quantization(model: onnx.ModelProto, target: ModelInput) -> tuple[float, int]:
    """Scale and zero point of an input of bytes: those with which it is dequantized."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "DequantizeLinear" and node.input[0] == target.name:
            arrays = [numpy_helper.to_array(constants[name]) for name in node.input[1:] if name in constants]
            if len(arrays) == len(node.input) - 1 and arrays[0].size == 1:
                return float(arrays[0].reshape(())), int(arrays[1].reshape(())) if len(arrays) > 1 else 0
    kind = TensorProto.DataType.Name(target.element_type).lower()
    reason = f"{target.name} is {kind}, and the model does not tell its scale"
    raise _refused("--into", reason, "take the model with float inputs; ccml compile --io int8 quantizes them")


def _check_names(writer: FeatureWriter, graph: onnx.GraphProto, features: FeatureGraph) -> None:
    there = {name for node in graph.node for name in node.output} | {tensor.name for tensor in graph.initializer}
    there |= {value.name for value in graph.input}
    made = {name for node in writer.nodes for name in node.output} | {tensor.name for tensor in features.inputs}
    both = sorted((made & there) - {writer.nodes[-1].output[0]})
    if both:
        raise _refused("--into", f"the model has a tensor {both[0]} already", "is it one with features in front?")


def _refused(option: str, reason: str, hint: str | None = None) -> CcmlError:
    return CcmlError(ErrorCode.BAD_OPTION, reason, loc=option, hint=hint)
