"""Pointwise operators: types and meaning. Their loop-IR expressions are in ``ops/pointwise_exprs.py``."""

from __future__ import annotations

import numpy as np

from ..ir.types import DType, TensorType
from .infer import broadcast_shapes, present
from .opdef import Attrs, Kind, OpDef, Types


def _infer_arithmetic(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    operands = present(types)
    dtypes = {type_.dtype for type_ in operands}
    if len(dtypes) != 1:
        raise ValueError(f"operands have types {', '.join(map(str, operands))}")
    return (TensorType(dtypes.pop(), broadcast_shapes(*(type_.shape for type_ in operands))),)


ROWS: tuple[OpDef, ...] = (
    OpDef(
        "add", Kind.POINTWISE, "x + y", _infer_arithmetic,
        lambda arrays, attrs: (np.add(arrays[0], arrays[1]),),
    ),
)  # fmt: skip
