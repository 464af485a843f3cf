"""What a new user reads who gives a wrong file, a wrong name or a wrong option: the code, the reason and a way out."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import ccml as package
import click
import numpy as np
import pytest
from ccml.cli import options
from ccml.cli.main import cli
from ccml.frontend_onnx.file_kinds import FILE_KINDS
from click.testing import CliRunner
from onnx import TensorProto, helper, save

from tests.cli.command_line import DIGITS, DIGITS_TEST, ccml, small_model

X = np.ones((2, 3), np.float32)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return small_model(tmp_path / "m.onnx")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("compile",), "missing argument 'MODEL'"),
        (("compile", "m.onnx"), "missing option '-t' / '--target'"),
        (("compose",), "no such command 'compose'"),
        (("run", "m.onnx", "--inputs", "x.npz"), "'--input'"),
        (("run", "m.onnx", "more"), "unexpected extra argument"),
        (("run", "m.onnx", "--dim", "n"), "is not name=value"),
        (("run", "m.onnx", "--dim", "n=1", "--dim", "n=2"), "'n' is there twice"),
        (("run", "m.onnx", "--shape", "x=1", "--shape", "x=2"), "'x' is there twice"),
        (("verify", "m.onnx", "--samples", "0"), "not in the range"),
        (("verify", "m.onnx", "--cc", "gcc"), "--cc belongs to --backend c"),
        (("verify", "m.onnx", "--cpu", "native"), "belong to --target"),
        (("quantize", "m.onnx"), "needs --calibration DATA"),
        (("quantize", "m.onnx", "--calibration", "x.npz", "--mean", "nan"), "is not a list of numbers"),
        (("quantize", "m.onnx", "--calibration", "x.npz", "--min-sqnr", "inf"), "is not a finite number"),
        (("quantize", "m.onnx", "--calibration", "x.npz", "--percentile", "90"), "belongs to --range percentile"),
        (("verify", "m.onnx", "--tolerance", "nan"), "is not a finite number"),
        (("inspect", "m.onnx", "--kernels", "--json"), "leave out --json"),
        (("ops", "--markdown", "--json"), "exclude each other"),
        (("run", "m.onnx", "--calibration", "x.npz"), "add --quantize int8"),
    ],
)
def test_usage_errors_have_a_code_and_a_way_out(arguments: tuple[str, ...], reason: str) -> None:
    result = ccml(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: [E203] ")
    assert reason in result.stderr
    assert re.search(r"\n  hint: 'ccml( [a-z]+)? --help' lists what there is\n$", result.stderr)


def test_a_target_that_was_mistyped() -> None:
    result = ccml("compile", "m.onnx", "--target", "cortexm4")
    assert (result.exit_code, "did you mean 'cortex-m4'?" in result.stderr) == (2, True)


# ---------------------------------------------------------------- files that are written


def must_not_begin(*_: object, **__: object) -> None:
    raise AssertionError("the work has begun")


@pytest.mark.parametrize(
    ("command", "option", "wrong", "right"),
    [
        ("run", "--output", "out.csv", ".npz"),
        ("quantize", "--output", "out.tflite", ".onnx"),
        ("quantize", "--report", "out.txt", ".json"),
        ("quantize", "--chart", "out.png", ".svg"),
        ("compile", "--report", "out.txt", ".json"),
        ("compile", "--chart", "out.png", ".svg"),
    ],
)
def test_files_of_another_kind_are_refused_before_the_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str, option: str, wrong: str, right: str
) -> None:
    """And files in folders that are not there."""
    monkeypatch.setattr("ccml.driver.read_onnx", must_not_begin)
    monkeypatch.chdir(tmp_path)
    fixed: tuple[object, ...] = () if command == "run" else ("--calibration", DIGITS_TEST)
    fixed += ("--target", "arm", "--quantize", "int8") if command == "compile" else ()
    result = ccml(command, DIGITS, *fixed, option, wrong)
    assert (result.exit_code, f"out{right}" in result.stderr) == (2, True), result.stderr
    result = ccml(command, DIGITS, *fixed, option, tmp_path / "no" / f"out{right}")
    assert (result.exit_code, "[E204]" in result.stderr) == (1, True), result.stderr
    (tmp_path / f"folder{right}").mkdir()
    result = ccml(command, DIGITS, *fixed, option, tmp_path / f"folder{right}")
    assert (result.exit_code, "it is a folder" in result.stderr) == (1, True), result.stderr
    assert [path.name for path in tmp_path.iterdir()] == [f"folder{right}"]


@pytest.mark.parametrize("option", ["--output", "--dump-ir"])
def test_folders_that_cannot_be_made_are_found_before_the_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, option: str
) -> None:
    monkeypatch.setattr("ccml.driver.read_onnx", must_not_begin)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "inner" / "most"):
        result = ccml("compile", DIGITS, "--target", "arm", option, folder)
        assert (result.exit_code, "is not a folder" in result.stderr) == (1, True), result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_without_permission(monkeypatch: pytest.MonkeyPatch, model: Path, tmp_path: Path) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("tempfile.NamedTemporaryFile", refuse)
    for command in (("run", model, "--output", tmp_path / "x.npz"), ("compile", model, "-t", "m4", "-o", tmp_path)):
        result = ccml(*command)
        assert (result.exit_code, "Permission denied" in result.stderr) == (1, True)


# ---------------------------------------------------------------- files that are read


@pytest.mark.parametrize("suffix", sorted({suffix for kind in FILE_KINDS for suffix in kind.suffixes}))
def test_files_of_other_frameworks_are_known_by_name(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model{suffix}"
    path.write_bytes(bytes(range(255, 200, -1)))
    result = ccml("run", path)
    assert result.exit_code == 1
    assert "[E101]" in result.stderr
    assert "not an ONNX model but" in result.stderr
    assert "hint: " in result.stderr


@pytest.mark.parametrize(
    ("head", "converter"),
    [
        (b"\x89HDF\r\n\x1a\n" + bytes(60), "tf2onnx"),
        (b"PK\x03\x04" + bytes(60), "torch.onnx.export"),
        (b"\x93NUMPY" + bytes(60), "--input"),
    ],
)
def test_files_of_other_frameworks_are_known_by_content(tmp_path: Path, head: bytes, converter: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(head)
    assert converter in ccml("run", path).stderr


def test_a_tflite_file_that_is_none_or_damaged(tmp_path: Path) -> None:
    for name, content, reason in (
        ("m.tflite", b"\x08\x00", "[E101]"),
        ("m.tflite", b"", "the file is empty"),
        ("m.tflite", b"\x1c\x00\x00\x00TFL3" + bytes(60), "[E102]"),
        ("m.onnx", b"\xff\x00\x00\x00TFL3", "the file is damaged"),
    ):
        (tmp_path / name).write_bytes(content)
        result = ccml("run", tmp_path / name)
        assert (result.exit_code, reason in result.stderr) == (1, True), result.stderr
        assert "hint: " in result.stderr or not content
    assert "No such file" in ccml("run", tmp_path / "none.tflite").stderr


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"")
    assert "the file is empty" in ccml("run", tmp_path / "m.onnx").stderr


def test_scaling_that_would_not_take_place(tmp_path: Path) -> None:
    """Arrays are taken as they are: whoever says --scale must not believe that they were scaled."""
    result = ccml("quantize", DIGITS, "--calibration", DIGITS_TEST, "--scale", "255")
    assert (result.exit_code, "mean and scale are for images" in result.stderr) == (2, True)


def test_a_saved_model_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").write_bytes(b"")
    assert "--saved-model" in ccml("run", tmp_path).stderr


# ---------------------------------------------------------------- models that are not what they say


@pytest.mark.parametrize(
    ("element", "shape", "said"),
    [
        (TensorProto.FLOAT, (1, 5), "float[1, 5]"),
        (TensorProto.FLOAT, (4,), "float[4]"),
        (TensorProto.DOUBLE, ("n", -1), "double[n, -1]"),
        (TensorProto.FLOAT, ("m", -1), None),
        (TensorProto.FLOAT, None, None),
    ],
)
def test_outputs_that_are_declared_as_something_else(
    tmp_path: Path, element: int, shape: tuple[int | str, ...] | None, said: str | None
) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, "n"))
    y = helper.make_tensor_value_info("y", element, shape)
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "model", [x], [y])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    result = ccml("run", tmp_path / "m.onnx", "--dim", "n=4")
    assert result.exit_code == 0
    assert ("warning: " in result.stderr) == (said is not None)
    if said is not None:
        assert f"output y: the file declares {said}, but its nodes compute float[1, 4]" in result.stderr


def test_results_without_a_number_are_not_verified(model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X * np.nan)
    result = ccml("verify", model, "--input", tmp_path / "x.npy")
    assert result.exit_code == 4
    assert "[E401] y: the output holds nothing but NaN or infinities" in result.stderr
    assert "ok:" not in result.stdout
    np.save(tmp_path / "x.npy", np.stack([X * np.nan, X]))
    assert ccml("verify", model, "--input", tmp_path / "x.npy").exit_code == 0
    verified = package.verify(model, file=tmp_path / "x.npy", samples=1)
    assert (verified.ok, verified.unchecked, verified.first_layer) == (False, ("y",), None)


# ---------------------------------------------------------------- options


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_help_fits_a_narrow_terminal(name: str) -> None:
    result = CliRunner().invoke(cli, [name, "--help"], prog_name="ccml", terminal_width=80)
    assert result.exit_code == 0
    assert [line for line in result.stdout.splitlines() if len(line) > 80] == []
    listed = CliRunner().invoke(cli, ["--help"], prog_name="ccml", terminal_width=80).stdout
    assert "..." not in re.search(rf"^  {name} .*$", listed, re.MULTILINE).group()  # type: ignore[union-attr]


def test_help_says_the_defaults_of_quantization() -> None:
    """Which stand in the options of the library: the command line gives only what the user says."""
    text = " ".join(ccml("quantize", "--help").stdout.split())
    defaults = package.QuantizeOptions()
    for option, value in (
        ("--range", defaults.range_method.value),
        ("--percentile", f"{defaults.percentile:g}"),
        ("--activations", defaults.activations),
        ("--weight-bits", str(defaults.weight_bits)),
        ("--weight-scales", "per-channel" if defaults.per_channel else "per-tensor"),
        ("--no-equalize", "on" if defaults.equalize else "off"),
        ("--no-bias-correction", "on" if defaults.bias_correction else "off"),
        ("--rounding", "adaptive" if defaults.adaptive_rounding else "nearest"),
        ("--io", "int8" if defaults.integer_io else "float"),
    ):
        assert re.search(rf"{option} [^\[]*(\[[^\]]*\|[^\]]*\])?[^\[]*\[default: {re.escape(value)}\]", text), option


def test_options_that_commands_share_are_declared_once() -> None:
    """Commands with an option of a name have the same one, apart from its help and whether it is needed."""
    own = {"output", "inputs"}  # a folder, or a file of one kind or another; samples, or whose inputs come by rows
    declared: dict[str, set[tuple[object, ...]]] = {}
    for command in cli.commands.values():
        for parameter in command.params:
            if isinstance(parameter, click.Option) and parameter.name not in own:
                kind = (*parameter.opts, parameter.metavar, parameter.multiple, type(parameter.type).__name__)
                declared.setdefault(parameter.opts[-1], set()).add(kind)
    assert {name: kinds for name, kinds in declared.items() if len(kinds) > 1} == {}
    texts = [path.read_text(encoding="utf-8") for path in Path(options.__file__).parent.glob("*.py")]
    for name in sorted(declared.keys() - {"--output", "--input"}):
        assert sum(text.count(f'"{name}"') + text.count(f'"{name}/') for text in texts) <= 1, name
