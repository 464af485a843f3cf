"""ccml features: files, what is printed, models with features in front, and what cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from ccml.cli.features import _AUDIO, command
from ccml.features import CONVENTIONS, CROPS, FORMATS, KINDS
from ccml.features.image import COLOURS, LAYOUTS
from ccml.features.mel import WINDOWS
from onnx import TensorProto, helper, numpy_helper

from tests.cli.command_line import ccml

PCM = np.random.default_rng(0).integers(-9000, 9000, 2000).astype(np.int16)


def model(path: Path, shape: list[int | str], element_type: int = TensorProto.FLOAT, opset: int = 13) -> Path:
    """Its input is its output."""
    nodes = [helper.make_node("Identity", ["x"], ["y"])]
    constants = []
    if element_type == TensorProto.INT8:
        nodes = [helper.make_node("DequantizeLinear", ["x", "s", "z"], ["y"])]
        constants = [numpy_helper.from_array(np.float32(0.5), "s"), numpy_helper.from_array(np.int8(3), "z")]
    graph = helper.make_graph(
        nodes, "m", [helper.make_tensor_value_info("x", element_type, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], constants,
    )  # fmt: skip
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.save(proto, path)
    return path


def run(path: Path, **feeds: np.ndarray) -> dict[str, np.ndarray]:
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(str(path))
    return dict(zip([value.name for value in session.get_outputs()], session.run(None, feeds)))


def test_choices_are_those_of_the_library() -> None:
    """The command line does not import it before it runs."""
    choices = {p.name: p.type.choices for p in command.params if hasattr(p.type, "choices")}
    assert choices["kind"] == (*KINDS, "image") and KINDS == _AUDIO
    assert set(choices["convention"]) == set(CONVENTIONS)
    assert (choices["window"], choices["source"], choices["crop"]) == (WINDOWS, FORMATS, CROPS)
    assert (choices["layout"], set(choices["colours"])) == (LAYOUTS, set(COLOURS))


def test_times_are_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("features", "mfcc", "--rate", 8000, "--frame", "32ms", "--hop", 128, "--clip", "0.5s", "--json")
    found: dict[str, Any] = json.loads(ccml(*words).stdout)
    assert found["written"] == "mfcc.onnx"
    assert found["inputs"] == [{"name": "pcm", "dtype": "int16", "shape": [4000], "note": "16-bit samples"}]
    assert found["outputs"][0]["shape"] == [(4000 - 256) // 128 + 1, 10]


def test_what_is_printed(tmp_path: Path) -> None:
    file = tmp_path / "f.onnx"
    lines = ccml("features", "log-mel", "--streaming", "--fixed-point", "-o", file).stdout.splitlines()
    assert lines[1:] == [
        "input         pcm: int16 320, 16-bit samples",
        "output        features: int16 1x40, times 0.000676901544",
        "compile with  --state pcm_window=pcm_window_next",
    ]


@pytest.mark.parametrize("shape", [[1, 4, 10, 1], ["batch", 1, 4, 10], [1, 40]])
def test_a_model_gets_as_many_frames_as_it_takes(shape: list[int | str], tmp_path: Path) -> None:
    whole = tmp_path / "whole.onnx"
    ccml("features", "mfcc", "--into", model(tmp_path / "m.onnx", shape), "-o", whole)
    ccml("features", "mfcc", "--clip", 1440, "-o", tmp_path / "alone.onnx")
    features = run(tmp_path / "alone.onnx", pcm=PCM[:1440])["features"]
    result = run(whole, pcm=PCM[:1440])["y"]
    np.testing.assert_array_equal(result.reshape(4, 10), features)


def test_rows_of_features_are_transposed(tmp_path: Path) -> None:
    whole = tmp_path / "whole.onnx"
    ccml("features", "mfcc", "--into", model(tmp_path / "m.onnx", [1, 10, 4]), "-o", whole)
    ccml("features", "mfcc", "--clip", 1440, "-o", tmp_path / "alone.onnx")
    features = run(tmp_path / "alone.onnx", pcm=PCM[:1440])["features"]
    np.testing.assert_array_equal(run(whole, pcm=PCM[:1440])["y"][0], features.T)


def test_bytes_have_the_scale_of_the_model(tmp_path: Path) -> None:
    quantized = model(tmp_path / "m.onnx", [1, 4, 10, 1], TensorProto.INT8)
    ccml("features", "mfcc", "--fixed-point", "--into", quantized, "-o", tmp_path / "whole.onnx")
    words = ("features", "mfcc", "--fixed-point", "--clip", 1440, "-o", tmp_path / "f.onnx", "--json")
    found = json.loads(ccml(*words).stdout)
    features = run(tmp_path / "f.onnx", pcm=PCM[:1440])["features"] * found["scale"]
    result = run(tmp_path / "whole.onnx", pcm=PCM[:1440])["y"]
    wanted = (np.clip(np.rint(features / 0.5) + 3, -128, 127) - 3) * 0.5
    np.testing.assert_array_equal(result.reshape(4, 10), wanted)


def test_streaming_remembers_features(tmp_path: Path) -> None:
    """Run by run, the model sees the frames of the clip that goes by."""
    taker = model(tmp_path / "m.onnx", [1, 4, 10, 1])
    ccml("features", "mfcc", "--fixed-point", "--streaming", "--into", taker, "-o", tmp_path / "s.onnx")
    ccml("features", "mfcc", "--fixed-point", "--into", taker, "-o", tmp_path / "clip.onnx")
    window, history = np.zeros(160, np.int16), np.zeros((3, 10), np.int16)
    for start in range(0, 1600, 320):
        feeds = {"pcm": PCM[start : start + 320], "pcm_window": window, "feature_history": history}
        results = run(tmp_path / "s.onnx", **feeds)
        window, history = results["pcm_window_next"], results["feature_history_next"]
    np.testing.assert_array_equal(results["y"], run(tmp_path / "clip.onnx", pcm=PCM[160:1600])["y"])


def test_an_image_has_the_form_that_the_model_takes(tmp_path: Path) -> None:
    whole, pixels = tmp_path / "whole.onnx", np.random.default_rng(0).integers(0, 256, (12, 16, 3)).astype(np.uint8)
    taker = model(tmp_path / "m.onnx", [1, 1, 6, 6])
    words = ("features", "image", "--size", "16x12", "--mean", 128, "--scale", 64, "--into", taker, "-o", whole)
    ccml(*words)
    ccml(*words[:-4], "--resize", "6x6", "--colours", "gray", "--layout", "nchw", "-o", tmp_path / "alone.onnx")
    alone = run(tmp_path / "alone.onnx", pixels=pixels)["features"]
    np.testing.assert_array_equal(run(whole, pixels=pixels)["y"], alone)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("mfcc", "--size", "3x3"), "mfcc has no such option"),
        (("image", "--size", "8x8", "--mels", 4), "image has no such option"),
        (("image",), "--size 320x240"),
        (("image", "--size", "axb"), "no size such as 320x240"),
        (("mfcc", "--frame", "soon"), "no time such as 20ms"),
        (("mfcc", "--into", "m.onnx"), "no frames of 10 features"),
        (("mfcc", "--coefficients", 7, "--clip", 900, "--into", "m.onnx"), "2 frames, and the model takes 5"),
        (("mfcc", "--coefficients", 5, "--into", "m.onnx", "--model-input", "z"), "has no input z"),
        (("spectrogram", "--fft", 512, "--fixed-point", "--into", "m.onnx"), "no frames of 257"),
        (("image", "--size", "8x8", "--into", "m.onnx"), "no image of 1 or 3 colours"),
        (("image", "--size", "8x8", "--into", "m.onnx", "--resize", "4x4"), "the model that the pixels go to"),
        (("mfcc", "--coefficients", 5, "--into", "ints.onnx"), "the model takes int64"),
        (("mfcc", "-o", "f.txt"), "an ONNX model"),
        (("mfcc", "-o", "nowhere/f.onnx"), "no folder"),
        (("mfcc", "--into", "nowhere.onnx"), "nowhere.onnx"),
    ],
)
def test_what_cannot_be(
    words: tuple[object, ...], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model(tmp_path / "m.onnx", [1, 35])
    model(tmp_path / "ints.onnx", [1, 35], TensorProto.INT64)
    result = ccml("features", *words)
    assert result.exit_code in (1, 2)
    assert reason in " ".join(result.stderr.split())
    assert [line for line in result.stderr.splitlines() if len(line) > 80] == []
    assert not (tmp_path / "mfcc.onnx").exists()


def test_features_once(tmp_path: Path) -> None:
    taker = model(tmp_path / "m.onnx", [1, 40], opset=18)
    ccml("features", "mfcc", "--into", taker, "-o", tmp_path / "once.onnx")
    result = ccml("features", "mfcc", "--into", tmp_path / "once.onnx", "-o", tmp_path / "twice.onnx")
    assert result.exit_code == 2
