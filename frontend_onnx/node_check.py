"""A node against the schema of its operator, so that rules can rely on arity and on the types of attributes."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import helper

from ..errors import CcmlError, ErrorCode
from .functions import Schema


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
            raise CcmlError(ErrorCode.INVALID_MODEL, f"{op} has no attribute {name}", loc=loc)
        if attribute.type != expected.type.value:
            wanted = expected.type.name.lower()
            raise CcmlError(ErrorCode.INVALID_MODEL, f"attribute {name} of {op} is not of type {wanted}", loc=loc)
    for name, expected in schema.attributes.items():
        if expected.required and name not in attributes:
            raise CcmlError(ErrorCode.INVALID_MODEL, f"attribute {name} of {op} is missing", loc=loc)


def is_default(attribute: onnx.AttributeProto, schema: Schema) -> bool:
    """Whether an attribute says what the schema says without it."""
    default = schema.attributes[attribute.name].default_value
    if default.type != attribute.type:
        return False
    return bool(helper.get_attribute_value(default) == helper.get_attribute_value(attribute))
