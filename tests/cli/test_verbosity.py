"""What stands on stderr: notes, warnings, progress; colours, and none of it where it is not wanted."""

from __future__ import annotations

import logging
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from ccml.cli.main import cli
from ccml.cli.options import complete_abi, complete_cpu
from ccml.cli.progress import StatusLine, status_text
from click.testing import CliRunner
from onnx import helper

from tests.cli.command_line import DIGITS, ccml, save_model, small_model

ESCAPE = "\x1b["


def on_a_terminal(folder: Path, *words: object, **environment: str) -> str:
    """What ``ccml words...`` shows on a terminal of 100 columns."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "ccml", *map(str, words)], stdout=slave, stderr=slave, stdin=slave, cwd=folder,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", **environment},
    )  # fmt: skip
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    process.wait()
    os.close(master)
    return shown.decode()


def test_quiet_says_nothing(tmp_path: Path) -> None:
    model = save_model(tmp_path / "relu.onnx", helper.make_node("Relu", ["x"], ["y"]), shape=("batch", 3))
    loud = ccml("compile", model, "-t", "generic", "--emit", "c", "-o", tmp_path / "a")
    assert "warning: " in loud.stderr and "compiled in" in loud.stderr
    for words in (("-q", "compile", model), ("compile", model, "--quiet")):
        result = ccml(*words, "-t", "generic", "--emit", "c", "-o", tmp_path / "b")
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
        assert (tmp_path / "b" / "relu.h").is_file()
    assert "compiled in" in ccml("compile", model, "-t", "generic", "--emit", "c", "-o", tmp_path / "a").stderr


def test_quiet_keeps_errors_and_what_was_asked_for(tmp_path: Path) -> None:
    assert ccml("run", "nowhere.onnx", "-q").stderr.startswith("error: [E101]")
    result = ccml("run", small_model(tmp_path / "m.onnx"), "-q")
    assert result.stderr == ""
    assert "1 sample" in result.stdout


def test_colours_are_for_terminals(tmp_path: Path) -> None:
    assert ESCAPE + "31m" in on_a_terminal(tmp_path, "run", "nowhere.onnx")
    assert ESCAPE not in on_a_terminal(tmp_path, "run", "nowhere.onnx", NO_COLOR="1")
    assert ESCAPE not in on_a_terminal(tmp_path, "run", "nowhere.onnx", TERM="dumb")
    result = CliRunner().invoke(cli, ["run", "nowhere.onnx"], color=False)
    assert ESCAPE not in result.stderr


def test_progress_is_for_terminals(tmp_path: Path) -> None:
    words = ("run", DIGITS)
    assert "reading digits.onnx ..." in on_a_terminal(tmp_path, *words)
    assert "reading" not in on_a_terminal(tmp_path, *words, "-q")
    assert "reading" not in ccml(*words).stderr


@pytest.mark.parametrize(
    ("seconds", "line"),
    [(0.5, "tuning (40%) ..."), (7.9, "tuning (40%) ... 7 s"), (125, "tuning (40%) ... 2 min 5 s")],
)
def test_the_line_of_progress(seconds: float, line: str) -> None:
    assert status_text("tuning (40%)", seconds, 80) == line
    assert len(status_text("x" * 200, seconds, 80)) == 79


def test_steps_tell_their_share(capsys: pytest.CaptureFixture[str]) -> None:
    status = StatusLine()
    logger = logging.getLogger("ccml.test_of_progress")
    logger.addHandler(status)
    logger.setLevel(logging.INFO)
    logger.info("observing sample %d of %d", 2, 5, extra={"share": 0.4})
    assert capsys.readouterr().err == "observing sample 2 of 5 (40%) ..."
    logger.removeHandler(status)


def test_time_goes_on_between_steps(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ccml.cli.progress._TICK", 0.01)
    monkeypatch.setattr("ccml.cli.progress._SLOW", 0.0)
    record = logging.LogRecord("ccml", logging.INFO, "", 0, "searching", None, None)
    with StatusLine() as status:
        status.handle(record)
        time.sleep(0.2)
    assert capsys.readouterr().err.count("searching ... 0 s") > 1


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_help_has_examples(name: str) -> None:
    text = ccml(name, "--help").stdout
    assert f"\n  ccml {name}" in text
    assert "\nGeneral:\n" in text


def test_options_stand_under_their_subjects() -> None:
    text = ccml("compile", "--help").stdout
    places = [text.index(f"\n{title}:\n") for title in ("Options", "Model", "Target", "Memory and size",
                                                        "Quantization", "General")]  # fmt: skip
    assert places == sorted(places)
    for option, title in (("--dim", "Model"), ("--cpu", "Target"), ("--max-ram", "Memory and size")):
        section = text.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert option in section


def test_completion_knows_cpus_and_abis_of_the_target() -> None:
    context = click.Context(cli.commands["compile"])
    option = next(p for p in cli.commands["compile"].params if p.name == "cpu")
    context.params = {"target": "x86"}
    assert {item.value for item in complete_cpu(context, option, "x86-64-v")} >= {"x86-64-v3", "x86-64-v4"}
    assert [item.value for item in complete_cpu(context, option, "nat")] == ["native"]
    assert [item.value for item in complete_cpu(context, option, "al")] == ["all"]
    context.params = {"target": "cortex-m4"}
    assert [item.value for item in complete_cpu(context, option, "al")] == []
    context.params = {"target": "android"}
    assert {item.value for item in complete_abi(context, option, "a")} == {"arm64-v8a", "armeabi-v7a", "all"}
    context.params = {}
    assert complete_abi(context, option, "") == []
