"""Evaluating graphs on samples of the float model, many at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..ir.graph import Graph
from ..ir.types import QuantParams, TensorType
from ..ops.stacked import Operand, evaluate_node, evaluate_stacked, in_batches
from ..record import record
from ..samples import Samples
from .encoding import Encoding, stored_floats

Arrays = Mapping[str, np.ndarray]

GoodEnough = Callable[[Arrays], bool]
"""Whether outputs, ``[samples, ...]`` by name, are as demanded."""


def evaluate_samples(graph: Graph, samples: Samples) -> dict[str, np.ndarray]:
    """The outputs of all samples, ``[samples, ...]``, the same on all machines; integer inputs and outputs are
    converted from and to floats."""
    parts: dict[str, list[np.ndarray]] = {value.name: [] for value in graph.outputs}
    feeds = {value.name: _stored(samples.inputs[value.name], value.type) for value in graph.inputs}
    for some in in_batches(graph, feeds):
        values = evaluate_stacked(graph, some, parts, precise=True)
        for value in graph.outputs:
            parts[value.name].append(_real(values[value.name], value.type))
    return {name: np.concatenate(found) for name, found in parts.items()}


def _encoding(type_: TensorType) -> Encoding | None:
    """Of values ``[samples, ...]``."""
    quant: QuantParams | None = type_.quant
    return None if quant is None else Encoding(type_.dtype, quant.scale, quant.zero_point, (quant.axis or 0) + 1)


def _stored(array: np.ndarray, type_: TensorType) -> np.ndarray:
    encoding = _encoding(type_)
    return array if encoding is None else encoding.quantize(array)


def _real(array: np.ndarray, type_: TensorType) -> np.ndarray:
    encoding = _encoding(type_)
    return array if encoding is None else encoding.dequantize(array)


@record
class Rounding:
    """How the values of some samples are stored, by an encoding each: ``step`` and the ends in steps from zero,
    ``[samples]``."""

    step: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @staticmethod
    def of(encodings: Sequence[Encoding]) -> Rounding:
        limits = [np.iinfo(each.dtype.numpy) for each in encodings]
        low = [limit.min - each.zero_point[0] for limit, each in zip(limits, encodings)]
        high = [limit.max - each.zero_point[0] for limit, each in zip(limits, encodings)]
        step = [each.scale[0] for each in encodings]
        return Rounding(np.array(step, np.float32), np.array(low, np.float32), np.array(high, np.float32))

    def apply(self, x: np.ndarray) -> np.ndarray:
        """``x[samples, ...]`` as it is after having been stored."""
        along = (-1, *[1] * (x.ndim - 1))
        step, low, high = (array.reshape(along) for array in (self.step, self.low, self.high))
        return stored_floats(x, step, low, high)


def reevaluate(
    graph: Graph,
    values: Arrays,
    roundings: Mapping[str, Rounding],
    constants: Mapping[tuple[str, int], np.ndarray],
) -> dict[str, np.ndarray]:
    """The values that differ from ``values``, all those of the graph as ``[samples, ...]``, where some are rounded, and
    some operands (by the node's first output and the position) are other constants. Only what depends on these is
    computed again."""
    changed = {v.name: roundings[v.name].apply(values[v.name]) for v in graph.inputs if v.name in roundings}
    for node in graph.nodes:
        own = {position: array for (name, position), array in constants.items() if name == node.outputs[0].name}
        if own or any(value.name in changed for value in node.operands):
            operands: list[Operand | None] = []
            for position, value in enumerate(node.inputs):
                if position in own:
                    operands.append(Operand(own[position], False))
                elif value is None or value.name in graph.constants:
                    operands.append(None if value is None else Operand(graph.constants[value.name], False))
                else:
                    operands.append(Operand(_latest(value.name, changed, values), True))
            count = next(len(each.array) for each in operands if each is not None and each.is_stacked)
            results = evaluate_node(node, operands, count, precise=True)
            changed.update(zip((value.name for value in node.outputs), results))
        for value in node.outputs:
            if value.name in roundings:
                changed[value.name] = roundings[value.name].apply(_latest(value.name, changed, values))
    return changed


def _latest(name: str, changed: Arrays, values: Arrays) -> np.ndarray:
    return changed[name] if name in changed else values[name]


def evaluate_all(graph: Graph, inputs: Arrays) -> dict[str, np.ndarray]:
    """All values but constants, ``[samples, ...]``, of inputs like that."""
    constants = graph.constants
    return evaluate_stacked(graph, inputs, [v.name for v in graph.values() if v.name not in constants], precise=True)


def relative_noise(
    graph: Graph, values: Arrays, constants: Mapping[tuple[str, int], np.ndarray]
) -> float:
    """The squared error at the float model's outputs, relative to each output and summed over samples, where some
    operands are other constants. ``values`` are those of the float model, ``[samples, ...]``."""
    changed = reevaluate(graph, values, {}, constants)
    total = 0.0
    for value in graph.outputs:
        if value.name in changed:
            others = tuple(range(1, changed[value.name].ndim))
            wanted = values[value.name].astype(np.float64)
            power = np.square(wanted).sum(axis=others)
            noise = np.square(changed[value.name] - wanted).sum(axis=others)
            total += float((noise / np.where(power > 0, power, 1.0)).sum())
    return total
