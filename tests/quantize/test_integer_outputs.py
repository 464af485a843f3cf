"""Models whose results are places, classes or conditions, some of as many elements as a run finds."""

from __future__ import annotations

from pathlib import Path

import ccml
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.frontend_onnx.graphs import value

RNG = np.random.default_rng(0)
WEIGHTS = {"w": RNG.standard_normal((8, 3, 3, 3)), "wb": RNG.standard_normal((4, 8, 1, 1)),
           "ws": RNG.standard_normal((3, 8, 1, 1)), "least": np.array(0.3)}  # fmt: skip
NUMBERS = {"flat": [-1], "boxes": [1, 4, -1], "scores": [1, 3, -1], "three": [3], "five": [5]}
SAMPLES = RNG.standard_normal((8, 1, 3, 8, 8)).astype(np.float32)

Node = tuple[str, list[str], list[str], dict[str, object]]
FLAT: Node = ("Reshape", ["r", "flat"], ["v"], {})
BOXES: list[Node] = [
    ("Conv", ["r", "wb"], ["b"], {}), ("Reshape", ["b", "boxes"], ["rows"], {}),
    ("Transpose", ["rows"], ["corners"], {"perm": [0, 2, 1]}), ("Conv", ["r", "ws"], ["s"], {}),
    ("Reshape", ["s", "scores"], ["lines"], {}), ("Sigmoid", ["lines"], ["chances"], {}),
]  # fmt: skip
TAILS: dict[str, tuple[list[Node], int]] = {
    "ArgMax": ([("ArgMax", ["r"], ["y"], {"axis": 1})], TensorProto.INT64),
    "TopK": ([FLAT, ("TopK", ["v", "three"], ["", "y"], {})], TensorProto.INT64),
    "Greater": ([("Greater", ["r", "least"], ["y"], {})], TensorProto.BOOL),
    "NonZero": ([("NonZero", ["r"], ["y"], {})], TensorProto.INT64),
    "Compress": (
        [FLAT, ("Greater", ["v", "least"], ["c"], {}), ("Compress", ["v", "c"], ["y"], {"axis": 0})],
        TensorProto.FLOAT,
    ),
    "Unique": (
        [("Cast", ["r"], ["i"], {"to": TensorProto.INT64}), ("Unique", ["i"], ["y"], {})], TensorProto.INT64,
    ),
    "NonMaxSuppression": (
        [*BOXES, ("NonMaxSuppression", ["corners", "chances", "five", "share", "share"], ["y"],
                  {"center_point_box": 1})], TensorProto.INT64,
    ),
}  # fmt: skip
"""What follows a convolution, and the type of its result."""


def written(folder: Path, name: str) -> Path:
    tail, kind = TAILS[name]
    nodes = [("Conv", ["x", "w"], ["f"], {"pads": [1] * 4, "strides": [2, 2]}), ("Relu", ["f"], ["r"], {}), *tail]
    constants = [numpy_helper.from_array(a.astype(np.float32), n) for n, a in WEIGHTS.items()]
    constants += [numpy_helper.from_array(np.array(numbers), n) for n, numbers in NUMBERS.items()]
    constants.append(numpy_helper.from_array(np.array([0.4], np.float32), "share"))
    made = [helper.make_node(op, inputs, outputs, **attributes) for op, inputs, outputs, attributes in nodes]
    x, y = value("x", SAMPLES.shape[1:]), value("y", None, kind)
    graph = helper.make_graph(made, "g", [x], [y], constants)
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.parametrize("name", TAILS)
def test_quantized_and_written(tmp_path: Path, name: str) -> None:
    """The file does elsewhere what the quantized model does here: the convolutions are exact in float32, and what
    stands behind them sees the same numbers."""
    data = tmp_path / "data.npz"
    np.savez(data, x=SAMPLES)
    result = ccml.quantize(written(tmp_path, name), ccml.Quantization(data), tmp_path / "q.onnx")
    (output, *_) = result.accuracy.outputs
    assert (output.equal is None) == (name == "Compress")
    model = onnx.load(tmp_path / "q.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert any(node.op_type == "QuantizeLinear" for node in model.graph.node)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    compiled = ccml.load(tmp_path / "q.onnx")
    for sample in SAMPLES[:3]:
        (wanted,) = session.run(None, {"x": sample})
        found = compiled.run({"x": sample})["y"]
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_classes_are_found_among_bytes(tmp_path: Path) -> None:
    """A map of scores is not made of floats for ArgMax."""
    data = tmp_path / "data.npz"
    np.savez(data, x=SAMPLES)
    ccml.quantize(written(tmp_path, "ArgMax"), ccml.Quantization(data), tmp_path / "q.onnx")
    ccml.compile(tmp_path / "q.onnx", "cortex-m4", tmp_path / "out")
    source = (tmp_path / "out" / "q.c").read_text()
    (kernel,) = [line for line in source.splitlines() if "_arg_reduce_0(const" in line]
    assert "const int8_t * restrict x, int64_t * restrict y" in kernel
