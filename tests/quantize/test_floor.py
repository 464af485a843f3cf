"""The precision that a model gets unasked because bytes alone would be of little use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from ccml.quantization import quantize_graph
from ccml.quantization.execute import evaluate_samples
from ccml.quantization.observe import spread
from ccml.quantization.quantize import FLOOR, FLOOR_SAMPLES, sqnr

from tests.quantize.networks import Network, samples_for

COUNT = 32


def test_some_samples_of_silence_ask_for_no_more_precision() -> None:
    """Just those that few samples, evenly apart, would be."""
    net = Network((1, 16))
    graph = net.graph(net.dense(net.relu(net.dense(net.x, 16, bias=False)), 4, bias=False))
    scales = np.where(np.isin(np.arange(COUNT), spread(COUNT, FLOOR_SAMPLES)), 0.01, 1.0).astype(np.float32)
    samples = samples_for(graph, COUNT)
    samples = replace(samples, inputs={"x": samples.inputs["x"] * scales[:, None, None]})
    quantized = quantize_graph(graph, samples)
    assert quantized.mixed is None
    (found,), (wanted,) = (evaluate_samples(each, samples).values() for each in (quantized.graph, graph))
    assert sqnr(found, wanted) > FLOOR


def test_samples_of_uneven_size_keep_the_floor_on_others() -> None:
    """Eight samples of a long tail do not show how far others reach: by those of them that ranges were not made from,
    it is seen that bytes do not do."""
    net = Network((1, 3, 16, 16), seed=1)
    x = net.x
    for _ in range(8):
        x = net.relu(net.conv(x, 16))
    graph = net.graph(net.conv(x, 2, kernel=1))

    def tailed(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return rng.standard_normal(shape) * np.exp(1.5 * rng.standard_normal((shape[0], 1, 1, 1, 1)))

    quantized = quantize_graph(graph, samples_for(graph, 8, make=tailed))
    others = samples_for(graph, 64, seed=2, make=tailed)
    (found,), (wanted,) = (evaluate_samples(each, others).values() for each in (quantized.graph, graph))
    assert sqnr(found, wanted) > 20
