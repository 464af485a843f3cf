"""weights8 and weights4: activations stay floats, matrices become integers."""

from __future__ import annotations

import math

import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx.export import export_model
from ccml.ir.graph import Graph
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.quantization import LayerOptions, Mode, Precision, QuantizeOptions, quantize_graph
from ccml.targets import select
from ccml.verification.accuracy import measure

from tests.quantize.networks import Network, ops_of, samples_for

MODES = pytest.mark.parametrize("mode", [Mode.WEIGHTS8, Mode.WEIGHTS4])


def dense_network() -> Graph:
    net = Network((1, 96))
    return net.graph(net.dense(net.relu(net.dense(net.relu(net.dense(net.x, 80)), 70)), 40))


def noise(graph: Graph, quantized: Graph) -> float:
    """The relative error of the outputs, for inputs that were not calibrated with."""
    test, apart, whole = samples_for(graph, 20, seed=9), 0.0, 0.0
    for sample in test:
        wanted, got = (evaluate_graph(g, sample)[g.outputs[0].name].astype(float) for g in (graph, quantized))
        apart, whole = apart + float(np.square(got - wanted).sum()), whole + float(np.square(wanted).sum())
    return math.sqrt(apart / whole)


@pytest.mark.parametrize(("mode", "bound"), [(Mode.WEIGHTS8, 0.015), (Mode.WEIGHTS4, 0.25)])
def test_outputs_stay_near(mode: Mode, bound: float) -> None:
    """Weights are normal: their roundings to 255 levels of a column (16 of a block) have a relative error of about
    1/140 (1/9), and three layers add theirs up."""
    graph = dense_network()
    result = quantize_graph(graph, samples_for(graph, 200), QuantizeOptions(mode))
    assert noise(result.original, result.graph) < bound


def test_blocks_of_4_bits_round_for_the_outputs() -> None:
    """With inputs that hang together, compensated rounding leaves less noise than rounding to nearest."""
    rng = np.random.default_rng(3)
    mixing = rng.standard_normal((8, 96))

    def correlated(_: object, shape: tuple[int, ...]) -> np.ndarray:
        return rng.standard_normal((*shape[:-1], 8)) @ mixing + 0.1 * rng.standard_normal(shape)

    net = Network((4, 96))
    graph = net.graph(net.dense(net.x, 64))
    samples = samples_for(graph, 40, make=correlated)
    found = {}
    for adaptive in (False, True):
        result = quantize_graph(graph, samples, QuantizeOptions(Mode.WEIGHTS4, adaptive_rounding=adaptive))
        test = samples_for(graph, 20, make=correlated)
        found[adaptive] = measure(result.original, result.graph, test).outputs[0].sqnr_db
    assert found[True] is not None and found[False] is not None
    assert found[True] > found[False] + 1


@MODES
@pytest.mark.parametrize("target", ["x86", "generic", "cortex-m4", "cortex-m0", "linux-arm64"])
def test_constants_stay_small(mode: Mode, target: str) -> None:
    graph = dense_network()
    quantized = quantize_graph(graph, samples_for(graph), QuantizeOptions(mode)).graph
    program = lower_graph(optimize(quantized), select(target))
    elements = 96 * 80 + 80 * 70 + 70 * 40
    held = sum(array.nbytes for array in program.constants.values())
    per_weight = 1.0 if mode is Mode.WEIGHTS8 else 0.5 + 4 / 10
    biases_and_padding = 4 * (80 + 70 + 40) * 3 + 96 * 32
    assert held < elements * per_weight + biases_and_padding


@MODES
def test_written_as_standard_onnx(mode: Mode) -> None:
    graph = dense_network()
    proto = export_model(quantize_graph(graph, samples_for(graph), QuantizeOptions(mode)).graph)
    onnx.checker.check_model(proto, full_check=True)
    stored = {tensor.data_type for tensor in proto.graph.initializer if len(tensor.dims) == 2}
    expected = {onnx.TensorProto.INT8} if mode is Mode.WEIGHTS8 else {onnx.TensorProto.INT4, onnx.TensorProto.FLOAT}
    assert stored == expected


def test_a_layer_can_stay_float() -> None:
    graph = dense_network()
    options = QuantizeOptions(Mode.WEIGHTS8, layers={"matmul_0": LayerOptions(precision=Precision.FLOAT)})
    assert ops_of(quantize_graph(graph, samples_for(graph), options).graph).count("dequantize") == 2


def test_an_unknown_layer_is_refused() -> None:
    graph = dense_network()
    with pytest.raises(CcmlError) as refused:
        quantize_graph(graph, samples_for(graph), QuantizeOptions(Mode.WEIGHTS8, layers={"nowhere": LayerOptions()}))
    assert refused.value.kind is ErrorCode.BAD_OPTION


@MODES
def test_the_accuracy_report_has_each_layer(mode: Mode) -> None:
    graph = dense_network()
    result = quantize_graph(graph, samples_for(graph), QuantizeOptions(mode))
    rows = measure(result.original, result.graph, samples_for(graph, 4, seed=5)).layers
    assert {row.tensor for row in rows} == {node.output.name for node in graph.nodes if node.op == "matmul"}
    assert {row.cause for row in rows} == {"weights"}


def test_small_matrices_and_other_layers_are_left_alone() -> None:
    net = Network((1, 3, 8, 8))
    graph = net.graph(net.dense(net.op("reshape", net.mean(net.conv(net.x, 8)), shape=(1, 8)), 4))
    result = quantize_graph(graph, samples_for(graph), QuantizeOptions(Mode.WEIGHTS4))
    assert "dequantize_blocks" not in ops_of(result.graph)
