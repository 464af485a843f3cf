"""``ccml targets``, ``ccml ops`` and ``ccml doctor``."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from ccml.ops.table import OPS
from ccml.targets import TARGETS

from tests.cli.command_line import ccml

ROOT = Path(__file__).resolve().parents[2]


def test_targets() -> None:
    text = ccml("targets").stdout
    for target in TARGETS:
        assert f"\n{target.name} " in text
    content = {entry["name"]: entry for entry in json.loads(ccml("targets", "--json").stdout)["targets"]}
    assert set(content) == {target.name for target in TARGETS}
    assert [abi["name"] for abi in content["android"]["abis"]] == ["arm64-v8a", "armeabi-v7a", "x86_64", "x86"]
    assert content["cortex-m4"]["aliases"][0] == "arm"


def test_onnx_operators() -> None:
    assert "\nConv " in ccml("ops").stdout
    content = {entry["operator"]: entry for entry in json.loads(ccml("ops", "--json").stdout)["operators"]}
    assert content["Conv"]["by"] == "rule"
    assert 11 in content["Conv"]["versions"]
    assert content["Conv"]["types"] == ["f32", "f64", "f16", "bf16"]
    assert content["Not"]["types"] == ["bool"] and "f8e5m2" in content["Cast"]["types"]


def test_operators_of_tensorflow_lite() -> None:
    listed = json.loads(ccml("ops", "--tflite", "--json").stdout)["operators"]
    content = {entry["operator"]: entry["conditions"] for entry in listed}
    assert content["SLICE"] == "constant begin and size" and content["ADD"] == ""
    assert ccml("ops", "--tflite", "--core").exit_code == 2


def test_core_operators() -> None:
    content = json.loads(ccml("ops", "--core", "--json").stdout)["operators"]
    assert [entry["operator"] for entry in content] == [op.name for op in OPS.values()]
    attributes = {entry["operator"]: entry["attributes"] for entry in content}
    assert attributes["softmax"] == ["axis: int >= 0"] and attributes["relu"] == []


@pytest.mark.parametrize(("options", "columns"), [((), 4), (("--core",), 4), (("--tflite",), 2)])
def test_markdown_tables_are_regular(options: tuple[str, ...], columns: int) -> None:
    lines = ccml("ops", "--markdown", *options).stdout.splitlines()
    assert lines[1] == "| " + " | ".join(["---"] * columns) + " |"
    assert {line.replace("\\|", "").count("|") for line in lines} == {columns + 1}


def test_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    result = ccml("doctor")
    assert result.exit_code == 0
    assert "apt install gcc-arm-none-eabi" in result.stdout
    content = json.loads(ccml("doctor", "--json").stdout)
    assert {"ccml", "LLVM", "this machine"} <= content["facts"].keys()
    assert {tool["command"]: tool["version"] for tool in content["tools"]}["gcc"] is None


def test_doctor_names_every_extra_and_no_tool_twice() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    tools = json.loads(ccml("doctor", "--json").stdout)["tools"]
    said = " ".join(tool["install"] for tool in tools)
    assert [extra for extra in extras if f"ccml[{extra}]" not in said] == []
    commands = [tool["command"] for tool in tools]
    assert len(commands) == len(set(commands))


def test_doctor_finds_the_linker_of_a_python_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not on the path."""
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr("importlib.metadata.version", lambda name: {"ziglang": "0.14.1"}.get(name, "1.0"))
    tools = {tool["command"]: tool["version"] for tool in json.loads(ccml("doctor", "--json").stdout)["tools"]}
    assert tools["zig"] == "0.14.1" and tools["lld-link"] is None


def test_doctor_asks_for_versions() -> None:
    tools = {tool["command"]: tool["version"] for tool in json.loads(ccml("doctor", "--json").stdout)["tools"]}
    assert tools["make"] is None or tools["make"][0].isdigit()
