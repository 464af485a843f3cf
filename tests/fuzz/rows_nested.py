"""Rows of operators with subgraphs."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.fuzz.build import FLOATS, Builder, Tensor
from tests.fuzz.row import Row

_OPS = ("Add", "Mul", "Sub")


def _info(name: str, dtype: str | None = None, shape: tuple[int, ...] | None = None) -> onnx.ValueInfoProto:
    if dtype is None:
        return helper.make_value_info(name, onnx.TypeProto())
    return helper.make_tensor_value_info(name, int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype))), shape)


def if_(b: Builder) -> list[Tensor]:
    """The branches compute with a value around them, which the evaluation of a single node cannot see; so it is one of
    their own constants."""
    dtype, shape = b.dtype(FLOATS), b.shape(0, 3)
    array = b.values(dtype, shape)
    branches = {}
    for name, op in (("then_branch", b.pick(_OPS)), ("else_branch", b.pick(_OPS))):
        value = numpy_helper.from_array(array, f"{b.prefix}{name}_value")
        inner = helper.make_node(op, [value.name, value.name], [f"{b.prefix}{name}_out"])
        branches[name] = helper.make_graph([inner], name, [], [_info(inner.output[0], dtype, shape)], [value])
    return b.node("If", [b.given(np.asarray(b.flip()))], **branches)


def loop(b: Builder) -> list[Tensor]:
    """A carried value and a row of each iteration, or passes whose number a run tells, without rows."""
    dtype, shape = b.dtype(("float32", "int32", "int64", "float64")), b.shape(0, 3)
    names = [f"{b.prefix}{stem}{b.between(0, 10**6)}" for stem in ("i", "go", "v", "go_on", "next", "row")]
    number, going, value, go_on, following, row = names
    rows, last = b.flip(), numpy_helper.from_array(np.asarray(b.between(0, 3)), f"{number}_last")
    ends = not rows and b.flip()
    nodes = [
        helper.make_node("Less", [number, last.name], [go_on]) if ends else
        helper.make_node("Identity", [going], [go_on]),
        helper.make_node(b.pick(_OPS), [value, value], [following]),
        helper.make_node("Neg", [following], [row]),
    ]  # fmt: skip
    results = [_info(go_on, "bool", ()), _info(following, dtype, shape)]
    body = helper.make_graph(
        nodes if rows else nodes[:2], "body",
        [_info(number, "int64", ()), _info(going, "bool", ()), _info(value, dtype, shape)],
        [*results, _info(row, dtype, shape)] if rows else results, [last] if ends else [],
    )  # fmt: skip
    given = b.param if rows else b.given
    count, first = given(np.asarray(b.between(1 if rows else 0, 4))), given(np.asarray(rows or b.flip(0.8)))
    return b.node("Loop", [count, first, b.data(dtype, shape, -1, 1)], 1 + rows, body=body)


def scan(b: Builder) -> list[Tensor]:
    """A running sum over the first dimension, forward or backward."""
    dtype, shape = b.dtype(("float32", "float64")), b.shape(1, 3)
    stem = f"{b.prefix}s{b.between(0, 10**6)}"
    state, element, following, row = (f"{stem}{name}" for name in ("state", "element", "next", "row"))
    nodes = [
        helper.make_node(b.pick(("Add", "Sub")), [state, element], [following]),
        helper.make_node("Identity", [following], [row]),
    ]
    inner = shape[1:]
    body = helper.make_graph(
        nodes, "body", [_info(state, dtype, inner), _info(element, dtype, inner)],
        [_info(following, dtype, inner), _info(row, dtype, inner)],
    )  # fmt: skip
    more = b.some(scan_input_directions=[b.between(0, 1)], scan_output_directions=[b.between(0, 1)])
    x = b.data(dtype, shape)
    start = b.data(dtype, inner)
    return b.node("Scan", [start, x], 2, body=body, num_scan_inputs=1, **more)


ROWS: dict[str, Row] = {"If": Row(if_), "Loop": Row(loop), "Scan": Row(scan)}
