"""Single quantized operators against ONNX Runtime and the ONNX reference, fed with the same bytes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from ccml.frontend_onnx import import_model
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.integerize import integerize
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.exact_runtime import exact_session
from tests.integerize.building import operators

TYPES = {"uint8": TensorProto.UINT8, "int8": TensorProto.INT8, "int32": TensorProto.INT32}


def model_of(
    node: onnx.NodeProto, x: np.ndarray, constants: dict[str, np.ndarray], result: np.dtype, rank: int
) -> onnx.ModelProto:
    inputs = [helper.make_tensor_value_info("x", TYPES[x.dtype.name], x.shape)]
    outputs = [helper.make_tensor_value_info("y", TYPES[np.dtype(result).name], [None] * rank)]
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph([node], "g", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def by_onnxruntime(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    session = exact_session(model)
    return session.run(None, {"x": x})[0]


def by_ccml(model: onnx.ModelProto, x: np.ndarray, expected: list[str] | None = None) -> np.ndarray:
    graph = integerize(import_model(model))
    if expected is not None:
        assert operators(graph) == expected
    return evaluate_graph(graph, {"x": x})[graph.outputs[0].name]


def random_integers(rng: np.random.Generator, dtype: type, *shape: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)


@pytest.mark.parametrize("seed", range(24))
def test_qlinear_conv(seed: int) -> None:
    """Random geometry, groups and per-channel scales; with and without bias; weights of int8, or of uint8 with zero
    points."""
    rng = np.random.default_rng(seed)
    group, per_group, out = int(rng.choice([1, 2, 8])), int(rng.integers(1, 5)), int(rng.integers(1, 4))
    out *= group
    x = random_integers(rng, np.uint8, 1, group * per_group, 9, 8)
    signed = bool(rng.random() < 0.7)
    w = random_integers(rng, np.int8 if signed else np.uint8, out, per_group, int(rng.integers(1, 4)), 3)
    w_scale = rng.uniform(0.001, 0.02, out if signed else ()).astype(np.float32)
    w_zero = np.zeros(out, np.int8) if signed else np.asarray(rng.integers(0, 256), np.uint8)
    x_scale, spread = np.float32(rng.uniform(0.01, 0.1)), np.sqrt(per_group * 9) * 75 * 75
    y_scale = np.float32(x_scale * np.mean(w_scale) * spread / rng.uniform(50, 128))
    constants = {
        "xs": x_scale, "xz": np.uint8(rng.integers(0, 256)), "w": w, "ws": w_scale, "wz": w_zero,
        "ys": y_scale, "yz": np.uint8(rng.integers(0, 256)),
    }  # fmt: skip
    if rng.random() < 0.5:
        constants["b"] = rng.integers(-20_000, 20_000, out).astype(np.int32)
    pads = [int(p) for p in rng.integers(0, 2, 4)]
    strides = [int(s) for s in rng.integers(1, 3, 2)]
    node = helper.make_node("QLinearConv", ["x", *constants], ["y"], pads=pads, strides=strides, group=group)
    model = model_of(node, x, constants, np.dtype(np.uint8), 4)
    np.testing.assert_array_equal(by_ccml(model, x, ["conv", "requantize"]), by_onnxruntime(model, x))


@pytest.mark.parametrize("seed", range(12))
def test_qlinear_matmul(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, depth, columns = (int(n) for n in rng.integers(1, 40, 3))
    x = random_integers(rng, np.uint8, 2, rows, depth)
    signed = bool(rng.random() < 0.5)
    w = random_integers(rng, np.int8 if signed else np.uint8, depth, columns)
    x_scale, w_scale = np.float32(rng.uniform(0.01, 0.1)), np.float32(rng.uniform(0.001, 0.02))
    constants = {
        "xs": x_scale, "xz": np.uint8(rng.integers(0, 256)), "w": w, "ws": w_scale,
        "wz": w.dtype.type(0 if signed else rng.integers(0, 256)),
        "ys": np.float32(x_scale * w_scale * np.sqrt(depth) * 50), "yz": np.uint8(rng.integers(0, 256)),
    }  # fmt: skip
    model = model_of(helper.make_node("QLinearMatMul", ["x", *constants], ["y"]), x, constants, np.dtype(np.uint8), 3)
    np.testing.assert_array_equal(by_ccml(model, x, ["matmul", "requantize"]), by_onnxruntime(model, x))


def products_of_bytes(model: onnx.ModelProto) -> list[str]:
    return [
        node.op for node in import_model(model).nodes
        if node.op in ("conv", "matmul") and all(value.dtype.size == 1 for value in node.operands)
    ]  # fmt: skip


@pytest.mark.parametrize("x_type", [np.uint8, np.int8])
@pytest.mark.parametrize("zero_point", [None, 7])
def test_integer_contractions(x_type: type, zero_point: int | None) -> None:
    """ConvInteger and MatMulInteger: contractions of bytes, though weights less their zero point are none."""
    rng = np.random.default_rng(3)
    x, w = random_integers(rng, x_type, 1, 4, 6, 6), random_integers(rng, np.uint8, 3, 4, 3, 3)
    constants = {"w": w} if zero_point is None else {"w": w, "xz": x_type(zero_point), "wz": np.uint8(200)}
    conv = helper.make_node("ConvInteger", ["x", *constants], ["y"], pads=[1, 0, 1, 1])
    model = model_of(conv, x, constants, np.dtype(np.int32), 4)
    assert products_of_bytes(model) == ["conv"]
    np.testing.assert_array_equal(by_ccml(model, x), ReferenceEvaluator(model).run(None, {"x": x})[0])
    x, w = random_integers(rng, x_type, 5, 9), random_integers(rng, np.uint8, 9, 4)
    constants = {"w": w} if zero_point is None else {"w": w, "xz": x_type(zero_point), "wz": np.uint8(200)}
    model = model_of(helper.make_node("MatMulInteger", ["x", *constants], ["y"]), x, constants, np.dtype(np.int32), 2)
    assert products_of_bytes(model) == ["matmul"]
    np.testing.assert_array_equal(by_ccml(model, x), ReferenceEvaluator(model).run(None, {"x": x})[0])


@pytest.mark.parametrize("op", ["MatMulInteger", "ConvInteger"])
def test_dynamic_quantization(op: str) -> None:
    """The zero point is computed, and taken out of the sum of products of bytes."""
    rng = np.random.default_rng(5)
    conv = op == "ConvInteger"
    w = random_integers(rng, np.int8, *((3, 4, 3, 3) if conv else (9, 4)))
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node(op, ["q", "w", "z"], ["acc"]),
        helper.make_node("Cast", ["acc"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["real", "s"], ["y"]),
    ]
    shape = (1, 4, 6, 6) if conv else (5, 9)
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * len(shape))],
        [numpy_helper.from_array(w, "w")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = rng.standard_normal(shape).astype(np.float32)
    assert products_of_bytes(model) == ["conv" if conv else "matmul"]
    got = evaluate_graph(import_model(model), {"x": x})["y"]
    np.testing.assert_array_equal(got, ReferenceEvaluator(model).run(None, {"x": x})[0])
