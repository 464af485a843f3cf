"""Trains the model of this example with NumPy and writes whistle.onnx.

Whistles that rise or fall by about an octave, of any pitch, loudness and place, in noise; what is neither is noise or a
steady tone. Features are those that the device computes, to the bit: the graph of `ccml features`, compiled for this
machine.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import ccml
import numpy as np
import onnx
from ccml.features import AudioFeatures, audio_features
from onnx import TensorProto, helper, numpy_helper

FOLDER = Path(__file__).resolve().parent
RATE, FRAMES, COEFFICIENTS, HIDDEN = 16000, 25, 10, 24
AUDIO = AudioFeatures("mfcc", rate=RATE, upper=4000.0, samples=24 * 320 + 480, fixed_point=True)
NAMES = ("nothing", "up", "down")
OPSET = 18


def sound(rng: np.random.Generator, kind: int, samples: int) -> np.ndarray:
    """A clip in which a whistle has just ended, or nothing to report is heard; int16."""
    noise = rng.standard_normal(samples) * 10 ** rng.uniform(0, 2.5)
    length = rng.uniform(0.3, 0.42)
    end = samples / RATE - rng.uniform(0.0, 0.06)
    if kind == 0 and rng.random() < 0.4:
        return np.rint(noise).astype(np.int16)
    if kind == 0 and rng.random() < 0.5:
        end -= rng.uniform(0.12, 0.5)  # a part of a whistle that ended long ago
    octaves = rng.uniform(0.8, 1.3) * {0: rng.choice([-0.1, 0.0, 0.1]), 1: 1, 2: -1}[kind]
    if kind == 0 and end < samples / RATE - 0.1:
        octaves = rng.uniform(-1.3, 1.3)
    pitch = 10 ** rng.uniform(np.log10(700), np.log10(1500)) * 2 ** (-octaves / 2)
    t = np.arange(samples) / RATE - (end - length)
    inside = (t >= 0) & (t < length)
    phase = 2 * np.pi * np.cumsum(np.where(inside, pitch * 2 ** (octaves * np.clip(t / length, 0, 1)), 0)) / RATE
    tone = 10 ** rng.uniform(2.8, 4.2) * np.sin(phase) * inside
    return np.clip(np.rint(tone + noise), -32768, 32767).astype(np.int16)


def data(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features [count, FRAMES * COEFFICIENTS] and kinds."""
    rng = np.random.default_rng(seed)
    graph = audio_features(AUDIO)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mfcc.onnx"
        onnx.save(graph.model(), file)
        model = ccml.load(file)
        kinds = rng.integers(0, 3, count)
        rows = [model.run(sound(rng, int(kind), AUDIO.clip))["features"].reshape(-1) for kind in kinds]
    return np.stack(rows) * graph.scale, kinds


def scores(weights: list[np.ndarray], x: np.ndarray) -> np.ndarray:
    return np.maximum(x @ weights[0] + weights[1], 0) @ weights[2] + weights[3]


def train(x: np.ndarray, kinds: np.ndarray, steps: int = 1500) -> list[np.ndarray]:
    """Two layers by Adam, on inputs of mean 0 and deviation 1; those are part of the first layer in the end."""
    rng = np.random.default_rng(0)
    mean, deviation = x.mean(axis=0), x.std(axis=0) + 1e-3
    x = (x - mean) / deviation
    weights = [
        rng.standard_normal((x.shape[1], HIDDEN)) / np.sqrt(x.shape[1]), np.zeros(HIDDEN),
        rng.standard_normal((HIDDEN, len(NAMES))) / np.sqrt(HIDDEN), np.zeros(len(NAMES)),
    ]  # fmt: skip
    moments = [[np.zeros_like(w), np.zeros_like(w)] for w in weights]
    for step in range(1, steps + 1):
        chosen = rng.integers(0, len(x), 128)
        batch = x[chosen] + 0.1 * rng.standard_normal((128, x.shape[1]))
        hidden = np.maximum(batch @ weights[0] + weights[1], 0)
        logits = hidden @ weights[2] + weights[3]
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        error = (odds / odds.sum(axis=1, keepdims=True) - np.eye(len(NAMES))[kinds[chosen]]) / 128
        back = error @ weights[2].T * (hidden > 0)
        slopes = [batch.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(axis=0)]
        for weight, slope, moment in zip(weights, slopes, moments):
            slope = slope + 1e-3 * weight
            moment[0] += 0.1 * (slope - moment[0])
            moment[1] += 0.01 * (slope * slope - moment[1])
            ratio = moment[0] / (1 - 0.9**step) / (np.sqrt(moment[1] / (1 - 0.99**step)) + 1e-8)
            weight -= 0.003 * ratio
    weights[1] = weights[1] - (mean / deviation) @ weights[0]
    weights[0] = weights[0] / deviation[:, None]
    return weights


def model(weights: list[np.ndarray]) -> onnx.ModelProto:
    names = ("w0", "b0", "w1", "b1")
    graph = helper.make_graph(
        [
            helper.make_node("Flatten", ["mfcc"], ["flat"], "flatten"),
            helper.make_node("Gemm", ["flat", "w0", "b0"], ["sums"], "first"),
            helper.make_node("Relu", ["sums"], ["hidden"], "relu"),
            helper.make_node("Gemm", ["hidden", "w1", "b1"], ["logits"], "second"),
            helper.make_node("Softmax", ["logits"], ["scores"], "softmax", axis=1),
        ],
        "whistle",
        [helper.make_tensor_value_info("mfcc", TensorProto.FLOAT, [1, FRAMES, COEFFICIENTS])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, len(NAMES)])],
        [numpy_helper.from_array(w.astype(np.float32), name) for w, name in zip(weights, names)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


if __name__ == "__main__":
    found = train(*data(6000, 1))
    x, kinds = data(1000, 2)
    print(f"right: {(scores(found, x).argmax(axis=1) == kinds).mean():.3f}")
    onnx.save(model(found), FOLDER / "whistle.onnx")
