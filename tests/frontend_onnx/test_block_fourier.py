"""The function BlockFFT: its body computes what block_fft does, also in ONNX Runtime; only it becomes block_fft."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from ccml.frontend_onnx import import_model
from ccml.frontend_onnx.block_fourier import block_fft_function
from ccml.frontend_onnx.feature_function import DOMAIN, OPSET
from ccml.ops.fourier import evaluate_block_fft, fixed_roots
from onnx import TensorProto, helper, numpy_helper

from tests.frontend_onnx.compiled import compiled
from tests.ops.test_lowering_fourier import hann, signals


def model(frame: int, n: int, count: int, batch: int) -> onnx.ModelProto:
    function = block_fft_function(frame, n, count)
    graph = helper.make_graph(
        [helper.make_node(function.name, ["x", "w"], ["y", "e"], domain=DOMAIN)], "transform",
        [helper.make_tensor_value_info("x", TensorProto.INT16, [batch, frame])],
        [
            helper.make_tensor_value_info("y", TensorProto.INT16, [batch, count, 2]),
            helper.make_tensor_value_info("e", TensorProto.INT32, [batch]),
        ],
        [numpy_helper.from_array(hann(frame), "w")],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, functions=[function], opset_imports=opsets, ir_version=9)


@pytest.mark.parametrize(("frame", "n", "count"), [(8, 8, 5), (13, 16, 4), (30, 32, 17), (480, 512, 129)])
def test_body_means_block_fft(frame: int, n: int, count: int) -> None:
    """In another runtime, to the bit."""
    ort = pytest.importorskip("onnxruntime")
    x = signals(frame)
    session = ort.InferenceSession(model(frame, n, count, len(x)).SerializeToString())
    expected = evaluate_block_fft([x, hann(frame), fixed_roots(n)], {"n": n, "count": count})
    for result, wanted in zip(session.run(None, {"x": x}), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


def test_call_becomes_block_fft() -> None:
    graph = import_model(model(30, 32, 17, 1))
    assert [node.op for node in graph.nodes] == ["block_fft"]


def test_another_function_of_that_name_is_expanded() -> None:
    """And computes what its own body says, here twice the exponent."""
    proto = model(13, 16, 4, 14)
    (function,) = proto.functions
    last = function.node[-1]
    function.node.append(helper.make_node("Add", [last.output[0]] * 2, ["twice"]))
    function.output[1] = "twice"
    assert all(node.op != "block_fft" for node in import_model(proto).nodes)
    expected = evaluate_block_fft([signals(13), hann(13), fixed_roots(16)], {"n": 16, "count": 4})
    spectrum, exponent = compiled(proto, {"x": signals(13)})
    np.testing.assert_array_equal(spectrum, expected[0])
    np.testing.assert_array_equal(exponent, 2 * expected[1])
