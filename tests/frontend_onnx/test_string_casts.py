"""Casts between strings and numbers that a run knows, against ONNX Runtime and Python."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError
from onnx import TensorProto, helper

from tests.frontend_onnx.compiled import onnxruntime
from tests.frontend_onnx.graphs import checked_import
from tests.frontend_onnx.test_strings import results

STRING = TensorProto.STRING
WHOLE = np.array(["12", "-7", "+3", " 4", "007", "100.5", "0", "9999999"], object)
REAL = np.array(
    ["3.14", "1e-5", "1E8", "INF", "-INF", "NaN", "+INF", "+5", ".5", "5.", "  7", "-0.001", "6.02214076e+23",
     "-2.5E-3", "0", "0.000", "1e38", "1.17549435e-38", "16777217", "0.1", "123456789012345678901234567890", "1e-60"],
    object,
)  # fmt: skip


def cast(source: int, target: int, count: int) -> onnx.ModelProto:
    node = helper.make_node("Cast", ["x"], ["y"], to=target)
    x, y = (helper.make_tensor_value_info(name, kind, [count]) for name, kind in (("x", source), ("y", target)))
    graph = helper.make_graph([node], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


@pytest.mark.parametrize("target", [TensorProto.INT64, TensorProto.INT32, TensorProto.INT16])
def test_strings_to_integers(target: int) -> None:
    proto = cast(STRING, target, len(WHOLE))
    np.testing.assert_array_equal(results(proto, {"x": WHOLE})[0], onnxruntime(proto, {"x": WHOLE})[0])


@pytest.mark.parametrize("target", [TensorProto.FLOAT, TensorProto.DOUBLE])
def test_strings_to_floats(target: int) -> None:
    """Up to 15 digits are rounded exactly, more of them nearly so."""
    (found,) = results(cast(STRING, target, len(REAL)), {"x": REAL})
    wanted = np.array([float(text) for text in REAL]).astype(found.dtype)
    np.testing.assert_allclose(found, wanted, rtol=4e-16 if found.dtype == np.float64 else 0)


def test_strings_to_bool() -> None:
    (found,) = results(cast(STRING, TensorProto.BOOL, 3), {"x": np.array(["1", "0", "12"], object)})
    assert found.tolist() == [True, False, True]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_integers_to_strings(dtype: type) -> None:
    info = np.iinfo(dtype)
    x = np.array([0, 1, 9, 10, 99, 100, info.max, info.min, info.max - 1, info.min + 1], dtype)
    (found,) = results(cast(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), STRING, len(x)), {"x": x})
    assert found.tolist() == [str(number) for number in x.tolist()]


def test_bool_to_strings() -> None:
    x = np.array([True, False])
    proto = cast(TensorProto.BOOL, STRING, 2)
    assert results(proto, {"x": x})[0].tolist() == onnxruntime(proto, {"x": x})[0].tolist()


def test_floats_to_strings_are_refused() -> None:
    with pytest.raises(CcmlError, match="casts of floats to strings"):
        checked_import(cast(TensorProto.FLOAT, STRING, 2))
