"""What an application prints is read back and compared; a log is anybody's text."""

from __future__ import annotations

import re
import shutil
import zlib
from pathlib import Path

import ccml
import numpy as np
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.verification.board_log import BoardLog, parse_run, read_log
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.command_line import ccml as invoke
from tests.packaging.packages import HOSTILE_OUTPUT, Packages, make_packages
from tests.packaging.run import run
from tests.tools import needs

LINES = [
    "log 1", "model net", "program 0123456789abcdef", "sample 89abcdef", "clock 84000000 cycles", "layer 0 700",
    "layer 1 300", "run 1050", "status 0", "output 0 0000803f", "output 0 00000040", "output 1 ff",
]  # fmt: skip


def with_end(lines: list[str]) -> list[str]:
    """``lines`` with the checksum that the application appends."""
    return [*lines, f"end {zlib.crc32(''.join(f'{line}{chr(10)}' for line in lines).encode()):08x}"]


def test_a_run_says_what_was_measured() -> None:
    assert parse_run(with_end(LINES)) == BoardLog(
        model="net", program="0123456789abcdef", sample="89abcdef", hertz=84_000_000, is_cycles=True, run=1050,
        status=0, layers={0: 700, 1: 300}, outputs={0: bytes.fromhex("0000803f00000040"), 1: b"\xff"},
    )  # fmt: skip


def test_lines_are_found_among_others(tmp_path: Path) -> None:
    """Behind time stamps of a terminal, with its line ends; of several runs the last that is whole counts."""
    first, second = with_end(LINES), with_end([line.replace("1050", "2050") for line in LINES])
    text = "boot\r\n" + "".join(f"[12:00:01] ccml: {line}\r\nother\r\n" for line in first + second)
    text += "".join(f"ccml: {line}\n" for line in first[:4])
    (tmp_path / "log").write_bytes(b"\xff\x00" + text.encode())
    assert read_log(tmp_path / "log").run == 2050


@pytest.mark.parametrize("missing", range(1, len(LINES)))
def test_a_missing_line_is_noticed(missing: int) -> None:
    lines = with_end(LINES)
    with pytest.raises(ValueError, match=r"checksum|no line"):
        parse_run(lines[:missing] + lines[missing + 1 :])


@given(st.binary(max_size=400), st.integers(0, 400))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_a_log_or_an_error(noise: bytes, at: int) -> None:
    import tempfile

    text = "".join(f"ccml: {line}\n" for line in with_end(LINES)).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.write_bytes(text[:at] + noise + text[at:])
        try:
            found = read_log(path)
        except CcmlError as problem:
            assert problem.kind is ErrorCode.BAD_INPUT
        else:
            assert found == parse_run(with_end(LINES))


def test_a_log_that_is_not_there_or_holds_nothing(tmp_path: Path) -> None:
    with pytest.raises(CcmlError, match="cannot read the file"):
        read_log(tmp_path / "none")
    (tmp_path / "empty").write_text("hello\n")
    with pytest.raises(CcmlError, match="no complete run: no line with 'ccml: log'"):
        read_log(tmp_path / "empty")


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    return make_packages(tmp_path_factory.mktemp("arm"), "cortex-m0plus", ("make",))


@pytest.fixture(scope="module")
def log(arm: Packages, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the application prints on an emulated board, whose SysTick counts."""
    if not all(map(shutil.which, ("make", "arm-none-eabi-gcc", "qemu-system-arm"))):
        pytest.skip("needs make, arm-none-eabi-gcc, qemu-system-arm")
    path = tmp_path_factory.mktemp("log") / "log.txt"
    path.write_text(run("make", "run", cwd=arm / "make"))
    return path


def arguments(arm: Packages, log: Path) -> list[str]:
    folder = arm.folder.parent
    return [
        "verify", str(folder / "net.onnx"), "--target", "cortex-m0plus", "--input", str(folder / "sample.npz"),
        "--from-log", str(log),
    ]  # fmt: skip


def test_verify_compares_the_board_with_this_machine(arm: Packages, log: Path) -> None:
    done = invoke(*arguments(arm, log))
    assert done.exit_code == 0, done.output
    assert re.search(r"class +1 +0\.00e\+00", done.stdout) and "ok: integers equal this machine's" in done.stdout
    assert "predicted" in done.stdout


def test_layers_and_prediction_are_in_the_json(arm: Packages, log: Path) -> None:
    check = ccml.verify_log(
        arm.folder.parent / "net.onnx", log, "cortex-m0plus", file=arm.folder.parent / "sample.npz"
    )
    assert check.ok and check.is_cycles and check.predicted
    assert [row.index for row in check.layers] == list(range(len(check.layers))) and len(check.layers) >= 2
    assert 0 < sum(row.predicted or 0 for row in check.layers) <= check.predicted


def test_a_wrong_result_of_the_board_ends_with_4(arm: Packages, log: Path, tmp_path: Path) -> None:
    text = log.read_text().splitlines()
    lines = [line.removeprefix("ccml: ") for line in text if line.startswith("ccml: ") and "ccml: end" not in line]
    wrong = np.zeros(5, np.float32).tobytes().hex()
    changed = with_end([f"output 0 {wrong}" if line.startswith("output 0") else line for line in lines])
    (tmp_path / "log").write_text("".join(f"ccml: {line}\n" for line in changed))
    done = invoke(*arguments(arm, tmp_path / "log"))
    assert done.exit_code == 4 and "the board's result differs by 1.00e+00" in done.stderr
    assert HOSTILE_OUTPUT.splitlines()[0] in done.stderr


def test_another_sample_or_program_is_refused(arm: Packages, log: Path) -> None:
    words = arguments(arm, log)
    sample = words.index("--input")
    done = invoke(*words[:sample], *words[sample + 2 :])
    assert done.exit_code == 2 and "the board ran another sample" in done.stderr
    done = invoke(*words, "--optimize", "size", "--target", "cortex-m4")
    assert done.exit_code == 2 and "the board ran another program (model net)" in done.stderr


def test_a_log_needs_a_target(arm: Packages, tmp_path: Path) -> None:
    done = invoke("verify", str(arm.folder.parent / "net.onnx"), "--from-log", str(tmp_path / "log"))
    assert done.exit_code == 2 and "--from-log needs --target" in done.stderr


@needs("make", "gcc")
def test_an_error_of_the_model_is_told_by_its_name(arm: Packages, log: Path, tmp_path: Path) -> None:
    lines = [line.removeprefix("ccml: ") for line in log.read_text().splitlines() if line.startswith("ccml: ")]
    changed = with_end(["status 2" if line == "status 0" else line for line in lines if "end " not in line])
    (tmp_path / "log").write_text("".join(f"ccml: {line}\n" for line in changed))
    done = invoke(*arguments(arm, tmp_path / "log"))
    assert done.exit_code == 4 and "NET_ERROR_ALIGN" in done.stderr
