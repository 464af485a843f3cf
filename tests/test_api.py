"""The Python package: its names, and models that are loaded into the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ccml
import numpy as np
import pytest
from ccml import api
from onnx import TensorProto, helper, save

from tests.cli.command_line import small_model

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
Y = np.maximum(2 * X, 0)


@pytest.fixture(scope="module")
def relu(tmp_path_factory: pytest.TempPathFactory) -> ccml.LoadedModel:
    """y = relu(x + x)."""
    return ccml.load(small_model(tmp_path_factory.mktemp("relu") / "m.onnx"))


@pytest.fixture(scope="module")
def difference(tmp_path_factory: pytest.TempPathFactory) -> ccml.LoadedModel:
    """y = a - b."""
    sides = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (2, 3)) for name in ("a", "b", "y")]
    graph = helper.make_graph([helper.make_node("Sub", ["a", "b"], ["y"])], "model", sides[:2], sides[2:])
    path = tmp_path_factory.mktemp("difference") / "m.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return ccml.load(path)


def test_every_public_name_is_there() -> None:
    for name in ccml.__all__:
        assert getattr(ccml, name) is not None
    assert sorted(ccml.__all__) == ccml.__all__
    assert set(api.__all__) - set(ccml.__all__) == {"save_arrays"}
    with pytest.raises(AttributeError, match="no attribute 'compose'"):
        ccml.compose  # noqa: B018


def test_dir_lists_what_was_not_used_yet() -> None:
    code = "import ccml; print(set(ccml.__all__) <= set(dir(ccml)), 'compile' in vars(ccml))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"


def test_goals_as_documented(tmp_path: Path) -> None:
    goal = ccml.Goal(ccml.Optimize.SIZE, pools={"sram": None})
    result = ccml.compile(small_model(tmp_path / "m.onnx"), "cortex-m4", tmp_path / "out", emit=["c"], goal=goal)
    assert result.artifacts[0].report.options.optimize == "size"


@pytest.mark.parametrize("inputs", [{"x": X}, {"input": X}, X], ids=["name", "input", "array"])
def test_one_input_needs_no_name(relu: ccml.LoadedModel, inputs: object) -> None:
    np.testing.assert_array_equal(relu.run(inputs)["y"], Y)  # type: ignore[arg-type]
    np.testing.assert_array_equal(relu.observe(inputs)["y"], Y)  # type: ignore[arg-type]


def test_several_inputs_need_names(difference: ccml.LoadedModel) -> None:
    np.testing.assert_array_equal(difference.run({"a": X, "b": Y})["y"], X - Y)
    for inputs, reason in ((X, "has 2"), ({"input": X}, "it has: a, b"), ({"a": X}, "b: this input is missing")):
        with pytest.raises(ccml.CcmlError, match=reason) as raised:
            difference.run(inputs)
        assert raised.value.kind is ccml.ErrorCode.BAD_INPUT


def test_arrays_of_another_type_or_shape(relu: ccml.LoadedModel) -> None:
    with pytest.raises(ccml.CcmlError, match=r"array.astype\('float32'\)"):
        relu.run(X.astype(np.float64))
    with pytest.raises(ccml.CcmlError, match=r"expected shape \[2, 3\], got \[3\]"):
        relu.run(X[0])
