"""What a node ``custom`` of the graph IR holds of its operator; the schema is in the operator table.

``operator``, ``function``, ``file`` and ``code`` are those of :class:`~ccml.custom_ops.operators.CustomOperator`, and
``constants`` is what the C preprocessor knows of this node. ``inputs`` are the element types of the inputs, ``results``
the types of the outputs, such as ``f32[2,3]``, or ``f32?`` for one that is left out, for which the node has no value.
``workspace`` is -1 where the function takes none. ``in_place`` has the input whose memory each output may be given, or
-1. ``node`` is the ONNX node as base64, for its attributes, and ``meaning`` names a Python function.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

import onnx

from ..ir.types import DType, TensorType

NO_WORKSPACE = -1
_TYPE = re.compile(r"(\w+)(\?|\[[0-9,]*\])")

Attrs = Mapping[str, object]


def spell_result(dtype: DType, shape: tuple[int, ...] | None) -> str:
    """An element of ``results``; without a shape it is left out."""
    suffix = "?" if shape is None else f"[{','.join(map(str, shape))}]"
    return f"{dtype.value}{suffix}"


def result_types(attrs: Attrs) -> tuple[TensorType | None, ...]:
    """The types of all outputs; ``None`` for those that are left out. Raises :class:`ValueError` for texts that name
    no type."""
    parsed = (_parsed(text) for text in _texts(attrs, "results"))
    return tuple(
        None if shape == "?" else TensorType(dtype, tuple(int(extent) for extent in shape[1:-1].split(",") if extent))
        for dtype, shape in parsed
    )


def result_dtypes(attrs: Attrs) -> tuple[DType, ...]:
    """The element type of each output, of those that are left out, too."""
    return tuple(_parsed(text)[0] for text in _texts(attrs, "results"))


def _parsed(text: str) -> tuple[DType, str]:
    found = _TYPE.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is no type")
    return DType(found[1]), found[2]


def input_dtypes(attrs: Attrs) -> tuple[DType, ...]:
    """The element type of each input, of those that are left out, too."""
    return tuple(DType(text) for text in _texts(attrs, "inputs"))


def packed_node(node: onnx.NodeProto) -> str:
    """The attribute ``node``."""
    return base64.b64encode(node.SerializeToString(deterministic=True)).decode("ascii")


def onnx_node(attrs: Attrs) -> onnx.NodeProto:
    """The ONNX node, with its attributes resolved and without names of values."""
    return onnx.NodeProto.FromString(base64.b64decode(str(attrs["node"])))


def _texts(attrs: Attrs, name: str) -> tuple[str, ...]:
    value = attrs[name]
    assert isinstance(value, tuple), name
    return tuple(map(str, value))
