"""16-bit activations, operators that choose among values, interpolation: integers within one step of the floats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from ccml.frontend_onnx import import_model
from ccml.ir.graph import Graph, Value
from ccml.ir.types import DType
from ccml.passes.integerize import integerize, integerize_with_report
from onnx import TensorProto, helper, numpy_helper

from tests.integerize.building import Qdq, check, operators, outputs, random_bytes

SCALE, RESULT = 0.000713, 0.001177
"""Of operands and results with 16 bits: no small quotient, so that results seldom are halves."""


def assert_within_one_step(graph: Graph, expected: list[str] | None = None, largest_part: float = 0.01) -> None:
    result = check(graph, expected, same=False)
    apart = []
    for seed in range(3):
        feeds = random_bytes(graph, seed)
        for wanted, got in zip(outputs(graph, feeds), outputs(result, feeds), strict=True):
            apart.append(np.abs(wanted.astype(int) - got.astype(int)).ravel())
    found = np.concatenate(apart)
    assert found.max() <= 1
    assert np.count_nonzero(found) <= max(2, largest_part * found.size)


def wide(q: Qdq, shape: tuple[int, ...] = (2, 4, 6, 6), name: str = "x") -> Value:
    return q.input(shape, SCALE, 0, DType.I16, name)


def stored(q: Qdq, y: Value) -> Graph:
    return q.graph(q.quantize(y, RESULT, 0, DType.I16))


def pool(q: Qdq, x: Value, kind: str) -> Value:
    window = {"kernel": (2, 2), "stride": (2, 2), "pad": (0,) * 4, "dilation": (1, 1), "ceil_mode": False}
    return q.op("pool", x, kind=kind, count_include_pad=False, layout="channels_first", **window)


def branch(q: Qdq, x: Value) -> Value:
    below = q.op("lt", x, q.constant(0.0))
    return q.op("where", below, q.op("mul", x, q.constant(0.1)), x)


ONE: dict[str, tuple[Callable[[Qdq, Value], Value], list[str]]] = {
    "identity": (lambda q, x: x, ["cast", "requantize"]),
    "relu": (lambda q, x: q.op("relu", x), ["cast", "requantize"]),
    "clip": (lambda q, x: q.op("clip", x, lo=-1.0, hi=6.0), ["cast", "requantize"]),
    "times a number": (lambda q, x: q.op("mul", x, q.constant(0.37)), ["cast", "requantize"]),
    "leaky relu": (branch, ["lt", "cast", "requantize", "cast", "requantize", "where"]),
    "maximum of windows": (lambda q, x: pool(q, x, "max"), ["pool", "cast", "requantize"]),
    "mean of windows": (lambda q, x: pool(q, x, "avg"), ["pool", "requantize"]),
    "transpose": (lambda q, x: q.op("transpose", x, perm=(0, 2, 3, 1)), ["transpose", "cast", "requantize"]),
    "depthwise": (
        lambda q, x: q.conv(x, q.weights(np.full((4, 1, 3, 3), 77, np.int8), [0.003] * 4), pad=(1,) * 4, group=4),
        ["conv", "requantize"],
    ),
}


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_16_bit_tensor(name: str) -> None:
    build, expected = ONE[name]
    q = Qdq()
    assert_within_one_step(stored(q, build(q, wide(q))), expected)


@pytest.mark.parametrize("op", ["add", "sub", "mul"])
@pytest.mark.parametrize("narrow", [False, True])
def test_two_tensors_of_which_one_has_16_bits(op: str, narrow: bool) -> None:
    q = Qdq()
    rhs = q.input((1, 4, 1, 1), 0.0517, 9, DType.U8, "y") if narrow else wide(q, (2, 4, 6, 6), "y")
    op_name = "rescale_product" if op == "mul" else "rescale"
    assert_within_one_step(stored(q, q.op(op, wide(q), rhs)), [op_name])


def test_relu_behind_a_sum() -> None:
    q = Qdq()
    y = q.op("relu", q.op("add", wide(q), wide(q, name="y")))
    assert_within_one_step(stored(q, y), ["rescale", "clip"])


def test_concatenation_of_different_scales() -> None:
    q = Qdq()
    y = q.op("concat", wide(q), q.input((2, 3, 6, 6), 0.05, 4, DType.I8, "y"), axis=1)
    assert "quantize" not in operators(check(stored(q, y), same=False))


def test_from_16_to_8_bits_and_back() -> None:
    q = Qdq()
    narrow = q.requantized(q.op("relu", wide(q)), 0.03, -100)
    assert_within_one_step(stored(q, narrow), ["cast", "requantize", "lookup"])


def test_a_curve_of_16_bits_stays_in_float() -> None:
    q = Qdq()
    _, kept = integerize_with_report(stored(q, q.op("tanh", wide(q))))
    assert [(each.op, each.reason) for each in kept] == [
        ("tanh", "a function of 16-bit integers would need a table of 65536")
    ]


def test_products_of_two_tensors_of_bytes_stay_in_float_where_32_bits_are_too_few() -> None:
    q = Qdq()
    lhs, rhs = q.input((1, 70_000), 0.05, -128), q.input((70_000, 1), 0.05, -128, name="y")
    result, kept = integerize_with_report(stored(q, q.op("matmul", lhs, rhs)))
    assert [each.reason for each in kept] == ["the sum of its products could need more than 32 bits"]
    assert "quantize" in operators(result)


@pytest.mark.parametrize("op", ["max", "min"])
def test_the_greater_of_two_tensors_is_that_of_their_integers(op: str) -> None:
    q = Qdq()
    y = q.op(op, q.input((3, 5), 0.05, 3), q.input((3, 5), 0.021, 77, DType.U8, "y"))
    check(q.graph(q.quantize(y, 0.04, 2)), ["lookup", "lookup", op])


def test_a_slope_for_each_channel() -> None:
    """PReLU: the same bytes as the floats."""
    q = Qdq()
    x = q.input((1, 4, 6, 6), 0.05, 3)
    slopes = q.constant(np.array([0.1, 0.23, 0.4, 0.01], np.float32).reshape(4, 1, 1))
    y = q.op("where", q.op("lt", x, q.constant(0.0)), q.op("mul", x, slopes), x)
    check(q.graph(q.quantize(y, 0.04317, -9)), ["lt", "rescale_channels", "lookup", "where"])


def resize(mode: str, scale: float, kind: int = TensorProto.INT8) -> Graph:
    factors = np.array([1, 1, scale, scale], np.float32)
    scales = {"s": np.float32(0.0513), "z": np.asarray(3, np.int8), "factors": factors}
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["r"]),
        helper.make_node("Resize", ["r", "", "factors"], ["t"], mode=mode),
        helper.make_node("QuantizeLinear", ["t", "s", "z"], ["y"]),
    ]
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in scales.items()]
    x, y = (helper.make_tensor_value_info(name, kind, shape) for name, shape in (("x", (1, 3, 6, 5)), ("y", None)))
    graph = helper.make_graph(nodes, "g", [x], [y], initializers)
    return import_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9))


@pytest.mark.parametrize("scale", [2.0, 3.0, 1.7])
def test_linear_resize(scale: float) -> None:
    """Weights that are no multiples of a power of two are rounded to 2^-10."""
    graph = resize("linear", scale)
    result = integerize(graph)
    assert not {"dequantize", "quantize"} & set(operators(result))
    feeds = random_bytes(graph)
    (wanted,), (got,) = outputs(graph, feeds), outputs(result, feeds)
    assert np.max(np.abs(wanted.astype(int) - got.astype(int))) <= 1


def test_a_number_behind_a_product_goes_into_its_scale() -> None:
    """alpha * (x @ w) + beta * c, with all constants stored as integers."""
    rng = np.random.default_rng(2)
    q = Qdq()
    w = q.weights(rng.integers(-127, 128, (16, 5)).astype(np.int8), [0.01])
    c = q.weights(rng.integers(-500, 500, 5).astype(np.int32), [0.0005])
    y = q.op("mul", q.op("matmul", q.input((3, 16)), w), q.constant(0.7))
    y = q.op("add", y, q.op("mul", c, q.constant(2.0)))
    assert_within_one_step(q.graph(q.quantize(y)), ["matmul", "requantize"], 0.05)
