"""Random networks of float layers as people build them: small ones for the quantizer, and such of real sizes, for which
loops are blocked, streamed and split as they are for no small layer.

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


@dataclass(frozen=True)
class Sizes:
    """Of layers at most; ``extents`` of images and ``features`` of sequences from and to, at the input.
    ``elements`` is what a value has before no layer follows it any more."""

    channels: int
    extents: tuple[int, int]
    features: tuple[int, int]
    steps: tuple[int, int]
    columns: int
    hidden: int
    elements: int


SMALL = Sizes(20, (5, 12), (2, 16), (1, 12), 24, 12, 4_000)
REAL = Sizes(160, (6, 34), (16, 300), (1, 70), 400, 200, 250_000)


@dataclass
class Network:
    """A model under construction. Images are N x C x H x W, sequences N x T x F, vectors N x F, with N = 1."""

    rng: np.random.Generator
    sizes: Sizes = SMALL
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

    def width(self, most: int) -> int:
        """Of a layer: of real sizes often a multiple of 8, as widths are."""
        found = self.number(1, most)
        return found if self.sizes is SMALL or self.pick(True, False) else max(8, found // 8 * 8)


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
    out = group * net.width(max(1, net.sizes.channels // group))
    step, pad = net.pick(1, 1, 2), net.pick(0, kernel // 2)
    w = net.normal(out, channels // group, kernel, kernel, over=channels // group * kernel * kernel)
    bias = [net.normal(out, over=4)] if net.pick(True, True, False) else []
    y = net.op("Conv", x, w, *bias, group=group, strides=[step] * 2, pads=[pad] * 4, kernel_shape=[kernel] * 2)
    extents = tuple((extent + 2 * pad - kernel) // step + 1 for extent in (height, width))
    return activation(net, y, (1, out, *extents)) if net.pick(True, True, False) else (y, (1, out, *extents))


def transposed(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    _, channels, height, width = shape
    out, kernel, step = net.width(net.sizes.channels * 2 // 5), net.pick(2, 3), net.pick(1, 2)
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
    out = net.width(net.sizes.columns)
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
    kind, hidden = str(net.pick("GRU", "LSTM", "RNN")), net.width(net.sizes.hidden)
    gates = {"GRU": 3, "LSTM": 4, "RNN": 1}[kind] * hidden
    w, r = net.normal(1, gates, shape[-1], over=shape[-1]), net.normal(1, gates, hidden, over=hidden)
    more = {"linear_before_reset": 1} if kind == "GRU" else {}
    y = net.op(kind, net.op("Transpose", x, perm=[1, 0, 2]), w, r, hidden_size=hidden, **more)
    return net.op("Transpose", net.op("Squeeze", y, net.indices(1)), perm=[1, 0, 2]), (1, shape[1], hidden)


def on_sequences(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    kind = str(net.pick("Relu", "Tanh", "Sigmoid", "Elu", "Softplus"))
    return net.op(kind, x), shape


def shuffled(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    """Channels of groups in turn."""
    _, channels, height, width = shape
    groups = net.pick(*(n for n in (2, 3, 4, 1) if channels % n == 0))
    parts = net.op("Reshape", x, net.indices(1, groups, channels // groups, height, width))
    turned = net.op("Transpose", parts, perm=[0, 2, 1, 3, 4])
    return net.op("Reshape", turned, net.indices(*shape)), shape


def inverted_residual(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    """A wide depthwise layer between two of single pixels, with or without the sum."""
    channels, wide = shape[1], shape[1] * net.pick(2, 3)
    kernel, step = net.pick(3, 5), net.pick(1, 1, 2)
    y = net.op("Conv", x, net.normal(wide, channels, 1, 1, over=channels), net.normal(wide, over=4))
    y, _ = activation(net, y, (1, wide, *shape[2:]))
    w = net.normal(wide, 1, kernel, kernel, over=kernel * kernel)
    y = net.op("Conv", y, w, net.normal(wide, over=4), group=wide, strides=[step] * 2, pads=[kernel // 2] * 4)
    extents = tuple((extent - 1) // step + 1 for extent in shape[2:])
    y, _ = activation(net, y, (1, wide, *extents))
    y = net.op("Conv", y, net.normal(channels, wide, 1, 1, over=wide), net.normal(channels, over=4))
    return (net.op("Add", x, y) if step == 1 else y), (1, channels, *extents)


def branches(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    """Several layers of one input side by side."""
    made = []
    for kernel in (1, 3, net.pick(1, 5)):
        out = net.width(net.sizes.channels // 4)
        w = net.normal(out, shape[1], kernel, kernel, over=shape[1] * kernel * kernel)
        y = net.op("Conv", x, w, net.normal(out, over=4), pads=[kernel // 2] * 4)
        made.append((*activation(net, y, (1, out, *shape[2:])), out))
    return net.op("Concat", *(y for y, _, _ in made), axis=1), (1, sum(out for _, _, out in made), *shape[2:])


def dilated(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    out, step = net.width(net.sizes.channels), net.pick(2, 3)
    w = net.normal(out, shape[1], 3, 3, over=shape[1] * 9)
    return net.op("Conv", x, w, dilations=[step] * 2, pads=[step] * 4), (1, out, *shape[2:])


def heads(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    """Attention of several heads."""
    _, steps, width = shape
    count, size = net.pick(1, 2, 4), net.pick(8, 13, 32)

    def split(axes: list[int]) -> str:
        made = net.op("MatMul", x, net.normal(width, count * size, over=width))
        return net.op("Transpose", net.op("Reshape", made, net.indices(1, steps, count, size)), perm=axes)

    scores = net.op("MatMul", split([0, 2, 1, 3]), split([0, 2, 3, 1]))
    shares = net.op("Softmax", net.op("Mul", scores, net.constant(np.float32(size**-0.5))), axis=-1)
    mixed = net.op("Transpose", net.op("MatMul", shares, split([0, 2, 1, 3])), perm=[0, 2, 1, 3])
    y = net.op("Reshape", mixed, net.indices(1, steps, count * size))
    return net.op("Add", x, net.op("MatMul", y, net.normal(count * size, width, over=count * size))), shape


def feed_forward(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    """Two layers with a wide one between them, and the sum."""
    width, wide = shape[-1], shape[-1] * net.pick(2, 4)
    y = net.op("Add", net.op("MatMul", x, net.normal(width, wide, over=width)), net.normal(wide, over=4))
    y, _ = activation(net, y, (1, shape[1], wide)) if net.pick(True, False) else (net.op("Relu", y), shape)
    return net.op("Add", x, net.op("MatMul", y, net.normal(wide, width, over=wide))), shape


def both_directions(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    kind, hidden = str(net.pick("GRU", "LSTM")), net.width(net.sizes.hidden // 2)
    gates = {"GRU": 3, "LSTM": 4}[kind] * hidden
    w, r = net.normal(2, gates, shape[-1], over=shape[-1]), net.normal(2, gates, hidden, over=hidden)
    bias, more = net.normal(2, 2 * gates, over=9), {"linear_before_reset": net.pick(0, 1)} if kind == "GRU" else {}
    turned = net.op("Transpose", x, perm=[1, 0, 2])
    y = net.op(kind, turned, w, r, bias, hidden_size=hidden, direction="bidirectional", **more)
    rows = net.op("Reshape", net.op("Transpose", y, perm=[2, 0, 1, 3]), net.indices(1, shape[1], 2 * hidden))
    return rows, (1, shape[1], 2 * hidden)


def along_time(net: Network, x: str, shape: Shape) -> tuple[str, Shape]:
    """A convolution over steps."""
    _, steps, width = shape
    kernel, group = min(net.pick(1, 3, 5), steps), net.pick(1, 1, width)
    out = width if group > 1 else net.width(net.sizes.columns // 2)
    w = net.normal(out, width // group, kernel, over=width // group * kernel)
    y = net.op("Conv", net.op("Transpose", x, perm=[0, 2, 1]), w, net.normal(out, over=4), group=group)
    return net.op("Transpose", y, perm=[0, 2, 1]), (1, steps - kernel + 1, out)


IMAGES: tuple[Layer, ...] = (
    conv, conv, conv, conv, transposed, pool, resize, normalize, residual, residual, squeeze_and_excite, joined, halved,
    padded, activation,
)  # fmt: skip
SEQUENCES: tuple[Layer, ...] = (dense, dense, attention, layer_norm, recurrent, on_sequences)
_MORE_IMAGES: tuple[Layer, ...] = (shuffled, inverted_residual, inverted_residual, branches, dilated)
_MORE_SEQUENCES: tuple[Layer, ...] = (heads, feed_forward, both_directions, along_time)


def network(seed: int, sizes: Sizes = SMALL) -> onnx.ModelProto:
    """Images or sequences at the input ``x``, at the end perhaps a mean and a softmax; the output is ``y``."""
    net = Network(np.random.default_rng([seed, 3]), sizes)
    more = sizes is not SMALL
    layers = {True: (*IMAGES, *_MORE_IMAGES * more), False: (*SEQUENCES, *_MORE_SEQUENCES * more)}
    images = bool(net.pick(True, True, False))
    first: Shape = (1, net.number(1, 4), net.number(*sizes.extents), net.number(*sizes.extents))
    if not images:
        first = (1, net.number(*sizes.steps), net.number(*sizes.features))
    x, shape = "x", first
    for _ in range(net.number(2, 8)):
        layer = net.pick(*layers[images])
        small = images and min(shape[2:]) < 3 and layer in (pool, transposed)
        if not small and np.prod(shape) < sizes.elements:
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
