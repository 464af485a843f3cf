"""The float model with tensors, or weights, that can be rounded one by one: what rounding makes of its outputs.

A small model is evaluated by the definition of its operators, anew from what is rounded on. A larger one is compiled
once: each group of values that is to have one encoding has a row of a table, which is an input of the compiled model. A
value ``v`` of the group becomes

    v + on * (step * min(max(round(v / step), low), high) - v)

with ``low`` and ``high`` in steps from zero, so that the same code serves for every encoding, and for none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from ..ir.graph import Graph, GraphBuilder, NameSupply, Node, Value
from ..ir.types import DType, TensorType
from ..ops.evaluate import evaluate_graph
from ..ops.opdef import Kind
from ..ops.table import OPS, infer_types
from ..verification.float_model import Arrays, FloatModel
from ..verification.runner import is_worth_compiling, work_of
from .encoding import Encoding
from .execute import reevaluate

_COLUMNS = 4
_SOFTMAX = ("softmax", "log_softmax")

Encodings = Mapping[str, Encoding]
"""Of groups, by the first member."""

Constants = Mapping[tuple[str, int], np.ndarray]
"""Operands, by the node's first output and the position, as rounding leaves them."""

_Changes = TypeVar("_Changes", Encodings, Constants)
_Rounded = Callable[[int, _Changes], list[np.ndarray]]
"""What is judged, for a sample by its place, with what is rounded."""


@dataclass(frozen=True)
class Probe(Generic[_Changes]):
    """``wanted`` is what is judged of each sample: the outputs, and for each that a softmax makes also what it reads.
    ``power`` is the sum of squares of each over all samples."""

    rounded: _Rounded[_Changes]
    wanted: Sequence[Sequence[np.ndarray]]
    power: np.ndarray

    @staticmethod
    def of(graph: Graph, stored: Mapping[str, str], inputs: Sequence[Arrays], trials: int) -> Probe[Encodings]:
        """Of tensors. ``stored`` maps values to the first of their group; ``inputs`` are samples, each tried ``trials``
        times."""
        is_large = is_worth_compiling(work_of(graph) * len(inputs) * trials // 2)
        rounded = (_compiled if is_large else _evaluated)(graph, stored, inputs, _judged(graph))
        return Probe(rounded, *_unrounded(rounded, len(inputs)))

    @staticmethod
    def of_constants(graph: Graph, inputs: Sequence[Arrays]) -> Probe[Constants]:
        """Of weights."""
        values, judged = [evaluate_graph(graph, one) for one in inputs], _judged(graph)

        def rounded(place: int, constants: Constants) -> list[np.ndarray]:
            changed = reevaluate(graph, values[place], {}, constants)
            return [changed.get(name, values[place][name]) for name in judged]

        return Probe(rounded, *_unrounded(rounded, len(inputs)))

    def noise(self, changes: Callable[[int], _Changes]) -> float:
        """The geometric mean of the relative noise of all that is judged, where the sample at a place has that rounded
        which ``changes`` gives for it."""
        noise = np.zeros(self.power.size)
        for place, wanted in enumerate(self.wanted):
            found = self.rounded(place, changes(place))
            noise += [float(np.square(own - each, dtype=np.float64).sum()) for own, each in zip(found, wanted)]
        return float(np.exp(np.mean(np.log(noise / self.power + 1e-30))))


def _judged(graph: Graph) -> list[str]:
    outputs = [value.name for value in graph.outputs if value.dtype.is_float]
    return [*outputs, *(name for name in map(_scores, [graph] * len(outputs), outputs) if name is not None)]


def _unrounded(rounded: _Rounded[_Changes], count: int) -> tuple[list[list[np.ndarray]], np.ndarray]:
    """What is judged of ``count`` samples of the float model, and its power."""
    wanted = [rounded(place, {}) for place in range(count)]
    power = [max(float(np.square(rows, dtype=np.float64).sum()), 1e-30) for rows in map(np.stack, zip(*wanted))]
    return wanted, np.array(power)


def _evaluated(
    graph: Graph, stored: Mapping[str, str], inputs: Sequence[Arrays], judged: Sequence[str]
) -> _Rounded[Encodings]:
    values = [evaluate_graph(graph, one) for one in inputs]

    def rounded(place: int, encodings: Encodings) -> list[np.ndarray]:
        chosen = {name: encodings[head] for name, head in stored.items() if head in encodings}
        changed = reevaluate(graph, values[place], chosen, {})
        return [changed.get(name, values[place][name]) for name in judged]

    return rounded


def _compiled(
    graph: Graph, stored: Mapping[str, str], inputs: Sequence[Arrays], judged: Sequence[str]
) -> _Rounded[Encodings]:
    groups = tuple(dict.fromkeys(stored.values()))
    builder = _Builder(graph, stored, groups)
    probed = builder.run()
    shown = [builder.read.get(name, Value(name, TensorType(DType.F32, ()))).name for name in judged]
    model = FloatModel(probed, shown)

    def rounded(place: int, encodings: Encodings) -> list[np.ndarray]:
        table = np.zeros((max(len(groups), 1), _COLUMNS), np.float32)
        table[:, 0] = 1.0
        for row, name in enumerate(groups):
            encoding = encodings.get(name)
            if encoding is not None:
                limits, zero = np.iinfo(encoding.dtype.numpy), encoding.zero_point[0]
                table[row] = encoding.scale[0], limits.min - zero, limits.max - zero, 1.0
        found = model.run({**inputs[place], builder.table.name: table})
        return [found[name] for name in shown]

    return rounded


def _scores(graph: Graph, name: str) -> str | None:
    """What a final softmax reads, behind moves."""
    node = graph.producer(name)
    while node is not None and OPS[node.op].kind is Kind.VIEW:
        node = graph.producer(node.operands[0].name)
    return node.operands[0].name if node is not None and node.op in _SOFTMAX else None


class _Builder(GraphBuilder):
    def __init__(self, graph: Graph, stored: Mapping[str, str], groups: Sequence[str]) -> None:
        super().__init__(infer_types, NameSupply.of(graph))
        self.graph, self.stored = graph, stored
        self.constants.update(graph.constants)
        shape = (max(len(groups), 1), _COLUMNS)
        self.table = Value(self.names.fresh("encodings"), TensorType(DType.F32, shape))
        self.rows = {name: row for row, name in enumerate(groups)}
        self.read: dict[str, Value] = {}

    def run(self) -> Graph:
        for value in self.graph.inputs:
            self._round(value)
        for node in self.graph.nodes:
            self.nodes.append(self._reading(node))
            for value in node.outputs:
                self._round(value)
        outputs = tuple(self.read.get(value.name, value) for value in self.graph.outputs)
        changed = self.graph.with_nodes(self.nodes, constants=self.constants)
        return replace(changed, inputs=(*self.graph.inputs, self.table), outputs=outputs, states=())

    def _reading(self, node: Node) -> Node:
        operands = tuple(None if value is None else self.read.get(value.name, value) for value in node.inputs)
        return replace(node, inputs=operands)

    def _round(self, value: Value) -> None:
        if value.name not in self.stored:
            return
        row = self.rows[self.stored[value.name]]
        step, low, high, on = (self._number(row, column, len(value.shape)) for column in range(_COLUMNS))
        steps = self.emit1("round", self.emit1("div", value, step))
        inside = self.emit1("min", self.emit1("max", steps, low), high)
        change = self.emit1("sub", self.emit1("mul", inside, step), value)
        self.read[value.name] = self.emit1("add", value, self.emit1("mul", on, change))

    def _number(self, row: int, column: int, rank: int) -> Value:
        part = self.emit1("slice", self.table, starts=(row, column), steps=(1, 1), sizes=(1, 1))
        return self.emit1("reshape", part, shape=(1,) * rank)
