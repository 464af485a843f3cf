"""``ccml link``: models from the command line and from ccml.toml, and what is wrong with either."""

from __future__ import annotations

import json
from pathlib import Path

import onnx.parser
import pytest

from tests.cli.command_line import ccml


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With ``one.onnx`` and ``two.onnx``, the latter with a symbolic dimension."""
    for name, size in (("one", "4"), ("two", "N")):
        text = f"""<ir_version: 8, opset_import: ["" : 17]>
        net (float[{size}] x) => (float[{size}] y) {{ a = Exp(x)  y = Neg(a) }}"""
        onnx.save(onnx.parser.parse_model(text), tmp_path / f"{name}.onnx")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_models_by_name(folder: Path) -> None:
    done = ccml("link", "first=one.onnx", "second=one.onnx", "-t", "arm", "--name", "both", "--json")
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    assert content["name"] == "both" and list(content["reports"]) == ["first", "second"]
    written = {path.name for path in (folder / "both_cortex-m4").iterdir()}
    assert {"both.h", "first.h", "second.h", "libboth.a"} <= written


def test_models_of_the_project(folder: Path) -> None:
    """With options of their own; paths are relative to the file."""
    (folder / "project").mkdir()
    (folder / "project" / "ccml.toml").write_text(
        '[compile]\ntarget = "arm"\n[models.one]\nfile = "../one.onnx"\n'
        '[models.many]\nfile = "../two.onnx"\ndims = { N = 3 }\n'
    )
    done = ccml("link", "--config", "project/ccml.toml", "--emit", "c", "-o", "out")
    assert done.exit_code == 0, done.output
    assert "one_many: one, many" in done.stdout
    assert "#define MANY_X_ELEMENTS 3" in (folder / "out" / "many.h").read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[models.one]\nfile = 3\n[models.two]\n", "models.one.file has to name a file"),
        ('[models.one]\nfle = "one.onnx"\n', "did you mean 'file'?"),
        ('[models.one]\nfile = "one.onnx"\ndims = { N = "x" }\n[models.two]\n', "models.one.dims.N has a value"),
        ("models = 3", "'models' is not a table"),
        ('[models.one]\nfile = "one.onnx"\n', "give two models or more"),
    ],
)
def test_faults_of_the_file(text: str, said: str, folder: Path) -> None:
    (folder / "ccml.toml").write_text(text)
    done = ccml("link", "-t", "arm", "-o", "out")
    assert done.exit_code in (1, 2) and said in done.stderr, done.output
    assert not (folder / "out").exists()


def test_one_model(folder: Path) -> None:
    done = ccml("link", "one.onnx", "-t", "arm")
    assert done.exit_code == 2 and "two models or more" in done.stderr
