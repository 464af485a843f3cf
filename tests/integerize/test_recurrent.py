"""QDQ around recurrent layers: integer layers near the float definition, compiled to the bits that they mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ccml.ir.graph import Graph, Value
from ccml.ir.types import DType, TensorType
from ccml.passes.byte_signs import signed_bytes, unsigned_bytes
from ccml.passes.integerize import integerize, integerize_with_report

from tests.integerize.building import Qdq, check, operators, outputs, random_bytes

GATES = {"lstm": 4, "gru": 3, "rnn": 1}
FUNCTIONS = {"lstm": ("Sigmoid", "Tanh", "Tanh"), "gru": ("Sigmoid", "Tanh"), "rnn": ("Tanh",)}
FLAGS = {"lstm": {"input_forget": False}, "gru": {"linear_before_reset": False}, "rnn": {}}
OPERATORS = pytest.mark.parametrize("op", list(GATES))


class Layer(Qdq):
    """A recurrent layer with its input, in ``dtype``, and its weights quantized; all results of it."""

    def __init__(
        self, op: str, dtype: DType = DType.I16, *, direction: str = "forward", wide: bool = False,
        weights: str = "rows", bias: bool = True, states: bool = False, lengths: bool = False, peepholes: bool = False,
        hidden: int = 6, **attrs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        self.rng, self.dirs = np.random.default_rng(3), 2 if direction == "bidirectional" else 1
        rows, features, self.batch = GATES[op] * hidden, 5, 2
        scale, zero = {DType.I16: (3e-5, 0), DType.I8: (0.008, -9), DType.U8: (0.008, 119)}[dtype]
        x = self.input((7, self.batch, features), scale, zero, dtype)
        w, r = (self.matrix((self.dirs, rows, n), weights, 2000 if wide else 127) for n in (features, hidden))
        b = self.constant(self.rng.standard_normal((self.dirs, 2 * rows)) * 0.2) if bias else None
        count = 2 if op == "lstm" else 1
        shape = (self.dirs, self.batch, hidden)
        given = [self.float_input(f"s{n}", shape) if states else None for n in range(count)]
        p = [self.constant(self.rng.standard_normal((self.dirs, 3 * hidden)))] if peepholes else [None]
        more = [*(p if op == "lstm" else []), self.counts() if lengths else None]
        attrs = {"hidden": hidden, "direction": direction, "clip": math.inf, **FLAGS[op], **attrs}
        attrs.setdefault("activations", FUNCTIONS[op] * self.dirs)
        self.results = self.builder.emit(op, [x, w, r, b, *given, *more], attrs, loc="layer")

    def matrix(self, shape: tuple[int, ...], kind: str, most: int) -> Value:
        integers = self.rng.integers(-most, most, shape, endpoint=True).astype(np.int8 if most == 127 else np.int16)
        scales = self.rng.uniform(0.5, 1, shape[:2]) / most
        if kind == "tensor":
            return self.weights(integers, scales[0, :1])
        parts = [self.weights(part[None], row, axis=1) for part, row in zip(integers, scales)]
        return parts[0] if len(parts) == 1 else self.op("concat", *parts, axis=0)

    def float_input(self, name: str, shape: tuple[int, ...]) -> Value:
        value = Value(name, TensorType(DType.F32, shape))
        self.inputs.append(value)
        return value

    def counts(self) -> Value:
        value = Value("lengths", TensorType(DType.I32, (self.batch,)))
        self.inputs.append(value)
        return value

    def whole(self) -> Graph:
        return self.graph(*self.results)


CASES: dict[str, dict[str, Any]] = {
    "int16": {},
    "bytes": {"dtype": DType.I8},
    "unsigned bytes": {"dtype": DType.U8, "bias": False},
    "one scale": {"weights": "tensor"},
    "weights of 16 bits": {"wide": True},
    "backward": {"direction": "reverse", "states": True},
    "both directions": {"direction": "bidirectional", "states": True},
    "lengths": {"lengths": True, "direction": "bidirectional"},
    "one unit": {"hidden": 1},
}


def fed(graph: Graph, seed: int) -> dict[str, np.ndarray]:
    """Initial states are within 1, as those of networks are, lengths from -1 to one too many."""
    rng, feeds = np.random.default_rng(seed), random_bytes(graph, seed)
    for name, array in feeds.items():
        if array.dtype == np.float32:
            feeds[name] = rng.uniform(-1, 1, array.shape).astype(np.float32)
        elif name == "lengths":
            feeds[name] = rng.integers(-1, 9, array.shape).astype(np.int32)
    return feeds


def assert_near(graph: Graph, result: Graph, most: float = 5e-4) -> None:
    for seed in range(3):
        feeds = fed(graph, seed)
        for wanted, got in zip(outputs(graph, feeds), outputs(result, feeds), strict=True):
            assert np.abs(wanted - got).max() < most


@pytest.mark.parametrize("case", CASES)
@OPERATORS
def test_layers(op: str, case: str) -> None:
    graph = Layer(op, **CASES[case]).whole()
    result = check(graph, same=False)
    assert f"int_{op}" in operators(result) and op not in operators(result)
    assert_near(graph, result)


def test_coupled_gates_and_logistic_states() -> None:
    for op, attrs in (
        ("lstm", {"input_forget": True}), ("gru", {"linear_before_reset": True}), ("rnn", {"activations": ("Sigmoid",)})
    ):  # fmt: skip
        graph = Layer(op, **attrs).whole()
        assert_near(graph, check(graph, same=False))


def test_integers_go_on_behind_the_layer() -> None:
    q = Layer("gru")
    y = q.quantize(q.results[0], 1 / 127, 0)
    assert operators(integerize(q.graph(y))) == ["int_gru", "cast", "requantize"]
    q = Layer("gru")
    assert operators(integerize(q.graph(q.quantize(q.results[0], 2.0**-15, 0, DType.I16)))) == ["int_gru"]


def test_a_state_that_is_stored_as_the_layer_has_it_is_read_so() -> None:
    q = Layer("gru")
    first = q.results
    attrs = {"hidden": 6, "direction": "forward", "activations": FUNCTIONS["gru"], "clip": math.inf, **FLAGS["gru"]}
    w, r = (q.matrix((1, 18, n), "rows", 127) for n in (6, 6))
    x = q.requantized(q.op("reshape", first[0], shape=(7, 2, 6)), 2.0**-15, 0, DType.I16)
    second = q.builder.emit("gru", [x, w, r, None, first[1]], attrs, loc="second")
    assert operators(integerize(q.graph(second[1]))) == ["int_gru", "reshape", "int_gru", "dequantize"]


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ({"peepholes": True}, "it has peepholes"),
        ({"clip": 3.0}, "the arguments of its gates are clipped"),
        ({"activations": ("Sigmoid", "Tanh", "Relu")}, "its activation functions are Sigmoid, Tanh, Relu"),
        ({"activations": ("Tanh", "Tanh", "Tanh")}, "its activation functions are Tanh, Tanh, Tanh"),
    ],
)
def test_what_stays_in_float(case: dict[str, Any], reason: str) -> None:
    result, (kept,) = integerize_with_report(Layer("lstm", **case).whole())
    assert "lstm" in operators(result)
    assert kept.reason == reason


def test_sums_that_32_bits_cannot_hold_stay_in_float() -> None:
    q = Layer("rnn", hidden=2)
    w = q.weights(np.full((1, 2, 6), 32767, np.int16), [1e-4])
    r = q.weights(np.full((1, 2, 2), 127, np.int8), [1e-2])
    x = q.input((7, 2, 6), 3e-5, 0, DType.I16)
    attrs = {"hidden": 2, "direction": "forward", "activations": ("Tanh",), "clip": math.inf}
    (y, _) = q.builder.emit("rnn", [x, w, r, None], attrs, loc="layer")
    (kept,) = integerize_with_report(q.graph(y))[1]
    assert kept.reason == "its sums of products or the arguments of its gates need more than 32 bits"


def test_computed_weights_and_inputs_stay_in_float() -> None:
    q = Qdq()
    x, w = q.input((3, 1, 2)), q.input((1, 2, 2), name="w")
    r = q.weights(np.ones((1, 2, 2), np.int8), [0.1])
    attrs = {"hidden": 2, "direction": "forward", "activations": ("Tanh",), "clip": math.inf}
    (y, _) = q.builder.emit("rnn", [x, w, r, None], attrs, loc="layer")
    (kept,) = integerize_with_report(q.graph(y))[1]
    assert kept.reason == "its input and weights are not all quantized; its gates are computed in float"


@pytest.mark.parametrize(("dtype", "other", "to"), [
    (DType.U8, signed_bytes, DType.I8), (DType.I8, unsigned_bytes, DType.U8),
])  # fmt: skip
@OPERATORS
def test_bytes_of_the_other_sign(op: str, dtype: DType, other: Callable[[Graph], Graph], to: DType) -> None:
    result = integerize(Layer(op, dtype, states=True).whole())
    changed = other(result)
    (node,) = (each for each in changed.nodes if each.op == f"int_{op}")
    assert node.operands[0].dtype is to and node.operands[1].dtype is DType.I8
    for seed in range(3):
        feeds = fed(result, seed)
        for wanted, got in zip(outputs(result, feeds), outputs(changed, feeds), strict=True):
            np.testing.assert_array_equal(got, wanted)
