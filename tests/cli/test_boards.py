"""Boards and budgets on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from tests.cli.command_line import DIGITS, ccml, save_model


def test_boards_lists_them() -> None:
    done = ccml("boards")
    assert done.exit_code == 0 and "nucleo-f446re" in done.stdout and "64 ccm + 128 sram" in done.stdout
    boards = {board["name"]: board for board in json.loads(ccml("boards", "--json").stdout)["boards"]}
    assert boards["bluepill"]["clock"] == 72_000_000 and boards["bluepill"]["ram"][0]["region"]["size"] == 20 << 10


def test_a_model_that_fits_says_how_well(tmp_path: Path) -> None:
    done = ccml("compile", DIGITS, "--board", "nucleo-f446re", "--max-time", "100ms", "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("fits "))
    assert "flash" in line and "RAM with stack" in line and "at 180 MHz and zero wait states, the flash has 5" in line
    assert json.loads((tmp_path / "out" / "report.json").read_text())["target"]["name"] == "cortex-m4"


def wide_model(path: Path) -> Path:
    """Two layers with 48 KiB of weights each, which are a quarter of that in 8 bits."""
    weights = np.random.default_rng(0).standard_normal((64, 192)).astype(np.float32)
    back = np.random.default_rng(1).standard_normal((192, 64)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["t"]),
        helper.make_node("Relu", ["t"], ["r"]),
        helper.make_node("MatMul", ["r", "v"], ["y"]),
    ]
    return save_model(path, *nodes, shape=(1, 64), w=weights, v=back)


def test_what_does_not_fit_is_told_with_options_that_were_tried(tmp_path: Path) -> None:
    model = wide_model(tmp_path / "wide.onnx")
    done = ccml("compile", model, "-t", "cortex-m4", "--max-flash", "40KiB", "-o", tmp_path / "out")
    assert done.exit_code == 5
    assert "the model does not fit the budget: flash " in done.stderr and "of 40,960 bytes" in done.stderr
    assert "hint: it fits with --quantize int8 --calibration FILE: flash " in done.stderr
    assert "; with --activations int16 as well, which is closer to the float model" in done.stderr
    assert not (tmp_path / "out").exists()


def test_weights_of_four_bits_where_eight_are_too_many(tmp_path: Path) -> None:
    """24 KiB in 8 bits do not fit beside the code."""
    model = wide_model(tmp_path / "wide.onnx")
    done = ccml("compile", model, "-t", "cortex-m4", "--max-flash", "20KiB", "-o", tmp_path / "out")
    assert done.exit_code == 5 and "hint: it fits with --quantize weights4 --optimize size: flash " in done.stderr


def test_integers_outside_where_a_float_image_is_too_large(tmp_path: Path) -> None:
    """An image of 108 KiB in floats, of 27 KiB in bytes, on a board with 96 KiB; the hint does what it says."""
    filters = np.random.default_rng(0).standard_normal((4, 3, 4, 4)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["t"], strides=[4, 4]),
        helper.make_node("GlobalAveragePool", ["t"], ["y"]),
    ]
    model = save_model(tmp_path / "net.onnx", *nodes, shape=(1, 3, 96, 96), w=filters)
    given = ["compile", model, "--board", "nucleo-f401re", "-o", tmp_path / "out", "--emit", "obj"]
    done = ccml(*given)
    assert done.exit_code == 5
    (options,) = re.findall(r"hint: it fits with (.*?) --calibration FILE: flash", done.stderr)
    assert options == "--quantize int8 --io int8"
    np.savez(tmp_path / "typical.npz", x=np.random.default_rng(2).standard_normal((8, 3, 96, 96)).astype(np.float32))
    done = ccml(*given, *options.split(), "--calibration", tmp_path / "typical.npz")
    assert done.exit_code == 0, done.stderr


def test_what_fits_closely_depends_on_data(tmp_path: Path) -> None:
    """Within a few per cent of the limit, with random data."""
    model = wide_model(tmp_path / "wide.onnx")
    given = ["compile", model, "-t", "cortex-m4", "--clock", "80MHz", "-o", tmp_path / "out", "--max-time"]
    (took,) = re.findall(r"closest is .* --calibration FILE: time ([.0-9]+) of", ccml(*given, "100us").stderr)
    hint = ccml(*given, f"{1010 * float(took):.0f}us").stderr
    assert "hint: perhaps with --quantize int8 " in hint and f"which depends on the data: time {took} of" in hint


def test_where_nothing_helps_the_closest_is_named(tmp_path: Path) -> None:
    model = wide_model(tmp_path / "wide.onnx")
    done = ccml("compile", model, "-t", "cortex-m4", "--max-flash", "4KiB", "-o", tmp_path / "out")
    assert done.exit_code == 5 and "nor with other options; closest is --quantize weights4" in done.stderr


def test_convolutions_of_four_bits_where_eight_are_too_many(tmp_path: Path) -> None:
    """36 KiB of weights in 8 bits, which 4 bits hold as well."""
    rng = np.random.default_rng(0)
    filters = [rng.integers(-7, 8, (64, 64, 3, 1)).astype(np.float32) / 16 for _ in range(3)]
    nodes = [helper.make_node("Conv", [f"t{n}", f"w{n}"], [f"t{n + 1}"]) for n in range(3)]
    nodes[0].input[0], nodes[-1].output[0] = "x", "y"
    model = save_model(tmp_path / "net.onnx", *nodes, shape=(1, 64, 10, 2), w0=filters[0], w1=filters[1], w2=filters[2])
    done = ccml("compile", model, "-t", "cortex-m4", "--max-flash", "32KiB", "-o", tmp_path / "out")
    said = "hint: it fits with --quantize int8 --weight-bits 4 --calibration FILE: flash "
    assert done.exit_code == 5 and said in done.stderr, done.stderr


@pytest.mark.parametrize(
    "options, said",
    [
        (["-t", "arm", "--max-time", "20ms"], "the clock of the core is not known"),
        (["-t", "cortex-m7", "--max-time", "20ms", "--clock", "216MHz"], "no cycles are known well enough"),
        (["--board", "teensy"], "did you mean teensy-4.1?"),
        (["--board", "microbit", "-t", "arm"], "the board microbit is no arm"),
        (["-t", "arm", "--max-time", "soon"], "'soon' is no time such as 20ms"),
        (["-t", "arm", "--clock", "fast"], "'fast' is no clock such as 80MHz"),
        ([], "missing option '-t' / '--target', or '--board'"),
    ],
)
def test_limits_that_mean_nothing(tmp_path: Path, options: list[str], said: str) -> None:
    model = wide_model(tmp_path / "wide.onnx")
    done = ccml("compile", model, *options, "-o", tmp_path / "out")
    assert done.exit_code == 2 and said in done.stderr


def test_the_options_of_a_project_may_name_a_board(tmp_path: Path) -> None:
    model = wide_model(tmp_path / "wide.onnx")
    (tmp_path / "ccml.toml").write_text('[compile]\nboard = "nucleo-f401re"\nmax-time = "10ms"\nclock = "84MHz"\n')
    done = ccml("compile", model, "--config", tmp_path / "ccml.toml", "-o", tmp_path / "out")
    assert done.exit_code == 0 and "ms at 84 MHz" in done.stdout, done.output


def test_a_package_for_a_board_has_its_memory(tmp_path: Path) -> None:
    model = wide_model(tmp_path / "wide.onnx")
    done = ccml("compile", model, "--board", "nucleo-f401re", "--package", "make", "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    script = (tmp_path / "out" / "make" / "wide" / "check" / "linker.ld").read_text()
    assert "VECTORS (rx) : ORIGIN = 0x08000000" in script
    assert "RAM (rw) : ORIGIN = 0x20000000, LENGTH = 0x18000" in script


def attention(path: Path) -> Path:
    """Three matrices of 56 KiB at the same time, none of which a row is enough of."""
    weights = np.random.default_rng(0).standard_normal((120, 120)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["q"]),
        helper.make_node("Transpose", ["q"], ["t"], perm=[1, 0]),
        helper.make_node("Softmax", ["q"], ["s"], axis=0),
        helper.make_node("MatMul", ["s", "t"], ["z"]),
        helper.make_node("ReduceMean", ["z"], ["y"], axes=[1], keepdims=0),
    ]
    return save_model(path, *nodes, shape=(120, 120), w=weights)


def test_long_times_are_whole_milliseconds(tmp_path: Path) -> None:
    model = wide_model(tmp_path / "wide.onnx")
    done = ccml("compile", model, "-t", "cortex-m4", "--max-time", "1us", "--clock", "50kHz", "-o", tmp_path / "out")
    assert re.search(r"the budget: time \d,\d\d\d of 0.001 ms", done.stderr), done.stderr


def test_blocks_of_ram_as_pools_where_one_is_too_small(tmp_path: Path) -> None:
    """With room for the stack, which is in the largest; the options that are named do what is said of them."""
    model = attention(tmp_path / "net.onnx")
    given = ["compile", model, "--board", "stm32f4-discovery", "-o", tmp_path / "out", "--emit", "obj"]
    done = ccml(*given)
    assert done.exit_code == 5 and "RAM with stack" in done.stderr
    (options,) = re.findall(r"hint: it fits with (.*?):", done.stderr)
    assert options == "--pool ccm=64KiB --pool sram=124KiB"
    assert re.search(r"; ccm [\d,]+ of 65,536 bytes; sram with stack [\d,]+ of 131,072 bytes", done.stderr)
    done = ccml(*given, *options.split())
    assert done.exit_code == 0, done.stderr
    assert re.search(r"^fits .*ccm \d+ %; sram with stack \d+ %", done.stdout, re.MULTILINE)
    totals = json.loads((tmp_path / "out" / "report.json").read_text())["totals"]
    used = {pool["name"]: pool["ram_bytes"] for pool in totals["pools"]}
    assert 0 < used["ccm"] <= 64 << 10 and 0 < used["sram"] + totals["stack_bytes"] <= 128 << 10


def test_pools_that_leave_the_stack_no_room_do_not_fit(tmp_path: Path) -> None:
    nodes = [helper.make_node("Softmax", ["x"], ["s"], axis=0), helper.make_node("Exp", ["s"], ["y"])]
    model = save_model(tmp_path / "net.onnx", *nodes, shape=(2, 16380))
    done = ccml("compile", model, "--board", "stm32f4-discovery", "--pool", "sram=128KiB", "-o", tmp_path / "out")
    assert done.exit_code == 5 and re.search(r"does not fit .*: sram with stack 131,\d+ of 131,072", done.stderr)


def test_sixteen_bits_where_they_fit_as_the_hint_says(tmp_path: Path) -> None:
    model = wide_model(tmp_path / "wide.onnx")
    np.savez(tmp_path / "typical.npz", x=np.random.default_rng(2).standard_normal((8, 1, 64)).astype(np.float32))
    given = ["compile", model, "-t", "cortex-m4", "--max-flash", "40KiB", "-o", tmp_path / "out"]
    done = ccml(*given)
    (options,) = re.findall(r"hint: it fits with (.*?) --calibration FILE: .*; with --activations int16", done.stderr)
    done = ccml(*given, *options.split(), "--calibration", tmp_path / "typical.npz", "--activations", "int16")
    assert done.exit_code == 0, done.stderr
    assert json.loads((tmp_path / "out" / "report.json").read_text())["totals"]["flash_bytes"] <= 40 << 10
