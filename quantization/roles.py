"""What quantization can do with each operator."""

from __future__ import annotations

from enum import Enum

from ..ir.graph import Graph, Node, Value
from ..ir.types import DType
from ..ops.opdef import Kind
from ..ops.recurrent import RECURRENCES
from ..ops.table import OPS
from .recurrent_form import is_integer_recurrence


class Role(Enum):
    """``CORE`` nodes are what quantization is for. ``MOVE`` nodes pass elements on: their result has the encoding of
    their operand. ``GLUE`` nodes compute on integers where a neighbour does. ``FLOAT`` nodes never do."""

    CORE = "core"
    MOVE = "move"
    GLUE = "glue"
    FLOAT = "float"


LINEAR = ("conv", "conv_transpose", "matmul")

_MOVES = frozenset({"reshape", "transpose", "slice", "concat", "gather", "expand"})
_GLUE = frozenset({"softmax", "log_softmax", "normalize", "rms_normalize", "arg_reduce"})
_UNBOUNDED = frozenset({"div", "pow", "mod"})
"""Of two computed operands, small changes of one can change the result without bound."""


def is_real(value: Value | None) -> bool:
    return value is not None and value.dtype is DType.F32


def weight_positions(graph: Graph, node: Node) -> tuple[int, ...]:
    """The operands that are constant weights."""
    return (1,) if node.op in LINEAR and graph.constant(node.inputs[1]) is not None else ()


def activations(graph: Graph, node: Node) -> list[Value]:
    """The float operands computed at run time that a node reads as integers: of a recurrent layer its input; states
    are rounded as the layer needs them."""
    operands = node.operands[:1] if node.op in RECURRENCES else node.operands
    return [value for value in operands if is_real(value) and value.name not in graph.constants]


def role_of(graph: Graph, node: Node) -> Role:
    operands = activations(graph, node)
    if not operands or any(value.type.size == 0 for value in (*operands, *node.outputs)):
        return Role.FLOAT
    if node.op in LINEAR:
        return Role.CORE if _has_integer_form(graph, node) else Role.FLOAT
    if node.op in RECURRENCES:
        return Role.CORE if is_integer_recurrence(graph, node) else Role.FLOAT
    if node.op in _MOVES:
        constants = any(is_real(value) and value.name in graph.constants for value in node.operands)
        return Role.FLOAT if constants else Role.MOVE
    if node.op == "pad":
        return Role.GLUE if node.attrs["mode"] == "constant" and node.attrs["value"] != 0 else Role.MOVE
    if node.op in ("pool", "reduce"):
        kind = node.attrs["kind"]
        return Role.MOVE if kind in ("max", "min") else Role.FLOAT if kind == "prod" else Role.GLUE
    if OPS[node.op].kind is Kind.POINTWISE:
        return Role.FLOAT if node.op in _UNBOUNDED and len(operands) > 1 else Role.GLUE
    return Role.GLUE if node.op in _GLUE else Role.FLOAT


def _has_integer_form(graph: Graph, node: Node) -> bool:
    """Weights are constant, or a matmul has none; a first operand that is constant would be the weights of others."""
    first, second = node.inputs[0], node.inputs[1]
    assert first is not None and second is not None
    if first.name in graph.constants:
        return False
    if node.op == "matmul":
        return second.name not in graph.constants or len(second.shape) == 2
    return bool(weight_positions(graph, node))
