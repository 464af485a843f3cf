"""Chains of quantized layers, as the optimizer would leave them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from ccml.ir.graph import AttrValue, Graph, GraphBuilder, NameSupply, Node, Value
from ccml.ir.types import DType, TensorType
from ccml.ops.table import infer_types


@dataclass(frozen=True)
class Layer:
    """A convolution to ``channels`` (0: depthwise), padded as "same"; ``source`` and ``add`` count back from the layer:
    1 is the one before."""

    channels: int
    kernel: int = 3
    stride: int = 1
    source: int = 1
    add: int = 0


def chain(shape: Sequence[int], layers: Sequence[Layer], seed: int = 1) -> Graph:
    """Input ``x`` of int8 [1, h, w, c]; layer n makes the value ``t<n>``, the last one the output."""
    rng = np.random.default_rng(seed)
    values = [Value("x", TensorType(DType.I8, tuple(shape)))]
    constants: dict[str, np.ndarray] = {}
    nodes = []
    for number, layer in enumerate(layers):
        residual = values[-layer.add] if layer.add else None
        node, arrays = _node(rng, number, layer, values[-layer.source], residual)
        nodes.append(node)
        values.append(node.outputs[0])
        constants |= arrays
    return Graph("chain", (values[0],), (values[-1],), tuple(nodes), constants)


def _node(
    rng: np.random.Generator, number: int, layer: Layer, x: Value, residual: Value | None
) -> tuple[Node, dict[str, np.ndarray]]:
    inputs = x.shape[-1]
    group = 1 if layer.channels else inputs
    channels, k, stride = layer.channels or inputs, layer.kernel, layer.stride
    arrays = {
        f"w{number}": rng.integers(-127, 128, (channels, k, k, inputs // group)).astype(np.int8),
        f"b{number}": rng.integers(-3000, 3000, channels).astype(np.int32),
        f"s{number}": rng.uniform(0.001, 0.004, channels).astype(np.float32) / k,
    }
    for array in arrays.values():
        array.flags.writeable = False
    operands = [Value(n, TensorType(DType.from_numpy(a.dtype), a.shape)) for n, a in arrays.items()]
    inner = GraphBuilder(infer_types, NameSupply([x.name, *arrays]))
    pads = [max((-(-extent // stride) - 1) * stride + k - extent, 0) for extent in x.shape[1:3]]
    attrs: dict[str, AttrValue] = {
        "stride": (stride, stride), "pad": (*(p // 2 for p in pads), *(p - p // 2 for p in pads)), "dilation": (1, 1),
        "group": group, "layout": "channels_last", "zero_point": -7,
    }  # fmt: skip
    acc = inner.emit1("conv", x, operands[0], operands[1], loc="anchor", **attrs)
    scaled: dict[str, AttrValue] = {"zero_point": -7, "lo": -128, "hi": 127, "to": DType.I8, "y_scale": 0.1}
    name = f"t{number}" if residual is None else f"q{number}"
    y = inner.emit1("requantize", acc, operands[2], name=name, **scaled)
    given = [x]
    if residual is not None:
        given += [residual] if residual.name != x.name else []
        pair: dict[str, AttrValue] = {"m1": 90, "m2": 61, "bias": 640, "shift": 7, "lo": -128, "hi": 127}
        y = inner.emit1("rescale", y, residual, name=f"t{number}", zero_point=-7, to=DType.I8, y_scale=0.2, **pair)
    body = Graph("body", (*given, *operands), (y,), tuple(inner.nodes))
    return Node("fused", body.inputs, (y,), {"body": body}, f"layer{number}"), arrays


RESIDUAL = (Layer(16), Layer(16, add=2))
"""Two convolutions, and the input added."""

DOWNSAMPLING = (Layer(16, stride=2), Layer(16, 1, 2, source=2), Layer(16, source=2, add=1))
"""A residual block whose shortcut is a convolution of its own."""

SEPARABLE = (Layer(0), Layer(16, 1), Layer(0, stride=2), Layer(24, 1), Layer(0), Layer(8, 1))
"""Depthwise and pointwise convolutions."""

SMALL = {
    "residual": chain((1, 6, 4, 16), RESIDUAL),
    "downsampling": chain((1, 8, 8, 4), DOWNSAMPLING),
    "separable": chain((1, 13, 5, 8), SEPARABLE),
}
LARGE = {
    "residual": chain((1, 14, 12, 16), RESIDUAL),
    "downsampling": chain((1, 28, 24, 8), DOWNSAMPLING),
    "separable": chain((1, 17, 15, 8), SEPARABLE),
}


def random_chain(seed: int) -> Graph:
    """Two to five layers, residual sums among them."""
    rng = np.random.default_rng(seed)
    layers: list[Layer] = []
    shapes = [(int(rng.integers(5, 10)), int(rng.integers(2, 6)), 4 * int(rng.integers(1, 4)))]
    for _ in range(int(rng.integers(2, 5))):
        source = 2 if len(shapes) > 1 and rng.random() < 0.2 else 1
        height, width, channels = shapes[-source]
        kernel, stride = int(rng.choice([1, 3, 3])), int(rng.choice([1, 1, 2]))
        wanted = 0 if kernel == 3 and rng.random() < 0.4 else 4 * int(rng.integers(1, 5))
        made = (-(-height // stride), -(-width // stride), wanted or channels)
        same = [back for back, shape in enumerate(reversed(shapes), 1) if shape == made]
        add = int(rng.choice(same)) if same and rng.random() < 0.5 else 0
        layers.append(Layer(wanted, kernel, stride, source, add))
        shapes.append(made)
    return chain((1, *shapes[0]), layers, seed)
