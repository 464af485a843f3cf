"""A node against the schema of its operator, so that rules can rely on arity and on the types of attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Value
from .functions import Schema, schema_of
from .versions import NEWEST_OPSET, RULES_OPSET


def check_node(
    node: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto], schema: Schema, opset: int, loc: str
) -> None:
    """Raises ``INVALID_MODEL`` naming the operand or attribute that the schema does not allow.

    Deprecated operators pass: exporters went on writing some (GroupNormalization of opset 18).
    """
    op = f"{node.op_type} (opset {opset})"
    for what, count, least, most in (
        ("inputs", len(node.input), schema.min_input, schema.max_input),
        ("outputs", len(node.output), schema.min_output, schema.max_output),
    ):
        if not least <= count <= most:
            raise CcmlError(ErrorCode.INVALID_MODEL, f"{op} takes {least} to {most} {what}, not {count}", loc=loc)
    for name, attribute in attributes.items():
        expected = schema.attributes.get(name)
        if expected is None:
            hint = _hint_for_later_attribute(node.op_type, name, opset, schema.domain)
            raise CcmlError(ErrorCode.INVALID_MODEL, f"{op} has no attribute {name}", loc=loc, hint=hint)
        if attribute.type != expected.type.value:
            wanted = expected.type.name.lower()
            raise CcmlError(ErrorCode.INVALID_MODEL, f"attribute {name} of {op} is not of type {wanted}", loc=loc)
    for name, expected in schema.attributes.items():
        if expected.required and name not in attributes:
            raise CcmlError(ErrorCode.INVALID_MODEL, f"attribute {name} of {op} is missing", loc=loc)


def _hint_for_later_attribute(op_type: str, name: str, opset: int, domain: str) -> str | None:
    """What to do about an attribute that came with an operator set behind the model's; ``None`` if none has it."""
    if domain:
        return None
    for later in range(opset + 1, NEWEST_OPSET + 1):
        schema = schema_of(op_type, later)
        if schema is not None and name in schema.attributes:
            return f"it came with opset {later}: bring the model to that before the tool that writes {name}"
    return None


def check_known_attributes(
    node: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto], schema: Schema, loc: str
) -> None:
    """Raises ``UNSUPPORTED_FEATURE`` for attributes that came to the default domain behind ``RULES_OPSET``.

    The rules were written without them. Such an attribute passes where it says what the schema says without it.
    """
    if schema.domain or schema.since_version <= RULES_OPSET:
        return
    known = schema_of(node.op_type, RULES_OPSET)
    new = [
        name for name, attribute in attributes.items()
        if (known is None or name not in known.attributes) and not _is_default(attribute, schema)
    ]  # fmt: skip
    if new:
        reason = f"{node.op_type}: attribute {', '.join(new)} of opset {schema.since_version} is not supported"
        raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=loc)


def _is_default(attribute: onnx.AttributeProto, schema: Schema) -> bool:
    """Whether an attribute says what the schema says without it."""
    default = schema.attributes[attribute.name].default_value
    if default.type != attribute.type:
        return False
    return bool(helper.get_attribute_value(default) == helper.get_attribute_value(attribute))


_SMALL = 1024
"""Elements of constants that ONNX's shape inference is given."""


def fault_of_node(
    node: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto], inputs: Sequence[Value | None],
    constants: Mapping[str, np.ndarray], opset: int, domain: str = "",
) -> str | None:  # fmt: skip
    """What ONNX's own type and shape inference finds wrong with a node; ``None`` where it finds nothing.

    It tells a rule that failed because the model is invalid from one that failed for a fault of its own.
    """
    names = [f"in{place}" if value is not None else "" for place, value in enumerate(inputs)]
    alone = helper.make_node(node.op_type, names, [f"out{place}" for place in range(len(node.output))], domain=domain)
    alone.attribute.extend(attributes.values())
    declared, known = [], []
    for name, value in zip(names, inputs):
        if value is not None:
            element = int(helper.np_dtype_to_tensor_dtype(value.dtype.numpy))
            declared.append(helper.make_tensor_value_info(name, element, value.shape))
            array = constants.get(value.name)
            if array is not None and array.size <= _SMALL:
                known.append(numpy_helper.from_array(array, name))
    outputs = [helper.make_value_info(name, onnx.TypeProto()) for name in alone.output]
    graph = helper.make_graph([alone], "node", declared, outputs, known)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, opset)])
    try:
        shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    except Exception as problem:  # of several classes, some of them of the binding
        return " ".join(str(problem).split()) or repr(problem)
    return None
