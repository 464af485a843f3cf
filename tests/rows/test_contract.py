"""What a caller is told of an input by rows, and what happens where a row fails."""

from __future__ import annotations

import ctypes
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from ccml import ModelOptions
from ccml.api import compile as compile_model
from ccml.driver import compile_model as compile_program
from ccml.driver import find_machine
from ccml.emit_llvm.jit import JitModel
from ccml.emit_llvm.rows import Row, RowSource
from ccml.ir.program import ARENA
from ccml.program.goal import Goal, Optimize

from tests.cli.command_line import ccml
from tests.rows.networks import save_flat, save_image
from tests.tools import needs

ROWS = ModelOptions(rows=("",))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save_image(tmp_path / "cam.onnx")


def test_the_header_says_what_a_row_is(model: Path, tmp_path: Path) -> None:
    compile_model(model, "cortex-m4", tmp_path / "out", emit=["c"], options=ROWS)
    text = (tmp_path / "out" / "cam.h").read_text()
    assert "row number row is [:, :, row, :], f32[1, 3, 10], row-major" in text
    assert "#define CAM_IMAGE_ROWS 12" in text and "#define CAM_IMAGE_ROW_ELEMENTS 30" in text
    assert "int (*row)(void *context, size_t row, float *to);" in text
    assert "int cam_run(void *arena, const cam_rows *image, float *scores);" in text
    assert "CAM_IMAGE_OFFSET" not in text and "CAM_ERROR_ROWS 9" in text


def test_the_report_says_so(model: Path, tmp_path: Path) -> None:
    result = ccml("compile", model, "-t", "cortex-m4", "--emit", "c", "--input", "rows", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["options"]["rows"] == ["image"]
    assert [tensor["row_axis"] for tensor in (*report["inputs"], *report["outputs"])] == [2, None]
    assert "image" not in [place["tensor"] for place in report["memory"]]


def test_the_input_takes_no_memory(tmp_path: Path) -> None:
    model = save_image(tmp_path / "tall.onnx", 64)
    machine, goal = find_machine("cortex-m4"), Goal(optimize=Optimize.RAM)
    whole = compile_program(model, machine, goal=goal).program
    by_rows = compile_program(model, machine, ROWS, goal=goal).program
    assert whole.plan.ram > whole.inputs[0].type.nbytes == 7680
    assert by_rows.plan.ram < whole.plan.ram - 7680 / 2
    assert by_rows.plan.pools[0].name == ARENA and "image" not in by_rows.plan.places


def run_with(model: JitModel, function: object) -> int:
    """What the run function returns, with ``function`` for the rows."""
    program = model.program
    arena = ctypes.create_string_buffer(program.plan.pools[0].size + 64)
    source = RowSource(function, None)
    scores = (ctypes.c_float * 4)()
    start = ctypes.addressof(arena) + -ctypes.addressof(arena) % 64
    return int(model._run(start, ctypes.addressof(source), ctypes.addressof(scores)))


def test_rows_come_once_each_in_order_and_an_error_ends_the_run(model: Path) -> None:
    compiled = JitModel(compile_program(model, find_machine("x86", cpu="native"), ROWS).program)
    asked: list[int] = []

    def bring(_context: int | None, row: int, to: int) -> int:
        asked.append(row)
        ctypes.memset(to, 0, 4 * 30)
        return int(row == failing)

    failing = -1
    assert run_with(compiled, Row(bring)) == 0 and asked == list(range(12))
    failing = 5
    asked.clear()
    assert run_with(compiled, Row(bring)) == 9 and asked == list(range(6))


def test_no_function_is_an_error(model: Path) -> None:
    compiled = JitModel(compile_program(model, find_machine("x86", cpu="native"), ROWS).program)
    assert run_with(compiled, ctypes.cast(None, Row)) == 1


MAIN = """
#include "cam.h"

static unsigned char arena[CAM_ARENA_SIZE + CAM_ARENA_ALIGN];

static int bring(void *context, size_t row, float *to)
{
  for (int i = 0; i < CAM_IMAGE_ROW_ELEMENTS; i++) {
    to[i] = 1.0f;
  }
  return row == *(size_t *)context;
}

int main(void)
{
  float scores[CAM_SCORES_ELEMENTS];
  size_t failing = 99;
  cam_rows image = {bring, &failing};
  unsigned char *memory = arena + (CAM_ARENA_ALIGN - (uintptr_t)arena % CAM_ARENA_ALIGN) % CAM_ARENA_ALIGN;
  if (cam_run(memory, &image, scores) != CAM_OK) return 1;
  failing = 0;
  if (cam_run(memory, &image, scores) != CAM_ERROR_ROWS) return 2;
  failing = 11;
  if (cam_run(memory, &image, scores) != CAM_ERROR_ROWS) return 3;
  image.row = NULL;
  if (cam_run(memory, &image, scores) != CAM_ERROR_NULL) return 4;
  return cam_run(memory, NULL, scores) == CAM_ERROR_NULL ? 0 : 5;
}
"""


@needs("gcc")
@pytest.mark.parametrize("files", ["*.c", "*.a"])
def test_errors_of_c_and_of_the_library(files: str, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    compile_model(model, "x86", out, cpu="native", options=ROWS)
    (tmp_path / "main.c").write_text(MAIN)
    built = ["gcc", "-O1", "-I", out, tmp_path / "main.c", *sorted(out.glob(files)), "-o", tmp_path / "main"]
    subprocess.run([*map(str, built)], check=True)
    assert subprocess.run([str(tmp_path / "main")], check=False).returncode == 0


def test_verify_and_run_take_the_array(model: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", image=np.random.default_rng(0).random((1, 3, 12, 10), np.float32))
    result = ccml("verify", model, "--input", "rows", "--input", tmp_path / "in.npz")
    assert result.exit_code == 0, result.stderr
    outputs = []
    for more in ([], ["--input", "image=rows"]):
        result = ccml("run", model, "-i", tmp_path / "in.npz", *more, "-o", tmp_path / "out.npz")
        assert result.exit_code == 0, result.stderr
        outputs.append(np.load(tmp_path / "out.npz")["scores"])
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-5)


@pytest.mark.parametrize(("arguments", "reason"), [
    (["--input", "picture=rows"], "no input 'picture'"),
    (["--input", "rows", "--threads", "2"], "with --threads"),
    (["--input", "rows", "--slices"], "with --slices"),
    (["--input", "rows", "--bindings", "rust"], "with --bindings rust"),
    (["--input", "rows", "--target", "android", "--package", "aar"], "with --package aar"),
    (["--input", "rows", "--target", "wasm"], "with --target wasm32"),
])  # fmt: skip
def test_what_rows_do_not_go_with(arguments: list[str], reason: str, model: Path, tmp_path: Path) -> None:
    result = ccml("compile", model, "-t", "x86", "-o", tmp_path / "out", *arguments)
    assert result.exit_code == 2 and "[E203]" in result.stderr and "hint: " in result.stderr
    assert reason in result.stderr and max(map(len, result.stderr.splitlines())) <= 80


def test_a_layer_that_needs_the_whole_input_is_named(tmp_path: Path) -> None:
    result = ccml("compile", save_flat(tmp_path / "flat.onnx"), "-t", "x86", "--input", "rows", "-o", tmp_path / "out")
    assert result.exit_code == 2 and "[E203] x: --input rows" in result.stderr
    assert "classify" in result.stderr and max(map(len, result.stderr.splitlines())) <= 80


def test_counted_runs_have_their_inputs_in_memory(model: Path) -> None:
    result = ccml("profile", model, "-t", "cortex-m4", "--input", "rows")
    assert result.exit_code == 2 and "a counted run has its inputs in memory" in result.stderr
