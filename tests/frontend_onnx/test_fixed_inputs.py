"""Inputs whose value is fixed when the model is compiled."""

from __future__ import annotations

from pathlib import Path

import ccml
import numpy as np
import pytest
from ccml.errors import CcmlError, ErrorCode
from onnx import TensorProto, TypeProto, helper, save

from tests.cli.command_line import ccml as command
from tests.frontend_onnx.graphs import model, value


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """y = x * k where sr is 16000, else x; of different shapes."""
    branch = [helper.make_node("Identity", ["x"], ["a"])]
    other = [helper.make_node("Mul", ["x", "k"], ["b"])]
    nodes = [
        helper.make_node("Equal", ["sr", "rate"], ["is_rate"]),
        helper.make_node(
            "If", ["is_rate"], ["y"],
            then_branch=helper.make_graph(other, "then", [], [helper.make_value_info("b", TypeProto())]),
            else_branch=helper.make_graph(branch, "else", [], [helper.make_value_info("a", TypeProto())]),
        ),
    ]  # fmt: skip
    inputs = [value("x", [2]), value("sr", [], TensorProto.INT64), value("k", [3, 2])]
    save(model(nodes, inputs, ["y"], {"rate": np.array(16000)}), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


X = np.array([2.0, 3.0], np.float32)


def test_what_depends_on_it_is_computed_while_compiling(path: Path) -> None:
    """Branches of different shapes are refused where the condition is open."""
    with pytest.raises(CcmlError) as caught:
        ccml.load(path)
    assert caught.value.kind is ErrorCode.UNSUPPORTED_FEATURE
    other = ccml.load(path, ccml.ModelOptions(fixed={"sr": (8000,), "k": (1,)}))
    np.testing.assert_array_equal(other.run({"x": X})["y"], X)
    same = ccml.load(path, ccml.ModelOptions(fixed={"sr": (16000,)}))
    k = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(same.run({"x": X, "k": k})["y"], X * k)


def test_a_branch_that_the_extents_do_not_suit(tmp_path: Path) -> None:
    """A matrix product of three columns: with rows of two it can only be a branch that is not taken, and the hint says
    which input decides about it."""
    branches = [
        helper.make_graph([node], name, [], [helper.make_value_info(node.output[0], TypeProto())])
        for name, node in (
            ("then", helper.make_node("MatMul", ["x", "two"], ["a"])),
            ("else", helper.make_node("MatMul", ["x", "three"], ["b"])),
        )
    ]
    nodes = [
        helper.make_node("Equal", ["sr", "rate"], ["is_rate"]),
        helper.make_node("If", ["is_rate"], ["y"], then_branch=branches[0], else_branch=branches[1]),
    ]
    inputs = [value("x", [1, 2]), value("sr", [], TensorProto.INT64)]
    weights = {"rate": np.array(16000), "two": np.ones((2, 4), np.float32), "three": np.ones((3, 4), np.float32)}
    save(model(nodes, inputs, ["y"], weights), tmp_path / "m.onnx")
    with pytest.raises(CcmlError, match="--fix sr=") as caught:
        ccml.load(tmp_path / "m.onnx")
    assert caught.value.kind is ErrorCode.SHAPE_MISMATCH and caught.value.deciding == ("sr",)
    loaded = ccml.load(tmp_path / "m.onnx", ccml.ModelOptions(fixed={"sr": (16000,)}))
    np.testing.assert_array_equal(loaded.run({"x": X[None]})["y"], np.full((1, 4), 5, np.float32))


@pytest.mark.parametrize("numbers, wanted", [((2,), np.full((3, 2), 2)), (range(6), np.arange(6).reshape(3, 2))])
def test_one_number_fills_and_more_are_the_elements(path: Path, numbers: range, wanted: np.ndarray) -> None:
    loaded = ccml.load(path, ccml.ModelOptions(fixed={"sr": (16000,), "k": tuple(numbers)}))
    np.testing.assert_array_equal(loaded.run({"x": X})["y"], X * wanted)


@pytest.mark.parametrize(
    "fixed, text",
    [
        ({"rate": (1,)}, "no input rate"),
        ({"sr": (0.5,)}, "an input of int64 cannot be 0.5"),
        ({"sr": (float("nan"),)}, "an input of int64 cannot be nan"),
        ({"sr": (1, 2)}, "2 numbers do not fill []"),
        ({"k": (1, 2, 3, 4)}, "4 numbers do not fill [3, 2]"),
    ],
)
def test_what_does_not_fit(path: Path, fixed: dict[str, tuple[float, ...]], text: str) -> None:
    with pytest.raises(CcmlError) as caught:
        ccml.load(path, ccml.ModelOptions(fixed=fixed))
    assert caught.value.kind is ErrorCode.BAD_OPTION and text in caught.value.reason


def test_on_the_command_line(path: Path) -> None:
    done = command("verify", path, "--fix", "sr=8000", "--fix", "k=1")
    assert done.exit_code == 0, done.output
    assert command("verify", path, "--fix", "sr=fast").exit_code == 2


def test_in_the_file_of_the_project(path: Path) -> None:
    (path.parent / "ccml.toml").write_text("[model.fix]\nsr = 16000\nk = [1, 2, 3, 4, 5, 6]\n")
    done = command("verify", path, "--config", path.parent / "ccml.toml")
    assert done.exit_code == 0, done.output


@pytest.fixture
def open_path(tmp_path: Path) -> Path:
    """y = x @ x' + k, of n rows and columns."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"]),
        helper.make_node("MatMul", ["x", "t"], ["p"]),
        helper.make_node("Add", ["p", "k"], ["y"]),
    ]
    save(model(nodes, [value("x", ["n", 8]), value("k", ["n", 1])], ["y"]), tmp_path / "open.onnx")
    return tmp_path / "open.onnx"


@pytest.mark.parametrize("numbers, k", [((7.0,), [[7], [7], [7]]), ((1.0, 2.0, 3.0), [[1], [2], [3]])])
def test_dimensions_that_have_names(open_path: Path, numbers: tuple[float, ...], k: list[list[float]]) -> None:
    loaded = ccml.load(open_path, ccml.ModelOptions(fixed={"k": numbers}, dims={"n": 3}))
    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    np.testing.assert_array_equal(loaded.run({"x": x})["y"], x @ x.T + k)


def test_quantized_models_have_fixed_inputs_as_well(open_path: Path, tmp_path: Path) -> None:
    samples = np.random.default_rng(0).uniform(-1, 1, (8, 3, 8)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=samples)
    options = ccml.ModelOptions(fixed={"k": (7.0,)}, dims={"n": 3})
    loaded = ccml.load(open_path, options, quantization=ccml.Quantization(tmp_path / "data.npz"))
    (y,) = loaded.run({"x": samples[0]}).values()
    np.testing.assert_allclose(y, samples[0] @ samples[0].T + 7, atol=0.2)
