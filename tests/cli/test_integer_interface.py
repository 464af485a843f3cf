"""``--io int8`` for models that come quantized."""

from __future__ import annotations

import json
from pathlib import Path

import ccml
import numpy as np
import onnx
import pytest
from ccml.ir.program import Storage
from onnx import TensorProto, helper, numpy_helper

from tests.cli.command_line import ccml as run_ccml
from tests.cli.command_line import small_model

SIZE = 12
X_SCALE, Y_SCALE, Y_ZERO = np.float32(0.05), np.float32(0.4), 7


def quantized_model(path: Path, kind: np.dtype, *, operators: bool = False, views: bool = False) -> Path:
    """y = x @ w in 8 bits with float inputs and outputs, in QDQ or QOperator form, with reshapes around it."""
    rng = np.random.default_rng(3)
    zero = np.array(128 if kind == np.uint8 else 0, kind)
    constants = {
        "xs": X_SCALE, "xz": zero, "ys": Y_SCALE, "yz": np.array(Y_ZERO, kind), "ws": np.float32(0.01),
        "wz": np.int8(0), "w": rng.integers(-127, 128, (SIZE, SIZE)).astype(np.int8),
        "flat": np.array([1, SIZE], np.int64), "deep": np.array([1, SIZE // 2, 2], np.int64),
    }  # fmt: skip
    shape = [1, SIZE // 2, 2] if views else [1, SIZE]
    x, y = ("x1", "y1") if views else ("x", "y")
    nodes = [helper.make_node("Reshape", ["x", "flat"], ["x1"])] if views else []
    nodes.append(helper.make_node("QuantizeLinear", [x, "xs", "xz"], ["xq"]))
    if operators:
        inputs = ["xq", "xs", "xz", "w", "ws", "wz", "ys", "yz"]
        nodes.append(helper.make_node("QLinearMatMul", inputs, ["yq"]))
    else:
        nodes += [
            helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xf"]),
            helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wf"]),
            helper.make_node("MatMul", ["xf", "wf"], ["yf"]),
            helper.make_node("QuantizeLinear", ["yf", "ys", "yz"], ["yq"]),
        ]
    nodes.append(helper.make_node("DequantizeLinear", ["yq", "ys", "yz"], [y]))
    nodes += [helper.make_node("Reshape", ["y1", "deep"], ["y"])] if views else []
    sides = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy"]
    weights = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", sides[:1], sides[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


@pytest.mark.parametrize("views", [False, True])
@pytest.mark.parametrize("operators", [False, True])
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_the_integers_are_those_of_the_float_interface(
    kind: np.dtype, operators: bool, views: bool, tmp_path: Path
) -> None:
    path = quantized_model(tmp_path / "relu.onnx", kind, operators=operators, views=views)
    floats, integers = ccml.load(path), ccml.load(path, ccml.ModelOptions(integer_io=True))
    program = integers.compiled.program
    limits = np.iinfo(kind)
    shape = program.inputs[0].type.shape
    stored = np.random.default_rng(1).integers(limits.min, limits.max + 1, shape).astype(kind)
    zero = 128 if kind == np.uint8 else 0
    real = (stored.astype(np.float32) - zero) * X_SCALE
    found, wanted = integers.run({"x": stored})["y"], floats.run({"x": real})["y"]
    assert found.dtype == kind
    assert ((found.astype(np.float32) - Y_ZERO) * Y_SCALE).tolist() == wanted.tolist()
    made = [buffer for buffer in program.buffers.values() if buffer.storage is not Storage.CONSTANT]
    assert not any(buffer.dtype.is_float for buffer in made), "no conversion is left"


def test_compile_and_verify(tmp_path: Path) -> None:
    path = quantized_model(tmp_path / "relu.onnx", np.int8)
    done = run_ccml("compile", path, "--target", "arm", "--io", "int8", "-o", tmp_path / "out", "--emit", "c")
    assert done.exit_code == 0, done.stderr
    header = (tmp_path / "out" / "relu.h").read_text()
    assert "int relu_run(void *arena, const int8_t *x, int8_t *y);" in header
    assert "#define RELU_X_SCALE 0.05f" in header and "#define RELU_Y_ZERO_POINT (7)" in header
    assert json.loads((tmp_path / "out" / "report.json").read_text())["options"]["integer_io"] is True
    assert run_ccml("verify", path, "--io", "int8").exit_code == 0


def test_what_is_not_quantized_stays_float(tmp_path: Path) -> None:
    """A softmax behind the integers."""
    model = onnx.load(quantized_model(tmp_path / "relu.onnx", np.int8))
    model.graph.node[-1].output[0] = "logits"
    model.graph.node.append(helper.make_node("Softmax", ["logits"], ["y"]))
    onnx.save(model, tmp_path / "relu.onnx")
    words = ("--target", "arm", "--io", "int8", "-o", tmp_path / "out", "--json")
    done = run_ccml("compile", tmp_path / "relu.onnx", *words)
    assert "stays float, as it is not quantized: y" in done.stderr
    report = json.loads(done.stdout)
    assert [side["dtype"] for side in (*report["inputs"], *report["outputs"])] == ["i8", "f32"]


def test_a_float_model_is_told_what_to_do(tmp_path: Path) -> None:
    done = run_ccml("compile", small_model(tmp_path / "relu.onnx"), "--target", "arm", "--io", "int8")
    assert done.exit_code == 2
    assert "--quantize int8 --calibration" in done.stderr


def test_quantizing_a_quantized_model_is_told_what_to_do(tmp_path: Path) -> None:
    path = quantized_model(tmp_path / "relu.onnx", np.int8)
    np.save(tmp_path / "c.npy", np.zeros((8, 1, SIZE), np.float32))
    done = run_ccml(
        "compile", path, "--target", "arm", "--quantize", "int8", "--calibration", tmp_path / "c.npy", "--io", "int8"
    )
    assert done.exit_code == 2
    assert "without --quantize; --io int8" in " ".join(done.stderr.split())
