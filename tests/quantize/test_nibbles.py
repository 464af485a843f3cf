"""Weights of 4 bits: which channels have them, what they are worth, and how they are written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest
from ccml.frontend_onnx import import_model
from ccml.frontend_onnx.export import export_model
from ccml.ir.graph import Graph
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.pipeline import optimize
from ccml.quantization import LayerOptions, QuantizeOptions, quantize_graph
from ccml.quantization.execute import evaluate_samples
from ccml.quantization.nibbles import SHARES, by_noise, narrow_layers
from ccml.quantization.partition import key
from ccml.quantization.quantize import QuantizedModel, prepare, sqnr
from ccml.quantization.quantizer import Quantizer
from ccml.quantization.rounding import (
    NIBBLE_LEVELS,
    OrderedMoments,
    best_peaks,
    compensated,
    nearest,
    output_error,
    peak_steps,
)
from ccml.schedule.nibble_weights import are_nibbles
from onnx.reference import ReferenceEvaluator

from tests.quantize.networks import Network, samples_for

FOUR = QuantizeOptions(weight_bits=4)


def network(tail: float = 1.0) -> Graph:
    """Convolutions, one of them depthwise, and a product; channel 5 of the first has a weight ``tail`` times as large
    as others."""
    net = Network((1, 8, 6, 6))
    first = net.conv(net.x, 24)
    weights = net.constants[net.nodes[0].operands[1].name].copy()
    weights[5, 2, 1, 1] *= tail
    net.constants[net.nodes[0].operands[1].name] = weights
    y = net.relu(net.conv(net.relu(first), 24, group=24))
    y = net.mean(net.relu(net.conv(y, 40, kernel=1)))
    return net.graph(net.dense(net.op("reshape", y, shape=(1, 40)), 12))


def weights_of(graph: Graph) -> dict[str, np.ndarray]:
    """Stored integers [channel, weight] of the layers, by their ``loc``."""
    producers = {node.output.name: node for node in graph.nodes}
    found = {}
    for node in graph.nodes:
        if node.op in ("conv", "matmul"):
            array = graph.constant(producers[node.operands[1].name].operands[0])
            assert array is not None
            found[node.loc] = array.T if node.op == "matmul" else array.reshape(len(array), -1)
    return found


def wide_channels(rows: np.ndarray) -> list[int]:
    return np.flatnonzero(np.any((rows < -8) | (rows > 7), axis=1)).tolist()


def quality(graph: Graph, options: QuantizeOptions) -> float:
    samples, test = samples_for(graph, 32), samples_for(graph, 16, seed=5)
    model = quantize_graph(graph, samples, options)
    wanted, found = evaluate_samples(model.original, test), evaluate_samples(model.graph, test)
    return min(sqnr(found[name], array) for name, array in wanted.items())


def test_all_but_few_channels_have_four_bits() -> None:
    graph = network()
    found = weights_of(quantize_graph(graph, samples_for(graph, 16), FOUR).graph)
    sizes = {loc: rows.size for loc, rows in found.items() if rows.size >= 256}
    assert len(sizes) == 3, "the depthwise layer is too small"
    outliers = sum(len(wide_channels(found[loc])) * found[loc].shape[1] for loc in sizes)
    assert outliers <= SHARES[0] * sum(sizes.values())
    assert all(rows.min() < -6 for loc, rows in found.items() if loc in sizes)


def test_the_outlier_is_the_channel_that_nibbles_serve_worst() -> None:
    """One weight takes all levels, and the others round to nothing."""
    graph = prepare(network(tail=40.0))
    samples = samples_for(graph, 16)
    quantizer = Quantizer.of(graph, samples, replace(FOUR, equalize=False))
    layers = {key(node): node for node in narrow_layers(quantizer)}
    narrow = replace(quantizer, nibbles=dict.fromkeys(layers, frozenset()))
    order = by_noise(narrow, layers, narrow.quantize(), samples)
    assert next(channel.number for channel in order if layers[channel.layer].loc == "conv_0") == 5


def test_quality() -> None:
    """Four bits less are 24 dB less in theory."""
    graph = network()
    eight, four = quality(graph, QuantizeOptions()), quality(graph, FOUR)
    assert four > eight - 24
    assert four > 20


def test_a_demand_is_met_by_more_outliers() -> None:
    graph = network()
    samples, test = samples_for(graph, 16), samples_for(graph, 8, seed=5)

    def reached_by(model: QuantizedModel) -> float:
        wanted, found = evaluate_samples(model.original, test), evaluate_samples(model.graph, test)
        return min(sqnr(found[name], array) for name, array in wanted.items())

    free = reached_by(quantize_graph(graph, samples, FOUR))
    reached = quantize_graph(graph, samples, replace(FOUR, min_sqnr=free + 3), test=test)
    assert reached_by(reached) >= free + 3
    assert any(len(wide_channels(rows)) < len(rows) / 2 for rows in weights_of(reached.graph).values())
    assert reached.mixed is not None and not reached.mixed.steps


def test_a_layer_keeps_eight_bits() -> None:
    graph = network()
    options = replace(FOUR, layers={"conv_0": LayerOptions.from_table("conv_0", {"weight-bits": 8})})
    found = weights_of(quantize_graph(graph, samples_for(graph, 8), options).graph)
    assert len(wide_channels(found["conv_0"])) == 24
    assert len(wide_channels(found["conv_4"])) < 10


@pytest.mark.parametrize("per_channel", [True, False])
def test_written_models_mean_the_same(per_channel: bool) -> None:
    """Read again, and by onnx's own evaluator; ccml finds whole weights behind what puts them together."""
    graph = network(tail=40.0)
    options = replace(FOUR, per_channel=per_channel, equalize=False)
    quantized = quantize_graph(graph, samples_for(graph, 16), options).graph
    model = export_model(quantized)
    onnx.checker.check_model(model, full_check=True)
    kinds = {tensor.data_type for tensor in model.graph.initializer if len(tensor.dims) > 1}
    assert not per_channel or kinds == {onnx.TensorProto.INT4, onnx.TensorProto.INT8}
    assert not per_channel or {"Concat", "Gather"} <= {node.op_type for node in model.graph.node}
    again = import_model(model)
    x = np.random.default_rng(3).standard_normal((1, 8, 6, 6)).astype(np.float32)
    (wanted,) = (evaluate_graph(quantized, {"x": x})[value.name] for value in quantized.outputs)
    (found,) = (evaluate_graph(again, {"x": x})[value.name] for value in again.outputs)
    np.testing.assert_array_equal(found, wanted)
    (other,) = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(other, wanted, rtol=0.02, atol=0.02 * np.abs(wanted).max())
    ops = {node.op for node in optimize(again).nodes}
    assert not ops & {"concat", "gather"}


def test_levels_of_columns() -> None:
    """-8..7 beside -127..127, against the definition."""
    rng = np.random.default_rng(2)
    matrices = rng.standard_normal((1, 30, 4))
    levels = np.array([[NIBBLE_LEVELS, 127, NIBBLE_LEVELS, 127]])
    numbers = np.arange(4)[None]
    steps = peak_steps(best_peaks(matrices, numbers, np.ones((1, 30)), levels))[numbers]
    stored = nearest(matrices, steps, levels) / steps[:, None]
    low = np.where(levels == NIBBLE_LEVELS, -8, -127)[:, None]
    np.testing.assert_allclose(stored, np.clip(np.round(matrices / steps[:, None]), low, levels[:, None]), atol=1e-9)
    x = rng.standard_normal((1, 200, 30)) @ rng.standard_normal((30, 30))
    moments = x.transpose(0, 2, 1) @ x / 200
    better = compensated(matrices, steps, OrderedMoments.of(moments), 0.01, levels)
    integers = np.round(better / steps[:, None])
    assert np.all((integers >= low) & (integers <= levels[:, None]))
    plain = output_error(nearest(matrices, steps, levels) - matrices, moments)
    assert output_error(better - matrices, moments) < 0.5 * plain


def test_channels_of_zeros_are_no_weights_of_4_bits() -> None:
    """Trained networks have many: their other channels stay in bytes, in memory and in files."""
    net = Network((1, 8, 6, 6))
    graph = net.graph(net.conv(net.relu(net.conv(net.x, 40)), 12, kernel=1))
    name = graph.nodes[0].operands[1].name
    weights = graph.constants[name].copy()
    weights[8:] = 0
    samples = samples_for(graph, 16)
    model = quantize_graph(replace(graph, constants={**graph.constants, name: weights}), samples, QuantizeOptions())
    written = export_model(model.graph)
    assert {onnx.TensorProto.INT4} & {each.data_type for each in written.graph.initializer} == set()
    stored = np.where(np.arange(32)[:, None] < 8, 100, 0) * np.ones((32, 64))
    assert not are_nibbles(stored) and are_nibbles(stored / 20)
