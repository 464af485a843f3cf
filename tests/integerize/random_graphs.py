"""Random graphs of integer inference: what has an exact integer form, quantized here and there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ccml.ir.graph import Graph, Value
from ccml.ir.types import DType

from tests.integerize.building import Qdq

SHAPE = (1, 3, 4, 5)
GEOMETRY = {"kernel": (3, 3), "stride": (1, 1), "pad": (1, 1, 1, 1), "dilation": (1, 1), "ceil_mode": False}


class RandomGraph:
    """Grows a graph on values of one shape. Several may grow on one ``q`` and are one model then."""

    def __init__(self, seed: int, q: Qdq | None = None) -> None:
        self.rng, self.q = np.random.default_rng(seed), q or Qdq()
        self.values = [self.q.input(SHAPE, *self.parameters(), self.dtype()) for _ in range(2)]

    def dtype(self) -> DType:
        return DType.I8 if self.rng.random() < 0.5 else DType.U8

    def parameters(self) -> tuple[float, int]:
        return float(self.rng.uniform(0.01, 0.1)), int(self.rng.integers(0, 128))

    def any_value(self) -> Value:
        return self.values[int(self.rng.integers(len(self.values)))]

    def pick(self, *choices: int) -> int:
        return int(self.rng.choice(choices))

    def requantized(self, x: Value) -> Value:
        return self.q.requantized(x, *self.parameters(), self.dtype())

    def function(self, x: Value) -> Value:
        return self.q.op(str(self.rng.choice(["sigmoid", "tanh", "relu", "abs", "neg", "erf"])), x)

    def with_number(self, x: Value) -> Value:
        op = str(self.rng.choice(["add", "sub", "mul", "max"]))
        return self.q.op(op, x, self.q.constant(self.rng.uniform(-1, 1)))

    def pair(self, x: Value) -> Value:
        op = str(self.rng.choice(["add", "sub", "mul"]))
        return self.q.op(op, self.requantized(x), self.requantized(self.any_value()))

    def there_and_back(self, x: Value) -> Value:
        moved = self.q.op("transpose", x, perm=(0, 2, 3, 1))
        return self.q.op("transpose", self.function(moved), perm=(0, 3, 1, 2))

    def flat_and_back(self, x: Value) -> Value:
        flat = self.q.op("reshape", x, shape=(15, 4))
        return self.q.op("reshape", self.function(flat) if self.rng.random() < 0.5 else flat, shape=SHAPE)

    def joined(self, x: Value) -> Value:
        part = {"starts": (0, 1, 0, 0), "steps": (1, 1, 1, 1), "sizes": (1, 2, 4, 5)}
        rest = {**part, "starts": (0, 0, 0, 0), "sizes": (1, 1, 4, 5)}
        return self.q.op("concat", self.q.op("slice", x, **part), self.q.op("slice", self.any_value(), **rest), axis=1)

    def greatest(self, x: Value) -> Value:
        return self.q.op("pool", x, kind="max", count_include_pad=False, layout="channels_first", **GEOMETRY)

    def choices(self) -> list[Callable[[Value], Value]]:
        return [
            self.requantized, self.function, self.with_number, self.pair, self.there_and_back, self.flat_and_back,
            self.joined, self.greatest,
        ]  # fmt: skip

    def ends(self, steps: int) -> list[Value]:
        """Quantized results after ``steps`` operators."""
        for _ in range(steps):
            choices = self.choices()
            self.values.append(choices[int(self.rng.integers(len(choices)))](self.any_value()))
        ends = [self.values[-1], self.any_value(), self.any_value()]
        return [self.q.quantize(x, *self.parameters(), self.dtype()) for x in ends]

    def grown(self, steps: int) -> Graph:
        return self.q.graph(*self.ends(steps))


class RandomLayers(RandomGraph):
    """With layers that are multiplied, on activations of random extents: contractions, depthwise ones, averages."""

    def __init__(self, seed: int, q: Qdq | None = None) -> None:
        super().__init__(seed, q)
        extents = (self.pick(1, 3, 4, 7, 12, 16), self.pick(1, 2, 5, 6, 9), self.pick(1, 2, 3, 6, 8))
        self.values = [self.q.input((1, *extents), *self.parameters(), self.dtype()) for _ in range(2)]

    def choices(self) -> list[Callable[[Value], Value]]:
        return [
            self.convolution, self.convolution, self.depthwise, self.depthwise, self.fully_connected, self.average,
            self.largest, self.function, self.alike, self.requantized, self.total,
        ]  # fmt: skip

    def stored(self, x: Value) -> Value:
        """``x`` rounded to bytes, as what layers read is."""
        return self.requantized(x)

    def weights(self, *shape: int) -> Value:
        """Bytes with a scale for each of the first dimension, or one for all."""
        array = self.rng.integers(-127, 128, shape).astype(np.int8)
        count = shape[0] if self.rng.random() < 0.7 else 1
        return self.q.weights(array, [float(s) for s in self.rng.uniform(0.001, 0.02, count).astype(np.float32)])

    def window(self, x: Value) -> tuple[tuple[int, int], dict[str, tuple[int, ...]]]:
        """A kernel that fits, and its geometry."""
        kernel = tuple(self.pick(*(k for k in (1, 2, 3, 5) if k <= extent)) for extent in x.shape[2:])
        before, after = (tuple(self.pick(0, k // 2) for k in kernel) for _ in range(2))
        stride = tuple(self.pick(1, 1, 2) for _ in kernel)
        return (kernel[0], kernel[1]), {"pad": (*before, *after), "stride": stride, "dilation": (1, 1)}

    def convolution(self, x: Value) -> Value:
        if len(x.shape) != 4:
            return self.fully_connected(x)
        kernel, geometry = self.window(x)
        channels = self.pick(1, 2, 5, 8, 11, 16)
        bias = self.q.constant(self.rng.uniform(-1, 1, channels)) if self.rng.random() < 0.5 else None
        y = self.q.conv(self.stored(x), self.weights(channels, x.shape[1], *kernel), bias, **geometry)
        return self.requantized(self.q.op("relu", y) if self.rng.random() < 0.5 else y)

    def depthwise(self, x: Value) -> Value:
        if len(x.shape) != 4:
            return self.fully_connected(x)
        kernel, geometry = self.window(x)
        y = self.q.conv(self.stored(x), self.weights(x.shape[1], 1, *kernel), group=x.shape[1], **geometry)
        return self.requantized(y)

    def fully_connected(self, x: Value) -> Value:
        flat = self.q.op("reshape", self.stored(x), shape=(1, x.type.size))
        w = self.weights(self.pick(1, 3, 8, 10), x.type.size)
        return self.requantized(self.q.op("matmul", flat, self.q.op("transpose", w, perm=(1, 0))))

    def average(self, x: Value) -> Value:
        if len(x.shape) != 4:
            return self.function(x)
        y = self.q.op("reduce", self.stored(x), kind="mean", axes=(2, 3), keepdims=True)
        return self.requantized(y)

    def total(self, x: Value) -> Value:
        axis = int(self.rng.integers(1, len(x.shape)))
        return self.requantized(self.q.op("reduce", self.stored(x), kind="sum", axes=(axis,), keepdims=True))

    def largest(self, x: Value) -> Value:
        if len(x.shape) != 4:
            return self.function(x)
        kernel, geometry = self.window(x)
        return self.q.op(
            "pool", self.stored(x), kind="max", count_include_pad=False, layout="channels_first", kernel=kernel,
            ceil_mode=False, **geometry,
        )  # fmt: skip

    def alike(self, x: Value) -> Value:
        """A sum, difference or product with a value of the same shape."""
        same = [value for value in self.values if value.shape == x.shape]
        other = same[int(self.rng.integers(len(same)))]
        op = str(self.rng.choice(["add", "sub", "mul"]))
        return self.requantized(self.q.op(op, self.stored(x), self.stored(other)))
