"""The example of digits in all languages: the commands of its README run as they stand, and recognise the images."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools import needs

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "digits"
LAST_LINES = {
    "On this machine": "10 of 10 correct", "In C++": "10 of 10 correct", "In Python": "199 of 200 correct",
    "In Rust": "10 of 10 correct", "In JavaScript": "10 of 10 correct", "In Java": "199 of 200 correct",
}  # fmt: skip


def blocks() -> dict[str, str]:
    """The commands under "Use", by how their introduction begins."""
    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    use = text.split("\n## Use\n")[1].split("\n## ")[0]
    found = re.findall(r"^(\S[^\n]*?)[,:(][^\n]*\n\n((?:    [^\n]+\n)+)", use, re.MULTILINE)
    return {words.strip(): re.sub("^    ", "", lines, flags=re.MULTILINE) for words, lines in found}


def test_every_language_of_the_readme_is_tried() -> None:
    assert set(blocks()) == {*LAST_LINES, "For a microcontroller"}


@needs("cc", "c++", "cargo", "node", "java", "javac", "arm-none-eabi-gcc")
@pytest.mark.parametrize("name", blocks())
def test_commands_of_the_readme(name: str, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "digits", ignore=shutil.ignore_patterns("out", "target"))
    programs = str(Path(sys.executable).parent)
    done = subprocess.run(
        ["bash", "-e", "-c", blocks()[name]], cwd=tmp_path / "digits", text=True, timeout=300, check=False,
        env={**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert done.stdout.rstrip().endswith(LAST_LINES.get(name, "")), done.stdout
