"""The quick start, the tutorials and the recipes: every block of theirs runs as it stands.

Blocks of ``sh`` are run by bash in a folder with the examples, blocks of ``python`` by this interpreter. Lines of
``pip install`` are left out: tests/packaging installs the wheel in a clean environment. Indented blocks are what a
training framework does, which is not installed here; what follows them uses files of the repository.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools import needs

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    "quickstart.md", "how-to.md", "features.md", "firmware.md", "tuning.md", "tutorials/pytorch.md",
    "tutorials/keras.md",
    "tutorials/scikit-learn.md", "tutorials/android.md",
]  # fmt: skip
_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ENDS = {
    "quickstart.md/Firmware": "digits: the result is right",
    "quickstart.md/Linux and Raspberry Pi": "10 of 10 correct",
    "quickstart.md/Python": "correct: 0.995",
    "tutorials/pytorch.md": "digits: the result is right",
    "tutorials/scikit-learn.md": "forest: the result is right",
    "tutorials/android.md": "199 of 200 correct",
}
"""What the text says that a section prints."""


def sections() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The blocks by page and section; a tutorial is one section."""
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        parts = [text] if page.startswith("tutorials/") else re.split(r"^(?=## )", text, flags=re.MULTILINE)
        for part in parts:
            blocks = [(found[1], found[2]) for found in _BLOCK.finditer(part)]
            title = part.partition("\n")[0].lstrip("# ")
            if blocks:
                yield page if page.startswith("tutorials/") else f"{page}/{title}", blocks


SECTIONS = dict(sections())


def commands(blocks: list[tuple[str, str]]) -> list[str]:
    return [line for kind, text in blocks if kind == "sh" for line in text.splitlines() if line.strip()]


@needs("arm-none-eabi-gcc", "qemu-system-arm", "qemu-aarch64", "cc", "make", "java", "javac", "ld.lld")
@pytest.mark.parametrize(
    "name", [name if "quickstart" in name else pytest.param(name, marks=pytest.mark.check) for name in SECTIONS]
)
def test_blocks_run(name: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    folder = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    said = ""
    for kind, text in SECTIONS[name]:
        lines = [line for line in text.splitlines() if not line.startswith("pip install")]
        words = ["bash", "-e", "-c", "\n".join(lines)] if kind == "sh" else [sys.executable, "-c", text]
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, f"{lines}\n{done.stdout}"
        said += done.stdout
    assert _ENDS.get(name, "") in said


def test_what_sections_print_is_told_of_sections_that_are_there() -> None:
    assert set(_ENDS) <= set(SECTIONS)


def test_quick_starts_have_at_most_six_commands() -> None:
    starts = {name: commands(blocks) for name, blocks in SECTIONS.items() if name.startswith("quickstart.md/")}
    assert len(starts) == 5
    assert {name: len(lines) for name, lines in starts.items() if len(lines) > 6} == {}
