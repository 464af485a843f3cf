"""The ONNX reference rounds what is half way as it is told, and nothing else."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from ccml.verification.tied_rounding import tied_rounding
from onnx import helper
from onnx.reference import ReferenceEvaluator


def model(opset: int) -> onnx.ModelProto:
    nodes = [helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["y"])]
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [5])
    y = helper.make_tensor_value_info("y", onnx.TensorProto.INT8, [5])
    constants = [onnx.numpy_helper.from_array(np.array(0.5, np.float32), "scale")]
    constants += [onnx.numpy_helper.from_array(np.array(-3, np.int8), "zero")]
    graph = helper.make_graph(nodes, "model", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


@pytest.mark.parametrize("opset", [10, 13, 21, 23])
def test_ties_are_rounded_as_told(opset: int) -> None:
    """2.5, 2.4, -3.5, 3.5 and 4.5002 steps. Both sides of a half are right; two steps are not, nor is 3 for 2.4."""
    whole = model(opset)
    x = np.array([1.25, 1.2, -1.75, 1.75, 2.2501], np.float32)
    told = {"y": np.array([0, 0, -6, -1, 1], np.int8)}
    (plain,) = ReferenceEvaluator(whole).run(None, {"x": x})
    np.testing.assert_array_equal(plain, [-1, -1, -7, 1, 2])
    (found,) = ReferenceEvaluator(whole, new_ops=tied_rounding(whole, told)).run(None, {"x": x})
    np.testing.assert_array_equal(found, [0, -1, -6, 1, 1])


def test_models_without_are_left_alone() -> None:
    assert tied_rounding(helper.make_model(helper.make_graph([], "empty", [], [])), {}) == []
