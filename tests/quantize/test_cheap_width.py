"""Tensors that get 16 bits because they make much of the noise and cost little."""

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate

import numpy as np
import pytest
from ccml.driver import read
from ccml.ir.graph import Graph
from ccml.ir.types import DType
from ccml.quantization import QuantizeOptions, quantize_graph
from ccml.quantization.cheap_width import may_be_worth, of_few, of_noise
from ccml.quantization.execute import evaluate_samples
from ccml.quantization.partition import partition
from ccml.quantization.quantize import sqnr
from ccml.samples import Samples, match_samples

from tests.models import models_dir, needs_models
from tests.quantize.networks import Network, samples_for, stored_of

HIDDEN = 128


def with_one_large_number(hidden: int = HIDDEN, inputs: int = 8) -> Graph:
    """Dense layers that read some numbers; the first is far larger than the others, and has small weights."""
    net = Network((1, inputs))
    weights = net.rng.standard_normal((inputs, hidden)).astype(np.float32)
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
    assert stored["x"] is DType.I16
    assert stored["relu_1"] is DType.I8, "what the largest layer reads"
    assert output_sqnr(graph, QuantizeOptions()) > output_sqnr(graph, QuantizeOptions(min_sqnr=0)) + 4


def test_not_where_no_quality_is_wanted() -> None:
    graph = with_one_large_number()
    assert stored_of(quantize_graph(graph, samples_of(graph), QuantizeOptions(min_sqnr=0)).graph)["x"] is DType.I8


def test_not_of_an_integer_interface() -> None:
    graph = with_one_large_number()
    model = quantize_graph(graph, samples_of(graph), QuantizeOptions(integer_io=True))
    assert [value.dtype for value in model.graph.inputs] == [DType.I8]


def test_not_where_it_costs_much() -> None:
    """Of two layers of like size the first is half of the work."""
    graph = with_one_large_number(hidden=128, inputs=128)
    assert stored_of(quantize_graph(graph, samples_of(graph)).graph)["x"] is DType.I8


def pooled(classes: int) -> Graph:
    net = Network((1, 4, 12, 12))
    return net.graph(net.dense(net.op("reshape", net.mean(net.conv(net.x, 16)), shape=(1, 16)), classes))


def shifted(by: float) -> Callable[..., np.ndarray]:
    """Samples, each with an even shift up to that."""

    def make(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return rng.standard_normal(shape) + by * rng.uniform(-1, 1, (shape[0], 1, 1, 1, 1))

    return make


def test_few_elements_have_room_for_what_calibration_did_not_show() -> None:
    graph = pooled(classes=4)
    calibration, further = samples_for(graph, 8, make=shifted(0.5)), samples_for(graph, 24, seed=2, make=shifted(0.9))
    model = quantize_graph(graph, calibration).graph
    assert stored_of(model)["reduce_1"] is DType.I16
    assert stored_of(model)["x"] is DType.I8
    (wanted,), (found,) = (evaluate_samples(each, further).values() for each in (graph, model))
    plain = quantize_graph(graph, calibration, QuantizeOptions(min_sqnr=0)).graph
    assert sqnr(found, wanted) > sqnr(*evaluate_samples(plain, further).values(), wanted) + 3


def test_few_elements_that_most_of_the_work_reads_have_bytes() -> None:
    parts = [partition(pooled(classes), lambda node: False, False, []) for classes in (4, 4000)]
    assert [len(of_few(each, frozenset())) for each in parts] == [1, 0]


@needs_models
def test_16_bits_are_not_taken_where_the_model_is_worse_with_them() -> None:
    """Parts of noise are measured one at a time; what counts is what they come to together. A detector is judged by the
    scores that its softmax reads: two of its samples make nearly all of the noise of the probabilities."""
    graph = read(models_dir() / "mlperf_tiny_streaming_wakeword.onnx").graph
    with np.load(models_dir() / "mlperf_tiny_streaming_wakeword_calib.npz") as data:
        x = data["input"]
    samples = match_samples({graph.inputs[0].name: x[np.arange(len(x)) % 5 != 0][:, None]}, graph.inputs, ())
    scores = graph.nodes[-1].operands[0]

    def shown(model: Graph) -> np.ndarray:
        return evaluate_samples(replace(model, outputs=(scores,)), samples)[scores.name]

    wanted = shown(graph)
    default, plain = (
        sqnr(shown(quantize_graph(graph, samples, options).graph), wanted)
        for options in (QuantizeOptions(), QuantizeOptions(min_sqnr=0))
    )
    assert default >= plain


def chosen(op: str, share: float, size: int = 256, noise: float = 1e-4) -> frozenset[str]:
    """What has 16 bits of a model in which the first layer's result, read by ``op``, makes ``share`` of the ``noise``,
    and what the last layer reads the rest."""
    net = Network((1, size))
    first = net.dense(net.x, size)
    read = net.op(op, first, first) if op == "add" else net.op(op, first)
    graph = net.graph(net.dense(net.dense(read, size), size))
    parts = partition(graph, lambda node: False, False, [])
    last = graph.nodes[-1].operands[0].name
    return of_noise(parts, {first.name: share * noise, last: (1 - share) * noise}, frozenset()) - {last}


@pytest.mark.parametrize(("op", "size"), [("add", 256), ("tanh", 256), ("add", 16), ("add", 1 << 11), ("add", 1 << 13)])
def test_what_is_chosen_could_be_whatever_noise_it_makes(op: str, size: int) -> None:
    net = Network((1, size))
    first = net.dense(net.x, size)
    read = net.op(op, first, first) if op == "add" else net.op(op, first)
    parts = partition(net.graph(net.dense(net.dense(read, size), size)), lambda node: False, False, [])
    worth = {*may_be_worth(parts, parts.sources, frozenset())}
    assert (first.name in worth) == any(chosen(op, 0.99, size, noise) for noise in (1e-4, 1e-2, 1.0))
    assert first.name not in may_be_worth(parts, parts.sources, {first.name})


def test_a_tensor_that_sums_read_needs_to_win_little() -> None:
    assert chosen("add", 0.08)


def test_nothing_is_given_to_what_makes_next_to_no_noise() -> None:
    assert not chosen("add", 0.02)


def test_functions_that_have_a_table_for_bytes_cost_more() -> None:
    """256 elements at 4 + 16 multiply-accumulates each are 2.6 % of the 3 * 256^2 of the layers: half a decibel."""
    assert not chosen("tanh", 0.08)
    assert chosen("tanh", 0.2)


def test_tensors_of_like_noise_have_16_bits_together() -> None:
    """Of ten sums, one after the other, none makes an eighth of the noise."""
    net = Network((1, 64))
    others = [net.dense(net.x, 64) for _ in range(11)]
    sums = list(accumulate(others, lambda x, y: net.op("add", x, y)))
    graph = net.graph(net.dense(sums[-1], 64))
    parts = partition(graph, lambda node: False, False, [])
    noise = {parts.stored[each.name]: 1e-5 for each in sums[1:]}
    assert len(noise) == 10
    assert len(of_noise(parts, noise, frozenset())) > 3


def test_a_tiny_model_has_16_bits_where_they_take_no_time() -> None:
    """A thousand multiply-accumulates are nothing, though they are half of those of the model."""
    assert chosen("add", 0.5, size=16)


def test_tensors_of_some_thousand_elements_have_to_win_more() -> None:
    """As the residuals of small mixers and transformers do, whose layers all give as much."""
    assert chosen("add", 0.6, size=1 << 11)
    assert chosen("add", 0.1, size=1 << 10)
    assert not chosen("add", 0.4, size=1 << 11)
    assert not chosen("add", 0.6, size=1 << 13)


def test_a_model_that_bytes_leave_little_signal_has_16_bits_for_more() -> None:
    """20 dB instead of 40: half a decibel is worth more time, and memory."""
    assert chosen("tanh", 0.08, noise=1e-2)
    assert chosen("add", 0.4, size=1 << 11, noise=1e-2)
