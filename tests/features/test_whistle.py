"""examples/whistle: streaming keyword spotting from samples, here and on emulated boards."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import onnx
import pytest
from ccml.cli.main import cli
from click.testing import CliRunner

from tests.tools import needs

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "whistle"
README = (FOLDER / "README.md").read_text(encoding="utf-8")


def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("whistle_demo", FOLDER / "demo.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def heard() -> str:
    """What README.md shows: main.c whistles upwards from 0.8 s on and downwards from 1.8 s on, each for 0.36 s."""
    lines = re.findall(r"^    (\d\.\d\d s: .*)$", README, re.MULTILINE)
    assert [line.split()[-1] for line in lines] == ["up", "down"]
    assert [begin < float(line.split()[0]) < begin + 0.5 for line, begin in zip(lines, (0.8, 1.8))] == [True, True]
    return "".join(f"{line}\n" for line in lines)


@needs("gcc")
def test_on_this_machine(tmp_path: Path) -> None:
    assert demo().listen("generic", tmp_path) == heard()


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m0plus"])
def test_on_emulated_boards(target: str, tmp_path: Path) -> None:
    assert demo().listen(target, tmp_path) == heard()


def test_states_and_model_are_those_of_the_command(tmp_path: Path) -> None:
    """Of README.md and ccml.toml."""
    config = tomllib.loads((FOLDER / "ccml.toml").read_text(encoding="utf-8"))
    assert config["model"]["states"] == demo().STATES
    (line,) = re.findall(r"^    ccml (features .*)$", README, re.MULTILINE)
    words = line.replace("whistle.onnx", str(FOLDER / "whistle.onnx")).replace("ears.onnx", str(tmp_path / "e.onnx"))
    assert CliRunner().invoke(cli, words.split()).exit_code == 0
    assert onnx.load(tmp_path / "e.onnx").graph == demo().whole().graph
