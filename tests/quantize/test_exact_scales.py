"""Requantization of own quantized models never needs floats: each channel has a fixed-point multiplier."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from ccml.driver import ModelOptions, read
from ccml.frontend_onnx import import_model
from ccml.frontend_onnx.export import export_model
from ccml.ir.graph import Graph, Node
from ccml.passes.integerize import integerize
from ccml.passes.pipeline import before, optimize
from ccml.program.build import lower_graph
from ccml.quantization import QuantizeOptions, quantize_graph
from ccml.quantization.execute import evaluate_samples
from ccml.quantization.partition import key
from ccml.quantization.quantize import prepare, sqnr
from ccml.quantization.quantizer import Quantizer
from ccml.samples import match_samples
from ccml.schedule.fixed_requantization import requantize_in_integers
from ccml.targets import select

from tests.models import models_dir, needs_models
from tests.quantize.networks import Network, classifier, samples_for


def many_channels() -> Graph:
    """Enough channels that some would have no multiplier, and one in three with weights near zero."""
    net = Network((1, 4, 6, 6), seed=3)
    sizes = np.where(np.arange(96) % 3, 1.0, np.geomspace(1e-6, 1e-2, 96)).astype(np.float32)
    w = net.constant(net.rng.standard_normal((96, 4, 3, 3)).astype(np.float32) * sizes[:, None, None, None], "w")
    window = {"stride": (1, 1), "pad": (1,) * 4, "dilation": (1, 1), "group": 1, "layout": "channels_first"}
    first = net.relu(net.op("conv", net.x, w, net.weights(96), **window))
    return net.graph(net.conv(net.conv(first, 40, kernel=1), 3, kernel=1))


def without_multiplier(graph: Graph) -> Iterator[str]:
    """The requantizations of the integer form, once for each channel that has no multiplier."""
    integers = requantize_in_integers(optimize(graph))
    for node, inside in bodies(integers):
        if node.op == "requantize_fixed":
            shifts = {**integers.constants, **inside}[node.operands[2].name]
            yield from [node.loc] * int(np.sum(shifts <= 0))


def bodies(graph: Graph) -> Iterator[tuple[Node, Mapping[str, np.ndarray]]]:
    """The nodes inside fused nodes, with the constants there."""
    for node in graph.nodes:
        body = node.attrs.get("body")
        if isinstance(body, Graph):
            yield from ((inner, body.constants) for inner in body.nodes)


@pytest.mark.parametrize("make", [many_channels, classifier])
@pytest.mark.parametrize("activations", ["int8", "uint8"])
def test_every_channel_has_a_multiplier(make, activations: str) -> None:  # type: ignore[no-untyped-def]
    graph = make()
    options = QuantizeOptions(activations=activations, min_sqnr=0)
    model = quantize_graph(graph, samples_for(graph), options).graph
    exported = import_model(export_model(model))
    for each in (model, exported):
        assert list(without_multiplier(each)) == []
        fixed = [node.op for node, _ in bodies(requantize_in_integers(optimize(each)))]
        assert "requantize_fixed" in fixed
        assert "requantize" not in fixed


def test_channels_of_a_layer_share_their_shifts() -> None:
    """So that the block instructions of Cortex-M4 requantize without floats."""
    net = Network((1, 512))
    graph = net.graph(net.dense(net.relu(net.dense(net.x, 128)), 640))
    model = quantize_graph(graph, samples_for(graph), QuantizeOptions(integer_io=True, adaptive_rounding=False))
    program = lower_graph(optimize(model.graph), select("cortex-m4"))
    assert all("_halfword" in kernel.name for kernel in program.blocks), program.blocks


def test_depthwise_layers_need_no_shift() -> None:
    """So that the block instructions of Cortex-M4 go to bytes in one pass."""
    net = Network((1, 96, 8, 8))
    x = net.relu(net.conv(net.x, 96, group=96))
    graph = net.graph(net.conv(net.relu(net.conv(x, 96, group=96, stride=(2, 2))), 4, kernel=1))
    model = quantize_graph(graph, samples_for(graph), QuantizeOptions(integer_io=True, adaptive_rounding=False))
    names = {kernel.name for kernel in lower_graph(optimize(model.graph), select("cortex-m4")).blocks}
    assert any("depthwise_map" in name or "depthwise_bytes_two_rows" in name for name in names), names
    assert any("depthwise_window_bytes" in name for name in names), names


def test_scales_move_by_some_ulp_and_integers_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they could not be chosen before."""
    monkeypatch.setattr("ccml.quantization.tuning.with_halfword_factors", lambda scales, *_: scales)
    graph = prepare(many_channels())
    quantizer = Quantizer.of(graph, samples_for(graph), QuantizeOptions())
    parts = quantizer.partition()
    plain = quantizer.tune(parts, quantizer.encodings(parts))
    moved = quantizer.quantize().tuned
    assert {key(node) for node in graph.nodes if node.op == "conv"} == plain.keys() == moved.keys()
    changed = 0
    for name, layer in plain.items():
        before_, after = layer.weights[1], moved[name].weights[1]
        assert np.array_equal(before_.array, after.array)
        ulps = [
            int(np.float32(b).view(np.int32)) - int(np.float32(a).view(np.int32))
            for a, b in zip(before_.encoding.scale, after.encoding.scale)
        ]
        assert max(map(abs, ulps)) <= 128
        changed += np.count_nonzero(ulps)
    assert changed


def with_tiny_weights(size: float, bias: float) -> Graph:
    """Of 6 channels two have weights of that size."""
    net = Network((1, 8))
    weights = net.rng.standard_normal((8, 6)).astype(np.float32)
    weights[:, 2:4] *= np.float32(size)
    biases = np.full(6, bias, np.float32)
    x = net.relu(net.op("matmul", net.x, net.constant(weights, "w"), net.constant(biases, "b")))
    return net.graph(net.dense(x, 3))


@pytest.mark.parametrize("bias", [0.0, 0.7, -1e-30])
@pytest.mark.parametrize("size", [0.0, 1e-44, 1e-38, 1e-30, 1e-12, 1e-5])
def test_weights_near_zero_overflow_nothing(size: float, bias: float) -> None:
    """Nor do they cost the other channels anything."""
    graph = with_tiny_weights(size, bias)
    model = quantize_graph(graph, samples_for(graph, 32), QuantizeOptions(min_sqnr=0))
    integers = integerize(before("integerize", model.graph))
    assert all(abs(node.attrs["acc_hi"]) < 2**26 for node in integers.nodes if "acc_hi" in node.attrs)  # type: ignore[arg-type]
    test = samples_for(graph, 32, seed=9)
    (wanted,), (found,) = (evaluate_samples(each, test).values() for each in (graph, model.graph))
    assert sqnr(found, wanted) > 30
    assert list(without_multiplier(model.graph)) == []


def test_tiny_activations_and_weights() -> None:
    """The product of both scales would be no normal number."""
    net = Network((1, 8))
    graph = net.graph(net.op("matmul", net.x, net.constant(np.full((8, 2), 1e-35, np.float32), "w")))
    samples = samples_for(graph, make=lambda rng, shape: 1e-10 * rng.standard_normal(shape))
    model = quantize_graph(graph, samples)
    (found,) = evaluate_samples(model.graph, samples).values()
    assert np.all(np.isfinite(found))


@needs_models
@pytest.mark.parametrize("name", ["mlperf_tiny_kws_dscnn", "digits_cnn"])
def test_real_models(name: str) -> None:
    path: Path = models_dir() / f"{name}.onnx"
    graph = read(path, ModelOptions({"N": 1} if name == "digits_cnn" else {})).graph
    with np.load(models_dir() / f"{name.replace('_cnn', '')}_calib.npz") as data:
        samples = match_samples({"input": data["input"][:8]}, graph.inputs, ())
    model = quantize_graph(graph, samples, QuantizeOptions(adaptive_rounding=False, integer_io=True, min_sqnr=0))
    assert list(without_multiplier(model.graph)) == []
