"""``ccml quantize`` and ``--quantize``: what they write, what they print, and how they refuse."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from ccml.cli import quantize_options
from ccml.quantization.options import ACTIVATIONS, RangeMethod
from onnx import helper

from tests.cli.command_line import DIGITS, DIGITS_TEST, ccml, files_in, save_model

CALIBRATION = DIGITS.with_name("digits_calibration.npz")
LAYERS = {
    "image", "stem", "widen", "block.depthwise", "block.pointwise", "node_add", "reduce", "node_avg_pool2d", "classify",
}  # fmt: skip


INT8 = ("--calibration", CALIBRATION, "--rounding", "nearest")
"""Quick: tuning the weights takes most of the time."""


def quantized(*options: object) -> dict[str, Any]:
    result = ccml("quantize", DIGITS, *INT8, "--json", *options)
    assert result.exit_code == 0, result.stderr
    content: dict[str, Any] = json.loads(result.stdout)
    return content


@pytest.fixture
def dense(tmp_path: Path) -> Path:
    """y = relu(x @ w), [1, 8] to [1, 4]."""
    weights = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
    nodes = helper.make_node("MatMul", ["x", "w"], ["t"], name="dense"), helper.make_node("Relu", ["t"], ["y"])
    path = save_model(tmp_path / "m.onnx", *nodes, shape=(1, 8), w=weights)
    model = onnx.load(path)
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 4
    onnx.save(model, path)
    return path


def samples(count: int = 20) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((count, 8)).astype(np.float32)


# ---------------------------------------------------------------- the report


def test_the_report_of_held_out_samples() -> None:
    content = quantized()
    assert (content["calibration_samples"], content["test_samples"], content["held_out"]) == (160, 40, True)
    (output,) = content["outputs"]
    assert output["name"] == "logits"
    assert output["sqnr_db"] > 25
    assert output["top1_agreement"] >= 0.97
    layers = content["layers"]
    assert {row["layer"] for row in layers} == LAYERS
    assert [row["noise_share"] for row in layers] == sorted((row["noise_share"] for row in layers), reverse=True)
    assert sorted(row["index"] for row in layers) == list(range(len(layers)))
    assert sum(row["noise_share"] for row in layers) == pytest.approx(1, abs=1e-2)
    assert all(row["own_sqnr_db"] > 25 and row["cosine"] > 0.99 for row in layers)


def test_tables_and_files(tmp_path: Path) -> None:
    files = ["--report", tmp_path / "r.json", "--chart", tmp_path / "c.svg", "-o", tmp_path / "q.onnx"]
    result = ccml("quantize", DIGITS, *INT8, *files)
    assert result.exit_code == 0, result.stderr
    said = ("all layers compute in integers", "those that say f32")
    for part in ("40 samples, held out", "top-1 agreement", "layers by the noise", "block.depthwise", *said):
        assert part in result.stdout
    assert "\x1b" not in result.stderr + result.stdout
    assert "\r" not in result.stderr
    assert json.loads((tmp_path / "r.json").read_text()) == quantized()
    drawing = ElementTree.parse(tmp_path / "c.svg")
    assert {element.text for element in drawing.iter() if element.tag.endswith("text")} >= LAYERS


def test_the_written_model_is_what_compile_quantizes(tmp_path: Path) -> None:
    quantized("-o", tmp_path / "q.onnx")
    onnx.checker.check_model(tmp_path / "q.onnx", full_check=True)
    own = ("--quantize", "int8", *INT8)
    for name, command in (("a", ("run", tmp_path / "q.onnx")), ("b", ("run", DIGITS, *own))):
        result = ccml(*command, "--input", DIGITS_TEST, "--output", tmp_path / f"{name}.npz")
        assert result.exit_code == 0, result.stderr
    with np.load(tmp_path / "a.npz") as first, np.load(tmp_path / "b.npz") as second, np.load(DIGITS_TEST) as given:
        np.testing.assert_array_equal(first["logits"], second["logits"])
        assert np.mean(first["logits"].argmax(-1) == given["label"]) >= 0.97


@pytest.mark.parametrize("target", ["arm", "x86"])
def test_compile(tmp_path: Path, target: str) -> None:
    out = tmp_path / "out"
    options = ["--quantize", "int8", *INT8, "--io", "int8", "-o", out, "--target", target]
    result = ccml("compile", DIGITS, *options, "--emit", "c")
    assert result.exit_code == 0, result.stderr
    assert "layers by the noise" in result.stdout
    header = (out / "digits.h").read_text()
    assert "int digits_run(void *arena, const int8_t *image, int8_t *logits);" in header
    for part in ("DIGITS_IMAGE_SCALE 0.0", "DIGITS_IMAGE_ZERO_POINT (-128)", "DIGITS_LOGITS_SCALE 0.0"):
        assert f"#define {part}" in header
    report = json.loads((out / "report.json").read_text())
    assert report["accuracy"]["layers"]
    assert report["options"]["quantize"]
    assert "report.json" in files_in(out)


def test_inspect_shows_integer_layers() -> None:
    result = ccml("inspect", DIGITS, "--quantize", "int8", *INT8, "--json")
    assert result.exit_code == 0, result.stderr
    assert {layer["dtype"] for layer in json.loads(result.stdout)["layers"]} >= {"i8"}


def test_few_samples_test_themselves(dense: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", samples(3))
    result = ccml("quantize", dense, "--calibration", tmp_path / "x.npy", "--json")
    assert result.exit_code == 0, result.stderr
    assert "too few to hold some back" in result.stderr
    content = json.loads(result.stdout)
    assert (content["calibration_samples"], content["test_samples"], content["held_out"]) == (3, 3, False)


def test_test_data_of_their_own() -> None:
    content = quantized("--test-data", DIGITS_TEST)
    assert (content["calibration_samples"], content["test_samples"], content["held_out"]) == (200, 200, True)


def test_a_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = "def accuracy(outputs, data):\n    return (outputs['logits'].argmax(-1) == data['label']).mean()\n"
    (tmp_path / "ccml_test_scoring.py").write_text(source)
    metric = quantized("--test-data", DIGITS_TEST, "--metric", "ccml_test_scoring:accuracy")["metric"]
    assert metric["name"] == "ccml_test_scoring:accuracy"
    assert metric["float_value"] > 0.98
    assert abs(metric["quantized_value"] - metric["float_value"]) < 0.02


@pytest.mark.parametrize(
    ("metric", "reason"),
    [("accuracy", "module:function"), ("no_such_module:f", "cannot import"), ("math:no_such", "has no function"),
     ("math:sqrt", "takes two dictionaries")],
)  # fmt: skip
def test_metrics_that_do_not_work(metric: str, reason: str) -> None:
    result = ccml("quantize", DIGITS, *INT8, "--metric", metric)
    assert result.exit_code == 2
    assert "[E203] --metric" in result.stderr
    assert reason in result.stderr


# ---------------------------------------------------------------- options


def test_choices_are_those_of_the_pass() -> None:
    assert tuple(method.value for method in RangeMethod) == quantize_options.RANGE_METHODS
    assert tuple(ACTIVATIONS) == quantize_options.ACTIVATIONS


def test_an_override_of_a_layer(tmp_path: Path) -> None:
    config = tmp_path / "p.toml"
    config.write_text('[quantize.layers."block.pointwise"]\nprecision = "float"\n')
    content = quantized("--config", config)
    assert "block.pointwise" in {row["layer"] for row in content["float_layers"]}
    config.write_text('[quantize.layers.stem]\nprecision = "int7"\n')
    result = ccml("quantize", DIGITS, *INT8, "--config", config)
    assert result.exit_code == 2
    for part in (str(config), "stem", "precision", "int16"):
        assert part in result.stderr


def test_the_project_quantizes(dense: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "data.npz", x=samples())
    options = '[compile]\nquantize = "int8"\ntarget = "arm"\n[quantize]\ncalibration = "data.npz"\n'
    (tmp_path / "ccml.toml").write_text(options)
    assert json.loads(ccml("compile", dense, "--json", "--emit", "c").stdout)["accuracy"] is not None
    plain = ccml("compile", dense, "--json", "--emit", "c", "--quantize", "none")
    assert json.loads(plain.stdout)["accuracy"] is None


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("compile", DIGITS, "--target", "arm", "--min-sqnr", "30"), "--min-sqnr is for quantization"),
        (("compile", DIGITS, "--target", "arm", "--chart", "c.svg"), "--report and --chart"),
        (("run", DIGITS, "--quantize", "int8"), "needs --calibration"),
        (("quantize", DIGITS), "needs --calibration"),
        (("quantize", DIGITS, "--range", "median"), "median"),
    ],
)
def test_usage_errors(options: tuple[object, ...], reason: str) -> None:
    result = ccml(*options)
    assert (result.exit_code, reason in result.stderr) == (2, True), result.stderr


def test_mixed_precision(dense: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", samples())
    command = ["quantize", dense, "--calibration", tmp_path / "x.npy", "--report", tmp_path / "r.json", "--min-sqnr"]
    for demand, raised in ((10, False), (60, True)):
        result = ccml(*command, demand)
        assert result.exit_code == 0, result.stderr
        assert ("in higher precision" in result.stdout, "what that costs" in result.stdout) == (raised, raised)
        content = json.loads((tmp_path / "r.json").read_text())
        sqnr = content["outputs"][0]["sqnr_db"]
        assert sqnr is None or sqnr >= demand - 0.01
        assert bool(content["mixed"]["raised"]) is raised


@pytest.mark.check
def test_mixed_precision_of_convolutions() -> None:
    """The report says which layers were raised, and what they cost in place of 8 bits."""
    plain = quantized()["outputs"][0]["sqnr_db"]
    content = quantized("--min-sqnr", plain + 4)
    assert content["outputs"][0]["sqnr_db"] >= plain + 4 - 0.01
    raised = content["mixed"]["raised"]
    assert 0 < len(raised) < 2 * len(LAYERS)
    assert {row["precision"] for row in raised} <= {"int16", "int16 weights", "float"}
    before, after = content["mixed"]["before"], content["mixed"]["after"]
    total = before["int8_macs"] + before["int16_macs"]
    assert before["float_macs"] == 0 and before["int16_macs"] <= total / 16, "what has 16 bits by default costs little"
    assert after["int8_macs"] + after["int16_macs"] + after["float_macs"] == total
    assert after["int8_macs"] < before["int8_macs"]
    assert after["tensor_bytes"] + after["weight_bytes"] > before["tensor_bytes"] + before["weight_bytes"]


def test_an_accuracy_drop_by_the_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = "def rows(outputs, data):\n    return len(outputs['logits']) == len(data['image'])\n"
    (tmp_path / "ccml_test_rows.py").write_text(source)
    content = quantized("--metric", "ccml_test_rows:rows", "--max-accuracy-drop", "0")
    assert (content["metric"]["quantized_value"], content["mixed"]["raised"]) == (1, [])


def test_a_folder_of_arrays(dense: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for number, row in enumerate(samples(10)):
        np.save(folder / f"{number}.npy", row[np.newaxis])
    result = ccml("quantize", dense, "--calibration", folder, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["calibration_samples"] == 8


def test_a_folder_of_images(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    pixels = np.random.default_rng(2).integers(0, 256, (6, 8, 8)).astype(np.uint8)
    for number, picture in enumerate(pixels):
        image.fromarray(picture).save(tmp_path / f"{number}.png")
    options = ["--scale", "255", "--rounding", "nearest", "--json"]
    result = ccml("quantize", DIGITS, "--calibration", tmp_path, *options)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["calibration_samples"] == 5


def test_a_folder_without_data(dense: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = ccml("quantize", dense, "--calibration", tmp_path / "empty")
    assert (result.exit_code, "[E201] x: the folder" in result.stderr) == (2, True), result.stderr


# ---------------------------------------------------------------- data that do not fit


@pytest.mark.parametrize(
    ("arrays", "parts"),
    [
        ({"z": samples()}, ("x: ", "the file has z")),
        ({"x": samples().astype(np.float64)}, ("x: ", "expected float32, got float64")),
        ({"x": samples()[:, :7]}, ("x: ", "[20, 7]")),
        ({"x": samples()[:0]}, ("no samples",)),
        ({"x": np.where(samples() > 2, np.float32(np.nan), samples())}, ("x: ", "NaN or infinite")),
        ({"x": np.full((20, 8), -np.inf, np.float32)}, ("x: ", "NaN or infinite")),
        ({}, ("x: ", "the file has nothing")),
    ],
)
def test_arrays_that_do_not_fit(
    dense: Path, tmp_path: Path, arrays: dict[str, np.ndarray], parts: tuple[str, ...]
) -> None:
    np.savez(tmp_path / "data.npz", **arrays)
    result = ccml("quantize", dense, "--calibration", tmp_path / "data.npz")
    assert result.exit_code == 2
    for part in ("[E201]", *parts):
        assert part in result.stderr
    assert "Traceback" not in result.stderr


def test_files_that_are_no_data(dense: Path, tmp_path: Path) -> None:
    missing = ccml("quantize", dense, "--calibration", tmp_path / "no.npz")
    assert (missing.exit_code, "[E201]" in missing.stderr) == (2, True)
    wrong = ccml("quantize", dense, "--calibration", dense)
    assert (wrong.exit_code, "[E201]" in wrong.stderr) == (2, True)


def test_a_sum_that_32_bits_cannot_hold(tmp_path: Path) -> None:
    count = 140_000
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="dense")
    path = save_model(tmp_path / "m.onnx", node, shape=(1, count), w=np.ones((count, 1), np.float32))
    model = onnx.load(path)
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 1
    onnx.save(model, path)
    np.save(tmp_path / "x.npy", np.random.default_rng(0).uniform(0, 1, (5, count)).astype(np.float32))
    result = ccml("quantize", path, "--calibration", tmp_path / "x.npy")
    assert result.exit_code == 1
    assert "[E108] w: " in result.stderr
    assert '[quantize.layers."dense"] precision = "float"' in result.stderr


def test_a_model_that_is_quantized_already(tmp_path: Path) -> None:
    quantized("-o", tmp_path / "q.onnx")
    result = ccml("quantize", tmp_path / "q.onnx", "--calibration", CALIBRATION)
    assert (result.exit_code, "quantized already" in result.stderr) == (2, True)


def test_an_output_that_cannot_be_written(dense: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", samples())
    for option, suffix in (("-o", "onnx"), ("--report", "json"), ("--chart", "svg")):
        file = tmp_path / "no" / f"file.{suffix}"
        result = ccml("quantize", dense, "--calibration", tmp_path / "x.npy", option, file)
        assert (result.exit_code, "[E204]" in result.stderr) == (1, True)


# ---------------------------------------------------------------- weights alone


def test_weights_alone(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32)
    path = save_model(tmp_path / "m.onnx", helper.make_node("MatMul", ["x", "w"], ["y"]), shape=(1, 64), w=weights)
    model = onnx.load(path)
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 32
    onnx.save(model, path)
    np.save(tmp_path / "x.npy", np.random.default_rng(1).standard_normal((20, 64)).astype(np.float32))
    for mode in ("weights8", "weights4"):
        written = tmp_path / f"{mode}.onnx"
        result = ccml("quantize", path, "--to", mode, "--calibration", tmp_path / "x.npy", "-o", written)
        assert result.exit_code == 0, result.stderr
        assert [node.op_type for node in onnx.load(written).graph.node] == ["DequantizeLinear", "MatMul"]
        options = ("--quantize", mode, "--calibration", tmp_path / "x.npy", "-o", tmp_path / mode)
        result = ccml("compile", path, "--target", "x86", "--emit", "c", *options)
        assert result.exit_code == 0, result.stderr
        assert "SQNR" in result.stdout


def test_options_of_activations_are_refused_for_weights_alone() -> None:
    result = ccml("quantize", DIGITS, "--to", "weights8", "--calibration", CALIBRATION, "--activations", "uint8")
    assert result.exit_code == 2
    assert "--activations is for int8" in result.stderr


def test_weights_alone_need_no_data(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).standard_normal((32, 32)).astype(np.float32)
    path = save_model(tmp_path / "m.onnx", helper.make_node("MatMul", ["x", "w"], ["y"]), shape=(1, 32), w=weights)
    done = ccml("quantize", path, "--to", "weights8", "-o", tmp_path / "q.onnx")
    assert done.exit_code == 0, done.stderr
    assert "fitted to random inputs" in done.stderr
    assert "is computed in float" not in done.stdout
    refused = ccml("quantize", path, "--to", "int8", "-o", tmp_path / "q.onnx")
    assert refused.exit_code == 2 and "--calibration" in refused.stderr
