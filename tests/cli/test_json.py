"""--json: one document on stdout, with the version of its format, whether a command succeeds or not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ccml.cli.main import cli
from ccml.errors import CcmlError, ErrorCode

from tests.cli.command_line import DIGITS, ccml, small_model
from tests.report.page_reports import long_report

COMMANDS: dict[str, tuple[object, ...]] = {
    "compile": (DIGITS, "-t", "generic", "--emit", "c", "-o", "out"),
    "link": (f"one={DIGITS}", f"two={DIGITS}", "-t", "generic", "--emit", "c", "-o", "linked"),
    "run": (DIGITS,),
    "profile": (DIGITS,),
    "quantize": (DIGITS, "--to", "weights8"),
    "verify": (DIGITS, "--samples", 1),
    "inspect": (DIGITS,),
    "tune": (DIGITS, "-t", "riscv32", "--seconds", 1),
    "page": ("report.json",),
    "features": ("mfcc",),
    "new": (),
    "targets": (),
    "boards": (),
    "ops": (),
    "doctor": (),
}


def document(*words: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ccml(*words, "--json").stdout)
    assert found["schema"] == 1
    return found


def test_every_command_has_it() -> None:
    assert {name for name, command in cli.commands.items() if any(p.name == "as_json" for p in command.params)} == {
        *cli.commands
    }


def test_every_document_is_described_and_tried() -> None:
    """In the table of docs/cli.md, and by the test below."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    table = text.partition("\n## JSON\n")[2].partition("\n## ")[0]
    described = set(re.findall(r"^\| `([a-z]+)` \|", table, re.MULTILINE))
    assert described == set(cli.commands) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_results_have_a_schema(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.json").write_text(long_report(3).to_json())
    assert "error" not in document(name, *COMMANDS[name])


def test_several_abis_are_one_document(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.onnx")
    found = document("compile", model, "-t", "android", "--abi", "all", "--emit", "c", "-o", tmp_path / "out")
    abis = ["arm64-v8a", "armeabi-v7a", "x86_64", "x86"]
    assert [report["target"]["abi"] for report in found["reports"]] == abis
    assert {report["schema"] for report in found["reports"]} == {1}


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (("run", "nowhere.onnx"), "E101", 1),
        (("run", DIGITS, "--no-such-option"), "E203", 2),
        (("compose",), "E203", 2),
        (("compile", DIGITS, "-t", "cortex-m99"), "E202", 2),
        (("compile", DIGITS, "-t", "arm", "--max-ram", "1K", "-o", "none"), "E501", 5),
        (("page", "nowhere.json"), "E201", 2),
    ],
)
def test_errors_take_the_place_of_results(words: tuple[object, ...], code: str, exit_code: int) -> None:
    result = ccml(*words, "--json")
    error = json.loads(result.stdout)["error"]
    assert (error["code"], error["exit_code"], result.exit_code) == (code, exit_code, exit_code)
    assert error["kind"] in ErrorCode.__members__
    assert error["reason"] in result.stderr.replace("\n", " ")


def test_errors_carry_place_and_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, "no such thing", loc="node\u202e", hint="another")

    monkeypatch.setattr("ccml.api.load", refuse)
    stdout = ccml("run", DIGITS, "--json").stdout
    assert json.loads(stdout) == {
        "schema": 1,
        "error": {"code": "E106", "kind": "UNSUPPORTED_FEATURE", "exit_code": 3, "where": "node\u202e",
                  "reason": "no such thing", "hint": "another"},
    }  # fmt: skip
    assert "\u202e" not in stdout


def test_a_mismatch_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison is the document; the error is in the exit code and on stderr."""
    result = ccml("verify", DIGITS, "--samples", 1, "--tolerance", 0, "--json")
    assert result.exit_code == 4
    assert json.loads(result.stdout)["ok"] is False
    assert "[E401]" in result.stderr


def test_without_it_errors_are_no_json() -> None:
    assert ccml("run", "nowhere.onnx").stdout == ""
