"""Running graphs on samples of the float model: by the definition of their operators, or compiled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..ir.graph import Graph
from ..ir.types import QuantParams, TensorType
from ..ops.evaluate import evaluate_graph, evaluation_work
from ..ops.table import OPS
from ..samples import Samples
from ..verification.float_model import FloatModel
from .encoding import Encoding

Arrays = Mapping[str, np.ndarray]

_WORTH_COMPILING = 1 << 31
"""Work, as ``evaluation_work`` counts it, that takes NumPy about as long as a model takes to compile."""


class Runner(Protocol):
    """``run`` gives the inputs and the values that were asked for."""

    def run(self, inputs: Arrays) -> Arrays: ...


@dataclass(frozen=True)
class _Evaluated:
    graph: Graph

    def run(self, inputs: Arrays) -> Arrays:
        return evaluate_graph(self.graph, inputs)


def runner(graph: Graph, names: Iterable[str], runs: int) -> Runner:
    """What gives the values ``names`` in about ``runs`` runs: compiled code where compiling is worth it."""
    return FloatModel(graph, names) if is_worth_compiling(runs * work_of(graph)) else _Evaluated(graph)


def work_of(graph: Graph) -> int:
    """Of one evaluation by the definition of the operators."""
    nodes = ((node, [value.type for value in node.outputs]) for node in graph.nodes)
    return sum(evaluation_work(node.op, node.inputs, types, node.attrs) for node, types in nodes)


def is_worth_compiling(work: int) -> bool:
    return work >= _WORTH_COMPILING


def evaluate_samples(graph: Graph, samples: Samples) -> dict[str, np.ndarray]:
    """The outputs of all samples, ``[samples, ...]``; integer inputs and outputs are converted from and to floats."""
    rows: dict[str, list[np.ndarray]] = {value.name: [] for value in graph.outputs}
    for inputs in samples:
        feeds = {value.name: _stored(inputs[value.name], value.type) for value in graph.inputs}
        values = evaluate_graph(graph, feeds)
        for value in graph.outputs:
            rows[value.name].append(_real(values[value.name], value.type))
    return {name: np.stack(found) for name, found in rows.items()}


def _encoding(type_: TensorType) -> Encoding | None:
    quant: QuantParams | None = type_.quant
    return None if quant is None else Encoding(type_.dtype, quant.scale, quant.zero_point)


def _stored(array: np.ndarray, type_: TensorType) -> np.ndarray:
    encoding = _encoding(type_)
    return array if encoding is None else encoding.quantize(array)


def _real(array: np.ndarray, type_: TensorType) -> np.ndarray:
    encoding = _encoding(type_)
    return array if encoding is None else encoding.dequantize(array)


def reevaluate(
    graph: Graph,
    values: Arrays,
    encodings: Mapping[str, Encoding],
    constants: Mapping[tuple[str, int], np.ndarray],
) -> dict[str, np.ndarray]:
    """The values that differ from ``values`` where some are rounded by ``encodings``, and some operands (by the node's
    first output and the position) are other constants. Only what depends on these is computed again."""
    changed = {v.name: encodings[v.name].round_trip(values[v.name]) for v in graph.inputs if v.name in encodings}
    for node in graph.nodes:
        own = {position: array for (name, position), array in constants.items() if name == node.outputs[0].name}
        if own or any(value.name in changed for value in node.operands):
            operands = [None if value is None else changed.get(value.name, values[value.name]) for value in node.inputs]
            for position, array in own.items():
                operands[position] = array
            results = OPS[node.op].evaluate(operands, node.attrs)
            changed.update((value.name, result) for value, result in zip(node.outputs, results))
        for value in node.outputs:
            if value.name in encodings:
                changed[value.name] = encodings[value.name].round_trip(changed.get(value.name, values[value.name]))
    return changed
