"""``ccml link``: models from the command line and from ccml.toml, and what is wrong with either."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
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


def test_bindings_of_each_model_load_the_library_of_all(folder: Path) -> None:
    done = ccml("link", "first=one.onnx", "second=one.onnx", "-t", "x86", "--cpu", "native", "--name", "both",
                "--bindings", "cpp,python,rust", "-o", "out")  # fmt: skip
    assert done.exit_code == 0, done.output
    x = "np.arange(4, dtype=np.float32)"
    program = f"import first, second, numpy as np; print(*first.Model().run({x})['y'], *second.Model().run({x})['y'])"
    paths = os.pathsep.join(str(folder / "out" / "python" / name) for name in ("first", "second"))
    said = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": paths},
                          capture_output=True, text=True, check=True).stdout  # fmt: skip
    found = [float(word) for word in said.split()]
    assert found == pytest.approx([-math.exp(i) for i in range(4)] * 2)
    assert (folder / "out" / "rust" / "first" / "lib" / "libboth.a").is_file()
    assert "static=both" in (folder / "out" / "rust" / "first" / "build.rs").read_text()
    assert (folder / "out" / "second.hpp").is_file()


def test_one_page_begins_with_what_all_take(folder: Path) -> None:
    done = ccml("link", "first=one.onnx", "second=one.onnx", "-t", "arm", "--name", "both", "-o", "out",
                "--page", "both.html", "--clock", "80MHz")  # fmt: skip
    assert done.exit_code == 0, done.output
    text = (folder / "both.html").read_text(encoding="utf-8")
    flash = json.loads((folder / "out" / "report.json").read_text())["totals"]["flash_bytes"]
    assert "All of both" in text and f"{flash:,} B" in text
    assert text.index("All of both") < text.index("Each alone")
    done = ccml("page", "out", "-o", "again.html", "--clock", "80MHz")
    assert done.exit_code == 0 and (folder / "again.html").read_text(encoding="utf-8") == text


def test_a_damaged_report_of_a_library(folder: Path) -> None:
    assert ccml("link", "first=one.onnx", "second=one.onnx", "-t", "arm", "-o", "out").exit_code == 0
    report = folder / "out" / "report.json"
    content = json.loads(report.read_text())
    report.write_text(json.dumps({**content, "totals": {**content["totals"], "flash_bytes": "many"}}))
    done = ccml("page", "out")
    assert done.exit_code == 2 and "totals.flash_bytes" in done.stderr
