"""Trains the model of this example with NumPy and writes anomaly.onnx and threshold.h.

An autoencoder of log-mel features learns what a fan sounds like that runs well, at any speed and in any distance; what
it cannot draw again is no such sound. Features are those that the device computes, to the bit: the graph of `ccml
features`, compiled for this machine. The test is fans whose bearing clicks, of which nothing was heard in training.
"""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import ccml
import numpy as np
import onnx
from ccml.features import AudioFeatures, audio_features
from onnx import TensorProto, helper, numpy_helper

FOLDER = Path(__file__).resolve().parent
RATE, FRAMES, MELS = 16000, 5, 24
SIZES = (FRAMES * MELS, 32, 8, 32, FRAMES * MELS)
AUDIO = AudioFeatures("log-mel", rate=RATE, mels=MELS, samples=4 * 320 + 480, fixed_point=True)
OPSET = 18


def fan(rng: np.random.Generator, samples: int, clicks: bool) -> np.ndarray:
    """A fan of four blades with overtones in a stream of air; a bad bearing clicks some 90 times a second. int16."""
    t = np.arange(samples) / RATE
    speed, loudness = rng.uniform(38, 46), 10 ** rng.uniform(2.9, 3.4)
    hum = sum(
        np.sin(2 * np.pi * (4 * speed * k * t + rng.random())) / k ** rng.uniform(0.9, 1.1) for k in range(1, 7)
    )
    air = np.convolve(rng.standard_normal(samples + 7), np.ones(8) / 8, "valid")
    sound = loudness * (hum + 0.8 * air)
    if clicks:
        period = RATE / rng.uniform(85, 100)
        since = np.mod(np.arange(samples) - rng.uniform(0, period), period)
        sound += loudness * rng.uniform(2.5, 4) * np.exp(-since / 12) * np.sin(2 * np.pi * 3200 * since / RATE)
    return np.clip(np.rint(sound), -32768, 32767).astype(np.int16)


def data(count: int, seed: int, clicks: bool) -> np.ndarray:
    """Features [count, FRAMES * MELS]."""
    rng = np.random.default_rng(seed)
    graph = audio_features(AUDIO)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mel.onnx"
        onnx.save(graph.model(), file)
        model = ccml.load(file)
        rows = [model.run(fan(rng, AUDIO.clip, clicks))["features"].reshape(-1) for _ in range(count)]
    return np.stack(rows) * graph.scale


def layers(weights: list[np.ndarray], x: np.ndarray) -> list[np.ndarray]:
    """The input and what each layer makes of it."""
    found = [x]
    for number in range(0, len(weights), 2):
        sums = found[-1] @ weights[number] + weights[number + 1]
        found.append(sums if number + 2 == len(weights) else np.maximum(sums, 0))
    return found


def scores(weights: list[np.ndarray], x: np.ndarray) -> np.ndarray:
    """How far what comes out is from what went in."""
    return ((layers(weights, x)[-1] - x) ** 2).mean(axis=1)


def train(x: np.ndarray, steps: int = 3000) -> list[np.ndarray]:
    """Adam on the squared error, on inputs of mean 0 and deviation 1."""
    rng = np.random.default_rng(0)
    weights = []
    for rows, columns in pairwise(SIZES):
        weights += [rng.standard_normal((rows, columns)) * np.sqrt(2 / rows), np.zeros(columns)]
    moments = [[np.zeros_like(w), np.zeros_like(w)] for w in weights]
    for step in range(1, steps + 1):
        batch = x[rng.integers(0, len(x), 128)]
        found = layers(weights, batch)
        error, slopes = 2 * (found[-1] - batch) / batch.size, []
        for number in range(len(weights) - 2, -1, -2):
            slopes = [found[number // 2].T @ error, error.sum(axis=0), *slopes]
            error = error @ weights[number].T * (found[number // 2] > 0)
        for weight, slope, moment in zip(weights, slopes, moments):
            moment[0] += 0.1 * (slope - moment[0])
            moment[1] += 0.01 * (slope * slope - moment[1])
            ratio = moment[0] / (1 - 0.9**step) / (np.sqrt(moment[1] / (1 - 0.99**step)) + 1e-8)
            weight -= 0.002 * ratio
    return weights


def model(weights: list[np.ndarray], mean: float, deviation: float) -> onnx.ModelProto:
    """Features to the squared error."""
    count = len(weights) // 2
    nodes = [
        helper.make_node("Flatten", ["mel"], ["flat"]),
        helper.make_node("Sub", ["flat", "mean"], ["shifted"]),
        helper.make_node("Div", ["shifted", "deviation"], ["sound"]),
    ]
    last = "sound"
    for number in range(count):
        sums = f"sums_{number}"
        nodes.append(helper.make_node("Gemm", [last, f"w{number}", f"b{number}"], [sums], f"layer_{number}"))
        last = sums
        if number + 1 < count:
            last = f"hidden_{number}"
            nodes.append(helper.make_node("Relu", [sums], [last]))
    nodes += [
        helper.make_node("Sub", [last, "sound"], ["difference"]),
        helper.make_node("Mul", ["difference", "difference"], ["squares"]),
        helper.make_node("ReduceMean", ["squares", "axes"], ["score"], keepdims=0),
    ]
    constants = [numpy_helper.from_array(np.array([1]), "axes")]
    for name, value in (("mean", mean), ("deviation", deviation)):
        constants.append(numpy_helper.from_array(np.float32(value).reshape(1), name))
    for number in range(count):
        constants.append(numpy_helper.from_array(weights[2 * number].astype(np.float32), f"w{number}"))
        constants.append(numpy_helper.from_array(weights[2 * number + 1].astype(np.float32), f"b{number}"))
    graph = helper.make_graph(
        nodes, "anomaly", [helper.make_tensor_value_info("mel", TensorProto.FLOAT, [1, FRAMES, MELS])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, [1])], constants,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


if __name__ == "__main__":
    healthy = data(4000, 1, False)
    mean, deviation = float(healthy.mean()), float(healthy.std())
    found = train((healthy - mean) / deviation)
    usual, broken = (scores(found, (data(1000, 2 + bad, bool(bad)) - mean) / deviation) for bad in (0, 1))
    limit = float(np.quantile(usual, 0.999)) * 1.5
    print(f"healthy: mean {usual.mean():.4f}, above the limit {(usual > limit).mean():.3f}")
    print(f"bad bearings: mean {broken.mean():.4f}, above the limit {(broken > limit).mean():.3f}")
    onnx.save(model(found, mean, deviation), FOLDER / "anomaly.onnx")
    (FOLDER / "threshold.h").write_text(f"/* By train.py. */\n#define THRESHOLD {limit:.5f}f\n")
