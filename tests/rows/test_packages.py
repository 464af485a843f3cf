"""Packages of models whose inputs come by rows: their application brings those of its sample; and ccml.toml."""

from __future__ import annotations

from pathlib import Path

import ccml
import pytest

from tests.cli.command_line import ccml as command
from tests.packaging.run import run
from tests.rows.networks import save_image
from tests.tools import needs

FLAGS = "CFLAGS=-Werror -Wall -Wextra -Wconversion -Wshadow -Wdouble-promotion"
ROWS = ccml.ModelOptions(rows=("image",))


@needs("make")
@pytest.mark.parametrize(
    "target",
    [pytest.param("generic", marks=needs("gcc")),
     pytest.param("cortex-m4", marks=needs("arm-none-eabi-gcc", "qemu-system-arm"))],
)  # fmt: skip
def test_the_application_brings_the_rows_of_its_sample(target: str, tmp_path: Path) -> None:
    """Of three channels in front of them, which are three pieces of the sample."""
    model, out = save_image(tmp_path / "net.onnx"), tmp_path / "out"
    ccml.compile(model, target, out, packages=["make"], emit=["c"], options=ROWS)
    assert "net: the result is right" in run("make", "run", FLAGS, cwd=out / "make" / "net").splitlines()


@needs("make", "gcc")
def test_the_application_notices_rows_of_another_order(tmp_path: Path) -> None:
    model, out = save_image(tmp_path / "net.onnx"), tmp_path / "out"
    ccml.compile(model, "generic", out, packages=["make"], emit=["c"], options=ROWS)
    (check,) = out.rglob("net_check.c")
    text = check.read_text()
    assert text.count("_ROWS + row)") == 1
    check.write_text(text.replace("_ROWS + row)", "_ROWS + (row ^ 1))"))
    with pytest.raises(AssertionError, match="the result is WRONG"):
        run("make", "run", cwd=out / "make" / "net")


def test_the_file_of_a_project_says_it_for_all_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the samples of the command line."""
    save_image(tmp_path / "net.onnx")
    (tmp_path / "ccml.toml").write_text('[model]\nrows = ["image"]\n')
    monkeypatch.chdir(tmp_path)
    done = command("compile", "net.onnx", "-t", "generic", "--emit", "c", "-o", "out")
    assert done.exit_code == 0 and "NET_IMAGE_ROWS 12" in Path("out/net.h").read_text(), done.output
    done = command("run", "net.onnx", "-o", "first.npz")
    assert done.exit_code == 0, done.output
    Path("ccml.toml").write_text('[model]\nrows = ["picture"]\n')
    done = command("run", "net.onnx", "-i", "./rows.npz")
    assert done.exit_code == 2 and "no input 'picture'" in done.stderr
