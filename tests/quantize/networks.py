"""Small float graphs and samples that the tests quantize."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from ccml.ir.graph import Graph, GraphBuilder, NameSupply, Value
from ccml.ir.types import DType, TensorType
from ccml.ops.table import infer_types
from ccml.samples import Batching, Samples


class Network(GraphBuilder):
    """A graph under construction with the input ``x``; weights are seeded.

    >>> net = Network((1, 3, 8, 8))
    >>> graph = net.graph(net.relu(net.conv(net.x, 4)))
    """

    def __init__(self, *shapes: tuple[int, ...], seed: int = 0) -> None:
        names = ["x", *(f"x{number}" for number in range(1, len(shapes)))]
        super().__init__(infer_types, NameSupply(names))
        self.inputs = [Value(name, TensorType(DType.F32, shape)) for name, shape in zip(names, shapes)]
        self.x = self.inputs[0]
        self.rng = np.random.default_rng(seed)

    def weights(self, *shape: int) -> Value:
        return self.constant(self.rng.standard_normal(shape).astype(np.float32), "w")

    def op(self, op: str, *operands: Value | None, **attrs: object) -> Value:
        """An operator whose ``loc`` and output are called ``op_0``, ``op_1``, ..."""
        loc = f"{op}_{len(self.nodes)}"
        return self.emit1(op, *operands, loc=loc, name=loc, **attrs)  # type: ignore[arg-type]

    def conv(
        self, x: Value, channels: int, kernel: int = 3, group: int = 1, bias: bool = True, **attrs: object
    ) -> Value:
        spatial = len(x.shape) - 2
        window = {"stride": (1,) * spatial, "pad": (kernel // 2,) * 2 * spatial, "dilation": (1,) * spatial}
        w = self.weights(channels, x.shape[1] // group, *[kernel] * spatial)
        b = self.weights(channels) if bias else None
        return self.op("conv", x, w, b, group=group, layout="channels_first", **{**window, **attrs})

    def dense(self, x: Value, columns: int, bias: bool = True) -> Value:
        return self.op("matmul", x, self.weights(x.shape[-1], columns), self.weights(columns) if bias else None)

    def relu(self, x: Value) -> Value:
        return self.op("relu", x)

    def mean(self, x: Value) -> Value:
        return self.op("reduce", x, kind="mean", axes=tuple(range(2, len(x.shape))), keepdims=True)

    def number(self, value: float) -> Value:
        return self.constant(np.asarray(value, np.float32), "number")

    def graph(self, *outputs: Value) -> Graph:
        return Graph("net", tuple(self.inputs), outputs, tuple(self.nodes), self.constants)


def samples_for(graph: Graph, count: int = 8, seed: int = 1, make: Callable[..., np.ndarray] | None = None) -> Samples:
    """``make(rng, shape)`` makes an input; normally distributed by default."""
    rng = np.random.default_rng(seed)
    draw = make or (lambda rng, shape: rng.standard_normal(shape))
    inputs = {value.name: draw(rng, (count, *value.shape)).astype(np.float32) for value in graph.inputs}
    return Samples(inputs, {}, count, Batching.ADDED)


def ops_of(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]


def stored_of(graph: Graph, names: Sequence[str] | None = None) -> dict[str, DType]:
    """The values that a quantized graph stores, by the names that they have in the float graph."""
    quantized = [node for node in graph.nodes if node.op == "quantize"]
    return {node.output.name.removesuffix(".q"): node.output.dtype for node in quantized}


def classifier(softmax: bool = True) -> Graph:
    """conv, relu, depthwise conv, relu, 1x1 conv added to the first result, relu, mean, dense, and perhaps softmax."""
    net = Network((1, 3, 8, 8))
    first = net.relu(net.conv(net.x, 8))
    middle = net.relu(net.conv(first, 8, group=8))
    added = net.relu(net.op("add", first, net.conv(middle, 8, kernel=1)))
    flat = net.op("reshape", net.mean(added), shape=(1, 8))
    logits = net.dense(flat, 4)
    return net.graph(net.op("softmax", logits, axis=1) if softmax else logits)
