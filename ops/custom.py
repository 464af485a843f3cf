"""Custom operators, of which nothing is known but their types and what the user says of them (``ccml.custom_ops``)."""

from __future__ import annotations

from ..custom_ops.attributes import input_dtypes, result_types
from ..ir.graph import Node
from ..ir.types import TensorType
from .opdef import Attrs, Types

CUSTOM = "custom"
"""The operator that stands for all of them."""


def infer_custom(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    """The results that are not left out, as they were declared."""
    expected = input_dtypes(attrs)
    if len(types) > len(expected):
        raise ValueError(f"{len(types)} operands, declared are {len(expected)}")
    for number, (type_, dtype) in enumerate(zip(types, expected)):
        if type_ is not None and type_.dtype is not dtype:
            raise ValueError(f"operand {number} is {type_}, declared is {dtype.value}")
    return tuple(type_ for type_ in result_types(attrs) if type_ is not None)


def custom_macs(node: Node) -> int:
    """What the signature says; 0 where it says nothing."""
    count = node.attrs.get("macs", 0)
    assert isinstance(count, int)
    return count
