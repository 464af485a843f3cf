"""Operators on elements of narrow types: computed in another type, with results of the narrow type again.

ONNX lets most operators take bfloat16, and some take floats and integers of 8 bits and less. Their operands are cast to
a type that holds their values (f32, or integers of a byte), the operator computes in that, and each result that has
the type of such an operand is rounded to it once. Rules that only move elements, and those of casts, are given the
operands as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from onnx import TensorProto

from ..ir.graph import Value
from ..ir.types import DType
from ..ops.narrow import computed
from .context import NodeContext
from .functions import Schema
from .scope import Results
from .skeleton import element_type

TAKES_NARROW = frozenset({
    "BitCast", "Cast", "CastLike", "Compress", "Concat", "DepthToSpace", "DequantizeLinear", "Expand", "Flatten",
    "Gather", "Identity", "OptionalGetElement", "OptionalHasElement", "QLinearMatMul", "QuantizeLinear", "Reshape",
    "Shape", "Size", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unique", "Unsqueeze", "Where",
})  # fmt: skip
"""Operators whose rules move elements of any type, or know narrow types themselves."""


def computed_operands(ctx: NodeContext, schema: Schema) -> tuple[NodeContext, Mapping[str, DType]]:
    """The node with its narrow operands cast, and the narrow types by the schema's names of types.

    Raises ``INVALID_MODEL`` where the schema does not allow such an operand.
    """
    if ctx.op_type in TAKES_NARROW or not any(value is not None and value.dtype.is_narrow for value in ctx.inputs):
        return ctx, {}
    allowed = {entry.type_param_str: entry.allowed_type_strs for entry in schema.type_constraints}
    inputs: list[Value | None] = []
    types: dict[str, DType] = {}
    for position, value in enumerate(ctx.inputs):
        if value is None or not value.dtype.is_narrow:
            inputs.append(value)
            continue
        formal = schema.inputs[min(position, len(schema.inputs) - 1)].type_str
        name = _onnx_name(value)
        if f"tensor({name})" not in allowed.get(formal, (formal,)):
            raise ctx.invalid(f"{ctx.op_type} (opset {ctx.opset}) does not take {name}, the type of {value.name}")
        types[formal] = value.dtype
        inputs.append(ctx.cast(value, computed(value.dtype)))
    return replace(ctx, inputs=tuple(inputs)), types


def narrow_results(ctx: NodeContext, schema: Schema, types: Mapping[str, DType], results: Results) -> Results:
    """``results`` as the schema has them: those of a narrow operand's type are rounded to it."""
    if not types:
        return results
    formals: Sequence[str] = [entry.type_str for entry in schema.outputs]
    found: list[object] = []
    for position, value in enumerate(results):
        to = types.get(formals[min(position, len(formals) - 1)])
        found.append(ctx.cast(value, to) if to is not None and isinstance(value, Value) else value)
    return found  # type: ignore[return-value]


def _onnx_name(value: Value) -> str:
    return str(TensorProto.DataType.Name(element_type(value.type))).lower()
