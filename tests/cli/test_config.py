"""``ccml.toml``: found, checked, and overridden by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from ccml.cli.config import SECTIONS
from ccml.cli.main import cli
from onnx import helper

from tests.cli.command_line import ccml, save_model, small_model


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with ``relu.onnx``."""
    monkeypatch.chdir(tmp_path)
    small_model(tmp_path / "relu.onnx")
    return tmp_path


def write(folder: Path, text: str, name: str = "ccml.toml") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def compiled(*options: object) -> dict[str, object]:
    result = ccml("compile", "relu.onnx", "--json", *options)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def refused(folder: Path, text: str, *command: object) -> str:
    write(folder, text)
    result = ccml(*(command or ("compile", "relu.onnx", "--target", "generic")))
    assert result.exit_code == 2, result.stdout
    assert "Traceback" not in result.stderr
    return result.stderr


def test_the_file_of_the_current_folder(folder: Path) -> None:
    write(folder, '[model]\nname = "net"\n[compile]\ntarget = "arm"\nemit = ["c", "asm"]\noutput = "build"\n')
    report = compiled()
    assert (report["model"]["name"], report["target"]["name"]) == ("net", "cortex-m4")
    assert (report["options"]["emit"], (folder / "build" / "net.s").is_file()) == (["asm", "c"], True)


def test_the_command_line_counts_more(folder: Path) -> None:
    write(folder, '[model]\nname = "net"\n[compile]\ntarget = "arm"\nemit = "c"\n')
    report = compiled("--target", "cortex-m0", "--name", "other", "-o", "out")
    assert (report["model"]["name"], report["target"]["name"]) == ("other", "cortex-m0")
    assert report["options"]["emit"] == ["c"]


def test_another_file_and_paths_relative_to_it(folder: Path) -> None:
    path = write(folder, '[compile]\ntarget = "arm"\nemit = "c"\noutput = "out"\n', "project/options.toml")
    compiled("--config", path)
    assert (folder / "project" / "out" / "relu.h").is_file()


def test_dimensions_are_joined_by_name(folder: Path) -> None:
    save_model(folder / "relu.onnx", helper.make_node("Relu", ["x"], ["y"]), shape=("batch", "steps"))
    write(folder, '[model]\ndims = { batch = 2, steps = 3 }\n[compile]\ntarget = "generic"\nemit = "c"\n')
    assert compiled()["inputs"][0]["shape"] == [2, 3]
    assert compiled("--dim", "steps=5")["inputs"][0]["shape"] == [2, 5]
    assert json.loads(ccml("run", "relu.onnx", "--json").stdout)["outputs"][0]["shape"] == [2, 3]


def test_shapes(folder: Path) -> None:
    save_model(folder / "relu.onnx", helper.make_node("Relu", ["x"], ["y"]), shape=("batch", "steps"))
    write(folder, "[model]\nshapes = { x = [4, 5] }\n")
    assert json.loads(ccml("run", "relu.onnx", "--json").stdout)["outputs"][0]["shape"] == [4, 5]


def test_the_output_folder_is_for_compile_only(folder: Path) -> None:
    write(folder, '[compile]\noutput = "out"\ntarget = "arm"\n')
    assert ccml("run", "relu.onnx").exit_code == 0
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[compiler]\n", ("unknown key 'compiler'", "did you mean 'compile'?")),
        ('[compile]\ntraget = "arm"\n', ("unknown key 'compile.traget'", "did you mean 'target'?")),
        ('[quantize]\nbits = 4\n', ("unknown key 'quantize.bits'", "known are calibration, ")),
        ('[quantize]\nrange = "median"\n', ("quantize.range", "median", "min-max")),
        ('[quantize]\nequalize = "perhaps"\n', ("quantize.equalize", "perhaps")),
        ('[quantize]\nmean = ["a"]\n', ("quantize.mean", "0.485,0.456,0.406")),
        ('[compile]\nemit = "elf"\n', ("compile.emit", "'elf' is none of c, obj")),
        ("[compile]\nemit = { c = true }\n", ("'compile.emit' has a value of a kind",)),
        ("[model]\ndims = { n = 0 }\n", ("model.dims", "n=0")),
        ("[model]\ndims = 3\n", ("'model.dims' is not a table",)),
        ("compile = 3\n", ("'compile' is not a table",)),
        ('[quantize.layers]\nconv = "float"\n', ("quantize.layers.\"conv\"", "is not a table")),
        ("[compile]\ntarget = arm\n", ("not TOML", "quotes")),
    ],
)
def test_mistakes_name_the_file_and_the_key(folder: Path, text: str, parts: tuple[str, ...]) -> None:
    message = refused(folder, text)
    for part in ("[E203] ccml.toml: ", *parts):
        assert part in message


def test_a_file_that_is_not_there(folder: Path) -> None:
    result = ccml("run", "relu.onnx", "--config", "no.toml")
    assert (result.exit_code, "[E203] no.toml: cannot read" in result.stderr) == (2, True)


def test_help_does_not_need_a_sound_file(folder: Path) -> None:
    write(folder, "nonsense")
    assert ccml("compile", "--help").exit_code == 0


def test_every_key_is_an_option() -> None:
    command = cli.commands["compile"]
    assert isinstance(command, click.Command)
    options = {option for parameter in command.params for option in parameter.opts}
    for keys in SECTIONS.values():
        for name, key in keys.items():
            plural = name in ("dims", "shapes", "lengths", "pools", "states", "custom-ops")
            assert f"--{name[:-1] if plural else name}" in options or key.suffix, name
            assert any(parameter.name == key.parameter for parameter in command.params), name
