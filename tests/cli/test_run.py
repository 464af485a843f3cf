"""``ccml run``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.cli.command_line import DIGITS, DIGITS_TEST, ccml, small_model

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
Y = np.maximum(2 * X, 0)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return small_model(tmp_path / "m.onnx")


def outputs(model: Path, tmp_path: Path, **arrays: np.ndarray) -> np.ndarray:
    np.savez(tmp_path / "in.npz", **arrays)
    result = ccml("run", model, "--input", tmp_path / "in.npz", "--output", tmp_path / "out.npz")
    assert result.exit_code == 0, result.stderr
    with np.load(tmp_path / "out.npz") as found:
        assert found.files == ["y"]
        return found["y"]


@pytest.mark.parametrize("name", ["x", "input", "in:x"])
def test_one_sample(model: Path, tmp_path: Path, name: str) -> None:
    np.testing.assert_array_equal(outputs(model, tmp_path, **{name: X}), Y)


def test_samples_along_the_first_axis(model: Path, tmp_path: Path) -> None:
    np.testing.assert_array_equal(outputs(model, tmp_path, x=np.stack([X, -X])), [Y, np.maximum(-2 * X, 0)])


def test_an_npy_is_the_only_input(model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    result = ccml("run", model, "--input", tmp_path / "x.npy", "--json")
    assert json.loads(result.stdout) == {
        "schema": 1,
        "samples": 1,
        "outputs": [{"name": "y", "dtype": "float32", "shape": [2, 3], "values": Y.reshape(-1).tolist()}],
    }


def test_infinite_values_are_valid_json(model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.full((2, 3), np.inf, np.float32))
    result = ccml("run", model, "--input", tmp_path / "x.npy", "--json")
    assert json.loads(result.stdout)["outputs"][0]["values"] == [None] * 6


def test_random_data_is_announced_and_repeatable(model: Path) -> None:
    result = ccml("run", model)
    assert result.exit_code == 0
    assert "random data" in result.stderr
    assert result.stdout == ccml("run", model).stdout


def test_digits(tmp_path: Path) -> None:
    result = ccml("run", DIGITS, "--input", DIGITS_TEST, "--output", tmp_path / "out.npz")
    assert result.exit_code == 0, result.stderr
    assert "200 samples" in result.stdout
    with np.load(tmp_path / "out.npz") as found, np.load(DIGITS_TEST) as expected:
        np.testing.assert_allclose(found["logits"], expected["logits"], atol=1e-4)


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"z": X}, "the inputs are x; the file has z"),
        ({"x": X.astype(np.float64)}, "expected float32, got float64"),
        ({"x": X[:, :2]}, "expected shape [2, 3]"),
        ({"x": X[None][:0]}, "there are no samples"),
        ({}, "the file has nothing"),
    ],
)
def test_arrays_that_do_not_fit(model: Path, tmp_path: Path, arrays: dict[str, np.ndarray], reason: str) -> None:
    np.savez(tmp_path / "in.npz", **arrays)
    result = ccml("run", model, "--input", tmp_path / "in.npz")
    assert result.exit_code == 2
    assert "[E201]" in result.stderr
    assert reason in result.stderr


def test_files_that_are_no_arrays(model: Path, tmp_path: Path) -> None:
    missing = ccml("run", model, "--input", tmp_path / "no.npz")
    assert (missing.exit_code, "[E201]" in missing.stderr) == (2, True)
    wrong = ccml("run", model, "--input", model)
    assert (wrong.exit_code, "numpy.savez" in wrong.stderr) == (2, True)
    np.savez(tmp_path / "object.npz", x=np.array([{}], dtype=object))
    pickled = ccml("run", model, "--input", tmp_path / "object.npz")
    assert (pickled.exit_code, "[E201]" in pickled.stderr) == (2, True)


def test_an_output_that_cannot_be_written(model: Path, tmp_path: Path) -> None:
    result = ccml("run", model, "--output", tmp_path / "no" / "out.npz")
    assert (result.exit_code, "[E204]" in result.stderr) == (1, True)


def test_ranged_dimensions(tmp_path: Path) -> None:
    """One model, arrays of several extents; the bound is the default."""
    node = onnx.helper.make_node("Transpose", ["x"], ["y"])
    sides = [onnx.helper.make_tensor_value_info(name, 1, None) for name in "xy"]
    sides[0] = onnx.helper.make_tensor_value_info("x", 1, [2, "n"])
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "g", sides[:1], sides[1:])), tmp_path / "t.onnx")
    for extent in (1, 3, 4):
        x = np.arange(2 * extent, dtype=np.float32).reshape(2, extent)
        np.save(tmp_path / "x.npy", x)
        files = ["--input", tmp_path / "x.npy", "--output", tmp_path / "out.npz"]
        result = ccml("run", tmp_path / "t.onnx", "--dim", "n=..4", *files)
        assert result.exit_code == 0, result.stderr
        with np.load(tmp_path / "out.npz") as found:
            np.testing.assert_array_equal(found["y"], x.T)
    np.save(tmp_path / "x.npy", np.zeros((2, 5), np.float32))
    result = ccml("run", tmp_path / "t.onnx", "--dim", "n=1..4", "--input", tmp_path / "x.npy")
    assert result.exit_code == 2 and "n is 5, not in 1..4" in result.stderr
    assert ccml("run", tmp_path / "t.onnx", "--dim", "n=4..").exit_code == 2
