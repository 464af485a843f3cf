"""The group: help, version, exit codes, and how errors are shown."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ccml as package
import numpy as np
import pytest
from ccml.cli import run as run_command
from ccml.errors import CcmlError, ErrorCode

from tests.cli.command_line import DIGITS, ccml

HEAVY = ("numpy", "onnx", "llvmlite", "pycparser")
UNUSED = ("onnx.reference", "jinja2", "ccml.frontend_tflite.translate")
"""What a compilation does not need: references for verification, templates of packages, another format's operators."""
GENERATING = ("llvmlite", "pycparser", "ccml.blocks", "ccml.schedule.lower", "ccml.targets")
"""What code for a target is generated with."""


def test_help_lists_every_command() -> None:
    result = ccml("--help")
    assert result.exit_code == 0
    for name in ("compile", "run", "quantize", "verify", "inspect", "targets", "ops", "doctor"):
        assert f"\n  {name} " in result.stdout


@pytest.mark.parametrize("name", ["compile", "run", "quantize", "verify", "inspect", "targets", "ops", "doctor"])
def test_every_command_has_help(name: str) -> None:
    result = ccml(name, "--help")
    assert result.exit_code == 0
    assert "--json" in result.stdout


def test_version() -> None:
    assert ccml("--version").stdout == f"ccml {package.__version__}\n"


def test_help_does_not_load_the_compiler() -> None:
    code = (
        "import sys\n"
        "from ccml.cli.main import cli\n"
        "cli.main(['--help'], standalone_mode=False)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_a_compilation_loads_what_it_needs(tmp_path: Path) -> None:
    words = ["compile", str(DIGITS), "-t", "generic", "--emit", "c", "-o", str(tmp_path / "out"), "-q"]
    code = (
        "import sys\n"
        "from ccml.cli.main import cli\n"
        f"cli.main({words!r}, standalone_mode=False)\n"
        f"print([name for name in {UNUSED!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_reading_and_quantizing_load_no_generators_of_code() -> None:
    code = (
        "import sys, ccml.driver, ccml.quantization\n"
        f"print([name for name in {GENERATING!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_command_quantize_loads_no_generators_of_code(tmp_path: Path) -> None:
    samples = tmp_path / "samples.npy"
    np.save(samples, np.random.default_rng(0).random((6, 1, 8, 8), np.float32))
    words = ["quantize", str(DIGITS), "--calibration", str(samples), "-q"]
    code = (
        "import sys\n"
        "from ccml.cli.main import cli\n"
        f"cli.main({words!r}, standalone_mode=False)\n"
        f"print([name for name in {GENERATING!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.endswith("[]\n")


def test_module_runs_as_a_script() -> None:
    done = subprocess.run([sys.executable, "-m", "ccml", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ccml ")


def test_shell_completion_knows_targets() -> None:
    words = "ccml compile --target cortex-m5"
    environment = {"_CCML_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "3"}
    done = subprocess.run(
        [sys.executable, "-c", "from ccml.cli.main import main; main()"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "plain,cortex-m55\n"


def test_an_unknown_command_is_a_usage_error() -> None:
    assert ccml("compose").exit_code == 2


def test_errors_have_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, "no such thing", loc="node_7", hint="another thing")

    monkeypatch.setattr("ccml.api.load", refuse)
    result = ccml("run", DIGITS)
    assert result.exit_code == 3
    assert result.stderr == "error: [E106] node_7: no such thing\n  hint: another thing\n"


def test_internal_errors_ask_for_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("ccml.api.load", crash)
    result = ccml("run", DIGITS)
    assert result.exit_code == 1
    assert result.stderr.startswith("internal error: ZeroDivisionError: oops\n")
    assert "please report" in result.stderr
    assert "Traceback" not in result.stderr
    assert "Traceback" in ccml("run", DIGITS, "--debug").stderr
    assert "Traceback" in ccml("--debug", "run", DIGITS).stderr
    assert "Traceback" not in ccml("run", DIGITS).stderr


def test_commands_import_the_compiler_when_they_run() -> None:
    assert not hasattr(run_command, "api")


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m ccml ops | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("operator")
    assert done.stderr == ""
