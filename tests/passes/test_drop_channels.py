"""Channels that make no difference go, and results keep their bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.ir.graph import Graph, Value
from ccml.ir.types import DType
from ccml.ir.verify import verify_graph
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import OPERATORS
from ccml.passes.drop_channels import UNIT, drop_channels
from ccml.passes.eliminate_dead_code import eliminate_dead_code
from ccml.passes.pipeline import before, optimize
from ccml.program.build import lower_graph
from ccml.quantization import QuantizeOptions, quantize_graph

from tests.quantize.networks import Network, samples_for


def without(graph: Graph, filters: dict[int, np.ndarray], bias: float = -0.5) -> Graph:
    """``graph`` whose node of each number has no weights for these output channels, and this ``bias``."""
    constants = dict(graph.constants)
    for number, channels in filters.items():
        node = graph.nodes[number]
        weights, shifts = (constants[value.name].copy() for value in node.operands[1:3])
        if node.op == "matmul":
            weights[:, channels] = 0
        else:
            weights[channels] = 0
        shifts[channels] = bias
        constants |= {node.operands[1].name: weights, node.operands[2].name: shifts}
    return with_constants(graph, constants)


def with_constants(graph: Graph, constants: dict[str, np.ndarray]) -> Graph:
    for array in constants.values():
        array.setflags(write=False)
    return replace(graph, constants=graph.constants | constants)


def quantized(graph: Graph) -> Graph:
    return quantize_graph(graph, samples_for(graph, 8), QuantizeOptions()).graph


def narrowed(graph: Graph) -> Graph:
    """What the pass makes of a graph as it finds it, having compared both."""
    found = before("drop_channels", graph)
    made = drop_channels(found)
    verify_graph(made, OPERATORS)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        feeds = {value.name: _random(value, rng) for value in found.inputs}
        results, expected = evaluate_graph(made, feeds), evaluate_graph(found, feeds)
        for value in found.outputs:
            assert results[value.name].tobytes() == expected[value.name].tobytes(), value.name
    return eliminate_dead_code(made)


def _random(value: Value, rng: np.random.Generator) -> np.ndarray:
    if value.dtype.is_float:
        return rng.normal(size=value.shape).astype(value.dtype.numpy)
    return rng.integers(-128, 128, value.shape).astype(value.dtype.numpy)


def channels(graph: Graph) -> list[int]:
    return [node.output.shape[-1] for node in graph.nodes if node.op in ("conv", "matmul")]


def separable(net: Network, pad: int = 1) -> Graph:
    """16 channels, each convolved alone, then to 12 channels, a mean, and 5 classes."""
    y = net.relu(net.conv(net.x, 16))
    y = net.relu(net.conv(y, 16, group=16, pad=(pad,) * 4))
    y = net.mean(net.relu(net.conv(y, 12, kernel=1)))
    return net.graph(net.dense(net.op("reshape", y, shape=(1, 12)), 5))


@pytest.mark.parametrize("kind", ["integers", "floats"])
def test_filters_of_zeros(kind: str) -> None:
    """They go with what is behind them, and where they end, but for a multiple of the unit."""
    dead = np.arange(3, 12)
    graph = without(separable(Network((1, 3, 8, 8))), {0: dead, 2: dead, 4: np.arange(5)})
    found = narrowed(quantized(graph) if kind == "integers" else graph)
    assert channels(found) == [8, 8, 8, 5]
    assert UNIT == 4


def test_a_constant_that_is_not_zero_goes_where_nothing_is_padded() -> None:
    """Behind padding it is another number at the border."""
    dead = {0: np.arange(8)}
    for pad, left in ((1, [16, 16, 12, 5]), (0, [8, 8, 12, 5])):
        graph = without(separable(Network((1, 3, 8, 8)), pad), dead, bias=0.7)
        assert channels(narrowed(quantized(graph))) == left
        assert channels(narrowed(graph)) == [16, 16, 12, 5], "floats would be rounded differently"


def test_weights_that_are_too_small_to_show() -> None:
    """Behind a scale of their own they are bytes of full range, and their sums are all rounded to the same."""
    graph = separable(Network((1, 3, 8, 8)))
    weights = graph.constants[graph.nodes[0].operands[1].name].copy()
    weights[:8] *= 1e-9
    small = with_constants(graph, {graph.nodes[0].operands[1].name: weights})
    bias = graph.constants[graph.nodes[0].operands[2].name]
    gone = int((bias[:8] <= 0).sum())
    assert channels(narrowed(quantized(small)))[0] == -(-(16 - gone) // UNIT) * UNIT < 16


def test_channels_that_nobody_looks_at() -> None:
    net = Network((1, 4, 6, 6))
    graph = net.graph(net.conv(net.relu(net.conv(net.relu(net.conv(net.x, 12)), 12, group=12)), 8, kernel=1))
    weights = graph.constants[graph.nodes[-1].operands[1].name].copy()
    weights[:, 2:10] = 0
    graph = with_constants(graph, {graph.nodes[-1].operands[1].name: weights})
    assert channels(narrowed(graph)) == [4, 4, 8]
    assert channels(narrowed(quantized(graph)))[:2] == [4, 4]


def test_what_others_read_stays() -> None:
    """A sum with another tensor, and an output of the model."""
    net = Network((1, 8, 6, 6))
    y = net.relu(net.conv(net.x, 8))
    graph = without(net.graph(net.op("add", net.x, y)), {0: np.arange(6)})
    assert channels(narrowed(quantized(graph))) == [8]
    net = Network((1, 8, 6, 6))
    y = net.relu(net.conv(net.x, 8))
    graph = without(net.graph(net.conv(y, 4), y), {0: np.arange(6)})
    assert channels(narrowed(quantized(graph)))[0] == 8


def test_values_without_channels_stay() -> None:
    """Scalars, and tensors without elements."""
    net = Network((3,))
    total = net.op("reduce", net.x, kind="sum", axes=(0,), keepdims=False)
    graph = net.graph(net.relu(total), net.op("reshape", net.relu(net.x), shape=(1, 3)))
    assert drop_channels(graph) is graph
    empty = Network((0, 4))
    assert drop_channels(empty.graph(empty.dense(empty.x, 8))).outputs[0].shape == (0, 8)


def test_all_filters_of_a_layer() -> None:
    """All that is behind it is constant."""
    graph = without(separable(Network((1, 3, 8, 8))), {0: np.arange(16)})
    assert channels(narrowed(quantized(graph))) == [4, 4, 4, 5]


@pytest.mark.parametrize("seed", range(12))
def test_random_networks(seed: int) -> None:
    """Compiled, too."""
    rng = np.random.default_rng(seed)
    net = Network((1, int(rng.integers(1, 5)), 7, 6), seed=seed)
    y, numbers = net.x, []
    for _ in range(rng.integers(2, 5)):
        numbers.append(len(net.nodes))
        y = net.conv(y, int(rng.integers(2, 21)), kernel=int(rng.choice([1, 3])))
        y = net.relu(y) if rng.random() < 0.8 else y
        if rng.random() < 0.5:
            numbers.append(len(net.nodes))
            y = net.relu(net.conv(y, y.shape[1], group=y.shape[1], kernel=3, pad=(int(rng.integers(2)),) * 4))
        if rng.random() < 0.3:
            y = net.op(
                "pool", y, kind=str(rng.choice(["max", "avg"])), kernel=(2, 2), stride=(1, 1), pad=(0, 0, 1, 1),
                dilation=(1, 1), layout="channels_first", ceil_mode=False, count_include_pad=False,
            )  # fmt: skip
    graph = net.graph(y)
    dead = {n: np.flatnonzero(rng.random(graph.nodes[n].output.shape[1]) < 0.6) for n in numbers}
    graph = without(graph, dead, bias=float(rng.choice([-0.5, 0, 0.5])))
    for each in (graph, quantized(graph)):
        narrowed(each)
        machine = host_machine()
        bytes_as = DType.U8 if machine.cpu.bytes_as is not None else None
        program = lower_graph(optimize(each, bytes_as=bytes_as), machine)
        feeds = {value.name: _random(value, np.random.default_rng(1)) for value in each.inputs}
        found, wanted = JitModel(program, machine).run(feeds), evaluate_graph(each, feeds)
        (output,) = (value.name for value in each.outputs)
        most = np.abs(wanted[output]).max()
        np.testing.assert_allclose(found[output], wanted[output], rtol=1e-4, atol=1e-4 * most + 1e-6)
