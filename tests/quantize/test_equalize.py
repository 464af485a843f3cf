"""Equalization: the same function, with channels of like ranges."""

from dataclasses import replace

import numpy as np
import pytest
from ccml.ir.graph import Graph
from ccml.ops.evaluate import evaluate_graph
from ccml.quantization.equalize import Pair, best_scales, equalize, find_pairs, rescale
from ccml.quantization.observe import FloatRuns
from ccml.verification.float_model import FloatModel
from ccml.verification.runner import runner

from tests.quantize.networks import Network, classifier, samples_for


def dense_chain() -> Graph:
    net = Network((1, 8))
    return net.graph(net.dense(net.relu(net.dense(net.relu(net.dense(net.x, 6)), 5)), 3))


def depthwise_chain() -> Graph:
    net = Network((1, 3, 8, 8))
    first = net.relu(net.conv(net.x, 6))
    middle = net.relu(net.conv(first, 6, group=6))
    return net.graph(net.conv(middle, 4, kernel=1, group=2))


def pooled_chain() -> Graph:
    net = Network((1, 4, 6, 6))
    attrs = {"stride": (2, 2), "pad": (0,) * 4, "dilation": (1, 1), "output_padding": (0, 0)}
    w, b = net.weights(4, 3, 2, 2), net.weights(6)
    up = net.relu(net.op("conv_transpose", net.x, w, b, group=2, layout="channels_first", **attrs))
    flat = net.op("reshape", net.mean(up), shape=(1, 6))
    return net.graph(net.dense(flat, 3))


@pytest.mark.parametrize("make", [dense_chain, depthwise_chain, pooled_chain, classifier])
def test_any_scales_keep_the_function(make) -> None:  # type: ignore[no-untyped-def]
    graph = make()
    rng = np.random.default_rng(0)
    constants = dict(graph.constants)
    pairs = find_pairs(graph, lambda node: True)
    assert pairs
    for pair in pairs:
        tensor, axis = pair.tensors[-1]
        rescale(pair, np.exp(rng.uniform(-2, 2, tensor.shape[axis])), constants)
    for sample in samples_for(graph):
        wanted, found = (evaluate_graph(g, sample) for g in (graph, replace(graph, constants=constants)))
        for value in graph.outputs:
            assert np.allclose(found[value.name], wanted[value.name], rtol=1e-5, atol=1e-6)


def names(pairs: list[Pair]) -> list[tuple[str, list[str]]]:
    return [(pair.first.loc, [second.loc for second in pair.seconds]) for pair in pairs]


def test_pairs_end_at_what_is_not_homogeneous() -> None:
    """The first conv's result is added to another tensor, too; the softmax follows the last layer."""
    assert names(find_pairs(classifier(), lambda node: True)) == [("conv_2", ["conv_4"])]
    net = Network((1, 8))
    assert not find_pairs(net.graph(net.dense(net.op("sigmoid", net.dense(net.x, 4)), 2)), lambda node: True)


def test_one_tensor_may_have_several_readers() -> None:
    net = Network((1, 4, 6, 6))
    x = net.relu(net.conv(net.x, 4))
    graph = net.graph(net.conv(x, 2), net.conv(x, 3))
    assert names(find_pairs(graph, lambda node: True)) == [("conv_0", ["conv_2", "conv_3"])]
    assert not find_pairs(graph, lambda node: node.loc != "conv_3")


def test_shared_weights_are_left_alone() -> None:
    net = Network((1, 4))
    w = net.weights(4, 4)
    x = net.op("matmul", net.op("matmul", net.x, w), w)
    assert not find_pairs(net.graph(x), lambda node: True)


def depthwise_two_rows() -> tuple[Pair, Graph]:
    graph = depthwise_chain()
    return find_pairs(graph, lambda node: True)[0], graph


def test_unequal_channels_are_equalized() -> None:
    """Before a depthwise layer, which has a scale for each channel, it costs nothing at all."""
    pair, graph = depthwise_two_rows()
    spans = np.array([1.0, 0.1, 0.2, 0.5, 0.9, 0.3])
    values = np.tile(np.linspace(0, 1, 50), (8, 6, 1)) * spans[:, np.newaxis]
    assert best_scales(pair, values, graph.constants) == pytest.approx(spans)


def test_channels_that_differ_from_sample_to_sample_are_not() -> None:
    """A channel that is narrow in most samples and wide in one would saturate."""
    pair, graph = depthwise_two_rows()
    spans = np.full((8, 6), 0.05)
    spans[np.arange(6), np.arange(6)] = 1.0
    spans[6:, 0] = 1.0
    values = np.linspace(0, 1, 50) * spans[:, :, np.newaxis]
    assert best_scales(pair, values, graph.constants) == pytest.approx(np.ones(6))


def test_a_channel_with_a_peak_ahead_of_the_others_counts_as_wider() -> None:
    """By as much as the largest of n samples is ahead of the next, times (n - 1) / n."""
    pair, graph = depthwise_two_rows()
    peaks = np.tile([1.0, 0.5, 0.5, 0.5, 0.5, 0.5], (8, 1))
    peaks[3, 1:3] = 0.51, 0.52
    values = np.linspace(0, 1, 50) * peaks[:, :, np.newaxis]
    wider = np.array([1.0, 0.51 + 0.01 * 7 / 8, 0.52 + 0.02 * 7 / 8, 0.5, 0.5, 0.5])
    found = best_scales(pair, values, graph.constants)
    strength = np.log(found[3]) / np.log(0.5)
    assert strength > 0
    assert found == pytest.approx(wider**strength)


def test_divisors_say_how_the_observed_tensors_change() -> None:
    graph = depthwise_chain()
    first = graph.constants[graph.nodes[0].operands[1].name] * np.array([1, 8, 2, 4, 1, 16])[:, None, None, None]
    bias = graph.constants[graph.nodes[0].operands[2].name] * np.array([1, 8, 2, 4, 1, 16])
    frozen = {
        graph.nodes[0].operands[1].name: first.astype(np.float32),
        graph.nodes[0].operands[2].name: bias.astype(np.float32),
    }
    for array in frozen.values():
        array.flags.writeable = False
    graph = replace(graph, constants={**graph.constants, **frozen})
    values = [value.name for value in graph.values()]
    samples = samples_for(graph, 8)
    result = equalize(graph, lambda node: True, FloatRuns(FloatModel(graph, values), samples), range(8))
    assert {"conv_0", "relu_1"} <= result.divisors.keys()
    before, after = (FloatModel(g, values).run({"x": samples.inputs["x"][0]}) for g in (graph, result.graph))
    for name in ("conv_0", "relu_1"):
        assert np.allclose(before[name] / result.divisors[name], after[name], rtol=1e-4, atol=1e-5)


def test_values_that_are_kept_are_those_of_a_run() -> None:
    """In any order of samples, and with divisors those of the equalized graph."""
    graph = depthwise_chain()
    names, samples = [value.name for value in graph.values()], samples_for(graph, 9)
    elements = sum(value.type.size for value in graph.values())
    model = runner(graph, names, samples.count)
    kept, anew = FloatRuns.of(model, samples, elements), FloatRuns(model, samples)
    assert kept.kept is not None and FloatRuns.of(model, samples, 1 << 40).kept is None
    for chosen in ([2, 3, 4], [7, 1, 8, 0]):
        for found, wanted in zip(kept.batches(chosen), anew.batches(chosen), strict=True):
            assert all(np.array_equal(found[name], wanted[name]) for name in wanted)
    result = equalize(graph, lambda node: True, anew, range(9))
    divided = kept.equalized(np.array([5, 2]), result.divisors)
    assert divided is not None
    for place, number in enumerate((5, 2)):
        after = evaluate_graph(result.graph, {"x": samples.inputs["x"][number]})
        assert all(np.allclose(divided[name][place], after[name], rtol=1e-4, atol=1e-5) for name in names)
    for name, divisor in result.divisors.items():
        assert np.array_equal(divided[name][0], kept.kept[name][5] / divisor)
