"""Random networks of float layers as people build them, small: what the quantizer is given.

Unlike :mod:`tests.fuzz.cases`, whose operators meet anything, layers follow one another in ways that make sense, with
weights that keep the size of what they are given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 18


@dataclass
class Network:
    """A model under construction. Images are N x C x H x W, sequences N x T x F, vectors N x F, with N = 1."""

    rng: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)

    def op(self, kind: str, *operands: str, **attributes: object) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], name=name, **attributes))
        return name

    def constant(self, array: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def normal(self, *shape: int, over: int = 1) -> str:
        """Weights of sums of ``over`` products."""
        return self.constant((self.rng.normal(size=shape) / np.sqrt(over)).astype(np.float32))

    def indices(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def pick(self, *choices: object) -> object:
        return choices[self.rng.integers(len(choices))]

    def number(self, low: int, high: int) -> int:
        """Both included."""
        return int(self.rng.integers(low, high + 1))


Shape = tuple[int, ...]
Layer = Callable[[Network, str, Shape], tuple[str, Shape]]

_ACTIVATIONS = (
    "Relu", "LeakyRelu", "Sigmoid", "Tanh", "HardSwish", "HardSigmoid", "Elu", "Softplus", "Gelu", "Swish", "Clip",
    "PRelu",
)  # fmt: skip


def activation(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    kind = net.pick(*_ACTIVATIONS)
    if kind == "Clip":
        return net.op("Clip", x, *(net.constant(np.float32(v)) for v in (0, 6))), shape
    if kind == "PRelu":
        return net.op("PRelu", x, net.normal(shape[1], *[1] * (len(shape) - 2), over=9)), shape
    if kind == "Swish":
        return net.op("Mul", x, net.op("Sigmoid", x)), shape
    if kind == "Gelu":
        half = net.op("Mul", x, net.constant(np.float32(0.5)))
        erf = net.op("Erf", net.op("Div", x, net.constant(np.float32(np.sqrt(2)))))
        return net.op("Mul", half, net.op("Add", erf, net.constant(np.float32(1)))), shape
    return net.op(str(kind), x), shape


def conv(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    _, channels, height, width = shape
    kernel = min(net.pick(1, 1, 3, 3, 5), height, width)
    group = net.pick(1, 1, channels, *(n for n in (2, 3) if channels % n == 0))
    out = group * net.number(1, max(1, 20 // group))
    step, pad = net.pick(1, 1, 2), net.pick(0, kernel // 2)
    w = net.normal(out, channels // group, kernel, kernel, over=channels // group * kernel * kernel)
    bias = [net.normal(out, over=4)] if net.pick(True, True, False) else []
    y = net.op("Conv", x, w, *bias, group=group, strides=[step] * 2, pads=[pad] * 4, kernel_shape=[kernel] * 2)
    extents = tuple((extent + 2 * pad - kernel) // step + 1 for extent in (height, width))
    return activation(net, y, (1, out, *extents)) if net.pick(True, True, False) else (y, (1, out, *extents))


def transposed(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    _, channels, height, width = shape
    out, kernel, step = net.number(1, 8), net.pick(2, 3), net.pick(1, 2)
    w = net.normal(channels, out, kernel, kernel, over=channels * kernel)
    y = net.op("ConvTranspose", x, w, strides=[step] * 2)
    return y, (1, out, (height - 1) * step + kernel, (width - 1) * step + kernel)


def pool(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    kernel, step = min(net.pick(2, 3), *shape[2:]), net.pick(1, 2)
    y = net.op(str(net.pick("MaxPool", "AveragePool")), x, kernel_shape=[kernel] * 2, strides=[step] * 2)
    return y, (*shape[:2], *((extent - kernel) // step + 1 for extent in shape[2:]))


def resize(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    sizes = (*shape[:2], *(extent * net.pick(1, 2) for extent in shape[2:]))
    mode = net.pick("nearest", "linear")
    return net.op("Resize", x, "", "", net.indices(*sizes), mode=mode), sizes


def normalize(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    count = shape[1]
    scale, bias = net.constant(net.rng.uniform(0.5, 2, count).astype(np.float32)), net.normal(count)
    if net.pick(True, False) or len(shape) != 4:
        variance = net.constant(net.rng.uniform(0.5, 2, count).astype(np.float32))
        return net.op("BatchNormalization", x, scale, bias, net.normal(count), variance), shape
    return net.op("InstanceNormalization", x, scale, bias), shape


def residual(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    kernel = net.pick(1, 3)
    w = net.normal(shape[1], shape[1], kernel, kernel, over=shape[1] * kernel**2)
    y = net.op("Conv", x, w, pads=[kernel // 2] * 4, kernel_shape=[kernel] * 2)
    return net.op(str(net.pick("Add", "Add", "Sub", "Mul")), *net.pick((x, y), (y, x))), shape


def squeeze_and_excite(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    mean = net.op("GlobalAveragePool", x)
    gate = net.op("Sigmoid", net.op("Conv", mean, net.normal(shape[1], shape[1], 1, 1, over=shape[1])))
    return net.op("Mul", x, gate), shape


def joined(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    parts = [x, net.op(str(net.pick("Relu", "Tanh", "Neg", "Abs")), x)]
    return net.op("Concat", *parts, axis=1), (1, 2 * shape[1], *shape[2:])


def halved(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    """The first channels, or the sum of both halves."""
    if shape[1] % 2 == 0 and net.pick(True, False):
        first, second = f"{x}_first", f"{x}_second"
        sizes = net.indices(shape[1] // 2, shape[1] // 2)
        net.nodes.append(helper.make_node("Split", [x, sizes], [first, second], axis=1))
        return net.op("Add", first, second), (1, shape[1] // 2, *shape[2:])
    kept = -(-shape[1] // 2)
    return net.op("Slice", x, net.indices(0), net.indices(kept), net.indices(1)), (1, kept, *shape[2:])


def padded(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    pads = [0, 0, *(net.number(0, 2) for _ in shape[2:])] * 2
    y = net.op("Pad", x, net.indices(*pads), mode=net.pick("constant", "edge"))
    return y, (*shape[:2], *(extent + 2 * pad for extent, pad in zip(shape[2:], pads[2:])))


def dense(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    out = net.number(1, 24)
    y = net.op("MatMul", x, net.normal(shape[-1], out, over=shape[-1]))
    if net.pick(True, False):
        y = net.op("Add", y, net.normal(out, over=4))
    return (net.op(str(net.pick("Relu", "Tanh", "Sigmoid")), y) if net.pick(True, False) else y), (*shape[:-1], out)


def attention(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    width = shape[-1]
    q, k, v = (net.op("MatMul", x, net.normal(width, width, over=width)) for _ in range(3))
    scores = net.op("MatMul", q, net.op("Transpose", k, perm=[0, 2, 1]))
    shares = net.op("Softmax", net.op("Mul", scores, net.constant(np.float32(width**-0.5))), axis=-1)
    return net.op("Add", x, net.op("MatMul", shares, v)), shape


def layer_norm(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    scale = net.constant(net.rng.uniform(0.5, 2, shape[-1]).astype(np.float32))
    return net.op("LayerNormalization", x, scale, net.normal(shape[-1], over=4), axis=-1), shape


def recurrent(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    kind, hidden = str(net.pick("GRU", "LSTM", "RNN")), net.number(1, 12)
    gates = {"GRU": 3, "LSTM": 4, "RNN": 1}[kind] * hidden
    w, r = net.normal(1, gates, shape[-1], over=shape[-1]), net.normal(1, gates, hidden, over=hidden)
    more = {"linear_before_reset": 1} if kind == "GRU" else {}
    y = net.op(kind, net.op("Transpose", x, perm=[1, 0, 2]), w, r, hidden_size=hidden, **more)
    return net.op("Transpose", net.op("Squeeze", y, net.indices(1)), perm=[1, 0, 2]), (1, shape[1], hidden)


def on_sequences(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    kind = str(net.pick("Relu", "Tanh", "Sigmoid", "Elu", "Softplus"))
    return net.op(kind, x), shape


IMAGES: tuple[Layer, ...] = (
    conv, conv, conv, conv, transposed, pool, resize, normalize, residual, residual, squeeze_and_excite, joined, halved,
    padded, activation,
)  # fmt: skip
SEQUENCES: tuple[Layer, ...] = (dense, dense, attention, layer_norm, recurrent, on_sequences)


def network(seed: int) -> onnx.ModelProto:
    """Images or sequences at the input ``x``, at the end perhaps a mean and a softmax; the output is ``y``."""
    net = Network(np.random.default_rng([seed, 3]))
    images = bool(net.pick(True, True, False))
    first: Shape = (1, net.number(1, 4), net.number(5, 12), net.number(5, 12))
    if not images:
        first = (1, net.number(1, 12), net.number(2, 16))
    x, shape = "x", first
    for _ in range(net.number(2, 8)):
        layer = net.pick(*(IMAGES if images else SEQUENCES))
        small = images and min(shape[2:]) < 3 and layer in (pool, transposed)
        if not small and np.prod(shape) < 4000:
            x, shape = layer(net, x, shape)  # type: ignore[operator]
    if net.pick(True, True, False):
        if images:
            x, shape = net.op("Flatten", net.op("GlobalAveragePool", x)), shape[:2]
        x, shape = dense(net, x, shape)
        x = net.op("Softmax", x, axis=-1) if net.pick(True, False) else x
    net.op("Identity", x)
    net.nodes[-1].output[0] = "y"
    start = helper.make_tensor_value_info("x", TensorProto.FLOAT, first)
    end = helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)
    graph = helper.make_graph(net.nodes, f"network{seed}", [start], [end], net.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
