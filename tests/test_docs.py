"""The documentation: made pages are fresh, links lead somewhere, and commands and options that it names exist."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import click
import numpy as np
import pytest
from ccml.cli.main import cli
from ccml.frontend_onnx.versions import NEWEST_OPSET
from ccml.report.schema import Report
from onnx import TensorProto, helper, numpy_helper, save

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    page for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md") for page in sorted(ROOT.glob(pattern))
]


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
    pages = [page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if f"({page})" not in text] == []


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    listed = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    assert sorted(listed) == sorted(pages)


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
    if page.name == "cli-reference.md":
        return []  # the help of the commands, whose examples have a test of their own
    text = page.read_text(encoding="utf-8")
    lines = re.findall(r"^ {4,}(ccml [a-z]+ .*)$", text, re.MULTILINE)
    for block in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        lines += re.findall(r"^(ccml [a-z]+ .*)$", block, re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_and_their_options_exist(page: Path) -> None:
    for _, name, *words in commands(page):
        command = cli.commands[name]
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        assert {word.partition("=")[0] for word in words if word.startswith("-")} <= known, (name, words)


@pytest.mark.parametrize("name", ["cli-reference.md", "errors.md", "targets.md"])
def test_pages_of_reference_are_what_make_docs_writes(name: str) -> None:
    made = script(ROOT / "docs" / "make_reference.py")
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == made.PAGES[name](), "run: make docs"


def test_every_field_of_the_report_is_described() -> None:
    """By its name in code marks, somewhere in docs/report.md."""
    described = set(re.findall(r"`([a-z0-9_]+)`", (ROOT / "docs" / "report.md").read_text(encoding="utf-8")))
    assert set(field_names(Report)) - described == set()


def field_names(cls: type) -> Iterator[str]:
    for name, hint in get_type_hints(cls).items():
        yield name
        for part in (hint, *get_args(hint)):
            if isinstance(part, type) and is_dataclass(part):
                yield from field_names(part)


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_examples_in_the_help_of_commands_parse(name: str) -> None:
    """The lines of a help text that begin with ``ccml``, columns of explanation cut off."""
    text = cli.commands[name].help or ""
    for line in re.findall(r"^\s*(ccml .*)$", text, re.MULTILINE):
        _, command, *words = shlex.split(line.partition("  ")[0])
        parsed = cli.commands[command].make_context(command, words)
        assert isinstance(parsed, click.Context)
