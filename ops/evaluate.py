"""The meaning of a graph, in NumPy: the oracle that passes, kernels and both printers are tested against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ir.graph import AttrValue, Graph, Value
from ..ir.types import DType, TensorType
from .attributes import ints
from .control import BODIES
from .fused import run_nodes
from .table import OPS


def evaluate_graph(graph: Graph, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Evaluates ``graph`` on one array for each of its inputs.

    Returns the arrays of all values by name: inputs, constants and every node's outputs. Raises ``BAD_INPUT`` where
    an input is missing, unknown, or differs from its declared type.
    """
    expected = {value.name: value.type for value in graph.inputs}
    for name in [*expected.keys() - inputs.keys(), *inputs.keys() - expected.keys()]:
        problem = "is missing" if name in expected else f"is not one of the inputs {', '.join(expected)}"
        raise CcmlError(ErrorCode.BAD_INPUT, f"input {problem}", loc=name)
    for name, type_ in expected.items():
        array = np.asarray(inputs[name])
        if array.shape != type_.shape or array.dtype != type_.dtype.numpy:
            found = f"{_spelled(array.dtype)}[{','.join(map(str, array.shape))}]"
            raise CcmlError(ErrorCode.BAD_INPUT, f"the array is {found}, the model wants {type_}", loc=name)
    return run_nodes(graph, {name: np.asarray(array) for name, array in inputs.items()}, OPS)


def evaluation_work(
    op: str, inputs: Sequence[Value | None], outputs: Sequence[TensorType], attrs: Mapping[str, AttrValue]
) -> int:
    """About how many multiplications, or elements looked at, the meaning of an operator takes."""
    operands = [value.type for value in inputs if value is not None]
    elements = sum(type_.size for type_ in (*operands, *outputs))
    if op == "matmul":
        return elements + outputs[0].size * operands[0].shape[-1]
    if op in ("conv", "conv_transpose"):
        sites = outputs[0] if op == "conv" else operands[0]
        return elements + sites.size * (operands[1].size // max(operands[1].shape[0], 1))
    if op == "pool":
        return elements + outputs[0].size * prod(ints(attrs, "kernel"))
    if op in BODIES:
        return elements + _work_of_bodies(op, attrs)
    if op in ("lstm", "gru", "rnn"):
        steps, batch = operands[0].shape[:2]
        return elements + steps * (batch * sum(type_.size for type_ in operands[1:3]) + _STEP_WORK)
    return elements


def _work_of_bodies(op: str, attrs: Mapping[str, AttrValue]) -> int:
    """The sum over the nodes of all graphs, times the passes; without end where nothing bounds these."""
    bodies = [body for body in attrs.values() if isinstance(body, Graph)]
    once = sum(
        _STEP_WORK + evaluation_work(node.op, node.inputs, [value.type for value in node.outputs], node.attrs)
        for body in bodies
        for node in body.nodes
    )
    limit = attrs["limit"] if op == "loop" else 1
    assert isinstance(limit, int)
    return once * limit if limit >= 0 else _ENDLESS


_ENDLESS = 1 << 62
_STEP_WORK = 10_000
"""What a step of a loop in Python takes, in multiplications."""


def _spelled(dtype: np.dtype) -> str:
    """ccml's name of an element type, or NumPy's for one that ccml does not have."""
    return next((own.value for own in DType if own is not DType.INDEX and own.numpy == dtype), dtype.name)
