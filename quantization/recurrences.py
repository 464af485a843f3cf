"""Recurrent operators over few time steps, written out: matrix products, which are quantized, and gates, which are not.

A step reads its input and the state before as integers; both products have int8 weights, with a scale for each gate's
channel. Their sum, the activation functions and the cell state stay floats: so little work that nothing is gained by
rounding it, while rounding errors of a state would add up from step to step. All states of a direction have one
encoding and all steps the same weights, so that the steps share their kernels and constants.

Gate order, layouts and formulas are those of ONNX (``ops/recurrent.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..ir.graph import AttrValue, Graph, GraphBuilder, NameSupply, Node, Value
from ..ops.attributes import integer, text, texts
from ..ops.recurrent import DIRECTIONS
from ..ops.table import infer_types
from ..passes.eliminate_dead_code import eliminate_dead_code
from .recurrent_form import is_integer_recurrence

MOST_STEPS = 128
"""Longer sequences stay one operator in float: each step is calls of its own."""
_GATES = {"lstm": 4, "gru": 3, "rnn": 1}
_MOVES = ("reshape", "slice", "transpose")
_FUNCTIONS = {"Sigmoid": "sigmoid", "Tanh": "tanh", "Relu": "relu"}


@dataclass
class Unrolled:
    """``floats`` names the values that are computed in float, ``tied`` values that share an encoding, and ``products``
    the results of the steps' matrix products, and the first ones of layers that become integer ones as a whole."""

    graph: Graph
    floats: set[str] = field(default_factory=set)
    tied: list[list[str]] = field(default_factory=list)
    products: set[str] = field(default_factory=set)


def unroll_recurrences(graph: Graph) -> Unrolled:
    """``graph`` with each recurrent operator of at most :data:`MOST_STEPS` steps written out that has no integer form
    as a whole."""
    result = Unrolled(graph)
    result.products |= {node.outputs[0].name for node in graph.nodes if is_integer_recurrence(graph, node)}
    if not any(_can_unroll(graph, node) for node in graph.nodes):
        return result
    builder = GraphBuilder(infer_types, NameSupply.of(graph))
    builder.constants.update(graph.constants)
    for node in graph.nodes:
        if _can_unroll(graph, node):
            _Unroller(builder, graph, node, result).run()
        else:
            builder.nodes.append(node)
    made = graph.with_nodes(builder.nodes, constants=builder.constants)
    result.graph = eliminate_dead_code(made)
    return result


def _can_unroll(graph: Graph, node: Node) -> bool:
    """Whether weights are constant floats, activation functions are known, and there are no peepholes, no clip and no
    lengths."""
    if node.op not in _GATES or not 1 <= node.operands[0].shape[0] <= MOST_STEPS:
        return False
    weights = [graph.constant(value) for value in node.inputs[1:3]]
    bias = node.inputs[3] if len(node.inputs) > 3 else None
    known = all(array is not None and array.dtype == np.float32 for array in weights)
    if is_integer_recurrence(graph, node):
        return False
    names = texts(node.attrs, "activations")
    more = any(value is not None for value in node.inputs[6 if node.op == "lstm" else 5 :])
    return (
        known and not more and (bias is None or graph.constant(bias) is not None)
        and node.attrs["clip"] == float("inf") and all(name in _FUNCTIONS for name in names)
    )  # fmt: skip


class _Unroller:
    def __init__(self, builder: GraphBuilder, graph: Graph, node: Node, result: Unrolled) -> None:
        self.builder, self.node, self.result = builder, node, result
        self.hidden, self.gates = integer(node.attrs, "hidden"), _GATES[node.op]
        self.x = node.operands[0]
        self.steps, self.batch, self.features = self.x.shape
        self.arrays = [graph.constant(value) for value in node.inputs[1:4]]
        self.states = 2 if node.op == "lstm" else 1
        self.slices: dict[int, Value] = {}
        self.producers = graph.producers()

    def run(self) -> None:
        directions = DIRECTIONS[text(self.node.attrs, "direction")]
        outputs = [self._direction(number, directions) for number in range(directions)]
        rows = []
        for time in range(self.steps):
            both = [self._reshape(hidden[time], (1, 1, self.batch, self.hidden)) for hidden, _ in outputs]
            rows.append(self._concat(both, 1))
        y, *finals = self.node.outputs
        self._concat(rows, 0, y.name)
        for number, value in enumerate(finals):
            last = [self._reshape(final[number], (1, self.batch, self.hidden)) for _, final in outputs]
            self.result.floats.update(each.name for each in (*last, value))
            self._concat(last, 0, value.name)

    # ------------------------------------------------------------ one direction

    def _direction(self, number: int, count: int) -> tuple[list[Value], list[Value]]:
        """The hidden state after each time step, in order of time, and the last of all states."""
        w, r, bias = (None if array is None else array[number] for array in self._arrays())
        assert w is not None and r is not None
        stem = f"{self.node.outputs[0].name}.{number}" if count > 1 else self.node.outputs[0].name
        wb, rb = np.split(np.zeros(2 * self.gates * self.hidden, np.float32) if bias is None else bias, 2)
        separate = self.node.op == "gru"
        step = _Step(
            self, self._functions(number, count), self._weights(w, f"{stem}.w"), self._weights(r, f"{stem}.r"),
            self._bias(wb if separate else wb + rb, f"{stem}.wb"), self._bias(rb, f"{stem}.rb") if separate else None,
        )  # fmt: skip
        if separate and not self.node.attrs["linear_before_reset"]:
            two = 2 * self.hidden
            step.r, step.rb = self._weights(r[:two], f"{stem}.r"), self._bias(rb[:two], f"{stem}.rb")
            step.reset_r, step.reset_rb = self._weights(r[two:], f"{stem}.rh"), self._bias(rb[two:], f"{stem}.rbh")
        state = [self._initial(4 + place, number) for place in range(self.states)]
        order = range(self.steps)
        backwards = self.node.attrs["direction"] == "reverse" or number == 1
        hidden: dict[int, Value] = {}
        advance: Mapping[str, Callable[..., list[Value]]] = {"lstm": step.lstm, "gru": step.gru, "rnn": step.rnn}
        for time in reversed(order) if backwards else order:
            state = [*advance[self.node.op](self._input(time), *state)]
            assert state[0] is not None
            hidden[time] = state[0]
        self.result.tied += [step.states, step.resets]
        return [hidden[time] for time in order], [value for value in state if value is not None]

    def _arrays(self) -> list[np.ndarray | None]:
        return [*self.arrays, None][:3]

    def _functions(self, number: int, count: int) -> list[str]:
        names = texts(self.node.attrs, "activations")
        own = len(names) // count
        return [_FUNCTIONS[str(name)] for name in names[number * own : (number + 1) * own]]

    def _weights(self, array: np.ndarray, stem: str) -> Value:
        return self.builder.constant(np.ascontiguousarray(array.T), stem)

    def _bias(self, array: np.ndarray, stem: str) -> Value | None:
        return self.builder.constant(array, stem) if np.any(array) else None

    def _initial(self, position: int, number: int) -> Value | None:
        """A state before the first step, ``[batch, hidden]``; ``None`` for zeros."""
        value = self.node.inputs[position] if position < len(self.node.inputs) else None
        if value is None or not np.any(self.builder.constants.get(value.name, 1)):
            return None
        starts, sizes = (number, 0, 0), (1, self.batch, self.hidden)
        part = self.emit("slice", value, starts=starts, steps=(1, 1, 1), sizes=sizes)
        state = self._reshape(part, (self.batch, self.hidden))
        self._keep_moves(value)
        self.result.floats |= {part.name, state.name}
        return state

    def _keep_moves(self, value: Value) -> None:
        """A state comes as floats all the way: rounded for a product, it is not rounded for the sums."""
        node = self.producers.get(value.name)
        while node is not None and node.op in _MOVES:
            self.result.floats.add(node.output.name)
            node = self.producers.get(node.operands[0].name)

    def _input(self, time: int) -> Value:
        """``[batch, features]``"""
        if time not in self.slices:
            sizes = (1, self.batch, self.features)
            part = self.emit("slice", self.x, starts=(time, 0, 0), steps=(1, 1, 1), sizes=sizes)
            self.slices[time] = self._reshape(part, (self.batch, self.features))
        return self.slices[time]

    # ------------------------------------------------------------ nodes

    def emit(self, op: str, *operands: Value | None, **attrs: AttrValue) -> Value:
        stem = f"{self.node.outputs[0].name}.{op}"
        value = self.builder.emit1(op, *operands, loc=self.node.loc, name=stem, **attrs)
        self.result.products.update([value.name] if op == "matmul" else [])
        return value

    def real(self, op: str, *operands: Value) -> Value:
        """A pointwise operator, which is to stay in float."""
        value = self.emit(op, *operands)
        self.result.floats.add(value.name)
        return value

    def number(self, value: float) -> Value:
        return self.builder.constant(np.asarray(value, np.float32), "number")

    def part(self, x: Value, start: int, count: int = 1) -> Value:
        """``count`` gates, from number ``start`` on."""
        sizes = (self.batch, count * self.hidden)
        value = self.emit("slice", x, starts=(0, start * self.hidden), steps=(1, 1), sizes=sizes)
        self.result.floats.add(value.name)
        return value

    def _reshape(self, x: Value, shape: tuple[int, ...]) -> Value:
        return self.emit("reshape", x, shape=shape)

    def _concat(self, parts: Sequence[Value], axis: int, name: str | None = None) -> Value:
        if name is None:
            return parts[0] if len(parts) == 1 else self.emit("concat", *parts, axis=axis)
        old = next(value for value in self.node.outputs if value.name == name)
        attrs: dict[str, AttrValue] = {"axis": axis}
        self.builder.nodes.append(Node("concat", tuple(parts), (old,), attrs, self.node.loc))
        return old


@dataclass
class _Step:
    """The formulas of one time step; states that are zero are ``None``."""

    own: _Unroller
    functions: Sequence[str]
    w: Value
    r: Value
    wb: Value | None
    rb: Value | None
    reset_r: Value | None = None
    reset_rb: Value | None = None
    states: list[str] = field(default_factory=list)
    resets: list[str] = field(default_factory=list)

    def lstm(self, x: Value, h: Value | None, c: Value | None) -> list[Value]:
        own, (f, g, e) = self.own, self.functions
        sums = self._sum(x, h)
        i, o, forget, cell = (own.part(sums, gate) for gate in range(4))
        i, o, cell = own.real(f, i), own.real(f, o), own.real(g, cell)
        new = own.real("mul", i, cell)
        if c is not None:
            kept = own.real("sub", own.number(1.0), i) if own.node.attrs["input_forget"] else own.real(f, forget)
            new = own.real("add", own.real("mul", kept, c), new)
        return [own.real("mul", o, own.real(e, new)), new]

    def gru(self, x: Value, h: Value | None) -> list[Value]:
        own, (f, g) = self.own, self.functions
        inputs = own.emit("matmul", x, self.w, self.wb)
        states = self._of_state(h)
        z, r = (own.real(f, self._both(inputs, states, gate)) for gate in range(2))
        candidate, of_state = own.part(inputs, 2), self._candidate(r, states, h)
        if of_state is not None:
            candidate = own.real("add", candidate, of_state)
        rest = own.real("mul", own.real("sub", own.number(1.0), z), own.real(g, candidate))
        return [rest if h is None else own.real("add", rest, own.real("mul", z, h))]

    def _candidate(self, r: Value, states: Value | None, h: Value | None) -> Value | None:
        """What the state gives to the candidate: reset before the product, or behind it."""
        own = self.own
        if own.node.attrs["linear_before_reset"]:
            return None if states is None else own.real("mul", r, own.part(states, 2))
        if h is None:
            return self.reset_rb
        assert self.reset_r is not None
        return self._product(own.real("mul", r, h), self.reset_r, self.reset_rb, self.resets)

    def _product(self, x: Value, weights: Value, bias: Value | None, stored: list[str]) -> Value:
        """Of ``x`` rounded to integers; others still read it as it is. What is rounded is noted in ``stored``."""
        rounded = self.own.emit("reshape", x, shape=x.shape)
        self.own.result.floats.add(rounded.name)
        stored.append(rounded.name)
        return self.own.emit("matmul", rounded, weights, bias)

    def rnn(self, x: Value, h: Value | None) -> list[Value]:
        return [self.own.real(self.functions[0], self._sum(x, h))]

    def _sum(self, x: Value, h: Value | None) -> Value:
        inputs = self.own.emit("matmul", x, self.w, self.wb)
        return inputs if h is None else self.own.real("add", self._product(h, self.r, None, self.states), inputs)

    def _of_state(self, h: Value | None) -> Value | None:
        """What the state gives; of a state of zeros, its bias."""
        if h is not None:
            return self._product(h, self.r, self.rb, self.states)
        return None if self.rb is None else self.own.emit("expand", self.rb, shape=(self.own.batch, self.rb.type.size))

    def _both(self, inputs: Value, states: Value | None, gate: int) -> Value:
        own = self.own
        part = own.part(inputs, gate)
        return part if states is None else own.real("add", part, own.part(states, gate))
