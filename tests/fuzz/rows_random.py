"""Rows of random operators, of nodes whose results are certain."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from onnx import TensorProto

from tests.fuzz.build import Builder, Tensor
from tests.fuzz.row import Row, allowed

_DTYPES = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16)


def spread(op: str, b: Builder) -> list[Tensor]:
    """All numbers from a range without extent, or with next to no deviation from their mean."""
    number = b.uniform(-2, 2)
    more: dict[str, Any] = b.some(dtype=int(b.pick(_DTYPES)), seed=b.uniform(0, 9))
    more |= {"low": number, "high": number} if "Uniform" in op else {"mean": number, "scale": 1e-30}
    if op.endswith("Like"):
        return b.node(op, [b.data(b.dtype(allowed(op, 0, b.opset)), b.shape(1, 4))], **more)
    return b.node(op, [], shape=list(b.shape(1, 4)), **more)


def bernoulli(b: Builder) -> list[Tensor]:
    """Probabilities of 0 and of 1."""
    dtype, shape = b.dtype(allowed("Bernoulli", 0, b.opset)), b.shape(1, 4)
    p = b.given(b.values("int64", shape, 0, 1).astype(dtype))
    return b.node("Bernoulli", [p], **b.some(dtype=int(b.pick((*_DTYPES, TensorProto.INT32))), seed=b.uniform(0, 9)))


def multinomial(b: Builder) -> list[Tensor]:
    """One class of each row is all but certain."""
    dtype, rows, classes = b.dtype(allowed("Multinomial", 0, b.opset)), b.between(1, 3), b.between(1, 5)
    logs = np.full((rows, classes), -1000.0)
    logs[np.arange(rows), b.values("int64", (rows,), 0, classes - 1)] = b.uniform(-3, 3)
    more = b.some(dtype=int(b.pick((TensorProto.INT32, TensorProto.INT64))), seed=b.uniform(0, 9))
    return b.node("Multinomial", [b.given(logs.astype(dtype))], **more, **b.some(sample_size=b.between(1, 4)))


ROWS: dict[str, Row] = {
    "Bernoulli": Row(bernoulli),
    "Multinomial": Row(multinomial),
    **{
        op: Row(partial(spread, op))
        for op in ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
    },
}
