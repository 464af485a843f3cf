"""examples/anomaly: an alarm from samples, here and on emulated boards."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from tests.tools import needs

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "anomaly"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
(SAID,) = re.findall(r"^    (\d\.\d\d s: .*)$", README, re.MULTILINE)


def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("anomaly_demo", FOLDER / "demo.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_alarm_comes_soon_and_not_too_early() -> None:
    """The bearing of main.c begins to click after three seconds."""
    assert 3.0 < float(SAID.split()[0]) < 3.2


@needs("cc")
def test_the_commands_of_the_readme(tmp_path: Path) -> None:
    for path in FOLDER.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    block = re.search(r"On this machine:\n\n((?:    .*\n)+)", README)
    assert block is not None
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["bash", "-euc", block[1]], cwd=tmp_path, env=os.environ | {"PATH": path},
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"{SAID}\n")


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m0plus"])
def test_on_emulated_boards(target: str, tmp_path: Path) -> None:
    assert demo().listen(target, tmp_path) == f"{SAID}\n"


def test_states_are_those_of_the_command() -> None:
    config = tomllib.loads((FOLDER / "ccml.toml").read_text(encoding="utf-8"))
    assert config["model"]["states"] == demo().STATES
