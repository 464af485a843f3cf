"""Trains the model of this example with NumPy, quantizes it with ccml and writes person.onnx.

A small network of depthwise separable convolutions, as those of visual wake words, learns to tell drawn scenes with a
person from such without. Scenes are what a camera delivers, 160x120 pixels of 16 bits; the model's input is what the
device makes of them, to the bit: the graph of `ccml features image`, compiled for this machine.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import ccml
import numpy as np
import onnx
from ccml.features import ImageFeatures, image_features
from onnx import TensorProto, helper, numpy_helper

FOLDER = Path(__file__).resolve().parent
WIDTH, HEIGHT, SIDE = 160, 120, 48
CAMERA = ImageFeatures(
    size=(WIDTH, HEIGHT), resize=(SIDE, SIDE), source="rgb565", colours="gray", mean=(128.0,), scale=(128.0,),
    layout="nchw",
)  # fmt: skip
LAYERS = (("full", 2, 8), ("depthwise", 1, 8), ("full1", 1, 16), ("depthwise", 2, 16), ("full1", 1, 24),
          ("depthwise", 2, 24), ("full1", 1, 32))  # fmt: skip
"""Kind, stride and channels: 3x3 but for ``full1``, whose windows are single pixels; each ends in ReLU."""
OPSET = 18
Array = np.ndarray

# ---- scenes

_Y, _X = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)


def _oval(image: Array, x: float, y: float, width: float, height: float, colour: Array) -> None:
    image[((_X - x) / width) ** 2 + ((_Y - y) / height) ** 2 < 1] = colour


def _box(image: Array, left: float, top: float, right: float, bottom: float, colour: Array) -> None:
    image[(left <= _X) & (right > _X) & (top <= _Y) & (bottom > _Y)] = colour


def _person(image: Array, rng: np.random.Generator) -> None:
    """Head, body, arms and legs, some 50 to 100 pixels high, within what the model sees."""
    tall = rng.uniform(50, 100)
    x, foot = rng.uniform(45, 115), rng.uniform(max(tall + 4, 90), 119)
    head, top = tall / 13, foot - tall
    skin, shirt, trousers = (rng.uniform(20, 255, 3) for _ in range(3))
    neck, hip, half = top + 2.2 * head, foot - 0.46 * tall, tall * rng.uniform(0.1, 0.14)
    for side in (-1, 1):
        stride = side * half * rng.uniform(0.3, 0.7)
        _box(image, x + stride - half * 0.4, hip - 1, x + stride + half * 0.4, foot, trousers)
        arm = x + side * half * 1.25
        _box(image, arm - half * 0.25, neck, arm + half * 0.25, neck + tall * 0.32, shirt)
    _box(image, x - half, neck, x + half, hip, shirt)
    _oval(image, x, top + head, head, head * 1.2, skin)


def scene(rng: np.random.Generator, person: bool) -> Array:
    """A wall, a floor, furniture, lamps, balls; perhaps a person. RGB565, uint16 [HEIGHT, WIDTH]."""
    image = np.empty((HEIGHT, WIDTH, 3), np.float32)
    horizon = rng.uniform(50, 100)
    image[:] = rng.uniform(40, 230, 3) + (_X[..., None] / WIDTH - 0.5) * rng.uniform(-60, 60)
    _box(image, 0, horizon, WIDTH, HEIGHT, rng.uniform(30, 200, 3))
    for _ in range(rng.integers(0, 6)):
        kind, x, colour = rng.integers(0, 4), rng.uniform(0, WIDTH), rng.uniform(10, 255, 3)
        size = rng.uniform(4, 22)
        if kind == 0:  # a cupboard, a picture
            top = rng.uniform(0, 90)
            _box(image, x - size, top, x + size, top + rng.uniform(10, 60), colour)
        elif kind == 1:  # a ball, a clock
            _oval(image, x, rng.uniform(5, 115), size / 2, size / 2, colour)
        elif kind == 2:  # a standing lamp: a pole with a shade
            top = rng.uniform(5, 60)
            _box(image, x - 1.5, top, x + 1.5, rng.uniform(90, 118), colour)
            _box(image, x - size / 2, top, x + size / 2, top + size, colour)
        else:  # a table
            top = rng.uniform(60, 95)
            _box(image, x - size * 1.5, top, x + size * 1.5, top + 4, colour)
            for leg in (-1.4, 1.3):
                _box(image, x + size * leg, top, x + size * leg + 3, top + 25, colour)
    if person:
        _person(image, rng)
    image = (image - 128) * rng.uniform(0.5, 1.1) + 128 + rng.uniform(-25, 25)
    image += rng.standard_normal(image.shape) * rng.uniform(0, 8)
    red, green, blue = np.moveaxis(np.clip(image, 0, 255).astype(np.uint16), -1, 0)
    return (red >> 3 << 11 | green >> 2 << 5 | blue >> 3).astype(np.uint16)


def data(count: int, seed: int) -> tuple[Array, Array]:
    """Inputs of the model [count, SIDE, SIDE, 1], and whether there is a person."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "eye.onnx"
        onnx.save(image_features(CAMERA).model(), file)
        model = ccml.load(file)
        rows = [next(iter(model.run(scene(rng, bool(label))).values())) for label in labels]
    return np.stack(rows).reshape(count, SIDE, SIDE, 1), labels


# ---- the network: activations [batch, height, width, channels], weights [3, 3, in, out] or [3, 3, channels]


def _padded(x: Array) -> Array:
    return np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))


def _tap(x: Array, row: int, column: int, stride: int) -> Array:
    """The pixels of padded ``x`` that one tap of a 3x3 window meets."""
    height, width = x.shape[1] - 2, x.shape[2] - 2
    return x[:, row : row + height : stride, column : column + width : stride]


def forward(weights: list[Array], x: Array) -> tuple[list[Array], Array]:
    """What each layer is given, then the scores."""
    found = [x]
    for (kind, stride, _), weight, bias in zip(LAYERS, weights[0::2], weights[1::2]):
        if kind == "full1":
            sums = found[-1] @ weight
        else:
            wide = _padded(found[-1])
            taps = ((_tap(wide, row, column, stride), weight[row, column]) for row in range(3) for column in range(3))
            sums = sum(part @ w if kind == "full" else part * w for part, w in taps)
        found.append(np.maximum(sums + bias, 0))
    return found, found[-1].mean(axis=(1, 2)) @ weights[-2] + weights[-1]


def backward(weights: list[Array], found: list[Array], error: Array) -> list[Array]:
    """Slopes of the weights; ``error`` is that of the scores."""
    last = found[-1]
    slopes = [last.mean(axis=(1, 2)).T @ error, error.sum(axis=0)]
    spread = (error @ weights[-2].T)[:, None, None, :] / (last.shape[1] * last.shape[2])
    error = np.broadcast_to(spread, last.shape) * (last > 0)
    for number in range(len(LAYERS) - 1, -1, -1):
        kind, stride, _ = LAYERS[number]
        given, weight = found[number], weights[2 * number]
        bias = error.sum(axis=(0, 1, 2))
        if kind == "full1":
            slope = np.tensordot(given, error, ((0, 1, 2), (0, 1, 2)))
            before = error @ weight.T
        else:
            wide, slope = _padded(given), np.zeros_like(weight)
            back = np.zeros_like(wide)
            for row in range(3):
                for column in range(3):
                    part, w = _tap(wide, row, column, stride), weight[row, column]
                    if kind == "full":
                        slope[row, column] = np.tensordot(part, error, ((0, 1, 2), (0, 1, 2)))
                        _tap(back, row, column, stride)[...] += error @ w.T
                    else:
                        slope[row, column] = (part * error).sum(axis=(0, 1, 2))
                        _tap(back, row, column, stride)[...] += error * w
            before = back[:, 1:-1, 1:-1]
        slopes = [slope, bias, *slopes]
        error = before * (given > 0) if number else before
    return slopes


def start(rng: np.random.Generator) -> list[Array]:
    weights, before = [], 1
    for kind, _, channels in LAYERS:
        shape = {"full": (3, 3, before, channels), "full1": (before, channels), "depthwise": (3, 3, channels)}[kind]
        inputs = {"full": 9 * before, "full1": before, "depthwise": 9}[kind]
        weights.append((rng.standard_normal(shape) * np.sqrt(2 / inputs)).astype(np.float32))
        weights.append(np.zeros(channels, np.float32))
        before = channels
    return [*weights, (rng.standard_normal((before, 2)) * 0.2).astype(np.float32), np.zeros(2, np.float32)]


def train(x: Array, labels: Array, steps: int = 2500, batch: int = 48) -> list[Array]:
    """Adam on the cross entropy; half of the pictures are mirrored."""
    rng = np.random.default_rng(0)
    weights = start(rng)
    moments = [[np.zeros_like(w), np.zeros_like(w)] for w in weights]
    for step in range(1, steps + 1):
        chosen = rng.integers(0, len(x), batch)
        pictures = x[chosen] if step % 2 else x[chosen, :, ::-1]
        found, scores = forward(weights, pictures)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        shares[np.arange(batch), labels[chosen]] -= 1
        rate = 0.004 * (1 + np.cos(np.pi * step / steps)) / 2
        for weight, slope, moment in zip(weights, backward(weights, found, shares / batch), moments):
            moment[0] += 0.1 * (slope - moment[0])
            moment[1] += 0.01 * (slope * slope - moment[1])
            weight -= rate * (moment[0] / (1 - 0.9**step) / (np.sqrt(moment[1] / (1 - 0.99**step)) + 1e-8)).astype("f4")
    return weights


def model(weights: list[Array]) -> onnx.ModelProto:
    nodes, constants, last, before = [], [], "image", 1
    for number, (kind, stride, channels) in enumerate(LAYERS):
        weight = weights[2 * number]
        if kind == "full1":
            kernel = weight.T[:, :, None, None]
        else:
            kernel = np.moveaxis(weight, (0, 1), (-2, -1))
            kernel = kernel[:, None] if kind == "depthwise" else np.swapaxes(kernel, 0, 1)
        constants += [numpy_helper.from_array(np.ascontiguousarray(kernel, np.float32), f"w{number}"),
                      numpy_helper.from_array(weights[2 * number + 1], f"b{number}")]  # fmt: skip
        pads = [0] * 4 if kind == "full1" else [1] * 4
        nodes.append(
            helper.make_node(
                "Conv", [last, f"w{number}", f"b{number}"], [f"sums_{number}"], f"{kind}_{number}", pads=pads,
                strides=[stride] * 2, group=before if kind == "depthwise" else 1,
            )
        )  # fmt: skip
        nodes.append(helper.make_node("Relu", [f"sums_{number}"], [f"layer_{number}"]))
        last, before = f"layer_{number}", channels
    nodes += [
        helper.make_node("GlobalAveragePool", [last], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w", "b"], ["scores"], "scores"),
    ]
    constants += [numpy_helper.from_array(weights[-2], "w"), numpy_helper.from_array(weights[-1], "b")]
    graph = helper.make_graph(
        nodes, "person", [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, SIDE, SIDE])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 2])], constants,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


if __name__ == "__main__":
    pictures, labels = data(8000, 1)
    weights = train(pictures, labels)
    others, truth = data(1000, 2)
    print(f"float: {(forward(weights, others)[1].argmax(axis=1) == truth).mean():.3f} right")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        onnx.save(model(weights), folder / "float.onnx")
        np.savez(folder / "typical.npz", image=pictures[:200].reshape(-1, 1, SIDE, SIDE))
        ccml.quantize(folder / "float.onnx", ccml.Quantization(folder / "typical.npz"), FOLDER / "person.onnx")
    whole = ccml.load(FOLDER / "person.onnx")
    found = np.array([whole.run(x.reshape(1, 1, SIDE, SIDE))["scores"].argmax() for x in others])
    print(f"8 bits: {(found == truth).mean():.3f} right")
