"""Inputs that the model standardizes before its first layer."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.ir.graph import Graph
from ccml.quantization import QuantizeOptions, quantize_graph
from ccml.quantization.execute import evaluate_samples
from ccml.quantization.quantize import prepare, sqnr
from ccml.samples import Batching, Samples

from tests.quantize.networks import Network, ops_of, stored_of

COLUMNS = 8
BYTES = QuantizeOptions(min_sqnr=0)


def table(deviation: np.ndarray) -> tuple[Graph, Samples]:
    """(x - mean) / deviation, then two layers; ``x`` has that mean and that deviation."""
    net = Network((1, COLUMNS))
    mean = (3 * deviation).astype(np.float32)
    centred = net.op("sub", net.x, net.constant(mean, "mean"))
    scaled = net.op("div", centred, net.constant(deviation.astype(np.float32), "deviation"))
    graph = net.graph(net.dense(net.relu(net.dense(scaled, 16)), 3))
    drawn = np.random.default_rng(1).standard_normal((40, 1, COLUMNS))
    return graph, Samples({"x": (drawn * deviation + mean).astype(np.float32)}, {}, 40, Batching.ADDED)


UNEVEN = np.geomspace(0.01, 100, COLUMNS)


def test_columns_of_uneven_ranges_are_standardized_before_they_are_stored() -> None:
    graph, samples = table(UNEVEN)
    quantized = quantize_graph(graph, samples, BYTES).graph
    assert set(stored_of(quantized)) == {"div_1", "relu_3"}
    (found,), (wanted,) = (evaluate_samples(each, samples).values() for each in (quantized, graph))
    assert sqnr(found, wanted) > 35


@pytest.mark.parametrize("spread", [1.0, 1.2])
def test_columns_of_like_ranges_are_stored_as_they_come(spread: float) -> None:
    graph, samples = table(np.geomspace(10, 10 * spread, COLUMNS))
    assert set(stored_of(quantize_graph(graph, samples, BYTES).graph)) == {"x", "relu_3"}


def test_an_integer_interface_stores_inputs() -> None:
    graph, samples = table(UNEVEN)
    quantized = quantize_graph(graph, samples, QuantizeOptions(min_sqnr=0, integer_io=True)).graph
    assert not {"sub", "div"} & {*ops_of(quantized)}


def test_without_samples_all_is_folded() -> None:
    graph, samples = table(UNEVEN)
    assert not {"sub", "div"} & {*ops_of(prepare(graph))}
    assert {"sub", "div"} <= {*ops_of(prepare(graph, samples))}
