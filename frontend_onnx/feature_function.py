"""What the functions have in common that ccml writes into models of features."""

from __future__ import annotations

import onnx

DOMAIN = "ccml.features"
OPSET = 18


def same_function(one: onnx.FunctionProto, other: onnx.FunctionProto) -> bool:
    """Whether nodes, names and versions are equal; what only describes does not count."""
    return (
        list(one.node) == list(other.node)
        and list(one.input) == list(other.input)
        and list(one.output) == list(other.output)
        and not one.attribute
        and {(entry.domain, entry.version) for entry in one.opset_import} == {("", OPSET)}
    )
