"""``ccml verify``: what it prints and how it ends. What it compares is tested in tests/verification."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.cli.command_line import DIGITS, DIGITS_TEST, ccml, small_model
from tests.tools import needs


def test_digits_layer_by_layer() -> None:
    result = ccml("verify", DIGITS, "--input", DIGITS_TEST, "--samples", "2", "--json")
    assert result.exit_code == 0, result.stderr
    content = json.loads(result.stdout)
    assert (content["ok"], content["samples"], content["reference"]) == (True, 2, "onnx")
    assert [row["layer"].split(" ")[0] for row in content["layers"]] == [
        "stem", "widen", "block.depthwise", "block.pointwise", "reduce", "node_avg_pool2d", "classify",
    ]  # fmt: skip
    assert all(row["relative_l2"] < 1e-5 for row in content["layers"])
    assert [row["reference"] for row in content["outputs"]] == ["onnx", "expected"]


def test_a_quantized_model() -> None:
    """In integers the kernels are exact; only the scaled logits are floats."""
    data = DIGITS.with_name("digits_calibration.npz")
    options = ["--quantize", "int8", "--calibration", data, "--rounding", "nearest", "--input", data]
    result = ccml("verify", DIGITS, *options, "--json")
    assert result.exit_code == 0, result.stderr
    content = json.loads(result.stdout)
    assert (content["ok"], content["reference"]) == (True, "onnx")
    assert {row["layer"] for row in content["layers"]} >= {"image", "classify"}


def test_recurrent_layers_in_integers(tmp_path: Path) -> None:
    """Three, one behind the other, whose gates are rounded to 16 bits: their states are a step beside the reference's
    more often than not, which is no mistake."""
    rng, features = np.random.default_rng(131), 6
    nodes, weights, x = [], [], "x"
    for number in range(3):
        w, r = (rng.normal(size=(1, features, features)) / 4 for _ in range(2))
        weights += [
            numpy_helper.from_array(array.astype(np.float32), f"{name}{number}") for name, array in (("w", w), ("r", r))
        ]
        nodes.append(helper.make_node("RNN", [x, f"w{number}", f"r{number}"], [f"y{number}"], hidden_size=features))
        nodes.append(helper.make_node("Squeeze", [f"y{number}", "axis"], [f"x{number}"]))
        x = f"x{number}"
    weights.append(numpy_helper.from_array(np.array([1], np.int64), "axis"))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [9, 1, features]) for name in ("x", x)]
    graph = helper.make_graph(nodes, "rnn", ends[:1], ends[1:], weights)
    path, data = tmp_path / "rnn.onnx", tmp_path / "data.npy"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    np.save(data, rng.normal(size=(12, 9, 1, features)).astype(np.float32) / 2)
    options = ["--quantize", "int8", "--calibration", data, "--input", data]
    result = ccml("verify", path, *options, "--json")
    assert result.exit_code == 0, result.stderr
    content = json.loads(result.stdout)
    assert content["tolerance"] == 1e-3
    assert max(row["relative_l2"] for row in content["layers"]) > 1e-4
    assert ccml("verify", path, *options, "--tolerance", "1e-4").exit_code == 4


def test_tables() -> None:
    result = ccml("verify", DIGITS, "--samples", "1")
    assert result.exit_code == 0
    assert "block.depthwise" in result.stdout
    assert "ok: relative L2 error at most 0.0001" in result.stdout


@needs("gcc")
@pytest.mark.parametrize("compiler", ["gcc", pytest.param("clang", marks=needs("clang"))])
def test_the_c_route(compiler: str) -> None:
    result = ccml("verify", DIGITS, "--backend", "c", "--cc", compiler, "--json")
    assert result.exit_code == 0, result.stderr
    content = json.loads(result.stdout)
    assert (content["backend"], content["layers"]) == ("c", [])
    assert content["outputs"][0]["relative_l2"] < 1e-5


@needs("qemu-system-arm", "arm-none-eabi-gcc")
@pytest.mark.parametrize("route", ["llvm", "c"])
def test_on_an_emulated_board(route: str) -> None:
    options = ["--target", "cortex-m4", "--route", route, "--input", DIGITS_TEST, "--samples", "1"]
    result = ccml("verify", DIGITS, *options, "--json")
    assert result.exit_code == 0, result.stderr
    content = json.loads(result.stdout)
    assert (content["target"], content["backend"], content["layers"]) == ("cortex-m4", route, [])
    assert [row["reference"] for row in content["outputs"]] == ["onnx", "expected", "host"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--route", "c"], "belong to --target"),
        (["--cpu", "native"], "belong to --target"),
        (["--target", "cortex-m4", "--backend", "c"], "with --target there is --route"),
    ],
)
def test_options_that_do_not_go_together(options: list[str], message: str) -> None:
    result = ccml("verify", DIGITS, *options)
    assert (result.exit_code, message in result.stderr) == (2, True)


def test_a_mismatch_has_its_own_exit_code(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", x=np.ones((2, 3), np.float32), expected=np.full((2, 3), 3, np.float32))
    result = ccml("verify", model, "--input", tmp_path / "in.npz")
    assert result.exit_code == 4
    assert "DIFFERS" in result.stdout
    assert "ok:" not in result.stdout
    assert "[E401]" in result.stderr


def test_a_compiler_that_is_not_there() -> None:
    result = ccml("verify", DIGITS, "--backend", "c", "--cc", "no-such-compiler")
    assert (result.exit_code, "[E601]" in result.stderr) == (6, True)
