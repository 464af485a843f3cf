"""Views, maxima and means of quantized tensors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from ccml.ir.graph import Graph, Value
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.integerize import integerize, integerize_with_report

from tests.integerize.building import Qdq, check, operators, random_bytes

SHAPE = (1, 4, 6, 5)
Make = Callable[[Qdq, Value], Value]
POOL = {"stride": (1, 1), "dilation": (1, 1), "ceil_mode": False, "layout": "channels_first"}

VIEWS: dict[str, Make] = {
    "reshape": lambda q, x: q.op("reshape", x, shape=(4, 30)),
    "transpose": lambda q, x: q.op("transpose", x, perm=(0, 2, 3, 1)),
    "expand": lambda q, x: q.op("expand", x, shape=(2, 4, 6, 5)),
    "slice": lambda q, x: q.op("slice", x, starts=(0, 1, 5, 0), steps=(1, 2, -1, 1), sizes=(1, 2, 6, 4)),
    "gather": lambda q, x: q.op("gather", x, q.builder.constant(np.array([2, 0, 3])), axis=1),
    "concat": lambda q, x: q.op("concat", x, x, axis=1),
    "pad": lambda q, x: q.op("pad", x, before=(0, 0, 1, 2), after=(0, 0, 0, 1), mode="constant", value=0.0),
    "edge": lambda q, x: q.op("pad", x, before=(0, 0, 1, 2), after=(0, 0, 0, 1), mode="edge", value=0.0),
    "max_pool": lambda q, x: q.op(
        "pool", x, kind="max", kernel=(3, 2), pad=(1, 0, 1, 1), count_include_pad=False, **POOL
    ),
    "max": lambda q, x: q.op("reduce", x, kind="max", axes=(2, 3), keepdims=False),
    "min": lambda q, x: q.op("reduce", x, kind="min", axes=(1,), keepdims=True),
}

OPERATORS = {"max_pool": "pool", "max": "reduce", "min": "reduce", "edge": "pad"}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("dtype", [DType.I8, DType.U8, DType.I16])
def test_moves_work_on_the_integers(name: str, dtype: DType) -> None:
    """With the same scale before and after nothing else is left."""
    q = Qdq()
    graph = q.graph(q.quantize(VIEWS[name](q, q.input(SHAPE, 0.05, 30, dtype)), 0.05, 30, dtype))
    result = check(graph, [OPERATORS.get(name, name)])
    assert result.nodes[0].operands[0].type.quant is not None


@pytest.mark.parametrize("dtype", [DType.I8, DType.U8, DType.I16])
def test_order_is_that_of_the_integers(dtype: DType) -> None:
    """Equal integers are equal floats, of which the first comes first."""
    q = Qdq()
    x = q.input(SHAPE, 0.05, 30, dtype)
    places = [q.op("arg_reduce", x, kind=kind, axis=1, keepdims=True, last=False) for kind in ("max", "min")]
    result = check(q.graph(*places, q.op("top_k", x, axis=3, k=4, largest=True)), ["arg_reduce", "arg_reduce", "top_k"])
    assert {node.operands[0].dtype for node in result.nodes} == {dtype}


@pytest.mark.parametrize("name", VIEWS)
def test_another_scale_behind_a_move_is_one_lookup(name: str) -> None:
    q = Qdq()
    graph = q.graph(q.quantize(VIEWS[name](q, q.op("sigmoid", q.input(SHAPE, 0.05, 30))), 0.004, -128))
    assert set(operators(check(graph))) == {"lookup", OPERATORS.get(name, name)}


def test_padding_is_the_zero_point_and_goes_into_the_convolution() -> None:
    q = Qdq()
    w = q.weights(np.random.default_rng(0).integers(-9, 9, (2, 4, 3, 3)).astype(np.int8), [0.01])
    padded = VIEWS["pad"](q, q.input(SHAPE, 0.05, 30))
    check(q.graph(q.quantize(q.conv(padded, w), 0.02)), ["pad", "conv", "requantize"], same=False)


def test_a_concatenation_brings_its_operands_to_one_scale() -> None:
    """An accumulator, a tensor of another scale, one of the same, and a float."""
    q = Qdq()
    w = q.weights(np.random.default_rng(0).integers(-99, 99, (2, 4, 1, 1)).astype(np.int8), [0.003])
    x, y = q.input(SHAPE, 0.05, 30), q.input(SHAPE, 0.02, -7)
    real = Value("real", x.type)
    q.inputs.append(real)
    joined = q.op("concat", q.conv(x, w), x, y, real, axis=1)
    result = check(q.graph(q.quantize(joined, 0.02, -7)), same=False)
    assert operators(result) == ["conv", "requantize", "lookup", "quantize", "concat"]


def test_a_view_behind_an_accumulator_moves_bytes() -> None:
    q = Qdq()
    w = q.weights(np.random.default_rng(0).integers(-99, 99, (2, 4, 1, 1)).astype(np.int8), [0.003, 0.004])
    moved = q.op("transpose", q.op("relu", q.conv(q.input(SHAPE), w)), perm=(0, 2, 3, 1))
    check(q.graph(q.quantize(moved)), ["conv", "requantize", "transpose"], same=False)


def mean_of(graph: Graph, seed: int, axes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The integers of an integerized mean, and those that exact arithmetic gives (x - 30) * 0.05 / 0.02 - 7."""
    feeds = random_bytes(graph, seed)
    result = integerize(graph)
    exact = (feeds["x"].astype(float) - 30).mean(axis=axes) * (float(np.float32(0.05)) / float(np.float32(0.02))) - 7
    return evaluate_graph(result, feeds)[result.outputs[0].name].reshape(exact.shape), exact


def test_means_are_sums_in_32_bits() -> None:
    for axes in ((2, 3), (1,), (1, 2, 3)):
        q = Qdq()
        y = q.op("reduce", q.input(SHAPE, 0.05, 30), kind="mean", axes=axes, keepdims=True)
        graph = q.graph(q.quantize(y, 0.02, -7))
        check(graph, ["reduce", "requantize"], same=False)
        for seed in range(4):
            integers, exact = mean_of(graph, seed, axes)
            assert np.all(np.abs(integers - np.clip(exact, -128, 127)) <= 0.5 + 1e-4)


@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_average_pooling_divides_by_what_the_window_sees(include: bool, ceil_mode: bool) -> None:
    q = Qdq()
    geometry = {"kernel": (3, 2), "stride": (2, 2), "pad": (1, 1, 1, 0), "ceil_mode": ceil_mode}
    attrs = {**POOL, **geometry, "kind": "avg", "count_include_pad": include}
    graph = q.graph(q.quantize(q.op("pool", q.input(SHAPE, 0.05, 30), **attrs), 0.031, -7))
    result = check(graph, ["pool", "requantize"], same=False)
    for seed in range(3):
        feeds = random_bytes(graph, seed)
        wanted, got = (evaluate_graph(g, feeds)[g.outputs[0].name].astype(int) for g in (graph, result))
        np.testing.assert_array_equal(got, wanted)


def test_the_maximum_of_a_falling_function_stays_in_float() -> None:
    q = Qdq()
    y = q.op("reduce", q.op("neg", q.input(SHAPE)), kind="max", axes=(1,), keepdims=True)
    _, kept = integerize_with_report(q.graph(q.quantize(y)))
    reasons = [operator.reason for operator in kept if operator.op == "reduce"]
    assert reasons == ["its operand is not a monotone function of one integer tensor"]
