"""Networks of well-known shapes with seeded weights, as ONNX files, to be timed.

    python benchmarks/networks.py FOLDER [NAME ...]

Shapes are those of the papers: MobileNetV2 (Sandler et al., 2018), SqueezeNet 1.1 (Iandola et al., 2016),
EfficientNet-B0 (Tan and Le, 2019), ShuffleNetV2 1.0 (Ma et al., 2018), U-Net (Ronneberger et al., 2015) of 12 to 96
channels, ViT-tiny (Touvron et al., 2021) without its patches, BERT (Devlin et al., 2018) of 4 layers of 256; for small
processors BERT of 2 layers of 128 and a ViT of 2 layers of 96; GRU and LSTM of 2 layers of 128. ResNet-50 is made by
``resnet50.py``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    """Nodes and weights in the order in which layers are added; tensors are called by their names."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(1)
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def constant(self, array: object) -> str:
        name = f"w{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weights(self, *shape: int, scale: float | None = None) -> str:
        """Normally distributed; by default so that signals keep their size behind a ReLU."""
        if scale is None:
            scale = (2 / np.prod(shape[1:])) ** 0.5 if len(shape) > 1 else 0.1
        return self.constant((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attrs: object) -> str:
        return self.ops(kind, *inputs, outputs=outputs, **attrs)[0]

    def ops(self, kind: str, *inputs: str, outputs: int, **attrs: object) -> list[str]:
        names = [f"t{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, f"{kind}_{len(self.nodes)}", **attrs))
        return names

    def conv(
        self, x: str, inputs: int, outputs: int, kernel: int = 3, stride: int = 1, *, group: int = 1,
        act: str | None = "Relu", pad: int | None = None,
    ) -> str:  # fmt: skip
        pads = [kernel // 2 if pad is None else pad] * 4
        weights, bias = self.weights(outputs, inputs // group, kernel, kernel), self.weights(outputs)
        y = self.op(
            "Conv", x, weights, bias, strides=[stride] * 2, pads=pads, group=group, kernel_shape=[kernel] * 2
        )  # fmt: skip
        if act == "Relu":
            return self.op("Relu", y)
        if act == "Relu6":
            return self.op("Clip", y, self.constant(np.float32(0)), self.constant(np.float32(6)))
        return self.op("Mul", y, self.op("Sigmoid", y)) if act == "Swish" else y

    def linear(self, x: str, inputs: int, outputs: int) -> str:
        product = self.op("MatMul", x, self.weights(inputs, outputs, scale=inputs**-0.5))
        return self.op("Add", product, self.weights(outputs))

    def classes(self, x: str, channels: int) -> str:
        """A thousand of them, of the mean over all pixels."""
        mean = self.op("Flatten", self.op("GlobalAveragePool", x))
        return self.op("Gemm", mean, self.weights(channels, 1000, scale=0.03), self.weights(1000))

    def half(self, x: str, kernel: int, pad: int = 0) -> str:
        return self.op("MaxPool", x, kernel_shape=[kernel] * 2, strides=[2, 2], pads=[pad] * 4)

    def model(self, shape: list[int], y: str, result: list[int]) -> onnx.ModelProto:
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        outputs = [helper.make_tensor_value_info(y, TensorProto.FLOAT, result)]
        graph = helper.make_graph(self.nodes, "network", inputs, outputs, self.initializers)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return onnx.shape_inference.infer_shapes(made)


IMAGE, SCORES = [1, 3, 224, 224], [1, 1000]


def mobilenetv2() -> onnx.ModelProto:
    net, c = Network(), 32
    x = net.conv("x", 3, 32, 3, 2, act="Relu6")
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expansion, out, layers, stride in stages:
        for layer in range(layers):
            wide = c * expansion
            y = net.conv(x, c, wide, 1, act="Relu6") if expansion > 1 else x
            y = net.conv(y, wide, wide, 3, stride if layer == 0 else 1, group=wide, act="Relu6")
            y = net.conv(y, wide, out, 1, act=None)
            x = net.op("Add", x, y) if layer else y
            c = out
    return net.model(IMAGE, net.classes(net.conv(x, c, 1280, 1, act="Relu6"), 1280), SCORES)


def squeezenet() -> onnx.ModelProto:
    net, c = Network(), 64
    x = net.half(net.conv("x", 3, 64, 3, 2, pad=0), 3)
    fires = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))
    for number, (narrow, wide) in enumerate(fires):
        if number in (2, 4):
            x = net.half(x, 3)
        s = net.conv(x, c, narrow, 1)
        x = net.op("Concat", net.conv(s, narrow, wide, 1), net.conv(s, narrow, wide, 3), axis=1)
        c = 2 * wide
    return net.model(IMAGE, net.op("Flatten", net.op("GlobalAveragePool", net.conv(x, c, 1000, 1))), SCORES)


def efficientnet() -> onnx.ModelProto:
    net, c = Network(), 32
    x = net.conv("x", 3, 32, 3, 2, act="Swish")
    stages = (
        (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
        (6, 320, 1, 1, 3),
    )  # fmt: skip
    for expansion, out, layers, stride, kernel in stages:
        for layer in range(layers):
            wide = c * expansion
            y = net.conv(x, c, wide, 1, act="Swish") if expansion > 1 else x
            y = net.conv(y, wide, wide, kernel, stride if layer == 0 else 1, group=wide, act="Swish")
            narrow = max(1, c // 4)
            scale = net.conv(net.op("GlobalAveragePool", y), wide, narrow, 1, act="Swish")
            y = net.op("Mul", y, net.op("Sigmoid", net.conv(scale, narrow, wide, 1, act=None)))
            y = net.conv(y, wide, out, 1, act=None)
            x = net.op("Add", x, y) if layer else y
            c = out
    return net.model(IMAGE, net.classes(net.conv(x, c, 1280, 1, act="Swish"), 1280), SCORES)


def shufflenetv2() -> onnx.ModelProto:
    net, c, size = Network(), 24, 56
    x = net.half(net.conv("x", 3, 24, 3, 2), 3, 1)

    def shuffled(a: str, b: str, channels: int) -> str:
        y = net.op("Concat", a, b, axis=1)
        y = net.op("Reshape", y, net.constant(np.array([1, 2, channels // 2, size, size])))
        y = net.op("Transpose", y, perm=[0, 2, 1, 3, 4])
        return net.op("Reshape", y, net.constant(np.array([1, channels, size, size])))

    for out, layers in ((116, 4), (232, 8), (464, 4)):
        half, size = out // 2, size // 2
        a = net.conv(net.conv(x, c, c, 3, 2, group=c, act=None), c, half, 1)
        b = net.conv(net.conv(x, c, half, 1), half, half, 3, 2, group=half, act=None)
        x, c = shuffled(a, net.conv(b, half, half, 1), out), out
        for _ in range(layers - 1):
            a, b = net.ops("Split", x, net.constant(np.array([half, half])), outputs=2, axis=1)
            b = net.conv(net.conv(b, half, half, 1), half, half, 3, group=half, act=None)
            x = shuffled(a, net.conv(b, half, half, 1), out)
    return net.model(IMAGE, net.classes(net.conv(x, c, 1024, 1), 1024), SCORES)


def unet() -> onnx.ModelProto:
    net, x, c = Network(), "x", 3
    skips = []
    for out in (12, 24, 48):
        x = net.conv(net.conv(x, c, out), out, out)
        skips.append((x, out))
        x, c = net.half(x, 2), out
    x, c = net.conv(x, c, 96), 96
    for skip, out in reversed(skips):
        x = net.op(
            "ConvTranspose", x, net.weights(c, out, 2, 2), net.weights(out), strides=[2, 2], kernel_shape=[2, 2]
        )
        x = net.conv(net.conv(net.op("Concat", x, skip, axis=1), 2 * out, out), out, out)
        c = out
    return net.model([1, 3, 128, 128], net.conv(x, c, 2, 1, act=None), [1, 2, 128, 128])


def transformer(length: int, width: int, heads: int, hidden: int, layers: int) -> onnx.ModelProto:
    """Of tokens that are vectors already."""
    net = Network()
    return net.model([1, length, width], encoder(net, "x", length, width, heads, hidden, layers), [1, length, width])


def bert_tiny() -> onnx.ModelProto:
    """Two layers of 128 (Turc et al., 2019) for 64 tokens that are vectors already, and the pooler of the first."""
    net, length, width = Network(), 64, 128
    x = encoder(net, "x", length, width, 2, 512, 2)
    first = net.op("Gather", x, net.constant(np.array(0)), axis=1)
    return net.model([1, length, width], net.op("Tanh", net.linear(first, width, width)), [1, width])


def vit_d96() -> onnx.ModelProto:
    """Two layers of 96 for an image in patches of 16 x 16 pixels, a token for the class, a thousand classes."""
    net, length, width = Network(), 197, 96
    patches = net.weights(width, 3, 16, 16), net.weights(width)
    y = net.op("Conv", "x", *patches, kernel_shape=[16, 16], strides=[16, 16])
    y = net.op("Transpose", net.op("Reshape", y, net.constant(np.array([1, width, length - 1]))), perm=[0, 2, 1])
    tokens = net.op("Concat", net.weights(1, 1, width), y, axis=1)
    x = encoder(net, net.op("Add", tokens, net.weights(1, length, width)), length, width, 3, 4 * width, 2)
    first = net.op("Gather", x, net.constant(np.array(0)), axis=1)
    return net.model(IMAGE, net.linear(first, width, 1000), SCORES)


def encoder(net: Network, x: str, length: int, width: int, heads: int, hidden: int, layers: int) -> str:
    """Normalization in front of each part; GELU by the error function, as exporters write it."""
    each = width // heads

    def normal(value: str) -> str:
        return net.op("LayerNormalization", value, net.weights(width), net.weights(width), axis=-1)

    def head(value: str, perm: list[int]) -> str:
        shape = net.constant(np.array([1, length, heads, each]))
        return net.op("Transpose", net.op("Reshape", net.linear(value, width, width), shape), perm=perm)

    for _ in range(layers):
        y = normal(x)
        query, key, value = (head(y, perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = net.op("Mul", net.op("MatMul", query, key), net.constant(np.float32(each**-0.5)))
        y = net.op("Transpose", net.op("MatMul", net.op("Softmax", scores, axis=-1), value), perm=[0, 2, 1, 3])
        y = net.op("Reshape", y, net.constant(np.array([1, length, width])))
        x = net.op("Add", x, net.linear(y, width, width))
        y = net.linear(normal(x), width, hidden)
        error = net.op("Erf", net.op("Div", y, net.constant(np.float32(2**0.5))))
        y = net.op("Mul", y, net.op("Add", error, net.constant(np.float32(1))))
        x = net.op("Add", x, net.linear(net.op("Mul", y, net.constant(np.float32(0.5))), hidden, width))
    return normal(x)


def recurrent(kind: str, gates: int) -> onnx.ModelProto:
    """Two layers of 128 over 50 steps."""
    net, x, c, size = Network(), "x", 64, 128
    more = {"linear_before_reset": 1} if kind == "GRU" else {}
    for _ in range(2):
        parts = (net.weights(1, gates * size, width, scale=width**-0.5) for width in (c, size))
        y = net.op(kind, x, *parts, net.weights(1, 2 * gates * size), hidden_size=size, **more)
        x, c = net.op("Squeeze", y, net.constant(np.array([1]))), size
    return net.model([50, 1, 64], x, [50, 1, size])


NETWORKS: dict[str, Callable[[], onnx.ModelProto]] = {
    "mobilenetv2": mobilenetv2, "squeezenet": squeezenet, "efficientnet": efficientnet, "shufflenetv2": shufflenetv2,
    "unet": unet, "vit": lambda: transformer(197, 192, 3, 768, 12), "bert": lambda: transformer(64, 256, 4, 1024, 4),
    "bert_tiny": bert_tiny, "vit_d96": vit_d96,
    "gru": lambda: recurrent("GRU", 3), "lstm": lambda: recurrent("LSTM", 4),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NETWORKS)}; all by default")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or NETWORKS:
        onnx.save(NETWORKS[name](), arguments.folder / f"{name}.onnx")


if __name__ == "__main__":
    main()
