"""Every command of every page is run: here, or by the test that ``ELSEWHERE`` names, or it says there why not.

Commands are the lines of indented blocks, and of blocks of ``sh``, that begin with a program. Those of the pages run in
a folder with small models under the names of the pages (``stand_ins.py``), in order, since some use what others wrote;
those of an example in a copy of it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command_line import ccml
from tests.docs import test_commands_run
from tests.docs.stand_ins import write_stand_ins
from tests.tools import needs

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8")
    for pattern in ("*.md", "docs/**/*.md", "examples/*/*.md")
    for page in sorted(ROOT.glob(pattern))
    if page.name not in ("cli-reference.md", "api.md")  # written by make docs, with tests of their own
}
_PROGRAMS = (
    "ccml|make|cc|gcc|c[+][+]|g[+][+]|clang|cmake|ctest|python3?|pip|node|npm|cargo|java|javac|swift|west|idf[.]py|pio|"
    "arduino-cli|gradle|adb|docker|eval|sudo|apt|apt-get|git|[.]/[\\w/]+|_?[A-Z][A-Z_]+=\\S+"
)
_COMMAND = re.compile(rf"^ {{4,}}((?:{_PROGRAMS}) \S.*|[.]/\w+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(?:sh|bash|console|shell)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INSTALLS = "a clean environment: tests/packaging/test_wheel.py"
_BUILDS = "the whole of the tests is not a part of itself"
ELSEWHERE = {
    "make demo": _INSTALLS,
    "make test": _BUILDS,
    "make check": _BUILDS,
    "make lint": "make test begins with it",
    "make docs": "its result is compared by tests/test_docs.py",
    "make site": "mkdocs is an extra; links and navigation: tests/test_docs.py",
    "pip install .": _INSTALLS,
    "pip install kws/python/kws": "tests/bindings/test_python.py, in an environment of its own",
    "pip wheel --no-deps kws/python/kws": "tests/bindings/test_python.py",
    "pip install torch==2.13.0": "training is not run; its model is in the repository",
    "python train.py": "training is not run; its model is in the repository",
    "python -m tests.fuzz": "these run for long; slices of them: tests/fuzz",
    "python benchmarks/": "these take times and packages of others",
    "eval ": "completion of shells: tests/cli/test_main.py",
    "_CCML_COMPLETE=": "completion of shells: tests/cli/test_main.py",
    "ccml verify kws.onnx --target cortex-m4 --from-log": "tests/packaging/test_board_log.py, with the log of a board",
}
"""How commands begin that no test of this file runs, and where they are run, or why not."""
_EXAMPLES_ELSEWHERE = {
    "examples/digits/README.md": "tests/bindings/test_example.py",
    "examples/farm/README.md": "tests/tuning/test_farm.py",
}
_OFTEN = {"README.md", "docs/boards.md", "docs/page.md", "docs/tflite.md", "docs/strings.md", "docs/costs.md"}
"""Pages that take few seconds and are run with all tests; the others are run by make check."""


def commands(text: str) -> list[str]:
    """Those of indented blocks, without comments."""
    return [re.split(r"\s+#\s", line)[0].rstrip() for line in _COMMAND.findall(text)]


def is_elsewhere(command: str) -> bool:
    return any(command.startswith(beginning) for beginning in ELSEWHERE)


RUN_HERE = {
    page: found
    for page, text in PAGES.items()
    if page not in _EXAMPLES_ELSEWHERE
    if (found := [command for command in commands(text) if not is_elsewhere(command)])
}


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stand_ins")
    write_stand_ins(folder)
    return folder


def shell(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euc", command], cwd=folder, env={**os.environ, "PATH": path}, text=True, timeout=300, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


def pages(*, examples: bool) -> list[object]:
    names = [page for page in RUN_HERE if page.startswith("examples/") == examples]
    return [page if page in _OFTEN else pytest.param(page, marks=pytest.mark.check) for page in names]


@needs("cc", "arm-none-eabi-gcc", "qemu-system-arm", "qemu-aarch64", "qemu-riscv32", "node", "javac", "wine")
@pytest.mark.parametrize("page", pages(examples=False))
def test_commands_of_a_page(page: str, stand_ins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "work"
    shutil.copytree(stand_ins, folder)
    monkeypatch.chdir(folder)
    for command in RUN_HERE[page]:
        if command.startswith("ccml "):
            done = ccml(*shlex.split(command)[1:])
            assert done.exit_code == 0, f"{command}\n{done.output}"
        else:
            shell(command, folder)


@needs("cc", "arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("page", pages(examples=True))
def test_commands_of_an_example(page: str, tmp_path: Path) -> None:
    folder = tmp_path / "example"
    shutil.copytree((ROOT / page).parent, folder, ignore=shutil.ignore_patterns("out", "build", "__pycache__"))
    shell("\n".join(RUN_HERE[page]), folder)


def test_blocks_of_sh_stand_on_pages_whose_blocks_are_run() -> None:
    """tests/docs/test_commands_run.py runs them as they stand."""
    known = {f"docs/{page}" for page in test_commands_run.PAGES}
    assert [page for page, text in PAGES.items() if _BLOCK.search(text) and page not in known] == []


def test_what_is_run_elsewhere_is_on_a_page() -> None:
    """And the test that is named is there."""
    every = [command for text in PAGES.values() for command in commands(text)]
    every += [line for text in PAGES.values() for block in _BLOCK.findall(text) for line in block.splitlines()]
    assert [begins for begins in ELSEWHERE if not any(line.startswith(begins) for line in every)] == []
    named = re.findall(r"tests/[\w/.]+", " ".join([*ELSEWHERE.values(), *_EXAMPLES_ELSEWHERE.values()]))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_line_of_code_that_looks_like_a_command_is_known() -> None:
    """Programs that are not among those of this file: what begins with a word and has an option."""
    unknown = re.compile(r"^ {4,}([a-z][\w.-]+(?: [\w./-]+)* --?[a-z][\w-]*(?: .*)?)$", re.MULTILINE)
    lines = [(page, line) for page, text in PAGES.items() for line in unknown.findall(text)]
    assert [(page, line) for page, line in lines if not re.match(_PROGRAMS, line)] == []
