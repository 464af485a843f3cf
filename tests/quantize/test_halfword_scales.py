"""Own quantizations requantize with factors of 15 bits, one shift a layer, and lose nothing by it."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.ir.graph import Graph
from ccml.ir.types import DType
from ccml.ops.fixed_point import defined
from ccml.passes.pipeline import optimize
from ccml.quantization import QuantizeOptions, quantize_graph
from ccml.quantization.encoding import Encoding
from ccml.quantization.execute import evaluate_samples
from ccml.quantization.halfword_scales import Products, with_halfword_factors
from ccml.quantization.quantize import sqnr
from ccml.schedule.fixed_requantization import requantize_in_integers

from tests.quantize.networks import Network, samples_for
from tests.quantize.test_exact_scales import bodies, many_channels


def dense_layers(seed: int) -> Graph:
    """Channels of sizes that differ up to a hundredfold."""
    net = Network((1, 96), seed=seed)
    x = net.x
    for width in (64, 48, 32):
        sizes = np.geomspace(0.05, 5, width).astype(np.float32)
        w = net.rng.standard_normal((x.shape[-1], width)).astype(np.float32) * net.rng.permutation(sizes)
        x = net.relu(net.op("matmul", x, net.constant(w, f"w{width}"), net.weights(width)))
    return net.graph(net.dense(x, 10))


@pytest.mark.parametrize("activations", ["int8", "uint8", "symmetric"])
@pytest.mark.parametrize("graph", [dense_layers(1), dense_layers(2), many_channels()], ids=["one", "two", "convs"])
def test_every_channel_has_a_factor(graph: Graph, activations: str) -> None:
    options = QuantizeOptions(activations=activations, integer_io=True, min_sqnr=0)
    model = quantize_graph(graph, samples_for(graph, 24), options).graph
    integers = requantize_in_integers(optimize(model))
    seen = 0
    for node, inside in bodies(integers):
        if node.op == "requantize_fixed":
            factors, shifts = ({**integers.constants, **inside}[value.name] for value in node.operands[1:])
            assert shifts.size == 1, node.loc
            assert not np.any(factors & 0xFFFF), node.loc
            seen += factors.size
    assert seen >= 96


def test_moved_scales_cost_no_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    def noise_db() -> float:
        found = []
        for seed in range(4):
            graph = dense_layers(seed)
            model = quantize_graph(graph, samples_for(graph, 24), QuantizeOptions(adaptive_rounding=False)).graph
            test = samples_for(graph, 48, seed=100 + seed)
            (wanted,), (made,) = (evaluate_samples(each, test).values() for each in (graph, model))
            found.append(sqnr(made, wanted))
        return float(np.mean(found))

    moved = noise_db()
    monkeypatch.setattr("ccml.quantization.tuning.with_halfword_factors", lambda scales, *_: scales)
    assert moved > noise_db() - 0.3


@pytest.mark.parametrize("zero_point", [-128, 0, 127])
def test_scales_move_little_and_come_to_whole_numbers(zero_point: int) -> None:
    rng = np.random.default_rng(zero_point + 128)
    result = Encoding(DType.I8, (0.037,), (zero_point,))
    products = Products(np.float32(0.0123), result)
    scales = (2.0 ** rng.uniform(-8.5, -5, 60)).astype(np.float32) * np.float32(0.037 / 0.0123) * np.float32(0.25)
    moved = with_halfword_factors(scales, products, np.full(60, 900.0))
    assert np.all((moved / scales > 1 - 2.0**-4) & (moved / scales < 1 + 2.0**-2))
    assert np.median(np.abs(moved / scales - 1)) < 2.0**-10
    found = products.of(moved)
    assert np.all(np.abs(found * 2.0**24 / np.rint(found * 2.0**24) - 1) < 2.0**-20)
    for scale in found:
        halves = np.rint((np.arange(-256, 256) + 0.5) / float(scale)).astype(np.int64)
        acc = (halves[:, np.newaxis] + np.arange(-2, 3)).reshape(-1)
        factor = int(np.rint(scale * 2.0**24))
        steps = [zero_point + ((int(value) * factor + (1 << 23)) >> 24) for value in acc]
        np.testing.assert_array_equal(np.clip(steps, -128, 127), defined(acc, scale, zero_point, -128, 127))


@pytest.mark.parametrize("scale", [0.3, 1e38, 1e-45])
def test_layers_with_a_channel_beyond_the_shifts(scale: float) -> None:
    """Where one product is too large no channel has a factor; what is too small stays."""
    products = Products(np.float32(1), Encoding(DType.I8, (1.0,), (0,)))
    scales = np.array([scale, 1e-45], np.float32)
    np.testing.assert_array_equal(with_halfword_factors(scales, products, np.full(2, 100.0)), scales)
