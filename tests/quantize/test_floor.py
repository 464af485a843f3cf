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
