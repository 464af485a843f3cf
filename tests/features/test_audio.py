"""Audio features against TensorFlow and librosa themselves, against their definitions in float64, and ONNX Runtime."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError
from ccml.features import CONVENTIONS, AudioFeatures, audio_features
from ccml.frontend_onnx import import_model
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph

from tests.features.reference import reference

RECORDED = np.load(Path(__file__).parent / "data" / "recorded.npz")
PCM = RECORDED["pcm"]
UPPER = {"lower": 20.0, "upper": 4000.0}


def loaded(model: onnx.ModelProto) -> JitModel:
    return JitModel(lower_graph(optimize(import_model(model)), host_machine()))


def several(audio: AudioFeatures, clips: Iterable[np.ndarray]) -> list[np.ndarray]:
    """By the compiled graph, in units of features."""
    graph = audio_features(audio)
    model = loaded(graph.model())
    return [model.run({"pcm": pcm})["features"] * graph.scale for pcm in clips]


def computed(audio: AudioFeatures, pcm: np.ndarray) -> np.ndarray:
    return several(audio, [pcm])[0]


def signals() -> dict[str, np.ndarray]:
    rng, t = np.random.default_rng(3), np.arange(8000) / 16000
    found = {
        "voice": PCM, "noise": rng.standard_normal(8000) * 3000, "quiet noise": rng.standard_normal(8000) * 10,
        "loud": np.sign(rng.standard_normal(8000)) * 32767, "silence": 0 * t,
        "hum": 12000 * np.sin(2 * np.pi * 300 * t) + rng.standard_normal(8000) * 200,
    }  # fmt: skip
    return {name: np.clip(np.rint(x), -32768, 32767).astype(np.int16) for name, x in found.items()}


SIGNALS = signals()

# ---------------------------------------------------------------- the training side


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_filters_are_those_of_the_library(convention: str) -> None:
    audio = AudioFeatures("mfcc", convention=convention, **UPPER)
    np.testing.assert_allclose(audio.filters, RECORDED[f"{convention}_filters"], rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("convention", "kind", "atol"),
    [
        ("tensorflow", "log-mel", 2e-5), ("tensorflow", "mfcc", 5e-5), ("librosa", "log-mel", 1e-4),
        ("librosa", "mfcc", 5e-4),
    ],
)  # fmt: skip
def test_floats_are_those_of_the_library(convention: str, kind: str, atol: float) -> None:
    audio = AudioFeatures(kind, convention=convention, samples=len(PCM), **UPPER)
    recorded = RECORDED[f"{convention}_{kind.replace('-', '_')}"]
    np.testing.assert_allclose(computed(audio, PCM), recorded, rtol=0, atol=atol)


@pytest.mark.parametrize(
    ("convention", "kind", "most", "rms"),
    [
        ("tensorflow", "log-mel", 0.05, 0.005), ("tensorflow", "mfcc", 0.03, 0.008),
        ("librosa", "log-mel", 0.4, 0.04), ("librosa", "mfcc", 0.25, 0.06),
    ],
)  # fmt: skip
def test_integers_are_close_to_the_library(convention: str, kind: str, most: float, rms: float) -> None:
    """In nepers and decibels; a neper is 8.7 dB."""
    audio = AudioFeatures(kind, convention=convention, samples=len(PCM), fixed_point=True, **UPPER)
    error = np.abs(computed(audio, PCM) - RECORDED[f"{convention}_{kind.replace('-', '_')}"])
    assert error.max() < most
    assert np.sqrt((error**2).mean()) < rms


# ---------------------------------------------------------------- definitions


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize(
    "options",
    [
        {"kind": "mfcc", "frame": 400, "hop": 160, "mels": 23, "coefficients": 13},
        {"kind": "log-mel", "frame": 441, "hop": 100, "mels": 20, "window": "rectangular", "power": 1},
        {"kind": "spectrogram", "fft": 1024, "power": 2, "window": "hamming"},
        {"kind": "mfcc", "frame": 300, "hop": 150, "fft": 300, "mels": 12},
    ],
)  # fmt: skip
def test_floats_mean_what_is_defined(convention: str, options: dict[str, Any]) -> None:
    audio = AudioFeatures(convention=convention, samples=3000, **options)
    pcm = PCM[1000:4000]
    result, wanted = computed(audio, pcm), reference(audio, pcm)
    assert result.shape == (audio.count, audio.columns) == wanted.shape
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=2e-3)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_error_of_integers(convention: str) -> None:
    """Of logarithms of bands within 40 dB of the frame's loudest: 0.05 nepers, 0.4 dB."""
    audio = AudioFeatures("log-mel", convention=convention, samples=8000, fixed_point=True, **UPPER)
    unit = 1.0 if audio.rules.decibels else 20 / np.log(10)
    for name, result in zip(SIGNALS, several(audio, SIGNALS.values())):
        wanted = reference(audio, SIGNALS[name])
        loud = (wanted.max(axis=1, keepdims=True) - wanted) * unit < 40
        assert np.abs(result - wanted)[loud].max() < (0.4 if audio.rules.decibels else 0.05), name


@pytest.mark.parametrize("power", [1, 2])
def test_spectrogram_in_integers(power: int) -> None:
    audio = AudioFeatures("spectrogram", samples=8000, fixed_point=True, power=power)
    results = loaded(audio_features(audio).model()).run({"pcm": PCM})
    magnitude, exponent = results["features"], results["exponent"]
    wanted = reference(audio, PCM) * 32768.0**power
    unit = 2.0 ** (power * exponent[:, None])
    root = np.abs((magnitude * unit) ** (1 / power) - wanted ** (1 / power)) / 2.0 ** exponent[:, None]
    assert root.max() < 8


# ---------------------------------------------------------------- other runtimes, and integers everywhere


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("kind", ["mfcc", "spectrogram"])
def test_onnx_runtime_computes_the_same_bits(convention: str, kind: str) -> None:
    ort = pytest.importorskip("onnxruntime")
    audio = AudioFeatures(kind, convention=convention, samples=8000, fixed_point=True)
    model = audio_features(audio).model()
    session = ort.InferenceSession(model.SerializeToString())
    ours = loaded(model)
    for pcm in SIGNALS.values():
        results = session.run(None, {"pcm": pcm})
        for value, wanted in zip(session.get_outputs(), results, strict=True):
            np.testing.assert_array_equal(ours.run({"pcm": pcm})[value.name], wanted)


def test_streaming_gives_the_frames_of_a_clip() -> None:
    clip = AudioFeatures("mfcc", samples=8000, fixed_point=True)
    whole = loaded(audio_features(clip).model()).run({"pcm": PCM})["features"]
    graph = audio_features(AudioFeatures("mfcc", streaming=True, fixed_point=True))
    ((old, new),) = graph.states
    state, rows = PCM[: 480 - 320], []
    model = loaded(graph.model())
    for start in range(160, 8000 - 319, 320):
        results = model.run({"pcm": PCM[start : start + 320], old: state})
        state = results[new].copy()
        rows.append(results["features"][0].copy())
    np.testing.assert_array_equal(np.stack(rows)[: len(whole)], whole)


# ---------------------------------------------------------------- what cannot be


@pytest.mark.parametrize(
    ("option", "options"),
    [
        ("--lower, --upper", {"lower": 5000.0, "upper": 4000.0}),
        ("--lower, --upper", {"upper": 9000.0}),
        ("--mels", {"mels": 200}),
        ("--fft", {"fft": 256}),
        ("--fft", {"fft": 500, "fixed_point": True}),
        ("--coefficients", {"mels": 8}),
        ("--clip", {"samples": 100}),
        ("--hop", {"hop": 600, "streaming": True}),
    ],
)
def test_options_that_do_not_go_together(option: str, options: dict[str, Any]) -> None:
    with pytest.raises(CcmlError) as caught:
        AudioFeatures("mfcc", **options)
    assert caught.value.loc == option
    assert all(len(line) <= 80 for line in str(caught.value).splitlines())
