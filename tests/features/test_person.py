"""examples/person: from a camera's pixels to what is seen, here and on emulated boards."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
import pytest

from tests.tools import needs

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "person"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
WHOLE, LINES = README.partition("## Line by line")[::2]


def said(text: str) -> str:
    """What the programs print, as a part of README.md says it."""
    return "".join(f"{line}\n" for line in re.findall(r"^    (\d\.\d\d s: .*)$", text, re.MULTILINE))


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"person_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("text", "late"), [(WHOLE, 3.0), (LINES, 4.0)], ids=["whole", "lines"])
def test_somebody_is_seen_who_is_there(text: str, late: float) -> None:
    """In main.c from the second to the sixth second, and known at the edge of the picture within one more; the middle
    of the room is reached later and left earlier."""
    seen, gone = (float(line.split()[0]) for line in said(text).splitlines())
    assert 2.0 < seen < late and 5.0 < gone < 7.0


@needs("cc")
@pytest.mark.parametrize("text", [WHOLE, LINES], ids=["whole", "lines"])
def test_the_commands_of_the_readme(text: str, tmp_path: Path) -> None:
    for path in FOLDER.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    block = re.search(r"((?:    .*\n)*    ccml compile.*\n(?:    .*\n)+)", text)
    assert block is not None
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["bash", "-euc", block[1]], cwd=tmp_path, env=os.environ | {"PATH": path},
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(said(text))


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m0plus"])
def test_on_emulated_boards(target: str, tmp_path: Path) -> None:
    assert script("demo").watch(target, tmp_path) == said(WHOLE)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
def test_line_by_line_on_an_emulated_board(tmp_path: Path) -> None:
    """With as much memory as README.md says, of which no picture is a part."""
    import ccml

    example = script("demo")
    assert example.watch("cortex-m4", tmp_path, lines=True) == said(LINES)
    (stated,) = re.findall(r"takes ([\d,]+) bytes of RAM", LINES)
    header = (tmp_path / "out" / "eyes.h").read_text()
    assert f"#define EYES_ARENA_SIZE {stated.replace(',', '')}\n" in header
    onnx.save(example.whole(lines=True), tmp_path / "eyes.onnx")
    for figure, goal in zip(re.findall(r"it is ([\d,]+) by .*, ([\d,]+) without", LINES)[0], ("RAM", "BALANCED")):
        program = ccml.compile_model(tmp_path / "eyes.onnx", ccml.find_machine("cortex-m4"),
                                     goal=ccml.Goal(ccml.Optimize[goal])).program  # fmt: skip
        assert sum(pool.ram for pool in program.plan.pools) == int(figure.replace(",", ""))


def test_scenes_that_the_training_has_not_seen(tmp_path: Path) -> None:
    """Of 200 pictures, 100 of them with a person, at least as many are told rightly as README.md says."""
    import ccml

    stated = float(re.search(r"(\d\d) % of 1,000", README)[1]) / 100  # type: ignore[index]
    onnx.save(script("demo").whole(), tmp_path / "eyes.onnx")
    model, training = ccml.load(tmp_path / "eyes.onnx"), script("train")
    rng = np.random.default_rng(77)
    right = [model.run(training.scene(rng, bool(n % 2)))["scores"].argmax() == n % 2 for n in range(200)]
    assert np.mean(right) > stated - 0.06
