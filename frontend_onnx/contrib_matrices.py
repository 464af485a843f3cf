"""Matrices of ONNX Runtime's own domain: inverses, distances between rows, products of wide integers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper

from .contrib_body import Body, Rule
from .node_writer import NodeWriter


def _inverse(body: Body) -> str:
    """Of each matrix, by Gauss and Jordan with pivots from the rows below."""
    *batch, n, columns = body.shape(0)
    if n != columns:
        raise ValueError(f"{list(body.shape(0))} holds no square matrices")
    count = int(np.prod(batch))
    unit = body.constant(np.broadcast_to(np.eye(n, dtype=body.dtype(0)), (count, n, n)).copy())
    both = body.emit("Concat", body.reshape(body.input(0), count, n, n), unit, axis=2)
    (done,) = body.emit_all("Loop", [body.integers(n), "", both], 1, body=_elimination(body, n))
    return body.reshape(body.slice(done, 2, n, 2 * n), *body.shape(0))


def _elimination(body: Body, n: int) -> onnx.GraphProto:
    """Row ``i`` of matrices M ``[N, n, 2n]`` gets a one in column ``i``, and all others a zero."""
    step = NodeWriter("row")
    rows, zero = body.constant(np.arange(n)[None]), body.number(0.0)
    here = step.emit("Equal", rows, "i")
    sizes = step.emit("Abs", step.emit("Gather", "M", "i", axis=2))
    below = step.emit("Where", step.emit("Less", rows, "i"), body.number(-1.0), sizes)
    pivot = step.emit("ArgMax", below, axis=1, keepdims=1)
    order = step.emit("Where", step.emit("Equal", rows, pivot), "i", rows)
    order = step.emit("Unsqueeze", step.emit("Where", here, pivot, order), body.integers(2))
    swapped = step.emit("GatherElements", "M", step.emit("Expand", order, body.integers(1, 1, 2 * n)), axis=1)
    row = step.emit("Gather", swapped, step.emit("Unsqueeze", "i", body.integers(0)), axis=1)
    row = step.emit("Div", row, step.emit("Gather", row, step.emit("Unsqueeze", "i", body.integers(0)), axis=2))
    column = step.emit("Where", here, zero, step.emit("Gather", swapped, "i", axis=2))
    column = step.emit("Unsqueeze", column, body.integers(2))
    others = step.emit("Sub", swapped, step.emit("Mul", column, row))
    result = step.emit("Where", step.emit("Unsqueeze", here, body.integers(2)), row, others)
    on = step.emit("Identity", "on")
    real, logical, count = int(helper.np_dtype_to_tensor_dtype(body.dtype(0))), TensorProto.BOOL, TensorProto.INT64
    inputs = [
        helper.make_tensor_value_info("i", count, []),
        helper.make_tensor_value_info("on", logical, []),
        helper.make_tensor_value_info("M", real, None),
    ]
    results = [helper.make_tensor_value_info(on, logical, []), helper.make_tensor_value_info(result, real, None)]
    return helper.make_graph(step.nodes, "elimination", inputs, results)


def _wide_matmul(body: Body) -> str:
    """Of int16, with sums of 32 bits."""
    return body.emit("MatMul", *(body.cast(body.input(place), np.int32) for place in range(2)))


def _distances(body: Body) -> str:
    """Between each row of A and each of B."""
    a, b = (body.emit("Unsqueeze", body.input(place), body.integers(1 - place)) for place in range(2))
    apart = body.emit("Sub", a, b)
    squares = body.emit("ReduceSum", body.emit("Mul", apart, apart), body.integers(2), keepdims=0)
    return squares if body.text("metric", "sqeuclidean") == "sqeuclidean" else body.emit("Sqrt", squares)


RULES: Mapping[str, Rule] = {"CDist": _distances, "Inverse": _inverse, "MatMulInteger16": _wide_matmul}
"""By name."""
