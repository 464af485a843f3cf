"""Quantized operators of ONNX Runtime's domain: the bytes that ONNX Runtime gives, and integer operators for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import import_model
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.integerize import integerize
from onnx import TensorProto, helper, numpy_helper

from tests.exact_runtime import exact_session

U8, FLOAT = TensorProto.UINT8, TensorProto.FLOAT
RNG = np.random.default_rng(1)
PARAMETERS: dict[str, Any] = {
    "as": np.float32(0.0213), "az": np.uint8(100), "bs": np.float32(0.0371), "bz": np.uint8(140),
    "ys": np.float32(0.0533), "yz": np.uint8(120),
}  # fmt: skip


def model_of(
    op_type: str, operands: str, feeds: Mapping[str, np.ndarray], constants: Mapping[str, Any], kind: int, **attrs: Any
) -> onnx.ModelProto:
    """One node; ``-`` in the list of operands is one that is left out."""
    names = ["" if name == "-" else name for name in operands.split()]
    node = helper.make_node(op_type, names, ["y"], domain="com.microsoft", name="node", **attrs)
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in feeds.items()
    ]
    known = {**PARAMETERS, **constants}
    initializers = [numpy_helper.from_array(np.asarray(known[name]), name) for name in names if name in known]
    outputs = [helper.make_tensor_value_info("y", kind, None)]
    graph = helper.make_graph([node], "g", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def u8(*shape: int) -> np.ndarray:
    return RNG.integers(0, 256, shape).astype(np.uint8)


def f32(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


TWO = {"a": u8(2, 30), "b": u8(2, 30)}
IMAGE = {"a": u8(1, 4, 7, 7)}
PAIR = "a as az b bs bz ys yz"
ONE = "a as az ys yz"
INTEGER: dict[str, tuple[str, str, dict[str, np.ndarray], dict[str, Any], dict[str, Any], list[str]]] = {
    "add": ("QLinearAdd", PAIR, TWO, {}, {}, ["rescale"]),
    "mul": ("QLinearMul", PAIR, TWO, {}, {}, []),
    "sigmoid": ("QLinearSigmoid", ONE, {"a": u8(2, 200)}, {"ys": np.float32(1 / 200)}, {}, ["lookup"]),
    "leaky relu": ("QLinearLeakyRelu", ONE, {"a": u8(2, 200)}, {}, {"alpha": 0.1}, ["lookup"]),
    "softmax": (
        "QLinearSoftmax", ONE, {"a": u8(4, 12)}, {"ys": np.float32(1 / 256), "yz": np.uint8(0)},
        {"axis": 1, "opset": 17}, ["int_softmax"],
    ),
    "concat": (
        "QLinearConcat", "ys yz a as az b bs bz", TWO, {}, {"axis": 1}, ["lookup", "lookup", "concat"],
    ),
    "global pool": ("QLinearGlobalAveragePool", ONE, IMAGE, {}, {"channels_last": 0}, ["reduce", "requantize"]),
    "global pool, channels last": ("QLinearGlobalAveragePool", ONE, IMAGE, {}, {"channels_last": 1}, []),
    "pool, channels last": (
        "QLinearAveragePool", ONE, {"a": u8(1, 7, 7, 4)}, {}, {"kernel_shape": [3, 3], "channels_last": 1}, [],
    ),
    "conv, channels last": (
        "QLinearConv", "a as az w bs bz ys yz bias", {"a": u8(1, 7, 7, 4)},
        {"w": u8(6, 4, 3, 3), "bias": RNG.integers(-900, 900, 6).astype(np.int32)},
        {"channels_last": 1, "pads": [1, 1, 1, 1]}, [],
    ),
    "max pool": ("NhwcMaxPool", "a", {"a": u8(1, 7, 7, 4)}, {}, {"kernel_shape": [3, 3], "strides": [2, 2]}, []),
    "where": (
        "QLinearWhere", "c a as az b bs bz ys yz", {"c": RNG.integers(0, 2, (2, 30)).astype(bool), **TWO}, {}, {}, [],
    ),
    "pool": ("QLinearAveragePool", ONE, IMAGE, {}, {"kernel_shape": [3, 3]}, ["pool", "requantize"]),
    "gemm": (
        "QGemm", "a as az w bs bz bias ys yz", {"a": u8(3, 16)},
        {"w": u8(5, 16), "bias": RNG.integers(-900, 900, 5).astype(np.int32)}, {"transB": 1}, ["matmul", "requantize"],
    ),
}  # fmt: skip
TO_FLOAT: dict[str, tuple[str, str, dict[str, np.ndarray], dict[str, Any], dict[str, Any]]] = {
    "gemm": ("QGemm", "a as az w bs bz", {"a": u8(3, 16)}, {"w": u8(16, 5)}, {}),
    "matmul": ("MatMulIntegerToFloat", "a w as bs az bz bias", {"a": u8(3, 16)}, {"w": u8(16, 6), "bias": f32(6)}, {}),
    "dynamic": (
        "DynamicQuantizeMatMul", "x w bs wz bias", {"x": f32(3, 16)},
        {"w": RNG.integers(-127, 128, (16, 6)).astype(np.int8), "wz": np.int8(0), "bias": f32(6)}, {},
    ),
    "4 bits": (
        "MatMulNBits", "x w scales", {"x": f32(3, 80)}, {"w": u8(6, 3, 16), "scales": np.abs(f32(18))},
        {"K": 80, "N": 6, "bits": 4, "block_size": 32},
    ),
    "FP4": (
        "MatMulBnb4", "x w sizes", {"x": f32(3, 64)}, {"w": u8(6 * 32), "sizes": np.abs(f32(12))},
        {"K": 64, "N": 6, "block_size": 32, "quant_type": 0},
    ),
    "NF4": (
        "MatMulBnb4", "x w sizes", {"x": f32(2, 3, 32)}, {"w": u8(5 * 16), "sizes": np.abs(f32(10))},
        {"K": 32, "N": 5, "block_size": 16, "quant_type": 1},
    ),
    "4 bits, zero points": (
        "MatMulNBits", "x w scales zeros", {"x": f32(3, 96)},
        {"w": u8(6, 3, 16), "scales": np.abs(f32(18)), "zeros": u8(12)}, {"K": 96, "N": 6, "bits": 4, "block_size": 32},
    ),
    "4 bits, groups": (
        "MatMulNBits", "x w scales - groups", {"x": f32(3, 64)},
        {"w": u8(6, 2, 16), "scales": np.abs(f32(12)), "groups": RNG.integers(0, 2, 64).astype(np.int32)},
        {"K": 64, "N": 6, "bits": 4, "block_size": 32},
    ),
    "4 bits, float zero points and bias": (
        "MatMulNBits", "x w scales zeros - bias", {"x": f32(3, 64)},
        {"w": u8(6, 2, 16), "scales": np.abs(f32(12)), "zeros": 8 + f32(12), "bias": f32(6)},
        {"K": 64, "N": 6, "bits": 4, "block_size": 32},
    ),
    "8 bits": (
        "MatMulNBits", "x w scales", {"x": f32(3, 64)}, {"w": u8(6, 2, 32), "scales": np.abs(f32(12))},
        {"K": 64, "N": 6, "bits": 8, "block_size": 32},
    ),
    "2 bits": (
        "MatMulNBits", "x w scales", {"x": f32(3, 64)}, {"w": u8(6, 2, 8), "scales": np.abs(f32(12))},
        {"K": 64, "N": 6, "bits": 2, "block_size": 32},
    ),
    "attention": (
        "QAttention", "a w qbias as bs - az bz", {"a": u8(2, 5, 6)},
        {"w": u8(6, 24), "qbias": f32(24)}, {"num_heads": 2, "unidirectional": 1},
    ),
}  # fmt: skip
ROWS: dict[str, tuple[str, str, dict[str, np.ndarray], dict[str, Any], dict[str, Any]]] = {
    "rows of bytes": (
        "GatherBlockQuantized", "w i scales", {"i": np.array([[3, 0], [1, 3]])},
        {"w": u8(5, 32), "scales": np.abs(f32(5, 2))}, {"bits": 8, "block_size": 16, "quantize_axis": 1},
    ),
    "rows of 4 bits": (
        "GatherBlockQuantized", "w i scales zeros", {"i": np.array([3, 0])},
        {"w": u8(5, 16), "scales": np.abs(f32(5, 2)), "zeros": u8(5, 1)}, {"block_size": 16, "quantize_axis": 1},
    ),
}  # fmt: skip


def by_onnxruntime(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> np.ndarray:
    return exact_session(model).run(None, feeds)[0]


@pytest.mark.parametrize("name", INTEGER)
def test_bytes_of_onnxruntime(name: str) -> None:
    op_type, operands, feeds, constants, attrs, expected = INTEGER[name]
    model = model_of(op_type, operands, feeds, constants, U8, **attrs)
    graph = integerize(import_model(model))
    assert not {"quantize", "dequantize"} & {node.op for node in graph.nodes}
    assert not expected or [node.op for node in graph.nodes] == expected
    got = evaluate_graph(graph, feeds)[graph.outputs[0].name]
    np.testing.assert_array_equal(got, by_onnxruntime(model, feeds))


@pytest.mark.parametrize("name", TO_FLOAT)
def test_float_results(name: str) -> None:
    op_type, operands, feeds, constants, attrs = TO_FLOAT[name]
    model = model_of(op_type, operands, feeds, constants, FLOAT, **attrs)
    graph = integerize(import_model(model))
    assert {"matmul", "weight_matmul"} & {node.op for node in graph.nodes}
    got = evaluate_graph(graph, feeds)[graph.outputs[0].name]
    np.testing.assert_allclose(got, by_onnxruntime(model, feeds), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", ROWS)
def test_chosen_rows(name: str) -> None:
    """Rows become floats when they are chosen, not the whole table."""
    op_type, operands, feeds, constants, attrs = ROWS[name]
    model = model_of(op_type, operands, feeds, constants, FLOAT, **attrs)
    graph = import_model(model)
    assert all(array.dtype != np.float32 or array.size < 80 for array in graph.constants.values())
    got = evaluate_graph(graph, feeds)[graph.outputs[0].name]
    np.testing.assert_allclose(got, by_onnxruntime(model, feeds), rtol=1e-6)


def test_4_bits_are_not_folded() -> None:
    op_type, operands, feeds, constants, attrs = TO_FLOAT["4 bits"]
    graph = integerize(import_model(model_of(op_type, operands, feeds, constants, FLOAT, **attrs)))
    weights = next(array for array in graph.constants.values() if array.shape == (80, 6))
    assert weights.dtype == np.int8
    assert weights.min() >= -8 and weights.max() <= 7


@pytest.mark.parametrize(
    ("op_type", "operands", "attrs", "kind", "reason"),
    [
        ("QLinearConcat", "ys yz a as az", {}, ErrorCode.INVALID_MODEL, "the attribute axis is missing"),
        ("QLinearSoftmax", ONE, {"opset": "x"}, ErrorCode.INVALID_MODEL, "an attribute has the wrong type"),
        ("QLinearUnknown", ONE, {}, ErrorCode.UNSUPPORTED_OPERATOR, "com.microsoft.QLinearUnknown"),
    ],
)
def test_refused(op_type: str, operands: str, attrs: dict[str, Any], kind: ErrorCode, reason: str) -> None:
    with pytest.raises(CcmlError) as refused:
        import_model(model_of(op_type, operands, IMAGE, {}, U8, **attrs))
    assert refused.value.kind is kind
    assert reason in str(refused.value)


def test_operators_of_onnx_that_read_results_of_these() -> None:
    """ONNX's shape inference of EyeLike ends the process where it knows no type of the operand."""
    nodes = [
        helper.make_node("QLinearSigmoid", ["x", "s", "z", "s", "z"], ["q"], domain="com.microsoft"),
        helper.make_node("EyeLike", ["q"], ["y"]),
    ]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    inputs = [helper.make_tensor_value_info("x", onnx.TensorProto.UINT8, [3, 3])]
    stored = [numpy_helper.from_array(np.float32(0.1), "s"), numpy_helper.from_array(np.asarray(3, np.uint8), "z")]
    for outputs in (["y"], ["q", "y"]):
        results = [helper.make_value_info(name, onnx.TypeProto()) for name in outputs]
        graph = helper.make_graph(nodes, "g", inputs, results, stored)
        imported = import_model(helper.make_model(graph, opset_imports=opsets, ir_version=9))
        assert [value.shape for value in imported.outputs] == [(3, 3)] * len(outputs)
