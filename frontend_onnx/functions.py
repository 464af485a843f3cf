"""Bodies of functions: those in the model, and those that ONNX gives for operators of its own.

Bodies are expanded where the walk meets the call, not by ``onnx.inliner``: there the operand types are known (bodies
of operators such as Attention depend on them), and recursion, which ends the inliner's process, can be refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from onnx import FunctionProto, defs, helper

from ..ir.graph import Value
from ..ir.types import DType


def model_functions(model: onnx.ModelProto) -> dict[tuple[str, str], FunctionProto]:
    """The model-local functions by domain and name."""
    return {(function.domain, function.name): function for function in model.functions}


# The type stubs of onnx lack the properties of OpSchema that are about function bodies, hence Any.
Schema = Any


def schema_of(op_type: str, opset: int, domain: str = "") -> Schema | None:
    """The schema of an operator as of version ``opset`` of its domain."""
    if not 0 < opset < 2**31:
        return None
    try:
        return defs.get_schema(op_type, opset, domain)
    except defs.SchemaError:
        return None


def has_body(schema: Schema) -> bool:
    return bool(schema.has_function or schema.has_context_dependent_function)


def schema_body(
    schema: Schema, opsets: Mapping[str, int], node: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto],
    inputs: Sequence[Value | None],
) -> FunctionProto | None:  # fmt: skip
    """The body of an operator's schema for these attributes and types of operands, or ``None`` where it has none.

    ``opsets`` are the versions by domain; a body that imports none of the default domain has that.
    """
    body, opset = b"", opsets[schema.domain]
    if schema.has_function:
        versions = [version for version in schema.function_opset_versions if version <= opset]
        if versions:
            body = schema.get_function_with_opset_version(max(versions))
    elif schema.has_context_dependent_function:
        versions = [version for version in schema.context_dependent_function_opset_versions if version <= opset]
        if versions:
            call = helper.make_node(node.op_type, node.input, node.output, domain=schema.domain)
            call.attribute.extend(attributes.values())
            types = [_type_proto(value).SerializeToString() for value in inputs]
            body = schema.get_context_dependent_function_with_opset_version(
                max(versions), call.SerializeToString(), types
            )
    if not body:
        return None
    function = FunctionProto.FromString(body)
    if "" in opsets and all(entry.domain not in ("", "ai.onnx") for entry in function.opset_import):
        function.opset_import.append(helper.make_opsetid("", opsets[""]))
    return function


def _type_proto(value: Value | None) -> onnx.TypeProto:
    if value is None:
        return onnx.TypeProto()
    return helper.make_tensor_type_proto(_element_type(value.dtype), value.shape)


def _element_type(dtype: DType) -> int:
    return int(helper.np_dtype_to_tensor_dtype(dtype.numpy))


def bindings(
    function: FunctionProto, attributes: Mapping[str, onnx.AttributeProto], schema: Schema | None
) -> dict[str, onnx.AttributeProto]:
    """The attributes that the body's nodes can refer to: the call's, else the defaults."""
    bound = {attribute.name: attribute for attribute in function.attribute_proto}
    if schema is not None:
        defaults = {name: attribute.default_value for name, attribute in schema.attributes.items()}
        bound.update({name: default for name, default in defaults.items() if default is not None and default.name})
    bound.update(attributes)
    return bound
