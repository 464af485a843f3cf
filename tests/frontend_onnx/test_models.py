"""The real models: outputs against the results stored with them, every value against the ONNX reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx
import pytest
from ccml.frontend_onnx import load_model
from ccml.ir.graph import Graph
from ccml.ops.evaluate import evaluate_graph
from onnx import version_converter
from onnx.reference import ReferenceEvaluator

from tests.frontend_onnx.graphs import checked_import
from tests.models import models_dir, needs_models

pytestmark = needs_models


@dataclass(frozen=True)
class Model:
    """``atol`` is the largest difference to the stored outputs; quantized models are compared with the reference."""

    name: str
    data: str
    atol: float = 0.0
    options: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def load(self) -> tuple[onnx.ModelProto, Graph]:
        proto = load_model(models_dir() / f"{self.name}.onnx")
        return proto, checked_import(proto, **self.options)

    def samples(self, count: int) -> dict[str, np.ndarray]:
        with np.load(models_dir() / f"{self.data}.npz") as data:
            return {key: array[:count] if array.ndim else array for key, array in data.items()}


SILERO = Model(
    "silero_vad_16k_op15", "silero_vad_16k_op15_io", 2e-5, {"shapes": {"input": (1, 576), "state": (2, 1, 128)}}
)
FLOAT = [
    Model("digits_cnn", "digits_test", 5e-6, {"dims": {"N": 1}}),
    Model("mlperf_tiny_ad_autoencoder", "mlperf_tiny_ad_autoencoder_calib", 5e-3),
    Model("mlperf_tiny_ic_resnet8", "mlperf_tiny_ic_resnet8_calib", 5e-6),
    Model("mlperf_tiny_kws_dscnn", "mlperf_tiny_kws_dscnn_calib", 5e-6),
    Model("mlperf_tiny_streaming_wakeword", "mlperf_tiny_streaming_wakeword_calib", 5e-6),
    Model("mlperf_tiny_vww_mobilenetv1_025", "mlperf_tiny_vww_mobilenetv1_025_calib", 5e-6),
    Model("transformer_2l_d64", "transformer_2l_d64_calib", 1e-5),
]
QUANTIZED = [
    Model("digits_cnn_qdq_int8", "digits_test", options={"dims": {"N": 1}}),
    Model("mlperf_tiny_ic_resnet8_qdq_int8", "mlperf_tiny_ic_resnet8_calib"),
    Model("mlperf_tiny_kws_dscnn_qdq_int8", "mlperf_tiny_kws_dscnn_calib"),
    Model("mlperf_tiny_streaming_wakeword_qdq_int8", "mlperf_tiny_streaming_wakeword_calib"),
]


def by_name(model: Model) -> str:
    return model.name


@pytest.mark.parametrize("model", FLOAT, ids=by_name)
def test_float_model_gives_the_stored_outputs(model: Model) -> None:
    _, graph = model.load()
    data = model.samples(3)
    for x, expected in zip(data["input"], data["expected"]):
        values = evaluate_graph(graph, {graph.inputs[0].name: x[None]})
        np.testing.assert_allclose(values[graph.outputs[0].name], expected[None], atol=model.atol, rtol=0)


def test_silero_gives_the_stored_outputs() -> None:
    _, graph = SILERO.load()
    data = SILERO.samples(3)
    assert [value.name for value in graph.inputs] == ["input", "state", "sr"]
    for number in range(3):
        feeds = {"input": data["in:input"][number], "state": data["in:state"][number], "sr": data["in:sr"]}
        values = evaluate_graph(graph, feeds)
        for name in ("output", "stateN"):
            np.testing.assert_allclose(values[name], data[f"out:{name}"][number], atol=SILERO.atol, rtol=0)


@pytest.mark.parametrize("model", QUANTIZED, ids=by_name)
def test_quantized_model_follows_the_reference(model: Model) -> None:
    """Integers differ by one step at most, and seldom: where a float before them falls on the edge of two steps."""
    proto, graph = model.load()
    x = model.samples(1)["input"]
    values = evaluate_graph(graph, {graph.inputs[0].name: x})
    quantized = [node.output.name for node in graph.nodes if node.op == "quantize"]
    reference = _reference_values(proto, quantized, x)
    steps = [np.abs(values[name].astype(int) - reference[name].astype(int)).reshape(-1) for name in quantized]
    assert len(steps) >= 11 and max(each.max() for each in steps) <= 1
    assert np.concatenate(steps).mean() < 0.01


@pytest.mark.parametrize("model", FLOAT, ids=by_name)
def test_values_keep_their_onnx_names(model: Model) -> None:
    """What the graph has under the name of an ONNX value is that value, so layers can be compared one by one."""
    proto, graph = model.load()
    x = model.samples(1)["input"]
    values = evaluate_graph(graph, {graph.inputs[0].name: x})
    inner = [name for node in proto.graph.node for name in node.output if name in values]
    assert len(inner) >= 0.5 * len(proto.graph.node)
    for name, expected in _reference_values(proto, inner, x).items():
        scale = max(float(np.abs(expected).max(initial=0)), 1.0)
        np.testing.assert_allclose(values[name], expected, atol=1e-4 * scale, rtol=0, err_msg=name)


def _reference_values(proto: onnx.ModelProto, names: list[str], x: np.ndarray) -> dict[str, np.ndarray]:
    """Values inside of the model. In opset 21: the reference lacks old operators, or has them wrong."""
    current = version_converter.convert_version(proto, 21)
    known = {value.name for value in current.graph.output}
    extra = [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in names if name not in known]
    current.graph.output.extend(extra)
    results = ReferenceEvaluator(current).run(names, {proto.graph.input[0].name: x})
    return dict(zip(names, results, strict=True))


def test_shape_arithmetic_leaves_nothing_in_the_graph() -> None:
    """The transformer computes its attention shapes, silero its padding and branches: all of it is constant.

    What is left of integers in silero is 0 * sr.
    """
    _, transformer = FLOAT[-1].load()
    assert {value.dtype.value for value in transformer.values()} == {"f32"}
    _, silero = SILERO.load()
    assert {value.name for value in silero.values() if value.dtype.value != "f32"} == {"sr", "/Mul_output_0"}
    assert [node.op for node in silero.nodes].count("conv") == 6


def test_quantized_weights_stay_quantized() -> None:
    """A Gemm with transposed weights reads a dequantized int8 constant, transposed at import."""
    _, graph = QUANTIZED[2].load()
    producers = graph.producers()
    (matmul,) = [node for node in graph.nodes if node.op == "matmul"]
    weights = producers[matmul.operands[1].name]
    assert weights.op == "dequantize"
    stored = graph.constant(weights.operands[0])
    assert stored is not None and stored.dtype == np.int8 and stored.shape == (64, 12)
    assert weights.attrs["axis"] in (0, 1)
