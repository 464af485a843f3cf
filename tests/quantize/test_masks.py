"""Scores that a mask hides from a softmax: bytes are for those that count."""

import numpy as np
import pytest
from ccml.ir.graph import Graph
from ccml.ir.types import DType
from ccml.quantization import quantize_graph
from ccml.quantization.execute import evaluate_samples
from ccml.quantization.quantize import sqnr
from ccml.samples import Batching, Samples

from tests.quantize.networks import Network, samples_for, stored_of

ROWS, SIZE = 6, 8


def attention(hidden: float | None) -> Graph:
    """Self-attention of ``x``; where ``hidden`` is given, positions for which the second input is 0 get that number
    added to their scores, computed as exporters write it."""
    net = Network((1, ROWS, SIZE), (1, ROWS))
    keys = net.op("transpose", net.dense(net.x, SIZE), perm=(0, 2, 1))
    scores = net.op("mul", net.op("matmul", net.dense(net.x, SIZE), keys), net.number(0.1))
    if hidden is not None:
        shown = net.op("reshape", net.inputs[1], shape=(1, 1, ROWS))
        if np.isinf(hidden):
            mask = net.op("where", net.op("cast", shown, to=DType.BOOL), net.number(0.0), net.number(hidden))
        else:
            mask = net.op("mul", net.op("sub", net.number(1.0), shown), net.number(hidden))
        scores = net.op("add", scores, mask)
    read = net.op("matmul", net.op("softmax", scores, axis=2), net.dense(net.x, SIZE))
    return net.graph(net.dense(net.op("reshape", read, shape=(ROWS, SIZE)), 4))


def masked_samples(graph: Graph) -> Samples:
    x = samples_for(graph, 12).inputs["x"]
    lengths = 2 + np.arange(12) % (ROWS - 1)
    shown = (np.arange(ROWS) < lengths[:, np.newaxis]).astype(np.float32)[:, np.newaxis]
    return Samples({"x": x, "x1": shown}, {}, 12, Batching.ADDED)


@pytest.mark.parametrize("hidden", [-10000.0, -np.inf, float(np.finfo(np.float32).min)])
def test_a_mask_costs_the_other_scores_nothing(hidden: float) -> None:
    graph = attention(hidden)
    samples = masked_samples(graph)
    quantized = quantize_graph(graph, samples).graph
    (wanted,), (found,) = (evaluate_samples(each, samples).values() for each in (graph, quantized))
    assert sqnr(found, wanted) > 30
    assert not {name for name in stored_of(quantized) if name.startswith(("add", "where"))}


def test_scores_without_a_mask_are_bytes() -> None:
    graph = attention(None)
    stored = stored_of(quantize_graph(graph, masked_samples(graph)).graph)
    assert any(name.startswith("mul") for name in stored)
