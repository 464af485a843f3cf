"""The documentation: made pages are fresh, links lead somewhere, and commands and options that it names exist."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import numpy as np
import pytest
from ccml.cli.main import cli
from ccml.errors import ErrorCode
from ccml.frontend_onnx.versions import NEWEST_OPSET
from onnx import TensorProto, helper, numpy_helper, save

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]


def script(path: Path) -> ModuleType:
    """A script of the repository that is no part of the package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_the_python_package_is_what_make_docs_writes() -> None:
    made = script(ROOT / "docs" / "make_api.py")
    assert made.PAGE.read_text(encoding="utf-8") == made.api_page(), "run: make docs"


def test_the_page_of_operators_is_what_make_docs_writes() -> None:
    """Of the newest onnx package that there is; an older one knows fewer versions."""
    made = script(ROOT / "docs" / "make_operators.py")
    text = made.PAGE.read_text(encoding="utf-8")
    if f"opset {NEWEST_OPSET}." not in text:
        pytest.skip(f"the page is of another onnx package than that with operator set {NEWEST_OPSET}")
    assert text == made.operators_page(), "run: make docs"


def test_the_operators_of_tensorflow_lite_are_what_make_docs_writes() -> None:
    made = script(ROOT / "docs" / "make_tflite.py")
    assert made.PAGE.read_text(encoding="utf-8") == made.tflite_page(), "run: make docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text)]
    assert [link for link in links if link and "://" not in link and not (page.parent / link).exists()] == []


def test_readme_leads_to_every_page() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.parent.name == "docs" and f"(docs/{page.name})" not in text] == []


def test_the_python_example_of_the_readme(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As it stands there, with a small model in the place of kws.onnx."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("### Python\n")[2].partition("\n### ")[0]
    code = "\n".join(line.removeprefix("    ") for line in section.splitlines() if line.startswith("    "))
    sides = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 8)) for name in ("features", "scores")]
    weights = numpy_helper.from_array(np.eye(8, dtype=np.float32) + np.float32(0.25), "w")
    nodes = [helper.make_node("MatMul", ["features", "w"], ["scores"])]
    graph = helper.make_graph(nodes, "kws", sides[:1], sides[1:], [weights])
    monkeypatch.chdir(tmp_path)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "kws.onnx")
    np.savez("typical.npz", features=np.random.default_rng(1).standard_normal((20, 8)).astype(np.float32))
    features = np.ones((1, 8), np.float32)
    names: dict[str, Any] = {"features": features}
    exec(code, names)
    np.testing.assert_allclose(names["scores"], np.full((1, 8), 3.0))
    np.testing.assert_array_equal(names["model"].run(features)["scores"], names["scores"])
    assert (tmp_path / "kws" / "kws.h").is_file()
    assert (tmp_path / "kws_int8.onnx").is_file()


def commands(page: Path) -> list[list[str]]:
    """The words of all lines of code that call ccml, without comments."""
    lines = re.findall(r"^ {4,}(ccml [a-z]+ .*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_and_their_options_exist(page: Path) -> None:
    for _, name, *words in commands(page):
        command = cli.commands[name]
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        assert {word.partition("=")[0] for word in words if word.startswith("-")} <= known, (name, words)


def test_every_error_code_is_explained() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in text.splitlines() if re.match(r"\| `E\d", line)]
    found = {code: int(row[2]) for row in rows for code in re.findall(r"E\d+", row[1])}
    assert found == {kind.code: int(kind.exit_code) for kind in ErrorCode}


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_examples_in_the_help_of_commands_parse(name: str) -> None:
    """The lines of a help text that begin with ``ccml``, columns of explanation cut off."""
    text = cli.commands[name].help or ""
    for line in re.findall(r"^\s*(ccml .*)$", text, re.MULTILINE):
        _, command, *words = shlex.split(line.partition("  ")[0])
        parsed = cli.commands[command].make_context(command, words)
        assert isinstance(parsed, click.Context)
