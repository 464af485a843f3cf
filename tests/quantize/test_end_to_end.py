"""From a float graph to an artifact: what runs is what the quantized graph means, byte for byte."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.artifact.emit import Emit
from ccml.driver import ModelOptions, read
from ccml.emit_llvm.jit import JitModel
from ccml.ir.graph import Graph, Value
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.quantization import LayerOptions, Precision, QuantizeOptions, quantize_graph
from ccml.quantization.encoding import Encoding
from ccml.quantization.quantize import sqnr
from ccml.samples import Samples, match_samples
from ccml.targets import Machine, select

from tests.artifacts.built import run_artifact
from tests.artifacts.machines import M4, NATIVE
from tests.models import models_dir, needs_models
from tests.quantize.networks import classifier, samples_for
from tests.tools import needs

WIDE, FLOAT = LayerOptions(Precision.INT16), LayerOptions(Precision.FLOAT)
NETWORKS = {
    "int8": QuantizeOptions(integer_io=True),
    "uint8": QuantizeOptions(activations="uint8", integer_io=True),
    "int16": QuantizeOptions(activations="int16"),
    "int16 from end to end": QuantizeOptions(activations="int16", integer_io=True),
    "one layer wide": QuantizeOptions(layers={"conv_0": WIDE}),
    "one layer float": QuantizeOptions(layers={"conv_2": FLOAT}),
}
BOARD = needs("arm-none-eabi-gcc", "qemu-system-arm")


def feeds_of(graph: Graph, samples: Samples) -> list[dict[str, np.ndarray]]:
    """The samples as a graph takes them that may have an integer interface."""
    return [{value.name: stored(sample[value.name], value) for value in graph.inputs} for sample in samples]


def stored(array: np.ndarray, value: Value) -> np.ndarray:
    quant = value.type.quant
    return array if quant is None else Encoding(value.dtype, quant.scale, quant.zero_point).quantize(array)


def real(array: np.ndarray, value: Value) -> np.ndarray:
    quant = value.type.quant
    return array if quant is None else Encoding(value.dtype, quant.scale, quant.zero_point).dequantize(array)


def emulated(graph: Graph, machine: Machine, feeds: list[dict[str, np.ndarray]], folder: Path) -> np.ndarray:
    """The only output for all feeds, from C by the machine's GCC."""
    program = replace(lower_graph(graph, machine), name="net")
    results = run_artifact(program, machine, Emit.C, folder, feeds)
    return np.stack([result[graph.outputs[0].name] for result in results])


def in_process(graph: Graph, feeds: list[dict[str, np.ndarray]]) -> np.ndarray:
    jit = JitModel(lower_graph(graph, NATIVE), NATIVE)
    return np.stack([jit.run(feed)[graph.outputs[0].name] for feed in feeds])


def meaning(graph: Graph, feeds: list[dict[str, np.ndarray]]) -> np.ndarray:
    return np.stack([evaluate_graph(graph, feed)[graph.outputs[0].name] for feed in feeds])


@pytest.mark.parametrize("options", NETWORKS.values(), ids=NETWORKS)
def test_compiled_in_process(options: QuantizeOptions) -> None:
    graph = classifier(softmax=False)
    model = optimize(quantize_graph(graph, samples_for(graph, 16), options).graph)
    test = samples_for(graph, 4, seed=5)
    feeds = feeds_of(model, test)
    wanted = meaning(model, feeds)
    assert in_process(model, feeds).tobytes() == wanted.tobytes()
    quality = sqnr(real(wanted, model.outputs[0]), meaning(graph, list(test)))
    assert quality > (40 if options.activations == "int16" else 20)


@pytest.mark.parametrize(
    ("name", "machine"),
    [
        pytest.param("int16", NATIVE, marks=needs("gcc"), id="int16-x86"),
        pytest.param("int16", M4, marks=BOARD, id="int16-cortex-m4"),
        pytest.param("one layer wide", M4, marks=BOARD, id="wide-cortex-m4"),
        pytest.param("int8", select("cortex-m3"), marks=BOARD, id="int8-cortex-m3"),
    ],
)
def test_compiled_as_c(name: str, machine: Machine, tmp_path: Path) -> None:
    graph = classifier(softmax=False)
    model = optimize(quantize_graph(graph, samples_for(graph, 16), NETWORKS[name]).graph)
    feeds = feeds_of(model, samples_for(graph, 4, seed=5))
    assert emulated(model, machine, feeds, tmp_path).tobytes() == meaning(model, feeds).tobytes()


@needs_models
def test_digits_are_read_as_well_as_in_float() -> None:
    """With default options: 99.6 % in float, one of 500 less is allowed."""
    graph = read(models_dir() / "digits_cnn.onnx", ModelOptions({"N": 1})).graph
    with np.load(models_dir() / "digits_calib.npz") as data:
        samples = match_samples({"input": data["input"]}, graph.inputs, ())
    with np.load(models_dir() / "digits_test.npz") as data:
        test, label = match_samples({"input": data["input"]}, graph.inputs, ()), data["label"]
    found = in_process(optimize(quantize_graph(graph, samples).graph), list(test))
    assert np.mean(found.reshape(500, 10).argmax(axis=1) == label) >= 0.994


@needs_models
@BOARD
def test_key_words_with_16_bit_activations(tmp_path: Path) -> None:
    """Weights of 8 bits, tensors of 16, sums of 32: all layers are integer, up to the Softmax."""
    graph = read(models_dir() / "mlperf_tiny_kws_dscnn.onnx").graph
    with np.load(models_dir() / "mlperf_tiny_kws_dscnn_calib.npz") as data:
        samples = match_samples({"input": data["input"]}, graph.inputs, ())
    options = QuantizeOptions(activations="int16", adaptive_rounding=False)
    quantized = quantize_graph(graph, samples.first(12), options).graph
    model = optimize(cut_before_softmax(quantized))
    assert {value.dtype for node in model.nodes for value in node.outputs} <= {DType.I16, DType.F32}
    feeds = list(samples.chosen(np.arange(samples.count) >= 33))
    wanted = meaning(model, feeds)
    assert in_process(model, feeds).tobytes() == wanted.tobytes()
    assert emulated(model, M4, feeds[:1], tmp_path).tobytes() == wanted[:1].tobytes()
    assert sqnr(wanted, meaning(cut_before_softmax(graph), feeds)) > 30


def cut_before_softmax(graph: Graph) -> Graph:
    last = graph.nodes[-1]
    assert last.op == "softmax"
    return replace(graph, nodes=graph.nodes[:-1], outputs=last.operands)
