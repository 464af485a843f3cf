"""Nests of lstm, gru and rnn, against the operator table and against onnx.reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.ops.nest_harness import check_nest, normal, run_nest

GATES = {"lstm": 4, "gru": 3, "rnn": 1}
ACTIVATIONS = {"lstm": ("Sigmoid", "Tanh", "Tanh"), "gru": ("Sigmoid", "Tanh"), "rnn": ("Tanh",)}


def operands(op: str, dirs: int, seq: int = 4, batch: int = 2, features: int = 3, hidden: int = 5) -> list[np.ndarray]:
    gates, scale = GATES[op] * hidden, np.float32(0.5)
    shapes = [(seq, batch, features), (dirs, gates, features), (dirs, gates, hidden), (dirs, 2 * gates)]
    shapes += [(dirs, batch, hidden)] * (2 if op == "lstm" else 1)
    shapes += [(dirs, 3 * hidden)] if op == "lstm" else []
    return [normal(*shape, seed=seed) * scale for seed, shape in enumerate(shapes)]


def attributes(op: str, direction: str, **changes: Any) -> dict[str, Any]:
    dirs = 2 if direction == "bidirectional" else 1
    attrs = {"hidden": 5, "direction": direction, "activations": ACTIVATIONS[op] * dirs, "clip": float("inf")}
    extra = {"lstm": {"input_forget": False}, "gru": {"linear_before_reset": False}, "rnn": {}}[op]
    return {**attrs, **extra, **changes}


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op", list(GATES))
def test_directions_and_optional_operands(op: str, direction: str) -> None:
    given = operands(op, 2 if direction == "bidirectional" else 1)
    attrs = attributes(op, direction)
    check_nest(op, *given, **attrs)
    check_nest(op, *given[:3], **attrs)
    check_nest(op, *given[:3], None, given[4], **attrs)


def test_lstm_couples_input_and_forget_gates() -> None:
    check_nest("lstm", *operands("lstm", 1), **attributes("lstm", "forward", input_forget=True))


def test_gru_linear_before_reset() -> None:
    check_nest("gru", *operands("gru", 1), **attributes("gru", "reverse", linear_before_reset=True))


def test_clip() -> None:
    check_nest("lstm", *operands("lstm", 1), **attributes("lstm", "forward", clip=0.3))


@pytest.mark.parametrize("name", ["Sigmoid", "Tanh", "Relu", "HardSigmoid", "Softsign", "Softplus"])
def test_activations(name: str) -> None:
    check_nest("rnn", *operands("rnn", 1), **attributes("rnn", "forward", activations=(name,)))


def test_one_step_of_one_unit() -> None:
    given = operands("lstm", 1, seq=1, batch=1, features=1, hidden=1)
    check_nest("lstm", *given, **attributes("lstm", "forward", hidden=1))


@pytest.mark.parametrize("op", list(GATES))
def test_agrees_with_onnx(op: str) -> None:
    given = operands(op, 1)
    names = [f"x{i}" for i in range(len(given))]
    outputs = ["y", "y_h", "y_c"] if op == "lstm" else ["y", "y_h"]
    inputs = [*names[:4], "", *names[4:]]
    node = helper.make_node(op.upper(), inputs, outputs, hidden_size=5)
    infos = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, x.shape) for name, x in zip(names, given)]
    results = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in outputs]
    constants = [numpy_helper.from_array(array, name) for name, array in zip(names[1:], given[1:])]
    graph = helper.make_graph([node], "g", infos[:1], results, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])
    expected = ReferenceEvaluator(model).run(None, {"x0": given[0]})
    for result, wanted in zip(run_nest(op, *given, **attributes(op, "forward")), expected):
        np.testing.assert_allclose(result, wanted, rtol=2e-6, atol=2e-6)
