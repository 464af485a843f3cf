"""``ccml quantize`` for a target and a budget: what it writes takes what it says, and fits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.cli.command_line import ccml, save_model

TARGET = ("--target", "cortex-m4")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Two products of matrices, the second by 64 x 8, and what it typically reads."""
    rng = np.random.default_rng(0)
    weights = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in (("w", (32, 64)), ("v", (64, 8)))}
    np.savez(tmp_path / "typical.npz", x=rng.standard_normal((20, 32)).astype(np.float32))
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["t"], name="first"), helper.make_node("Relu", ["t"], ["r"]),
        helper.make_node("MatMul", ["r", "v"], ["y"], name="second"),
    ]  # fmt: skip
    return save_model(tmp_path / "m.onnx", *nodes, shape=(1, 32), **weights)


def quantized(model: Path, *options: object) -> dict[str, Any]:
    data = ("--calibration", model.with_name("typical.npz"))
    done = ccml("quantize", model, *data, "--rounding", "nearest", *TARGET, *options, "--json")
    assert done.exit_code == 0, done.stderr
    content: dict[str, Any] = json.loads(done.stdout)
    return content


def test_what_is_told_is_what_compile_reports(model: Path, tmp_path: Path) -> None:
    least = quantized(model, "--max-cycles", "1M", "--min-sqnr", "5")["mixed"]["before"]
    limit = least["cycles"] * 2
    written = tmp_path / "q.onnx"
    content = quantized(model, "--max-cycles", limit, "-o", written)
    after = content["mixed"]["after"]
    assert content["mixed"]["raised"] and least["cycles"] < after["cycles"] <= limit
    done = ccml("compile", written, *TARGET, "--max-cycles", limit, "-o", tmp_path / "out", "--json")
    assert done.exit_code == 0, done.stderr
    totals = json.loads(done.stdout)["totals"]
    assert {name: after[name] for name in ("cycles", "ram_bytes", "flash_bytes")} == {
        name: totals[name] for name in ("cycles", "ram_bytes", "flash_bytes")
    }
    done = ccml("compile", written, *TARGET, "--max-cycles", after["cycles"] // 2, "-o", tmp_path / "less")
    assert done.exit_code == 5 and "the model does not fit the budget: cycles " in done.stderr


@pytest.mark.check
def test_compile_quantizes_within_its_budget(model: Path, tmp_path: Path) -> None:
    data = ("--quantize", "int8", "--calibration", model.with_name("typical.npz"), "--rounding", "nearest")
    given = ("--min-sqnr", "50", "--max-flash", "16KiB", "-o", tmp_path / "out", "--json")
    done = ccml("compile", model, *TARGET, *data, *given)
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    after = report["accuracy"]["mixed"]["after"]
    assert after["flash_bytes"] == report["totals"]["flash_bytes"] <= 16384
    assert report["accuracy"]["outputs"][0]["sqnr_db"] >= 50
    assert after["int16_macs"] + after["int16_weight_macs"] + after["float_macs"] > 0


@pytest.mark.check
def test_the_same_demand_is_met_otherwise_where_floats_are_dear(model: Path) -> None:
    """Without a floating-point unit, no multiply-accumulate is one of floats."""
    content = quantized(model, "--min-sqnr", "50", "--target", "cortex-m0plus")
    assert content["outputs"][0]["sqnr_db"] >= 50
    assert content["mixed"]["after"]["float_macs"] == 0 < content["mixed"]["after"]["int16_macs"]


def test_what_cannot_be_is_an_error_that_says_what_can(model: Path) -> None:
    data = ("--calibration", model.with_name("typical.npz"), "--rounding", "nearest")
    done = ccml("quantize", model, *data, *TARGET, "--max-flash", "1KiB")
    assert done.exit_code == 5
    assert "[E501] the model does not fit even with the least precision: flash " in done.stderr
    done = ccml("quantize", model, *data, "--max-flash", "1KiB")
    assert done.exit_code == 2
    assert "a budget is that of a target, which is not known" in done.stderr and "--target NAME" in done.stderr
    done = ccml("quantize", model, "--to", "weights8", *TARGET, "--max-flash", "1KiB")
    assert done.exit_code == 2 and "weights8 has no precision that a budget could choose" in done.stderr


@pytest.mark.parametrize("given", ["many", "0", "-4M", "4X", "1e6"])
def test_numbers_of_cycles(model: Path, given: str) -> None:
    done = ccml("compile", model, *TARGET, f"--max-cycles={given}", "-o", "out")
    assert done.exit_code == 2 and f"'{given}' is not a number such as 4000000, 4000k or 4M" in done.stderr
