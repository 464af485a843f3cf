"""Small models whose interfaces are not just one array of floats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import ccml
import pytest
from onnx import ModelProto, NodeProto, helper
from onnx import TensorProto as T


def often_or_in_check(names: Iterable[str], *often: str) -> list[Any]:
    """Parameters of a test: ``often`` as they are, the others as what ``make check`` runs."""
    return [name if name in often else pytest.param(name, marks=pytest.mark.check) for name in names]


def model(nodes: Sequence[NodeProto], inputs: Sequence[Any], outputs: Sequence[Any]) -> ModelProto:
    sides = [[helper.make_tensor_value_info(*side) for side in part] for part in (inputs, outputs)]
    opset = [helper.make_opsetid("", 20)]
    return helper.make_model(helper.make_graph(nodes, "odd", *sides), opset_imports=opset, ir_version=10)


def node(op: str, inputs: str, outputs: str, **attributes: object) -> NodeProto:
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


_ODD: dict[str, tuple[ModelProto, dict[str, Any]]] = {
    "ranged": (
        model([node("Relu", "x", "y"), node("NonZero", "x", "nz")], [("x", T.FLOAT, ["N", 3])],
              [("y", T.FLOAT, ["N", 3]), ("nz", T.INT64, [2, None])]),
        {"dims": {"N": ccml.Range(1, 8)}},
    ),
    "texts": (
        model([node("StringConcat", "a b", "c"), node("Equal", "a b", "same")],
              [("a", T.STRING, [3]), ("b", T.STRING, [3])], [("c", T.STRING, [3]), ("same", T.BOOL, [3])]),
        {"bounds": {"a": 8, "b": 8}},
    ),
    "state": (
        model([node("Add", "x s", "t"), node("Mul", "t t", "y")], [("x", T.FLOAT, [4]), ("s", T.FLOAT, [4])],
              [("y", T.FLOAT, [4]), ("t", T.FLOAT, [4])]),
        {"states": {"s": "t"}},
    ),
    "types": (
        model([node("Cast", "x", "h", to=T.FLOAT16), node("Cast", "x", "b", to=T.BFLOAT16),
               node("Cast", "x", "u", to=T.UINT8), node("Cast", "x", "d", to=T.DOUBLE), node("Greater", "x x", "g")],
              [("x", T.FLOAT, [4])],
              [("h", T.FLOAT16, [4]), ("b", T.BFLOAT16, [4]), ("u", T.UINT8, [4]), ("d", T.DOUBLE, [4]),
               ("g", T.BOOL, [4])]),
        {},
    ),
    "empty": (model([node("Relu", "x", "y")], [("x", T.FLOAT, [0, 4])], [("y", T.FLOAT, [0, 4])]), {}),
    "no_inputs": (model([node("Constant", "", "y", value_ints=[1, 2, 3])], [], [("y", T.INT64, [3])]), {}),
    "scalar": (model([node("Neg", "x", "y")], [("x", T.INT32, [])], [("y", T.INT32, [])]), {}),
}  # fmt: skip
ODD_MODELS = {name: (proto, ccml.ModelOptions(**options)) for name, (proto, options) in _ODD.items()}
