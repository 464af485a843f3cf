"""Which ONNX operators the importer supports, for ``ccml ops`` and the documentation."""

from __future__ import annotations

from enum import Enum

import onnx
from onnx import defs

from ..ir.types import DType
from ..record import record
from .contrib import DOMAIN, ONNX_RULES
from .contrib import RULES as CONTRIB
from .functions import Schema, has_body
from .ops_sequence import PASSED
from .rules import RULES, RUNTIME_RULES, SEQUENCE_RULES, STRING_RULES
from .scope import DOMAINS
from .string_operands import MOVES
from .tensors import DTYPES
from .versions import NEWEST_OPSET, OLDEST_OPSET
from .walk import NESTED


class How(Enum):
    """By what an operator becomes part of the graph."""

    RULE = "rule"
    FUNCTION = "function body"
    NESTED = "constant condition or count"


@record
class SupportedOperator:
    """``since`` are the operator-set versions at which its definition changed, from the oldest supported on. ``types``
    are the element types that the newest definition allows for the first operand (or the result, where there is none)
    and ccml has, ``CHAR`` for strings; those of ONNX Runtime's operators are not listed."""

    name: str
    how: How
    since: tuple[int, ...]
    types: tuple[DType, ...] = ()


def supported_operators() -> list[SupportedOperator]:
    """Every supported operator of ONNX by name, with its domain but for the default one, then ONNX Runtime's.

    A function body is written in other operators; where it needs one that is not supported, so is the operator itself.
    Such bodies are left out.
    """
    versions: dict[str, list[Schema]] = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain in ("", *DOMAINS) and not schema.deprecated:
            name = f"{schema.domain}.{schema.name}" if schema.domain else schema.name
            versions.setdefault(name, []).append(schema)
    found = []
    for name, schemas in sorted(versions.items()):
        newest = max(schemas, key=lambda schema: schema.since_version)
        how = _how(name, newest)
        if how is not None:
            found.append(SupportedOperator(name, how, _since(schemas), _types(name, newest)))
    found += [SupportedOperator(name, How.FUNCTION, (1,)) for name in ONNX_RULES if name not in versions]
    found.sort(key=lambda operator: operator.name)
    theirs = [SupportedOperator(f"{DOMAIN}.{name}", How.FUNCTION, (1,)) for name in CONTRIB]
    theirs += [SupportedOperator(name, How.RULE, (1,)) for name in RUNTIME_RULES]
    return found + sorted(theirs, key=lambda operator: operator.name)


def _how(name: str, newest: Schema) -> How | None:
    if name in RULES or name in SEQUENCE_RULES:
        return How.RULE
    if name in NESTED:
        return How.NESTED
    return How.FUNCTION if has_body(newest) and _body_is_supported(newest) else None


def _types(name: str, schema: Schema) -> tuple[DType, ...]:
    formal = (list(schema.inputs) or list(schema.outputs))[0].type_str
    allowed = {entry.type_param_str: entry.allowed_type_strs for entry in schema.type_constraints}.get(formal, [formal])
    names = (f"tensor({onnx.TensorProto.DataType.Name(number).lower()})" for number in DTYPES)
    strings = name in MOVES or name in STRING_RULES or name in PASSED or name == "Constant"
    pairs = zip(names, DTYPES.values())
    found = (dtype for type_, dtype in pairs if type_ in allowed or f"seq({type_})" in allowed)
    return tuple(dtype for dtype in found if strings or dtype is not DType.CHAR)


def _body_is_supported(schema: Schema) -> bool:
    """Context-dependent bodies cannot be looked into without operands."""
    return not schema.has_function or all(
        node.op_type in {**RULES, **SEQUENCE_RULES, **NESTED} for node in schema.function_body.node
    )


def _since(schemas: list[Schema]) -> tuple[int, ...]:
    """The versions of the definitions that operator sets in the supported range select."""
    every = sorted(schema.since_version for schema in schemas)
    first = max((version for version in every if version <= OLDEST_OPSET), default=every[0])
    return tuple(version for version in every if first <= version <= NEWEST_OPSET)
