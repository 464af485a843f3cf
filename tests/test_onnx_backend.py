"""``ccml.onnx_backend`` where ONNX's suite does not go: dimensions, names, errors, single nodes, the C route."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from ccml import onnx_backend
from ccml.errors import CcmlError, ErrorCode
from onnx import TensorProto, helper

from tests.tools import needs


def scaled(*dims: int | str) -> onnx.ModelProto:
    """y = x + x, s = the shape of x."""
    nodes = [helper.make_node("Add", ["x", "x"], ["y"]), helper.make_node("Shape", ["x"], ["s"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, dims)]
    outputs.append(helper.make_tensor_value_info("s", TensorProto.INT64, [len(dims)]))
    return helper.make_model(helper.make_graph(nodes, "g", [x], outputs), opset_imports=[helper.make_opsetid("", 21)])


def test_free_dimensions_are_those_of_the_arrays() -> None:
    prepared = onnx_backend.prepare(scaled("batch", 2))
    for batch in (1, 3, 3, 2):
        x = np.arange(2 * batch, dtype=np.float32).reshape(batch, 2)
        y, shape = prepared.run([x])
        np.testing.assert_array_equal(y, 2 * x)
        np.testing.assert_array_equal(shape, x.shape)


def test_outputs_have_names_and_inputs_may() -> None:
    outputs = onnx_backend.run_model(scaled(2), {"x": np.ones(2, np.float32)})
    assert outputs["y"].tolist() == [2, 2] and outputs.s.tolist() == [2]


def test_arrays_that_do_not_fit() -> None:
    prepared = onnx_backend.prepare(scaled(2))
    for inputs in ([], [np.ones(2, np.float32)] * 2, [np.ones(2)], [np.ones(3, np.float32)]):
        with pytest.raises(CcmlError) as error:
            prepared.run(inputs)
        assert error.value.kind is ErrorCode.BAD_INPUT
    with pytest.raises(CcmlError) as error:
        prepared.run([None])
    assert error.value.kind is ErrorCode.BAD_INPUT and error.value.loc == "x"


def test_the_device_is_the_cpu() -> None:
    assert onnx_backend.supports_device("CPU") and not onnx_backend.supports_device("CUDA")
    with pytest.raises(CcmlError, match="no device CUDA"):
        onnx_backend.prepare(scaled(2), "CUDA")


def test_single_nodes() -> None:
    x = np.array([[1, -2, 3]], np.float32)
    node = helper.make_node("Clip", ["x", "", "hi"], ["y"])
    (y,) = onnx_backend.run_node(node, [x, np.float32(2)])
    np.testing.assert_array_equal(y, [[1, -2, 2]])
    (y,) = onnx_backend.run_node(helper.make_node("Softmax", ["x"], ["y"]), [x], opset_version=11)
    assert abs(float(y.sum()) - 1) < 1e-6


@needs("gcc")
def test_by_way_of_c() -> None:
    x = np.arange(3, dtype=np.float32)
    y, _ = onnx_backend.CBackend.run_model(scaled(3), [x])
    np.testing.assert_array_equal(y, 2 * x)
    with pytest.raises(CcmlError, match="expected float32"):
        onnx_backend.CBackend.run_model(scaled(3), [np.arange(3)])
