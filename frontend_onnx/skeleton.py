"""A model as ``onnx.shape_inference`` is given it.

The inference of some operators ends the process where it does not know the element type of an operand. So the types of
all values are declared, and nodes without are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import onnx
from onnx import TensorProto, defs, helper

from ..ir.graph import Value
from ..ir.types import DType, TensorType

_NAMES = frozenset(TensorProto.DataType.keys())

_SMALL = 1024
"""Elements; larger initializers (weights, not shapes) are declared without their data."""


def skeleton(model: onnx.ModelProto, types: Mapping[str, TensorType], values: Mapping[str, object]) -> onnx.ModelProto:
    """The model with its inputs' shapes bound and without the data of its weights and its declared shapes.

    ``values`` are those imported so far; nodes behind them stay where the types of their operands and results follow.
    """
    inputs = [helper.make_tensor_value_info(name, element_type(t), t.shape) for name, t in types.items()]
    small = []
    for tensor in model.graph.initializer:
        if prod(tensor.dims) <= _SMALL:
            small.append(tensor)
        else:
            inputs.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    known = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    known |= {name: element_type(t) for name, t in types.items()}
    known |= {name: element_type(value.type) for name, value in values.items() if isinstance(value, Value)}
    opset = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 1)
    nodes = [node for node in model.graph.node if _typed(node, known, opset)]
    given = {value.name for value in (*inputs, *small)}
    between = {name: helper.make_tensor_value_info(name, t, None) for name, t in known.items() if name not in given}
    unknown = onnx.TypeProto()
    outputs = [between.pop(v.name, helper.make_value_info(v.name, unknown)) for v in model.graph.output]
    graph = helper.make_graph(nodes, "skeleton", inputs, outputs, small, value_info=list(between.values()))
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)


def forget_shapes_of_bodies(graph: onnx.GraphProto) -> None:
    """Clears the shapes that the bodies of control flow declare: the inference believes them against its own."""
    for node in graph.node:
        for body in (attribute.g for attribute in node.attribute if attribute.HasField("g")):
            for info in (*body.input, *body.output, *body.value_info):
                if info.type.HasField("tensor_type"):
                    info.type.tensor_type.ClearField("shape")
            forget_shapes_of_bodies(body)


def element_type(type_: TensorType) -> int:
    if type_.dtype is DType.CHAR:
        return int(TensorProto.STRING)
    return int(helper.np_dtype_to_tensor_dtype(type_.dtype.numpy))


def _typed(node: onnx.NodeProto, known: dict[str, int], opset: int) -> bool:
    """Whether the types of all operands and results are known; adds results that follow from the operator's schema."""
    if any(name and name not in known for name in node.input):
        return False
    missing = [(position, name) for position, name in enumerate(node.output) if name and name not in known]
    if not missing:
        return True
    if node.domain not in ("", "ai.onnx") or any(attribute.HasField("g") for attribute in node.attribute):
        return False
    try:
        schema = defs.get_schema(node.op_type, opset, "")
    except defs.SchemaError:
        return False
    found = [_result_type(node, schema.inputs, schema.outputs, position, known) for position, _ in missing]
    if not all(found):
        return False
    known.update({name: type_ for (_, name), type_ in zip(missing, found) if type_})
    return True


def _result_type(
    node: onnx.NodeProto, inputs: Sequence[object], outputs: Sequence[object], position: int, known: Mapping[str, int]
) -> int | None:
    """The type of an operand that the schema calls the same, a fixed one, or one that an attribute names."""
    if not outputs:
        return None
    schema = outputs[min(position, len(outputs) - 1)]
    if all(name.startswith(("seq", "optional")) for name in schema.types):  # type: ignore[attr-defined]
        return None
    formal = schema.type_str  # type: ignore[attr-defined]
    for place, name in enumerate(node.input):
        if name and inputs and inputs[min(place, len(inputs) - 1)].type_str == formal:  # type: ignore[attr-defined]
            return known[name]
    for attribute in node.attribute:
        if attribute.name in ("to", "dtype", "output_dtype", "output_datatype"):
            return attribute.i or None
        if attribute.name == "value" and attribute.HasField("t"):
            return attribute.t.data_type
        if attribute.name in ("value_int", "value_ints"):
            return TensorProto.INT64
        if attribute.name in ("value_float", "value_floats"):
            return TensorProto.FLOAT
    fixed = formal.removeprefix("tensor(").removesuffix(")").upper()
    return TensorProto.DataType.Value(fixed) if fixed in _NAMES else None
