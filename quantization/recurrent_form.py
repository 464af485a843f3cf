"""Recurrent layers that become integer layers as a whole, whatever their length."""

from __future__ import annotations

import numpy as np

from ..ir.graph import Graph, Node
from ..ops.attributes import texts
from ..ops.int_recurrent import ACTIVATIONS
from ..ops.recurrent import RECURRENCES


def is_integer_recurrence(graph: Graph, node: Node) -> bool:
    """Whether a recurrent layer has an integer form: constant weights and bias, the usual activation functions (of rnn
    tanh or the logistic function), no peepholes, no clip, and at least one step."""
    if node.op not in RECURRENCES or not all(node.operands[0].shape):
        return False
    weights = [graph.constant(value) for value in node.inputs[1:3]]
    bias = node.inputs[3] if len(node.inputs) > 3 else None
    names = texts(node.attrs, "activations")
    usual = ACTIVATIONS.get(f"int_{node.op}", names[:1])
    dirs = node.operands[1].shape[0]
    peepholes = node.op == "lstm" and len(node.inputs) > 6 and node.inputs[6] is not None
    return (
        all(array is not None and array.dtype == np.float32 and array.size for array in weights)
        and (bias is None or graph.constant(bias) is not None) and not peepholes
        and names == usual * dirs and {"Sigmoid", "Tanh"}.issuperset(names) and node.attrs["clip"] == float("inf")
    )  # fmt: skip
