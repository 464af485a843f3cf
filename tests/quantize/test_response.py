"""Ranges of tensors whose readers compute a function of each element."""

import numpy as np
import pytest
from ccml.ir.graph import Graph, Value
from ccml.quantization import QuantizeOptions, quantize_graph
from ccml.quantization.execute import evaluate_samples
from ccml.quantization.options import RangeMethod
from ccml.quantization.partition import partition
from ccml.quantization.quantize import sqnr

from tests.quantize.networks import Network, samples_for


def hard_swish(net: Network, x: Value) -> Value:
    inside = net.op("clip", net.op("add", x, net.number(3.0)), lo=0.0, hi=6.0)
    return net.op("mul", net.op("mul", x, inside), net.number(1 / 6))


def sigmoid(net: Network, x: Value) -> Value:
    return net.op("sigmoid", x)


def silu(net: Network, x: Value) -> Value:
    return net.op("mul", x, net.op("sigmoid", x))


def between(activation: object) -> tuple[Graph, str]:
    """An activation function between two layers, and the name of what it reads."""
    net = Network((1, 16))
    x = net.dense(net.x, 16)
    return net.graph(net.dense(activation(net, x), 4)), x.name  # type: ignore[operator]


@pytest.mark.parametrize(
    ("activation", "low", "high"),
    [
        (hard_swish, -3.0, np.inf),
        (sigmoid, -np.log(255 * 8), np.log(255 * 8)),
        (silu, -np.inf, np.inf),
    ],
)  # fmt: skip
def test_a_function_is_even_beyond_some_numbers(activation: object, low: float, high: float) -> None:
    """A hard swish is 0 below -3; a sigmoid comes within an eighth of a 255th of its ends. x sigmoid(x) has its least
    value at -1.28, so that what is below shows where its range is small."""
    graph, name = between(activation)
    found = partition(graph, lambda node: False, False, []).response(name)
    assert found is not None
    limits = found.limits(-10.0, 10.0)
    if activation is silu:
        assert -10 < limits[0] < -5 and limits[1] == np.inf
    else:
        assert limits == pytest.approx((low, high), abs=0.02)


def test_nothing_is_known_where_a_layer_reads_the_tensor_too() -> None:
    net = Network((1, 16))
    x = net.dense(net.x, 16)
    graph = net.graph(net.op("add", net.dense(net.op("sigmoid", x), 4), net.dense(x, 4)))
    assert partition(graph, lambda node: False, False, []).response(x.name) is None


def test_functions_that_are_not_finite_do_not_count() -> None:
    """The logarithm of numbers that a byte rounds to 0."""
    graph, name = between(lambda net, x: net.op("log", net.op("add", x, net.number(6.0))))
    found = partition(graph, lambda node: False, False, []).response(name)
    assert found is not None
    assert found.is_finite(-2.5, 9.0)
    assert not found.is_finite(-4.0, 9.0)


@pytest.mark.parametrize("activation", [hard_swish, sigmoid])
def test_steps_are_finer_where_they_show(activation: object) -> None:
    """Against ranges of the tensor itself, by a plain count of the noise at the outputs."""
    graph, _ = between(activation)
    samples = samples_for(graph, 40, make=lambda rng, shape: 4 * rng.standard_normal(shape))
    wanted = evaluate_samples(graph, samples)
    name = graph.outputs[0].name
    by_readers, plain = (
        sqnr(evaluate_samples(quantize_graph(graph, samples, options).graph, samples)[name], wanted[name])
        for options in (
            QuantizeOptions(min_sqnr=0),
            QuantizeOptions(min_sqnr=0, range_method=RangeMethod.MSE),
        )
    )
    assert by_readers > plain + 1
