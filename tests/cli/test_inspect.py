"""``ccml inspect``."""

from __future__ import annotations

import json
from pathlib import Path

from onnx import helper

from tests.cli.command_line import DIGITS, ccml, save_model
from tests.models import models_dir, needs_models


def test_text() -> None:
    result = ccml("inspect", DIGITS, "--target", "arm")
    assert result.exit_code == 0, result.stderr
    for part in ("1x1x8x8", "AveragePool", "cortex-m4", "block.depthwise", "1,186,176", "memory over time"):
        assert part in result.stdout


def test_costs_of_a_cortex_m() -> None:
    """Layers add up to the total but for what belongs to none: checks of arguments, entry and return."""
    content = json.loads(ccml("inspect", DIGITS, "--target", "cortex-m4", "--json").stdout)
    executed = sum(layer["instructions"] for layer in content["layers"])
    assert 0 <= content["totals"]["instructions"] - executed < 100
    assert content["totals"]["macs"] < content["totals"]["instructions"] < content["totals"]["cycles"]
    assert 0 < content["totals"]["stack_bytes"] < 1024
    assert "instructions" in ccml("inspect", DIGITS, "--target", "cortex-m4").stdout


def test_costs_are_not_known_elsewhere() -> None:
    content = json.loads(ccml("inspect", DIGITS, "--target", "x86", "--json").stdout)
    assert content["totals"]["instructions"] is None
    assert "instructions" not in ccml("inspect", DIGITS, "--target", "x86").stdout


def test_json() -> None:
    content = json.loads(ccml("inspect", DIGITS, "--json").stdout)
    assert content["operators"]["Conv"] == 5
    assert content["target"]["name"] == "generic"
    assert content["totals"]["macs"] == sum(layer["macs"] for layer in content["layers"]) == 1186176
    assert content["totals"]["code_bytes"] is None
    assert "files" not in content


def test_kernels() -> None:
    result = ccml("inspect", DIGITS, "--kernels", "--target", "arm")
    assert result.stdout.startswith("kernel ")
    assert "for " in result.stdout


@needs_models
def test_what_is_streamed_and_what_sets_the_peak() -> None:
    path = models_dir() / "mlperf_tiny_kws_dscnn_qdq_int8.onnx"
    plain, small = (ccml("inspect", path, "--target", "arm", *more) for more in ((), ("--optimize", "ram")))
    assert "streamed row by row" not in plain.stdout
    assert "streamed row by row" in small.stdout
    assert "at the peak: " in small.stdout


def test_the_goal() -> None:
    """Kernels of their own, shared where it is cheap, shared wherever they can be; the report says which was asked."""
    command = ("inspect", DIGITS, "--target", "cortex-m0plus", "--kernels", "--optimize")
    texts = {goal: ccml(*command, goal).stdout for goal in ("speed", "balanced", "size")}
    kernels = {goal: text.count("kernel ") for goal, text in texts.items()}
    assert kernels["speed"] >= kernels["balanced"] >= kernels["size"]
    assert len(texts["size"]) < len(texts["speed"])
    assert json.loads(ccml("inspect", DIGITS, "--json", "--optimize", "size").stdout)["options"]["optimize"] == "size"
    unknown = ccml("inspect", DIGITS, "--optimize", "fun")
    assert unknown.exit_code == 2
    assert "'balanced', 'size', 'speed', 'ram'" in unknown.stderr


def test_an_unsupported_model_is_still_described(tmp_path: Path) -> None:
    path = save_model(tmp_path / "m.onnx", helper.make_node("Strange", ["x"], ["y"], domain="my.ops"))
    result = ccml("inspect", path)
    assert result.exit_code == 3
    assert "my.ops.Strange" in result.stdout
    assert "[E105]" in result.stderr


def test_a_model_with_open_dimensions_is_still_described(tmp_path: Path) -> None:
    path = save_model(tmp_path / "m.onnx", helper.make_node("Relu", ["x"], ["y"]), shape=("batch", "seq"))
    result = ccml("inspect", path)
    assert (result.exit_code, "batchxseq" in result.stdout, "--dim batch=1" in result.stderr) == (2, True, True)
