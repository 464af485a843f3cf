"""Gradient nodes, compiled, against differences of ONNX's reference in float64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx.derivatives import RULES
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.frontend_onnx import graphs
from tests.frontend_onnx.graphs import run_compiled, value

DOMAIN = "ai.onnx.preview.training"
Arrays = Mapping[str, np.ndarray]
RNG = np.random.default_rng(11)


def model(nodes: Sequence[onnx.NodeProto], inputs: Arrays, outputs: Sequence[str], opset: int) -> onnx.ModelProto:
    sides = [value(name, array.shape, TensorProto.DOUBLE) for name, array in inputs.items()]
    return graphs.model(nodes, sides, outputs, opset=opset, domains={DOMAIN: 1})


def gradient(xs: Sequence[str], y: str, outputs: Sequence[str], values: Sequence[str] = ()) -> onnx.NodeProto:
    return helper.make_node("Gradient", values or xs, outputs, domain=DOMAIN, xs=list(xs), y=y)


def differences(nodes: Sequence[onnx.NodeProto], inputs: Arrays, name: str, opset: int) -> np.ndarray:
    """The derivatives of the sum of y by the elements of an input."""
    reference = ReferenceEvaluator(model(nodes, inputs, ["y"], opset))
    step, found = 1e-6, np.zeros(inputs[name].shape)
    for place in np.ndindex(found.shape):
        sums = []
        for sign in (1, -1):
            moved = inputs[name].copy()
            moved[place] += sign * step
            sums.append(float(np.sum(reference.run(None, {**inputs, name: moved})[0])))
        found[place] = (sums[0] - sums[1]) / (2 * step)
    return found


def made(op: str, inputs: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, inputs.split(), ["h"], **attributes)


UNARY = (2, 3)
CASES: dict[str, tuple[onnx.NodeProto, dict[str, tuple[int, ...]]]] = {
    **{op: (made(op, "a"), {"a": UNARY}) for op in (
        "Abs", "Cos", "Exp", "Flatten", "Identity", "Log", "Neg", "Reciprocal", "Relu", "Sigmoid", "Sin", "Softmax",
        "Softplus", "Sqrt", "Tanh", "Transpose")},
    **{op: (made(op, "a b"), {"a": (2, 3), "b": (4, 1, 3)}) for op in ("Add", "Div", "Mul", "Sub")},
    "Sum": (made("Sum", "a b c"), {"a": (2, 3), "b": (1, 3), "c": ()}),
    "Pow": (made("Pow", "a three"), {"a": (2, 3)}),
    "MatMul": (made("MatMul", "a b"), {"a": (2, 1, 3, 4), "b": (5, 4, 2)}),
    "Gemm": (made("Gemm", "a b c", alpha=0.5, beta=2.0), {"a": (3, 4), "b": (4, 2), "c": (2,)}),
    "Gemm A": (made("Gemm", "a b c", transA=1), {"a": (4, 3), "b": (4, 2), "c": (3, 1)}),
    "Gemm B": (made("Gemm", "a b", transB=1), {"a": (3, 4), "b": (2, 4)}),
    "Gemm AB": (made("Gemm", "a b", transA=1, transB=1), {"a": (4, 3), "b": (2, 4)}),
    "ReduceSum": (made("ReduceSum", "a"), {"a": UNARY}),
    "ReduceMean": (made("ReduceMean", "a", axes=[-1], keepdims=0), {"a": UNARY}),
    "Reshape": (made("Reshape", "a shape"), {"a": UNARY}),
    "Squeeze": (made("Squeeze", "a"), {"a": (1, 3)}),
    "Unsqueeze": (made("Unsqueeze", "a axis"), {"a": UNARY}),
    "Where": (made("Where", "cond a b"), {"a": (2, 3), "b": (3,)}),
}  # fmt: skip


def constants() -> list[onnx.NodeProto]:
    arrays = {
        "three": np.array(3.0), "shape": np.array([3, 2]), "axis": np.array([1]),
        "cond": np.array([[True, False, True], [False, False, True]]), "weights": np.array(0.7),
    }  # fmt: skip
    return [
        helper.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(array))
        for name, array in arrays.items()
    ]


def test_every_derivative_has_a_case() -> None:
    assert {name.split()[0] for name in CASES} == set(RULES)


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name: str) -> None:
    """Behind the operator a sine, so that what arrives is not the same for all elements."""
    node, shapes = CASES[name]
    opset = 13 if name != "ReduceMean" else 17
    inputs = {key: np.asarray(RNG.uniform(0.3, 2, shape)) for key, shape in shapes.items()}
    forward = [*constants(), node, helper.make_node("Sin", ["h"], ["y"])]
    results = [f"d{key}" for key in inputs]
    whole = model([*forward, gradient(list(inputs), "y", results)], inputs, results, opset)
    for key, result in zip(inputs, run_compiled(whole, inputs), strict=True):
        assert result.shape == inputs[key].shape
        np.testing.assert_allclose(result, differences(forward, inputs, key, opset), rtol=1e-6, atol=1e-7)


def test_another_value_than_that_of_the_graph() -> None:
    """dy/dh at k, where y = h^2 and the graph has h = sin(a)."""
    inputs = {"a": RNG.uniform(0, 1, 3), "k": RNG.uniform(2, 3, 3)}
    nodes = [helper.make_node("Sin", ["a"], ["h"]), helper.make_node("Mul", ["h", "h"], ["y"])]
    whole = model([*nodes, gradient(["h"], "y", ["d"], ["k"])], inputs, ["d"], 17)
    np.testing.assert_allclose(run_compiled(whole, inputs)[0], 2 * inputs["k"])


def test_the_second_derivative() -> None:
    inputs = {"a": RNG.uniform(1, 2, 4)}
    nodes = [
        helper.make_node("Mul", ["a", "a"], ["b"]), helper.make_node("Mul", ["a", "b"], ["y"]),
        gradient(["a"], "y", ["first"]), gradient(["a"], "first", ["second"]),
    ]  # fmt: skip
    (second,) = run_compiled(model(nodes, inputs, ["second"], 17), inputs)
    np.testing.assert_allclose(second, 6 * inputs["a"], rtol=1e-12)


def test_what_has_no_influence() -> None:
    inputs = {"a": RNG.uniform(1, 2, 4), "b": RNG.uniform(1, 2, (2, 1))}
    nodes = [helper.make_node("Exp", ["a"], ["y"]), gradient(["a", "b"], "y", ["da", "db"])]
    da, db = run_compiled(model(nodes, inputs, ["da", "db"], 17), inputs)
    np.testing.assert_allclose(da, np.exp(inputs["a"]), rtol=1e-12)
    np.testing.assert_array_equal(db, np.zeros((2, 1)))


def test_not_too_many() -> None:
    inputs = {"a": RNG.uniform(1, 2, 4)}
    nodes = [helper.make_node("Exp", ["a"], ["y"]), *(gradient(["a"], "y", [f"d{n}"]) for n in range(65))]
    with pytest.raises(CcmlError, match="65 Gradient nodes; up to 64"):
        run_compiled(model(nodes, inputs, ["d0"], 17), inputs)


def test_operators_without_a_derivative_are_named() -> None:
    inputs = {"a": RNG.uniform(1, 2, 4)}
    nodes = [helper.make_node("Erf", ["a"], ["y"]), gradient(["a"], "y", ["d"])]
    with pytest.raises(CcmlError, match="no derivative of Erf is known; there are those of: Abs, Add") as caught:
        run_compiled(model(nodes, inputs, ["d"], 17), inputs)
    assert caught.value.kind is ErrorCode.UNSUPPORTED_FEATURE
