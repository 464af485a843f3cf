"""Operators that move elements of any type, on strings: they move the numbers of rows.

Operators that know strings have rules of their own (``ops_strings.py``); all others are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from ..ir.graph import Value
from ..record import record
from .context import NodeContext
from .functions import Schema
from .scope import Results
from .string_tables import constant_strings, merged, register

MOVES = frozenset({
    "Compress", "Concat", "DepthToSpace", "Dropout", "Expand", "Flatten", "Gather", "GatherElements", "GatherND",
    "Identity", "If", "Loop", "OneHot", "Pad", "Reshape", "ReverseSequence", "Scan", "Scatter", "ScatterElements",
    "ScatterND", "Shape", "Size", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze",
    "Where", "ai.onnx.ml.ArrayFeatureExtractor",
})  # fmt: skip
"""Operators that look at no element of a type that may be strings."""

_NESTED = frozenset({"If", "Loop", "Scan"})
"""Of these, operators whose results are what their bodies give."""


@record
class Moved:
    """The table of the strings that a node moves, by the schema's names of types."""

    types: Mapping[str, Value]

    def results(self, ctx: NodeContext, schema: Schema, results: Results) -> Results:
        """Makes results stand for strings where their type is that of such operands."""
        formals = [entry.type_str for entry in schema.outputs]
        for position, value in enumerate(results):
            table = self.types.get(formals[min(position, len(formals) - 1)])
            if table is not None and isinstance(value, Value) and value.name not in ctx.builder.strings:
                register(ctx.builder, value, table)
        return results


def string_operands(
    ctx: NodeContext, schema: Schema, name: str, known: Collection[str]
) -> tuple[NodeContext, Moved]:
    """The node with numbers of rows of one table in the place of strings.

    ``known`` are the operators with rules for strings, which get their operands as they are.
    Raises ``INVALID_MODEL`` or ``UNSUPPORTED_FEATURE`` for an operator that takes no strings.
    """
    strings = [value is not None and value.name in ctx.builder.strings for value in ctx.inputs]
    if not any(strings) or name in known or name in _NESTED:
        return ctx, Moved({})
    allowed = {entry.type_param_str: entry.allowed_type_strs for entry in schema.type_constraints}
    places: dict[str, list[int]] = {}
    for position, there in enumerate(strings):
        if there:
            formal = schema.inputs[min(position, len(schema.inputs) - 1)].type_str
            if "tensor(string)" not in allowed.get(formal, (formal,)):
                raise ctx.invalid(f"{ctx.op_type} (opset {ctx.opset}) takes no strings, as {_name(ctx, position)} are")
            if name not in MOVES:
                raise ctx.unsupported(f"strings ({_name(ctx, position)}) are not supported here")
            places.setdefault(formal, []).append(position)
    inputs, types = list(ctx.inputs), {}
    for formal, positions in places.items():
        values = [value for value in (ctx.inputs[position] for position in positions) if value is not None]
        if name == "Pad":  # a border without a value is of the number 0: empty strings
            values = [constant_strings(ctx.builder, np.array(""), f"{ctx.stem}.empty"), *values]
        numbers, types[formal] = merged(ctx.builder, values, ctx.loc)
        for position, number in zip(positions, numbers[-len(positions) :]):
            inputs[position] = number
    return replace(ctx, inputs=tuple(inputs)), Moved(types)


def _name(ctx: NodeContext, position: int) -> str:
    return ctx.input(position).name
