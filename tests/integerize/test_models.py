"""The quantized models of the model set, whole."""

from __future__ import annotations

from functools import cache

import numpy as np
import onnx
import pytest
from ccml.frontend_onnx import import_model, load_model
from ccml.ir.graph import Graph
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.integerize import integerize_with_report
from ccml.passes.pipeline import optimize
from onnx import helper

from tests.exact_runtime import exact_session
from tests.models import models_dir, needs_models

pytestmark = needs_models

# Model -> its last quantized tensor before a Softmax, and its data.
SCORES = {
    "mlperf_tiny_kws_dscnn": "Add__33:0_QuantizeLinear_Output",
    "mlperf_tiny_ic_resnet8": "Add__29:0_QuantizeLinear_Output",
    "mlperf_tiny_streaming_wakeword": "StatefulPartitionedCall/model/dense/BiasAdd:0_QuantizeLinear_Output",
    "digits_cnn": "logits_QuantizeLinear_Output",
}
INPUTS = 12


@cache
def integerized(name: str) -> tuple[Graph, list[str]]:
    """The graph after the pass, and what stays in float."""
    steps: dict[str, Graph] = {}
    graph = import_model(load_model(models_dir() / f"{name}_qdq_int8.onnx"), dims={"N": 1} if "digits" in name else {})
    optimize(graph, dump=steps.__setitem__)
    names = list(steps)
    before = names.index(next(step for step in names if step.endswith("integerize"))) - 1
    result, kept = integerize_with_report(steps[names[before]])
    return result, [operator.op for operator in kept]


def inputs(name: str) -> list[np.ndarray]:
    data = np.load(models_dir() / f"{name.replace('digits_cnn', 'digits')}_calib.npz")["input"]
    return [array[np.newaxis].astype(np.float32) for array in data[:INPUTS]]


@pytest.mark.parametrize("name", SCORES)
def test_everything_is_integer_but_the_interface(name: str) -> None:
    graph, kept = integerized(name)
    floats = [
        node.op for node in graph.nodes if any(value.dtype.is_float for value in (*node.operands[:1], *node.outputs))
    ]
    assert floats == ["quantize", "dequantize"]
    assert kept == []


@pytest.mark.parametrize("name", SCORES)
def test_every_sum_is_bounded(name: str) -> None:
    graph, _ = integerized(name)
    sums = [node for node in graph.nodes if node.outputs[0].dtype.value == "i32"]
    values = evaluate_graph(graph, {graph.inputs[0].name: inputs(name)[0]})
    for node in sums:
        least, greatest = node.attrs["acc_lo"], node.attrs["acc_hi"]
        assert isinstance(least, int) and isinstance(greatest, int)
        assert -(2**31) <= least <= int(values[node.output.name].min())
        assert int(values[node.output.name].max()) <= greatest < 2**31


@pytest.mark.parametrize("name", SCORES)
def test_the_scores_are_those_of_onnxruntime(name: str) -> None:
    """Computing convolutions of int8 in float, it rounds a few products next to a half the wrong way: in ic_resnet8
    one of the 12 inputs meets such a value (16.500003 becomes 16), and half of its scores move by one step."""
    model = onnx.load(models_dir() / f"{name}_qdq_int8.onnx")
    if SCORES[name] not in [value.name for value in model.graph.output]:
        model.graph.output.append(helper.make_empty_tensor_value_info(SCORES[name]))
    session = exact_session(model)
    graph, _ = integerized(name)
    gaps = []
    for array in inputs(name):
        feeds = {graph.inputs[0].name: array}
        theirs, ours = session.run([SCORES[name]], feeds)[0], evaluate_graph(graph, feeds)[SCORES[name]]
        gaps.append(np.abs(theirs.astype(int) - ours))
    assert np.max(gaps) <= 1
    assert sum(np.any(gap > 0) for gap in gaps) <= (1 if "ic_" in name else 0)
