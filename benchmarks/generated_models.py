"""Small models with seeded weights, of architectures that the model set lacks, and typical inputs for them.

Weights are drawn as training leaves them in one respect that matters to quantization: channels of a layer differ in
size by a factor of some units (log-normal), and a normalization behind them does not undo all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
FLOAT_MIN = float(np.finfo(np.float32).min)

Feeds = dict[str, np.ndarray]


@dataclass(frozen=True)
class Generated:
    """A model of batch 1 and its samples, each a dictionary of its inputs."""

    model: onnx.ModelProto
    samples: list[Feeds]


@dataclass
class Builder:
    """An ONNX graph under construction; operators return the name of their result."""

    seed: int
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def op(self, kind: str, *inputs: str, results: int = 1, **attrs: object) -> str:
        return self.ops(kind, *inputs, results=results, **attrs)[0]

    def ops(self, kind: str, *inputs: str, results: int, **attrs: object) -> list[str]:
        stem = f"{kind.lower()}_{len(self.nodes)}"
        names = [stem if number == 0 else f"{stem}.{number}" for number in range(results)]
        self.nodes.append(helper.make_node(kind, inputs, names, stem, **attrs))
        return names

    def constant(self, array: object, dtype: type = np.float32) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array, dtype), name))
        return name

    def weights(self, *shape: int, fan_in: int, channel_axis: int = 0, gain: float = 2.0) -> str:
        sizes = np.exp(0.5 * self.rng.standard_normal(shape[channel_axis]))
        along = [-1 if axis == channel_axis else 1 for axis in range(len(shape))]
        drawn = self.rng.standard_normal(shape) * np.sqrt(gain / fan_in) * sizes.reshape(along)
        return self.constant(drawn)

    def small(self, *shape: int, around: float = 0.0) -> str:
        return self.constant(around + 0.1 * self.rng.standard_normal(shape))

    def conv(self, x: str, ic: int, oc: int, kernel: Sequence[int] = (3, 3), stride: int = 1, group: int = 1) -> str:
        fan_in = ic // group * int(np.prod(kernel))
        pads = [k // 2 for k in kernel] * 2
        w = self.weights(oc, ic // group, *kernel, fan_in=fan_in)
        return self.op("Conv", x, w, self.small(oc), strides=[stride] * len(kernel), pads=pads, group=group)

    def batch_norm(self, x: str, channels: int) -> str:
        mean, variance = self.small(channels), self.constant(np.exp(0.5 * self.rng.standard_normal(channels)))
        return self.op("BatchNormalization", x, self.small(channels, around=1.0), self.small(channels), mean, variance)

    def dense(self, x: str, rows: int, columns: int, gain: float = 1.0) -> str:
        w = self.weights(rows, columns, fan_in=rows, channel_axis=1, gain=gain)
        return self.op("Add", self.op("MatMul", x, w), self.small(columns))

    def layer_norm(self, x: str, size: int) -> str:
        return self.op("LayerNormalization", x, self.small(size, around=1.0), self.small(size), axis=-1)

    def relu6(self, x: str) -> str:
        return self.op("Clip", x, self.constant(0.0), self.constant(6.0))

    def silu(self, x: str) -> str:
        return self.op("Mul", x, self.op("Sigmoid", x))

    def hard_swish(self, x: str) -> str:
        return self.op("Mul", x, self.op("HardSigmoid", x, alpha=1 / 6, beta=0.5))

    def gelu(self, x: str) -> str:
        erf = self.op("Erf", self.op("Div", x, self.constant(2**0.5)))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.constant(1.0))), self.constant(0.5))

    def reshape(self, x: str, *shape: int) -> str:
        return self.op("Reshape", x, self.constant(shape, np.int64))

    def pooled(self, x: str) -> str:
        return self.op("Flatten", self.op("GlobalAveragePool", x))

    def attention(self, x: str, length: int, size: int, heads: int, mask: str | None = None) -> str:
        own = size // heads

        def split(perm: list[int]) -> str:
            return self.op("Transpose", self.reshape(self.dense(x, size, size), 1, length, heads, own), perm=perm)

        q, k, v = split([0, 2, 1, 3]), split([0, 2, 3, 1]), split([0, 2, 1, 3])
        scores = self.op("Div", self.op("MatMul", q, k), self.constant(own**0.5))
        if mask is not None:
            scores = self.op("Add", scores, mask)
        read = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        return self.dense(self.reshape(self.op("Transpose", read, perm=[0, 2, 1, 3]), 1, length, size), size, size)

    def encoder_layer(self, x: str, length: int, size: int, heads: int, mask: str | None = None) -> str:
        """As in BERT, the normalization last."""
        x = self.layer_norm(self.op("Add", x, self.attention(x, length, size, heads, mask)), size)
        inner = self.dense(self.gelu(self.dense(x, size, 4 * size, gain=2.0)), 4 * size, size)
        return self.layer_norm(self.op("Add", x, inner), size)

    def model(self, inputs: Mapping[str, Sequence[int]], outputs: Sequence[str]) -> onnx.ModelProto:
        taken = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
        given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(self.nodes, "generated", taken, given, self.constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        return onnx.shape_inference.infer_shapes(made, strict_mode=True)


# ---------------------------------------------------------------- inputs


def images(seed: int, count: int, *shape: int) -> list[Feeds]:
    """Smooth random pictures of mean 0: sums of waves, with noise."""
    rng = np.random.default_rng(seed)
    channels, height, width = shape
    y, x = np.mgrid[:height, :width] / max(height, width)
    made = []
    for _ in range(count):
        waves = np.zeros(shape)
        for _ in range(6):
            fx, fy, phase = rng.uniform(-8, 8), rng.uniform(-8, 8), rng.uniform(0, 6.28, (channels, 1, 1))
            waves += rng.gamma(1.0, 0.5, (channels, 1, 1)) * np.sin(2 * np.pi * (fx * x + fy * y) + phase)
        made.append({"x": (waves + 0.1 * rng.standard_normal(shape))[np.newaxis].astype(np.float32)})
    return made


def walks(seed: int, count: int, steps: int, size: int, batch_axis: int = 0) -> list[Feeds]:
    """Slowly changing vectors, ``[steps, size]`` with a batch of 1 at ``batch_axis``."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        walk = np.cumsum(0.4 * rng.standard_normal((steps, size)), axis=0) + rng.standard_normal(size)
        walk = walk / np.maximum(1.0, walk.std()) * rng.gamma(4.0, 0.25)
        made.append({"x": np.expand_dims(walk, batch_axis).astype(np.float32)})
    return made


def masks(seed: int, feeds: Sequence[Feeds], length: int) -> list[Feeds]:
    """1 for the tokens that a sample has, and 0 behind them."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(length // 4, length + 1, len(feeds))
    rows = ((np.arange(length) < n).astype(np.float32)[np.newaxis] for n in lengths)
    return [{**one, "mask": row} for one, row in zip(feeds, rows)]


# ---------------------------------------------------------------- models


def cnn_pool(seed: int, count: int) -> Generated:
    b, x, ic = Builder(seed), "x", 3
    for oc in (16, 32, 64):
        x = b.op("Relu", b.batch_norm(b.conv(x, ic, oc), oc))
        x, ic = b.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), oc
    x = b.dense(b.op("Relu", b.dense(b.op("Flatten", x), 64 * 16, 64, 2.0)), 64, 10)
    return Generated(b.model({"x": [1, 3, 32, 32]}, [x]), images(seed, count, 3, 32, 32))


def inverted_residuals(seed: int, count: int, activation: Callable[[Builder, str], str], gate: bool) -> Generated:
    b = Builder(seed)
    x, ic = activation(b, b.conv("x", 3, 16, stride=2)), 16
    for oc, stride in ((16, 1), (24, 2), (24, 1), (40, 2), (40, 1)):
        y = activation(b, b.conv(x, ic, 4 * ic, (1, 1)))
        y = activation(b, b.conv(y, 4 * ic, 4 * ic, (3, 3), stride, 4 * ic))
        if gate:
            scores = b.op("Relu", b.conv(b.op("GlobalAveragePool", y), 4 * ic, ic, (1, 1)))
            y = b.op("Mul", y, b.op("HardSigmoid", b.conv(scores, ic, 4 * ic, (1, 1)), alpha=1 / 6, beta=0.5))
        y = b.conv(y, 4 * ic, oc, (1, 1))
        x, ic = b.op("Add", x, y) if ic == oc else y, oc
    x = b.dense(b.pooled(activation(b, b.conv(x, ic, 96, (1, 1)))), 96, 10)
    return Generated(b.model({"x": [1, 3, 48, 48]}, [x]), images(seed, count, 3, 48, 48))


def residual(seed: int, count: int) -> Generated:
    b = Builder(seed)
    x, ic = b.op("Relu", b.conv("x", 3, 16)), 16
    for oc, stride in ((16, 1), (32, 2), (64, 2)):
        y = b.conv(b.op("Relu", b.conv(x, ic, oc, (3, 3), stride)), oc, oc)
        shortcut = x if ic == oc else b.conv(x, ic, oc, (1, 1), stride)
        x, ic = b.op("Relu", b.op("Add", y, shortcut)), oc
    scores = b.op("Softmax", b.dense(b.pooled(x), 64, 10), axis=-1)
    return Generated(b.model({"x": [1, 3, 32, 32]}, [scores]), images(seed, count, 3, 32, 32))


def mlp(seed: int, count: int, *, normalized: bool) -> Generated:
    b, x = Builder(seed), "x"
    for rows, columns in ((64, 128), (128, 128), (128, 64)):
        x = b.dense(x, rows, columns, 2.0)
        x = b.layer_norm(b.gelu(x), columns) if normalized else b.op("Relu", x)
    x = b.dense(x, 64, 8)
    feeds = [{"x": one["x"][:, -1]} for one in walks(seed, count, 8, 64)]
    return Generated(b.model({"x": [1, 64]}, [x]), feeds)


def tanh_autoencoder(seed: int, count: int) -> Generated:
    b, x = Builder(seed), "x"
    for rows, columns in ((96, 64), (64, 12), (12, 64)):
        x = b.op("Tanh", b.dense(x, rows, columns))
    feeds = [{"x": one["x"][:, -1]} for one in walks(seed, count, 8, 96)]
    return Generated(b.model({"x": [1, 96]}, [b.dense(x, 64, 96)]), feeds)


def encoder(seed: int, count: int, mask: str | None, length: int = 32, size: int = 64, heads: int = 4) -> Generated:
    """``mask`` is the number that hides a token: ``-10000`` is computed, ``-inf`` and ``min`` are selected."""
    b, inputs, hidden = Builder(seed), {"x": [1, length, size]}, None
    feeds = walks(seed, count, length, size)
    if mask is not None:
        inputs["mask"], feeds = [1, length], masks(seed, feeds, length)
        shown = b.op("Unsqueeze", "mask", b.constant([1, 2], np.int64))
        if mask == "-10000":
            hidden = b.op("Mul", b.op("Sub", b.constant(1.0), shown), b.constant(-10000.0))
        else:
            is_shown = b.op("Cast", shown, to=TensorProto.BOOL)
            number = b.constant({"-inf": -np.inf, "min": FLOAT_MIN}[mask])
            hidden = b.op("Where", is_shown, b.constant(0.0), number)
    x = b.layer_norm("x", size)
    for _ in range(2):
        x = b.encoder_layer(x, length, size, heads, hidden)
    return Generated(b.model(inputs, [x]), feeds)


def causal(seed: int, count: int, length: int = 24, size: int = 48, heads: int = 4) -> Generated:
    """A decoder, the normalization first; its mask is a constant."""
    b, x = Builder(seed), "x"
    mask = b.constant(np.triu(np.full((length, length), -np.inf), 1)[np.newaxis, np.newaxis])
    for _ in range(2):
        x = b.op("Add", x, b.attention(b.layer_norm(x, size), length, size, heads, mask))
        inner = b.gelu(b.dense(b.layer_norm(x, size), size, 4 * size, 2.0))
        x = b.op("Add", x, b.dense(inner, 4 * size, size))
    x = b.dense(b.layer_norm(x, size), size, 20)
    return Generated(b.model({"x": [1, length, size]}, [x]), walks(seed, count, length, size))


def recurrent(seed: int, count: int, kind: str, steps: int, *, both_ways: bool = False, layers: int = 1) -> Generated:
    b, x, size, hidden = Builder(seed), "x", 32, 48
    gates, ways = {"LSTM": 4, "GRU": 3}[kind], 2 if both_ways else 1
    attrs = {"hidden_size": hidden, "direction": "bidirectional" if both_ways else "forward"}
    if kind == "GRU":
        attrs["linear_before_reset"] = 1
    for _ in range(layers):
        w = b.weights(ways, gates * hidden, size, fan_in=size, channel_axis=1, gain=1.0)
        r = b.weights(ways, gates * hidden, hidden, fan_in=hidden, channel_axis=1, gain=1.0)
        y = b.op(kind, x, w, r, b.small(ways, 2 * gates * hidden), **attrs)
        size = ways * hidden
        x = b.reshape(b.op("Transpose", y, perm=[0, 2, 1, 3]), steps, 1, size)
    last = b.op("Gather", x, b.constant(-1, np.int64), axis=0)
    x = b.dense(last, size, 6)
    return Generated(b.model({"x": [steps, 1, 32]}, [x]), walks(seed, count, steps, 32, batch_axis=1))


def unet(seed: int, count: int) -> Generated:
    b, x, ic, skips = Builder(seed), "x", 1, []
    for oc in (8, 16):
        x = b.op("Relu", b.conv(b.op("Relu", b.conv(x, ic, oc)), oc, oc))
        skips.append((x, oc))
        x, ic = b.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), oc
    x = b.op("Relu", b.conv(x, 16, 32))
    ic = 32
    for skip, oc in reversed(skips):
        w = b.weights(ic, oc, 2, 2, fan_in=ic, channel_axis=1)
        up = b.op("ConvTranspose", x, w, b.small(oc), strides=[2, 2])
        x, ic = b.op("Relu", b.conv(b.op("Concat", up, skip, axis=1), 2 * oc, oc)), oc
    x = b.op("Sigmoid", b.conv(x, ic, 1, (1, 1)))
    return Generated(b.model({"x": [1, 1, 48, 48]}, [x]), images(seed, count, 1, 48, 48))


def yolo(seed: int, count: int) -> Generated:
    """Two scales; boxes are decoded, scores behind a sigmoid."""
    b, anchors, classes = Builder(seed), 2, 4
    x, ic, scales = "x", 3, []
    for oc in (16, 24, 32, 48):
        x, ic = b.silu(b.batch_norm(b.conv(x, ic, oc, stride=2), oc)), oc
        x = b.op("Add", x, b.silu(b.conv(x, oc, oc)))
        scales.append((x, oc))
    (fine, channels), (coarse, more) = scales[-2:]
    up = b.op("Resize", coarse, "", b.constant([1, 1, 2, 2]), mode="nearest", nearest_mode="floor",
              coordinate_transformation_mode="asymmetric")  # fmt: skip
    fine = b.silu(b.conv(b.op("Concat", fine, up, axis=1), channels + more, channels))
    found = []
    for tensor, size, cells, stride in ((fine, channels, 8, 8.0), (coarse, more, 4, 16.0)):
        head = b.conv(tensor, size, anchors * (5 + classes), (1, 1))
        rows = b.op("Transpose", b.reshape(head, 1, anchors, 5 + classes, cells * cells), perm=[0, 1, 3, 2])
        rows = b.reshape(rows, 1, anchors * cells * cells, 5 + classes)
        split = b.constant([2, 2, 1 + classes], np.int64)
        xy, wh, scores = b.ops("Split", rows, split, results=3, axis=-1)
        grid = np.stack(np.meshgrid(np.arange(cells), np.arange(cells)), -1).reshape(-1, 2)
        places = b.constant(np.tile(grid, (anchors, 1))[np.newaxis] - 0.5)
        shifted = b.op("Add", b.op("Mul", b.op("Sigmoid", xy), b.constant(2.0)), places)
        square = b.op("Pow", b.op("Mul", b.op("Sigmoid", wh), b.constant(2.0)), b.constant(2.0))
        centre, extent = b.op("Mul", shifted, b.constant(stride)), b.op("Mul", square, b.constant(4 * stride))
        found.append(b.op("Concat", centre, extent, b.op("Sigmoid", scores), axis=-1))
    output = b.op("Concat", *found, axis=1)
    return Generated(b.model({"x": [1, 3, 64, 64]}, [output]), images(seed, count, 3, 64, 64))


def temporal(seed: int, count: int) -> Generated:
    """Dilated convolutions over time."""
    b = Builder(seed)
    x = b.op("Relu", b.conv("x", 20, 32, (3,)))
    for dilation in (1, 2, 4):
        w = b.weights(32, 32, 3, fan_in=96)
        y = b.op("Conv", x, w, b.small(32), dilations=[dilation], pads=[dilation] * 2)
        x = b.op("Add", x, b.conv(b.op("Relu", y), 32, 32, (1,)))
    x = b.dense(b.op("Flatten", b.op("GlobalAveragePool", x)), 32, 6)
    feeds = [{"x": one["x"].transpose(0, 2, 1)} for one in walks(seed, count, 64, 20)]
    return Generated(b.model({"x": [1, 20, 64]}, [x]), feeds)


GENERATED: Mapping[str, Callable[[int, int], Generated]] = {
    "cnn": cnn_pool,
    "residual": residual,
    "mobile": lambda seed, count: inverted_residuals(seed, count, Builder.relu6, gate=False),
    "gated": lambda seed, count: inverted_residuals(seed, count, Builder.hard_swish, gate=True),
    "temporal": temporal,
    "unet": unet,
    "yolo": yolo,
    "mlp": lambda seed, count: mlp(seed, count, normalized=False),
    "mlp-norm": lambda seed, count: mlp(seed, count, normalized=True),
    "tanh": tanh_autoencoder,
    "encoder": lambda seed, count: encoder(seed, count, None),
    "masked": lambda seed, count: encoder(seed, count, "-10000"),
    "masked-inf": lambda seed, count: encoder(seed, count, "-inf"),
    "masked-min": lambda seed, count: encoder(seed, count, "min"),
    "causal": causal,
    "lstm": lambda seed, count: recurrent(seed, count, "LSTM", 16),
    "bilstm": lambda seed, count: recurrent(seed, count, "LSTM", 32, both_ways=True),
    "gru": lambda seed, count: recurrent(seed, count, "GRU", 20, layers=2),
    "gru-long": lambda seed, count: recurrent(seed, count, "GRU", 50),
}
"""Makers by name, of a seed and a number of samples."""
