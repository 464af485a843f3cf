"""The float model with tensors, or weights, that can be rounded one by one: what rounding makes of its outputs.

A small model is evaluated by the definition of its operators, anew from what is rounded on. A larger one is compiled
once: each group of values that is to have one encoding has a row of a table, which is an input of the compiled model. A
value ``v`` of the group becomes

    v + on * (step * min(max(round(v / step), low), high) - v)

with ``low`` and ``high`` in steps from zero, so that the same code serves for every encoding, and for none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np

from ..ir.graph import Graph, GraphBuilder, NameSupply, Node, Value
from ..ir.types import DType, TensorType
from ..ops.opdef import Kind
from ..ops.table import OPS, infer_types
from ..record import record
from ..verification.runner import Arrays, is_worth_compiling, work_of
from .encoding import Encoding
from .execute import Rounding, evaluate_all, reevaluate

_COLUMNS = 4
_SHARE = 4
"""One part of all work is done: what is before the rounded tensor is known, and samples are left out early."""
_PART = 8
"""Samples that are evaluated together: few enough to stop early, many enough to make up for what a call takes."""
_SOFTMAX = ("softmax", "log_softmax")

Encodings = Mapping[str, Encoding]
"""Of groups, by the first member."""

Constants = Mapping[tuple[str, int], np.ndarray]
"""Operands, by the node's first output and the position, as rounding leaves them."""

_Changes = TypeVar("_Changes", Encodings, Constants)
_Rounded = Callable[[Sequence[int], Sequence[_Changes]], list[np.ndarray]]
"""What is judged, ``[samples, ...]``, for samples by their places, each with what is rounded."""


@record
class Probe(Generic[_Changes]):
    """``wanted`` is what is judged (:func:`judged`), ``[samples, ...]``. ``power`` is the sum of squares of each over
    all samples. ``at_once`` samples are evaluated together."""

    rounded: _Rounded[_Changes]
    wanted: Sequence[np.ndarray]
    power: np.ndarray
    at_once: int

    @staticmethod
    def of(
        graph: Graph, stored: Mapping[str, str], inputs: Arrays, trials: int,
        known: Callable[[], Arrays | None] = lambda: None,
    ) -> Probe[Encodings]:  # fmt: skip
        """Of tensors. ``stored`` maps values to the first of their group; ``inputs`` are samples, each tried ``trials``
        times. ``known`` gives the values of the float model for these, as far as they are known."""
        count = len(next(iter(inputs.values())))
        if is_worth_compiling(work_of(graph) * count * trials // _SHARE):
            return _judging(_compiled(graph, stored, inputs, judged(graph)), count, 1)
        return _judging(_evaluated(graph, stored, known() or {}, inputs, judged(graph)), count, _PART)

    @staticmethod
    def of_constants(graph: Graph, inputs: Arrays) -> Probe[Constants]:
        """Of weights, which are the same for all samples that are evaluated together."""
        values, names = evaluate_all(graph, inputs), judged(graph)

        def rounded(places: Sequence[int], changes: Sequence[Constants]) -> list[np.ndarray]:
            some = _Some(values, places)
            changed = reevaluate(graph, some, {}, changes[0])
            return [changed[name] if name in changed else some[name] for name in names]

        return _judging(rounded, len(next(iter(inputs.values()))), _PART)

    def noise(self, changes: Callable[[int], _Changes]) -> float:
        """The geometric mean of the relative noise of all that is judged, where the sample at a place has that rounded
        which ``changes`` gives for it."""
        return self.mean(self.noises(changes))

    def noises(
        self,
        changes: Callable[[int], _Changes],
        order: Sequence[int] | None = None,
        is_lost: Callable[[np.ndarray, Sequence[int]], bool] = lambda noises, places: False,
    ) -> np.ndarray:
        """The squared error of all that is judged, ``[judged, samples]``, of all samples, or of those in ``order``:
        that of others is 0. They are looked at in that order until the trial ``is_lost`` by what is known of some
        places; then that of all is infinite."""
        count = len(self.wanted[0])
        found = np.zeros((len(self.wanted), count))
        places = list(range(count)) if order is None else list(order)
        for begin in range(0, len(places), self.at_once):
            some = places[begin : begin + self.at_once]
            for row, own, wanted in zip(found, self.rounded(some, [changes(place) for place in some]), self.wanted):
                apart = np.subtract(own, wanted[some], dtype=np.float64).reshape(len(some), -1)
                row[some] = np.einsum("nk,nk->n", apart, apart)
            if is_lost(found, places[: begin + len(some)]):
                return np.full_like(found, np.inf)
        return found

    def mean(self, noises: np.ndarray) -> float:
        """The geometric mean of the relative noise, by the squared errors of each sample."""
        return _geometric_mean(noises.sum(axis=1) / self.power)

    def mean_of(self, noises: np.ndarray, places: Sequence[int]) -> float:
        """That of the samples at some places alone."""
        power = [float(np.square(rows[places], dtype=np.float64).sum()) for rows in self.wanted]
        return _geometric_mean(noises[:, places].sum(axis=1) / np.maximum(power, 1e-30))


def _geometric_mean(noise: np.ndarray) -> float:
    return float(np.exp(np.mean(np.log(noise + 1e-30))))


@record
class _Some(Mapping[str, np.ndarray]):
    """Of values ``[samples, ...]`` some samples, taken when they are asked for."""

    whole: Arrays
    places: Sequence[int]

    def __getitem__(self, name: str) -> np.ndarray:
        first, count = self.places[0], len(self.places)
        if list(self.places) == list(range(first, first + count)):
            return self.whole[name][first : first + count]
        return self.whole[name][self.places]

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole)

    def __len__(self) -> int:
        return len(self.whole)


def judged(graph: Graph) -> list[str]:
    """The outputs, and in the place of those that a softmax makes what it reads: of probabilities few samples make
    nearly all of the noise, those that the model is not sure of. Integers and bools, such as places of the greatest
    elements, are judged by the floats from which they are found."""
    found = [name for value in graph.outputs for name in _floats_behind(graph, value)]
    return list(dict.fromkeys(_scores(graph, name) or name for name in found))


def _floats_behind(graph: Graph, value: Value) -> list[str]:
    """The value itself, or the last computed floats on the ways to it."""
    if value.dtype.is_float:
        return [value.name]
    given = {value.name for value in graph.inputs} | graph.constants.keys()
    found: dict[str, None] = {}
    waiting, seen = [value], {value.name}
    while waiting:
        node = graph.producer(waiting.pop().name)
        for operand in () if node is None else node.operands:
            if operand.name in seen or operand.name in given:
                continue
            seen.add(operand.name)
            if operand.dtype.is_float:
                found[operand.name] = None
            else:
                waiting.append(operand)
    return list(found)


def _finite(array: np.ndarray) -> np.ndarray:
    """With 0 in the place of infinities, such as scores that a choice leaves out: how large they are says nothing."""
    return np.nan_to_num(array, nan=0.0, posinf=0.0, neginf=0.0)


def _of_finite(rounded: _Rounded[_Changes]) -> _Rounded[_Changes]:
    return lambda places, changes: [_finite(rows) for rows in rounded(places, changes)]


def _judging(rounded: _Rounded[_Changes], count: int, at_once: int) -> Probe[_Changes]:
    """By what the float model gives."""
    parts = [list(range(count))[begin : begin + at_once] for begin in range(0, count, at_once)]
    nothing: Any = {}
    found = [rounded(part, [nothing] * len(part)) for part in parts]
    wanted = [np.concatenate(rows) for rows in zip(*found)]
    if not all(np.isfinite(rows).all() for rows in wanted):
        wanted, rounded = [_finite(rows) for rows in wanted], _of_finite(rounded)
    power = [max(float(np.square(rows, dtype=np.float64).sum()), 1e-30) for rows in wanted]
    return Probe(rounded, wanted, np.array(power), at_once)


def _evaluated(
    graph: Graph, stored: Mapping[str, str], known: Arrays, inputs: Arrays, names: Sequence[str]
) -> _Rounded[Encodings]:
    computed = {value.name for value in graph.values()} - graph.constants.keys()
    values = known if computed <= known.keys() else evaluate_all(graph, inputs)

    def rounded(places: Sequence[int], changes: Sequence[Encodings]) -> list[np.ndarray]:
        some = _Some(values, places)
        heads = changes[0]
        each = {head: Rounding.of([encodings[head] for encodings in changes]) for head in heads}
        roundings = {name: each[head] for name, head in stored.items() if head in each}
        changed = reevaluate(graph, some, roundings, {})
        return [changed[name] if name in changed else some[name] for name in names]

    return rounded


def _compiled(
    graph: Graph, stored: Mapping[str, str], inputs: Arrays, names: Sequence[str]
) -> _Rounded[Encodings]:
    from ..verification.float_model import FloatModel  # what generates and compiles code takes long to import

    groups = tuple(dict.fromkeys(stored.values()))
    builder = _Builder(graph, stored, groups)
    probed = builder.run()
    shown = [builder.read.get(name, Value(name, TensorType(DType.F32, ()))).name for name in names]
    model = FloatModel(probed, shown)

    def one(place: int, encodings: Encodings) -> list[np.ndarray]:
        table = np.zeros((max(len(groups), 1), _COLUMNS), np.float32)
        table[:, 0] = 1.0
        for row, name in enumerate(groups):
            encoding = encodings.get(name)
            if encoding is not None:
                limits, zero = np.iinfo(encoding.dtype.numpy), encoding.zero_point[0]
                table[row] = encoding.scale[0], limits.min - zero, limits.max - zero, 1.0
        feeds = {name: array[place] for name, array in inputs.items()}
        found = model.run({**feeds, builder.table.name: table})
        return [found[name] for name in shown]

    def rounded(places: Sequence[int], changes: Sequence[Encodings]) -> list[np.ndarray]:
        return [np.stack(rows) for rows in zip(*map(one, places, changes))]

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
