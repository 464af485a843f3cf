"""Accuracy of outputs that only move stored elements, such as the caches of a decoder step."""

from __future__ import annotations

from pathlib import Path

import ccml
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

STEPS, WIDTH = 5, 8


def decoder_step(path: Path) -> Path:
    """``k = x @ w`` behind the cache; what is attended to, and the cache without its oldest step, are put out."""
    rng = np.random.default_rng(4)
    weights = [
        numpy_helper.from_array(rng.standard_normal((WIDTH, WIDTH)).astype(np.float32), "w"),
        numpy_helper.from_array(np.array([1], np.int64), "first"),
        numpy_helper.from_array(np.array([STEPS + 1], np.int64), "end"),
        numpy_helper.from_array(np.array([1], np.int64), "axis"),
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["k"]),
        helper.make_node("Concat", ["cache", "k"], ["all"], axis=1),
        helper.make_node("Slice", ["all", "first", "end", "axis"], ["cache_out"]),
        helper.make_node("Transpose", ["all"], ["turned"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["x", "turned"], ["scores"]),
    ]
    shapes = {"x": 1, "cache": STEPS, "cache_out": STEPS}
    sides = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size, WIDTH]) for name, size in shapes.items()]
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 1, STEPS + 1])
    graph = helper.make_graph(nodes, "step", sides[:2], [scores, sides[2]], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


@pytest.mark.parametrize("integer_io", [False, True])
def test_integers_are_not_compared_with_floats(integer_io: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    shapes = {"x": (200, 1, 1, WIDTH), "cache": (200, 1, STEPS, WIDTH)}
    np.savez(
        tmp_path / "c.npz", **{name: rng.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    )
    options = ccml.QuantizeOptions(integer_io=integer_io)
    result = ccml.quantize(decoder_step(tmp_path / "m.onnx"), ccml.Quantization(tmp_path / "c.npz", options))
    stored = {value.name: value.dtype.value for value in result.source.graph.outputs}
    assert stored["cache_out"] == ("i8" if integer_io else "f32")
    for output in result.accuracy.outputs:
        assert output.sqnr_db is not None and output.sqnr_db > 20, output
        assert output.cosine > 0.99
