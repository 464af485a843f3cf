"""Data that cannot be what the model is fed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ccml.driver import read
from ccml.ir.graph import Graph
from ccml.quantization.calibration import CalibrationData, read_calibration
from ccml.quantization.images import ImageOptions
from ccml.quantization.input_check import doubts, input_ranges
from ccml.samples import match_samples
from onnx import TensorProto, helper, numpy_helper, save
from PIL import Image

from tests.cli.command_line import DIGITS, DIGITS_TEST, ccml

PIXELS = np.random.default_rng(5).integers(0, 256, (6, 1, 3, 16, 16)).astype(np.float32)


def network(path: Path, trained_on: float, *, normalized: bool = False, weights: bool = True) -> Graph:
    """A convolution with batch normalization whose statistics are of images from 0 to ``trained_on``, and a gate.

    ``normalized``: the model begins with a division of its own.
    """
    rng = np.random.default_rng(3)
    sides = [
        helper.make_tensor_value_info("image", TensorProto.FLOAT, (1, 3, 16, 16)),
        helper.make_tensor_value_info("gate", TensorProto.FLOAT, (1,)),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, None),
    ]
    kernel = rng.normal(0, 0.3, (8, 3, 3, 3))
    mean, spread = kernel.sum((1, 2, 3)) * trained_on / 2, np.sqrt(np.square(kernel).sum((1, 2, 3)) / 12) * trained_on
    constants = {
        "w": kernel, "gamma": np.ones(8), "beta": rng.normal(0, 0.3, 8), "mean": mean, "var": np.square(spread),
        "divisor": np.array(255.0),
    }  # fmt: skip
    first = [helper.make_node("Div", ["image", "divisor"], ["scaled"])] if normalized else []
    convolution = [
        helper.make_node("Conv", ["scaled" if normalized else "image", "w"], ["c"]),
        helper.make_node("BatchNormalization", ["c", "gamma", "beta", "mean", "var"], ["n"]),
    ]
    nodes = [*first, *convolution] if weights else [helper.make_node("Relu", ["image"], ["n"])]
    initializers = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in constants.items()]
    graph = helper.make_graph(
        [*nodes, helper.make_node("Mul", ["n", "gate"], ["y"])], "m", sides[:2], sides[2:], initializers
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return read(path).graph


def data(graph: Graph, **arrays: np.ndarray) -> CalibrationData:
    gates = np.linspace(0, 1, 6, dtype=np.float32)[:, np.newaxis]
    return CalibrationData(match_samples({"gate": gates, **arrays}, graph.inputs, ()), {})


@pytest.mark.parametrize(
    ("trained_on", "scale", "normalized", "strange"),
    [
        (1.0, 1.0, False, True),
        (1.0, 255.0, False, False),
        (255.0, 1.0, False, False),
        (1.0, 1.0, True, False),
    ],
)
def test_images_that_were_not_scaled(
    tmp_path: Path, trained_on: float, scale: float, normalized: bool, strange: bool
) -> None:
    """Only where the first layer was trained on something else."""
    graph = network(tmp_path / "m.onnx", trained_on, normalized=normalized)
    found = list(doubts(graph, data(graph, image=PIXELS / np.float32(scale))))
    assert [("not scaled" in text, "image" in text, "0 to 255" in text) for text in found] == [(True,) * 3] * strange


def test_other_numbers_are_no_pixels(tmp_path: Path) -> None:
    graph = network(tmp_path / "m.onnx", 1.0)
    assert list(doubts(graph, data(graph, image=PIXELS + np.float32(0.5)))) == []
    plain = network(tmp_path / "p.onnx", 1.0, weights=False)
    assert list(doubts(plain, data(plain, image=PIXELS))) == []


def test_inputs_that_do_not_vary(tmp_path: Path) -> None:
    graph = network(tmp_path / "m.onnx", 1.0)
    image = PIXELS / np.float32(255)
    constant = list(doubts(graph, data(graph, image=image, gate=np.full((6, 1), 0.25, np.float32))))
    assert len(constant) == 1
    assert constant[0].startswith("input gate is 0.25 everywhere in the 6 samples")
    repeated = list(doubts(graph, data(graph, image=np.repeat(image[:1], 6, 0))))
    assert len(repeated) == 1
    assert repeated[0].startswith("input image is the same in the 6 samples")


def test_ranges(tmp_path: Path) -> None:
    graph = network(tmp_path / "m.onnx", 1.0)
    first, second = input_ranges(data(graph, image=PIXELS).samples)
    assert (first.name, first.least, first.largest) == ("image", PIXELS.min(), PIXELS.max())
    assert first.mean == pytest.approx(PIXELS.mean(dtype=np.float64))
    assert (second.name, second.least, second.largest, second.mean) == ("gate", 0, 1, pytest.approx(0.5))


def test_photos_in_folders_of_classes(tmp_path: Path) -> None:
    """The command says which values the model gets, and warns where these are raw pixels."""
    with np.load(DIGITS_TEST) as arrays:
        images = arrays["image"][:10].reshape(10, 8, 8)
    pixels = (255 * (images - images.min()) / np.ptp(images)).astype(np.uint8)
    for number, image in enumerate(pixels):
        folder = tmp_path / "photos" / f"class{number % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / f"{number}.png")
    graph = read(DIGITS).graph
    raw = read_calibration(tmp_path / "photos", graph.inputs)
    assert (raw.samples.count, raw.pictures) == (10, {"image"})
    assert len(list(doubts(graph, raw))) == 1
    scaled = read_calibration(tmp_path / "photos", graph.inputs, ImageOptions(scale=(255.0,)))
    assert list(doubts(graph, scaled)) == []
    result = ccml("quantize", DIGITS, "--calibration", tmp_path / "photos", "--rounding", "nearest")
    assert result.exit_code == 0, result.stderr
    assert "warning: input image holds 0 to 255, like pixels that were not scaled" in result.stderr
    assert "--mean and --scale" in result.stderr
    assert "input image  from 0 to 255, mean " in result.stdout
