"""What quantization can do with each operator, and why it leaves the rest in float."""

from __future__ import annotations

from enum import Enum

from ...ir.graph import Graph, Node, Value
from ...ir.types import DType
from ...ops.opdef import Kind
from ...ops.table import OPS


class Role(Enum):
    """``CORE`` nodes are what quantization is for. ``MOVE`` nodes pass elements on: their result has the encoding of
    their operand. ``GLUE`` nodes compute on integers where a neighbour does. ``FLOAT`` nodes never do."""

    CORE = "core"
    MOVE = "move"
    GLUE = "glue"
    FLOAT = "float"


RECURRENT = ("lstm", "gru", "rnn")
WEIGHTED = {"conv": (1,), "conv_transpose": (1,), "matmul": (1,), "lstm": (1, 2), "gru": (1, 2), "rnn": (1, 2)}
"""Operators with weights, and the operands that these are."""

_MOVES = frozenset({"reshape", "transpose", "slice", "concat", "gather", "expand"})
_GLUE = frozenset({"softmax", "log_softmax", "normalize", "rms_normalize", "arg_reduce", "pad"})


def is_real(value: Value | None) -> bool:
    return value is not None and value.dtype is DType.F32


def activations(graph: Graph, node: Node) -> list[Value]:
    """The float operands that are computed at run time."""
    return [value for value in node.operands if is_real(value) and value.name not in graph.constants]


def role_of(graph: Graph, node: Node) -> Role:
    return _classify(graph, node)[0]


def reason_for_float(graph: Graph, node: Node) -> str:
    """Why a node's role is ``FLOAT``."""
    return _classify(graph, node)[1]


def _classify(graph: Graph, node: Node) -> tuple[Role, str]:
    if not activations(graph, node):
        return Role.FLOAT, "it has no float32 operand that is computed at run time"
    if node.op in WEIGHTED:
        return _core(graph, node)
    if node.op == "pad" and node.attrs["mode"] == "constant" and node.attrs["value"] == 0:
        return Role.MOVE, ""
    if node.op == "pad" and node.attrs["mode"] != "constant":
        return Role.MOVE, ""
    if node.op in _MOVES:
        whole = all(value.name not in graph.constants for value in node.operands if is_real(value))
        return (Role.MOVE, "") if whole else (Role.FLOAT, "it moves constants")
    if node.op in ("pool", "reduce"):
        kind = node.attrs["kind"]
        if kind in ("max", "min"):
            return Role.MOVE, ""
        return (Role.FLOAT, "products have no fixed range") if kind == "prod" else (Role.GLUE, "")
    if node.op in _GLUE or OPS[node.op].kind is Kind.POINTWISE:
        return (Role.GLUE, "")
    return Role.FLOAT, f"there is no integer form of {node.op}"


def _core(graph: Graph, node: Node) -> tuple[Role, str]:
    if not is_real(node.inputs[0]) or node.inputs[0].name in graph.constants:  # type: ignore[union-attr]
        return Role.FLOAT, "the weights are not the second operand"
    weights = [node.inputs[position] for position in WEIGHTED[node.op]]
    constant = [graph.constant(value) is not None for value in weights]
    if node.op == "matmul" and not any(constant):
        return Role.CORE, ""
    if not all(constant):
        return Role.FLOAT, "the weights are computed at run time"
    if node.op == "matmul" and len(weights[0].shape) != 2:  # type: ignore[union-attr]
        return Role.FLOAT, "the weights differ from matrix to matrix"
    return Role.CORE, ""
