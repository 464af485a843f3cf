"""Rows of operators of sequences and optionals.

What makes a sequence and takes tensors of it is the body of a loop with one pass, so that a row takes tensors and gives
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.fuzz.build import Builder, Tensor, UnfitError
from tests.fuzz.row import Row
from tests.fuzz.rows_nested import _info

_TYPES = ("float32", "float64", "int32", "int64")


class _Body:
    """The body of a loop under construction: names of its own, nodes and constants."""

    def __init__(self, b: Builder) -> None:
        self.stem, self.count = f"{b.prefix}q{b.between(0, 10**6)}_", 0
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def name(self) -> str:
        self.count += 1
        return f"{self.stem}{self.count}"

    def node(self, op: str, *operands: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, operands, [self.name()], **attributes))
        return str(self.nodes[-1].output[0])

    def constant(self, array: np.ndarray | int | Sequence[int]) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(array), self.name()))
        return self.constants[-1].name

    def loop(self, b: Builder, operands: Sequence[Tensor], formals: Sequence[str], y: str) -> list[Tensor]:
        number, going, go_on = self.name(), self.name(), self.name()
        passed = [self.node("Identity", formal) for formal in formals]
        self.nodes.insert(0, helper.make_node("Identity", [going], [go_on]))
        types = [(tensor.dtype, tensor.shape) for tensor in operands]
        body = helper.make_graph(
            self.nodes, "body",
            [_info(number, "int64", ()), _info(going, "bool", ()), *(_info(f, *t) for f, t in zip(formals, types))],
            [_info(go_on, "bool", ()), *(_info(p, *t) for p, t in zip(passed, types)), _info(y)], self.constants,
        )  # fmt: skip
        count, condition = b.param(np.asarray(1, np.int64)), b.param(np.asarray(True))
        # All results are named: ONNX Runtime ends the process where those of carried values are left out.
        results = b.node("Loop", [count, condition, *operands], len(operands) + 1, body=body)
        return results[-1:]


def _position(b: Builder, count: int) -> int:
    return b.between(-count, count - 1)


def of_sequence(op: str, b: Builder) -> list[Tensor]:
    """Two tensors make a sequence, to which the operator does something, and of which a tensor is taken."""
    if b.opset < 13:
        raise UnfitError("a loop of sequences")
    body, dtype, shape = _Body(b), b.dtype(_TYPES), b.shape(1, 3)
    operands = [b.data(dtype, shape, -3, 3) for _ in range(2)]
    x, y = body.name(), body.name()
    given = body.node("SequenceConstruct", x, y)
    if op == "SequenceLength":
        taken = body.node(op, given)
    elif op == "ConcatFromSequence":
        new = b.between(0, 1)
        axis = b.between(-len(shape) - new, len(shape) + new - 1)
        taken = body.node(op, given, axis=axis, new_axis=new)
    else:
        taken = body.node("SequenceAt", *_changed(op, b, body, given, x, y, dtype))
    return body.loop(b, operands, [x, y], taken)


def _changed(op: str, b: Builder, body: _Body, given: str, x: str, y: str, dtype: str) -> tuple[str, str]:
    """A sequence, and a position of it."""
    if op == "SequenceInsert":
        place = [] if b.flip(0.3) else [body.constant(b.between(-2, 1))]
        return body.node(op, given, x, *place), body.constant(_position(b, 3))
    if op == "SequenceErase":
        place = [] if b.flip(0.3) else [body.constant(_position(b, 2))]
        return body.node(op, given, *place), body.constant(_position(b, 1))
    if op == "SequenceEmpty":
        empty = body.node(op, dtype=int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype))))
        return body.node("SequenceInsert", empty, y), body.constant(0)
    if op == "SequenceMap":
        return body.node(op, given, y, body=_pair(body)), body.constant(_position(b, 2))
    return given, body.constant(_position(b, 2))


def _pair(body: _Body) -> onnx.GraphProto:
    """The sum of an element and a tensor."""
    element, tensor, total = body.name(), body.name(), body.name()
    node = helper.make_node("Add", [element, tensor], [total])
    return helper.make_graph([node], "pair", [_info(element), _info(tensor)], [_info(total)])


def split(b: Builder) -> list[Tensor]:
    if b.opset < 13:
        raise UnfitError("a loop of sequences")
    body, dtype, shape = _Body(b), b.dtype(_TYPES), b.shape(1, 3)
    x, x_formal, axis = b.data(dtype, shape, -3, 3), body.name(), b.between(-len(shape), len(shape) - 1)
    extent, keep, operands = shape[axis], b.between(0, 1), [x_formal]
    count = extent
    if b.flip():
        keep, first = 1, b.between(1, extent)
        sizes = [first, extent - first] if first < extent else [first]
        operands.append(body.constant(sizes if b.flip() else first))
        count = len(sizes) if body.constants[-1].dims else -(-extent // first)
    made = body.node("SplitToSequence", *operands, axis=axis, keepdims=keep)
    return body.loop(b, [x], [x_formal], body.node("SequenceAt", made, body.constant(_position(b, count))))


def optional(b: Builder) -> list[Tensor]:
    """One that is there, or one that is empty, and the question which."""
    if b.opset < 16:
        raise UnfitError("a loop of optionals")
    body, dtype, shape = _Body(b), b.dtype(_TYPES), b.shape(0, 3)
    x, formal = b.data(dtype, shape, -3, 3), body.name()
    if b.flip():
        return body.loop(b, [x], [formal], body.node("OptionalGetElement", body.node("Optional", formal)))
    type_ = helper.make_tensor_type_proto(int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype))), None)
    return body.loop(b, [x], [formal], body.node("OptionalHasElement", body.node("Optional", type=type_)))


ROWS = {
    **{
        name: Row(partial(of_sequence, name))
        for name in (
            "ConcatFromSequence", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert",
            "SequenceLength", "SequenceMap",
        )
    },
    "Optional": Row(optional),
    "SplitToSequence": Row(split),
}  # fmt: skip
