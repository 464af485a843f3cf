"""Weights and biases by hand."""

from dataclasses import replace

import numpy as np
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.ir.graph import Graph
from ccml.ir.types import DType
from ccml.quantization.encoding import Encoding, weight_encoding
from ccml.quantization.insert import StoredConstant
from ccml.quantization.options import LayerOptions, QuantizeOptions
from ccml.quantization.partition import partition
from ccml.quantization.tuning import TunedLayer, Tuner, bias_constant, fits_accumulator

from tests.quantize.networks import Network

STEP = 1 / 64
X = Encoding(DType.I8, (STEP,), (0,))


def dense(weights: object, bias: object = None) -> Graph:
    """x[1, k] @ weights + bias"""
    w = np.asarray(weights, np.float32)
    net = Network((1, len(w)))
    b = None if bias is None else net.constant(np.asarray(bias, np.float32), "b")
    return net.graph(net.op("matmul", net.x, net.constant(w, "w"), b))


def tuned(graph: Graph, inputs: list[list[float]], options: QuantizeOptions, x: Encoding = X) -> TunedLayer:
    """The layer ``matmul_0``, for samples that are stored without error."""
    arrays = np.asarray(inputs, np.float32)[:, np.newaxis]
    (node,) = graph.nodes
    (w, *b) = (graph.constants[value.name].astype(np.float64) for value in node.operands[1:])
    means = np.concatenate([array @ w + sum(b) for array in arrays])
    parts = partition(graph, lambda node: False, False)
    tuner = Tuner(parts, {"x": x}, options, {"matmul_0": means})
    return tuner.tune({"x": arrays})["matmul_0"]


PLAIN = QuantizeOptions(adaptive_rounding=False, bias_correction=False)


def test_weights_have_a_scale_for_each_channel() -> None:
    layer = tuned(dense([[1.27, 0.3], [-0.5, -12.7]]), [[1, 1], [1, -1], [0.5, 0]], PLAIN)
    stored = layer.weights[1]
    assert stored.encoding.axis == 1
    assert stored.array.dtype == np.int8
    assert stored.encoding.scale == pytest.approx((0.01, 0.1), rel=1e-3)
    assert stored.array.tolist() == [[127, 3], [-50, -127]]


def test_or_one_for_all() -> None:
    options = replace(PLAIN, per_channel=False)
    stored = tuned(dense([[1.27, 0.3], [-0.5, -12.7]]), [[1, 1], [1, -1]], options).weights[1]
    assert len(stored.encoding.scale) == 1
    assert stored.encoding.scale[0] == pytest.approx(0.1, rel=0.02)


def test_the_bias_takes_back_the_mean_error() -> None:
    """With the step 1 the weight 100.25 becomes 100; inputs of 1/2, 1 and 1 then lack 0.25 of their median, 1."""
    graph = dense([[127.0], [100.25]], [3.0])
    inputs = [[0.25, 0.5], [-0.5, 1.0], [0.5, 1.0]]
    assert tuned(graph, inputs, PLAIN).bias == pytest.approx([3.0])
    corrected = tuned(graph, inputs, replace(PLAIN, bias_correction=True))
    assert corrected.weights[1].array.reshape(-1).tolist() == [127, 100]
    assert corrected.bias == pytest.approx([3.25])


def test_the_median_is_not_moved_by_a_saturated_sample() -> None:
    """Inputs above 127/64 saturate; one that is 50 does not spoil the bias for the others."""
    graph = dense([[127.0], [100.25]], [3.0])
    inputs = [[0.25, 1.0], [-0.5, 1.0], [0.5, 1.0], [0.0, 50.0]]
    layer = tuned(graph, inputs, replace(PLAIN, bias_correction=True))
    assert layer.bias == pytest.approx([3.25], abs=0.02)


def test_options_of_the_layer_count_more() -> None:
    graph = dense([[127.0], [100.25]], [3.0])
    options = QuantizeOptions(adaptive_rounding=False, layers={"matmul_0": LayerOptions(bias_correction=False)})
    assert tuned(graph, [[0.25, 0.5], [0.5, 1.0], [0, 1]], options).bias == pytest.approx([3.0])


def test_rounding_adapts_to_inputs_that_go_together() -> None:
    """x2 = x3 always: 0.4 + 0.4 is one step rather than none."""
    graph = dense([[127.0], [0.4], [0.4]])
    inputs = [[b, a, a] for a in (-1.0, -0.5, 0.5, 1.0) for b in (-1.0, 1.0, 0.0)]
    assert tuned(graph, inputs, PLAIN).weights[1].array.reshape(-1).tolist() == [127, 0, 0]
    adapted = tuned(graph, inputs, replace(PLAIN, adaptive_rounding=True)).weights[1].array.reshape(-1)
    assert adapted[1] + adapted[2] == 1


def test_bias_is_int32_in_steps_of_the_accumulator() -> None:
    graph = dense([[1.27, 12.7]], [1.0, -2.0])
    weights = tuned(graph, [[1.0]], PLAIN).weights[1]
    stored = bias_constant(graph.nodes[0], np.array([1.0, -2.0], np.float32), X, weights)
    assert stored.encoding.dtype is DType.I32
    products = [np.float32(STEP) * np.float32(scale) for scale in weights.encoding.scale]
    assert stored.encoding.scale == tuple(map(float, products))
    assert stored.array.tolist() == [round(1.0 / float(products[0])), round(-2.0 / float(products[1]))]


def test_a_large_bias_makes_the_weights_coarser_rather_than_saturate() -> None:
    graph = dense([[1e-6], [1e-7]], [1000.0])
    layer = tuned(graph, [[1.0, 1.0], [0.5, 0.5]], PLAIN)
    stored = bias_constant(graph.nodes[0], np.array([1000.0], np.float32), X, layer.weights[1])
    assert stored.encoding.dequantize(stored.array) == pytest.approx([1000.0], rel=1e-6)
    assert abs(int(stored.array[0])) < 2**30


def test_sums_of_halfwords_may_need_more_than_32_bits() -> None:
    """600 products of 127 * 32768 exceed 2^31."""
    layer = tuned(dense(np.ones((600, 1))), [[0.0] * 600], PLAIN, Encoding(DType.I16, (STEP,), (0,)))
    assert layer.weights[1].array.tolist() == [[127]] * 600


def test_an_accumulator_that_could_overflow_is_refused() -> None:
    """70,000 products of 127 * 255 exceed 2^31."""
    many = dense(np.ones((70_000, 1)))
    low = Encoding(DType.I8, (STEP,), (-128,))
    with pytest.raises(CcmlError) as error:
        tuned(many, [[0.0] * 70_000], PLAIN, low)
    assert error.value.kind is ErrorCode.ACCUMULATOR_OVERFLOW
    assert error.value.loc == "w"
    assert 'layers."matmul_0"' in (error.value.hint or "")


def test_16_bit_inputs_have_less_room() -> None:
    graph = dense(np.ones((600, 1)))
    weights = StoredConstant(np.full((600, 1), 127, np.int8), weight_encoding([127.0], 1))
    assert fits_accumulator(graph.nodes[0], weights, X)
    assert not fits_accumulator(graph.nodes[0], weights, Encoding(DType.I16, (STEP,), (0,)))
