"""The float model with tensors that can be rounded one by one, compiled once: what rounding makes of its outputs.

Each group of values that is to have one encoding has a row of a table, which is an input of the compiled model. A value
``v`` of the group becomes

    v + on * (step * min(max(round(v / step), low), high) - v)

with ``low`` and ``high`` in steps from zero, so that the same code serves for every encoding, and for none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..ir.graph import Graph, GraphBuilder, NameSupply, Node, Value
from ..ir.types import DType, TensorType
from ..ops.opdef import Kind
from ..ops.table import OPS, infer_types
from ..verification.float_model import Arrays, FloatModel
from .encoding import Encoding

_COLUMNS = 4
_SOFTMAX = ("softmax", "log_softmax")


@dataclass(frozen=True)
class Probe:
    """``groups`` are the rows of the table; ``judged`` what is compared: the outputs, and for each that a softmax makes
    also what it reads."""

    model: FloatModel
    table: str
    groups: tuple[str, ...]
    judged: tuple[str, ...]

    @staticmethod
    def of(graph: Graph, stored: Mapping[str, str]) -> Probe:
        """``stored`` maps values to the first of their group."""
        groups = tuple(dict.fromkeys(stored.values()))
        builder = _Builder(graph, stored, groups)
        probed = builder.run()
        judged = [value.name for value in graph.outputs if value.dtype is DType.F32]
        judged += [name for name in map(_scores, [graph] * len(judged), judged) if name is not None]
        shown = [builder.read.get(name, Value(name, TensorType(DType.F32, ()))).name for name in judged]
        return Probe(FloatModel(probed, shown), builder.table.name, groups, tuple(shown))

    def outputs(self, inputs: Arrays, encodings: Mapping[str, Encoding]) -> list[np.ndarray]:
        """What is judged, with the groups rounded that ``encodings`` names."""
        table = np.zeros((len(self.groups), _COLUMNS), np.float32)
        table[:, 0] = 1.0
        for row, name in enumerate(self.groups):
            encoding = encodings.get(name)
            if encoding is not None:
                limits, zero = np.iinfo(encoding.dtype.numpy), encoding.zero_point[0]
                table[row] = encoding.scale[0], limits.min - zero, limits.max - zero, 1.0
        found = self.model.run({**inputs, self.table: table})
        return [found[name] for name in self.judged]


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
