"""What a row of the operator table is, and what schemas say of an operator's types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from onnx import defs

from tests.fuzz.build import TYPES, Builder, Tensor

OLDEST, NEWEST = 6, defs.onnx_opset_version()


@dataclass(frozen=True)
class Row:
    """How to write a valid node of an operator, with whatever it needs, into a builder.

    ``until`` is the last operator set that has it.
    """

    write: Callable[[Builder], list[Tensor]]
    until: int = NEWEST


@lru_cache
def allowed(
    op: str, position: int, opset: int, *, output: bool = False, more: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """The element types that the schema of ``op`` allows for an operand (or result), of those that inputs can have.

    ``more`` are types of values between operators that the row can write as well.
    """
    schema = defs.get_schema(op, opset, "")
    formals = schema.outputs if output else schema.inputs
    formal = formals[min(position, len(formals) - 1)]
    constraint = next((c for c in schema.type_constraints if c.type_param_str == formal.type_str), None)
    spelled = set(constraint.allowed_type_strs if constraint is not None else [formal.type_str])
    return tuple(name for name in (*TYPES, *more) if f"tensor({_SPELLING.get(name, name)})" in spelled)


_SPELLING = {
    "float32": "float", "float64": "double", "float8_e4m3fn": "float8e4m3fn", "float8_e4m3fnuz": "float8e4m3fnuz",
    "float8_e5m2": "float8e5m2", "float8_e5m2fnuz": "float8e5m2fnuz", "float4_e2m1fn": "float4e2m1",
}  # fmt: skip
