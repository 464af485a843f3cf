"""``ccml new``: a file in which every key stands, and which ccml reads."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from ccml.cli.config import SECTIONS
from ccml.cli.main import cli
from ccml.cli.new import config_text
from click import Context
from onnx import helper

from tests.cli.command_line import ccml, save_model, small_model


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_key_is_there_as_a_comment(folder: Path) -> None:
    assert ccml("new").exit_code == 0
    text = (folder / "ccml.toml").read_text()
    assert set(tomllib.loads(text)) == set(SECTIONS)
    assert not any(tomllib.loads(text).values())
    for section, keys in SECTIONS.items():
        part = text.partition(f"\n[{section}]\n")[2].partition("\n[")[0]
        assert re.findall(r"^# ([a-z-]+) = ", part, re.MULTILINE)[: len(keys)] == list(keys)
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("full", [f"{section}.{key}" for section, keys in SECTIONS.items() for key in keys])
def test_what_the_comments_say_is_accepted(folder: Path, full: str) -> None:
    """Each line on its own, without its '#', sets its option."""
    section, _, key = full.partition(".")
    part = config_text({}).partition(f"\n[{section}]\n")[2].partition("\n[")[0]
    line = next(line for line in part.splitlines() if line.startswith(f"# {key} = "))
    (folder / "one.toml").write_text(f"[{section}]\n{line[2:]}\n")
    name = SECTIONS[section][key].command or ("quantize" if section == "quantize" else "compile")
    words = ["m.onnx", "--config", "one.toml", *(["-t", "arm"] if name == "compile" else [])]
    context = cli.commands[name].make_context(name, words, parent=Context(cli, **cli.context_settings))
    assert SECTIONS[section][key].parameter in (context.default_map or {})


def test_a_model_fills_in_what_is_known(folder: Path) -> None:
    save_model(folder / "my-net.onnx", helper.make_node("Relu", ["x"], ["y"]), shape=("batch", 'a "b"\x7f', 3))
    assert ccml("new", "my-net.onnx", "--target", "arm").exit_code == 0
    content = tomllib.loads((folder / "ccml.toml").read_text())
    assert content["model"] == {"name": "my_net", "dims": {"batch": 1, 'a "b"\x7f': 1}}
    assert content["compile"] == {"target": "cortex-m4"}
    assert ccml("compile", "my-net.onnx", "--emit", "c").exit_code == 0
    assert (folder / "my_net_cortex-m4" / "my_net.h").is_file()


def test_a_file_that_is_there_stays(folder: Path) -> None:
    (folder / "ccml.toml").write_text("[model]\n")
    result = ccml("new")
    assert (result.exit_code, "--force" in result.stderr) == (2, True)
    assert (folder / "ccml.toml").read_text() == "[model]\n"
    assert ccml("new", "--force").exit_code == 0
    assert "[quantize]" in (folder / "ccml.toml").read_text()


def test_it_needs_a_folder_and_a_known_target(folder: Path) -> None:
    assert "[E204]" in ccml("new", "-o", "none/ccml.toml").stderr
    assert "[E202]" in ccml("new", "-t", "cortex-m99").stderr
    assert not (folder / "ccml.toml").exists()
    small_model(folder / "m.onnx")
    assert ccml("new", "m.onnx", "-o", "other.toml").exit_code == 0
    assert "dims" not in tomllib.loads((folder / "other.toml").read_text())["model"]
