"""The operator table: every operator of the graph IR, one row each."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Value
from ..ir.types import TensorType
from . import pointwise
from .opdef import Attrs, OpDef

OPS: dict[str, OpDef] = {row.name: row for row in (*pointwise.ROWS,)}


def infer_types(op: str, inputs: Sequence[Value | None], attrs: Attrs, loc: str = "") -> tuple[TensorType, ...]:
    """The output types of ``op``. Raises ``SHAPE_MISMATCH`` naming ``loc`` where the operands do not fit."""
    try:
        return OPS[op].infer([None if value is None else value.type for value in inputs], attrs)
    except ValueError as problem:
        raise CcmlError(ErrorCode.SHAPE_MISMATCH, f"{op}: {problem}", loc=loc or None) from problem
