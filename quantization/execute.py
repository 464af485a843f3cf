"""Evaluating graphs on samples of the float model, by the definition of their operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..ir.graph import Graph
from ..ir.types import QuantParams, TensorType
from ..ops.evaluate import evaluate_graph
from ..ops.table import OPS
from ..samples import Samples
from .encoding import Encoding

Arrays = Mapping[str, np.ndarray]

GoodEnough = Callable[[Arrays], bool]
"""Whether outputs, ``[samples, ...]`` by name, are as demanded."""


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


def relative_noise(
    graph: Graph,
    values: Arrays,
    encodings: Mapping[str, Encoding],
    constants: Mapping[tuple[str, int], np.ndarray],
) -> float:
    """The squared error at the float model's outputs, relative to each output, where only some values are rounded or
    only some operands are other constants."""
    changed = reevaluate(graph, values, encodings, constants)
    total = 0.0
    for value in graph.outputs:
        if value.name in changed:
            wanted = values[value.name].astype(np.float64)
            power = float(np.square(wanted).sum()) or 1.0
            total += float(np.square(changed[value.name] - wanted).sum()) / power
    return total
