"""Tensors that get 16 bits because they make much of the noise and cost little."""

import numpy as np
from ccml.driver import read
from ccml.ir.graph import Graph
from ccml.ir.types import DType
from ccml.quantization import QuantizeOptions, quantize_graph
from ccml.quantization.execute import evaluate_samples
from ccml.quantization.quantize import sqnr
from ccml.samples import Samples, match_samples

from tests.models import models_dir, needs_models
from tests.quantize.networks import Network, samples_for, stored_of

HIDDEN = 48


def with_one_large_number(hidden: int = HIDDEN) -> Graph:
    """Dense layers that read eight numbers; the first is far larger than the others, and has small weights."""
    net = Network((1, 8))
    weights = net.rng.standard_normal((8, hidden)).astype(np.float32)
    weights[0] /= 8
    x = net.relu(net.op("matmul", net.x, net.constant(weights, "w")))
    return net.graph(net.dense(net.relu(net.dense(x, hidden)), 3))


def samples_of(graph: Graph, seed: int = 5) -> Samples:
    def make(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        x = rng.standard_normal(shape).astype(np.float32)
        x[..., 0] *= 8
        return x

    return samples_for(graph, 40, seed=seed, make=make)


def output_sqnr(graph: Graph, options: QuantizeOptions) -> float:
    model, test = quantize_graph(graph, samples_of(graph), options), samples_of(graph, seed=6)
    (wanted,), (found,) = (evaluate_samples(each, test).values() for each in (graph, model.graph))
    return sqnr(found, wanted)


def test_a_small_tensor_that_makes_most_of_the_noise_has_16_bits() -> None:
    graph = with_one_large_number()
    stored = stored_of(quantize_graph(graph, samples_of(graph)).graph)
    assert stored.pop("x") is DType.I16
    assert set(stored.values()) == {DType.I8}
    assert output_sqnr(graph, QuantizeOptions()) > output_sqnr(graph, QuantizeOptions(min_sqnr=0)) + 6


def test_not_where_no_quality_is_wanted() -> None:
    graph = with_one_large_number()
    assert stored_of(quantize_graph(graph, samples_of(graph), QuantizeOptions(min_sqnr=0)).graph)["x"] is DType.I8


def test_not_of_an_integer_interface() -> None:
    graph = with_one_large_number()
    model = quantize_graph(graph, samples_of(graph), QuantizeOptions(integer_io=True))
    assert [value.dtype for value in model.graph.inputs] == [DType.I8]


def test_not_where_it_costs_much() -> None:
    """Of two layers of like size the first is half of the work."""
    graph = with_one_large_number(hidden=8)
    assert stored_of(quantize_graph(graph, samples_of(graph)).graph)["x"] is DType.I8


@needs_models
def test_16_bits_are_not_taken_where_the_model_is_worse_with_them() -> None:
    """Parts of noise are measured one at a time. Of a detector with a few outputs, of which most are all but certain,
    what they come to together depends on the few samples that are not."""
    graph = read(models_dir() / "mlperf_tiny_streaming_wakeword.onnx").graph
    with np.load(models_dir() / "mlperf_tiny_streaming_wakeword_calib.npz") as data:
        x = data["input"]
    samples = match_samples({graph.inputs[0].name: x[np.arange(len(x)) % 5 != 0][:, None]}, graph.inputs, ())
    (wanted,) = evaluate_samples(graph, samples).values()
    default, plain = (
        sqnr(next(iter(evaluate_samples(quantize_graph(graph, samples, options).graph, samples).values())), wanted)
        for options in (QuantizeOptions(), QuantizeOptions(min_sqnr=0))
    )
    assert default >= plain
