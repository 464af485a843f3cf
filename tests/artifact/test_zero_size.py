"""Tensors without elements: no call computes them, and every kind of file is written all the same."""

from __future__ import annotations

from pathlib import Path

import ccml
import numpy as np
import onnx
import pytest
from ccml.artifact.emit import Emit
from onnx import helper

from tests.cli.command_line import ccml as ccml_command
from tests.frontend_onnx.graphs import model, value
from tests.tools import needs

SLICE = helper.make_node("Slice", ["x", "one", "one"], ["z"])
MODELS = {
    "empty": model([helper.make_node("Relu", ["x"], ["y"])], [value("x", [0, 3])], ["y"]),
    "beside": model(
        [helper.make_node("Relu", ["x"], ["y"]), SLICE], [value("x", [3])], ["y", "z"], {"one": np.ones(1, np.int64)}
    ),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("target", ["x86", "arm"])
def test_files_of_all_kinds(name: str, target: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.onnx"
    onnx.save(MODELS[name], path)
    result = ccml.compile(path, target, tmp_path / "out", emit=Emit)
    assert result.artifacts and (tmp_path / "out" / "report.json").exists()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("command", ["inspect", "inspect --target arm", "run", "verify"])
def test_commands(name: str, command: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.onnx"
    onnx.save(MODELS[name], path)
    first, *options = command.split()
    result = ccml_command(first, path, *options)
    assert result.exit_code == 0, result.stderr


@needs("qemu-system-arm", "arm-none-eabi-gcc")
@pytest.mark.parametrize("command", ["verify", "profile"])
def test_commands_on_a_board(command: str, tmp_path: Path) -> None:
    path = tmp_path / "beside.onnx"
    onnx.save(MODELS["beside"], path)
    result = ccml_command(command, path, "--target", "arm")
    assert result.exit_code == 0, result.stderr
