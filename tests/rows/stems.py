"""Random networks whose first layers go over an image: what an input by rows has to get through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from ccml.ir.graph import Graph, Value
from ccml.ir.types import DType, TensorType

from tests.integerize.building import Qdq
from tests.integerize.random_graphs import RandomLayers

KINDS = ("bytes", "quantized", "float")
"""Integers at the interface and inside; floats at the interface alone; floats everywhere."""


class Stem(RandomLayers):
    """A chain of convolutions, depthwise ones, pools and residual sums on one image, channels first or last."""

    def __init__(self, seed: int, kind: str = "bytes") -> None:
        self.rng, self.q, self.kind = np.random.default_rng(seed), Qdq(), kind
        channels = self.pick(1, 3, 3, 4, 8)
        shape = (channels, int(self.rng.integers(9, 24)), int(self.rng.integers(6, 20)))
        last = self.rng.random() < 0.4
        declared = (1, *shape[1:], channels) if last else (1, *shape)
        if kind == "bytes":
            x = self.q.input(declared, *self.parameters(), self.dtype())
        else:
            x = Value("x", TensorType(DType.F32, declared))
            self.q.inputs.append(x)
        self.values = [self.q.op("transpose", x, perm=(0, 3, 1, 2)) if last else x]

    def stored(self, x: Value) -> Value:
        return x if self.kind == "float" else super().stored(x)

    def requantized(self, x: Value) -> Value:
        return x if self.kind == "float" else super().requantized(x)

    def weights(self, *shape: int) -> Value:
        if self.kind == "float":
            return self.q.constant(self.rng.uniform(-0.2, 0.2, shape))
        return super().weights(*shape)

    def window(self, x: Value) -> tuple[tuple[int, int], dict[str, tuple[int, ...]]]:
        """Kernels up to 7x7, pads that differ from side to side."""
        kernel = tuple(self.pick(*(k for k in (1, 2, 3, 3, 5, 7) if k <= extent)) for extent in x.shape[2:])
        before, after = (tuple(int(self.rng.integers(0, k // 2 + 1)) for k in kernel) for _ in range(2))
        stride = tuple(self.pick(1, 1, 2) for _ in kernel)
        return (kernel[0], kernel[1]), {"pad": (*before, *after), "stride": stride, "dilation": (1, 1)}

    def residual(self, x: Value) -> Value:
        """A sum of the branch with what it began with: both read the same rows."""
        same = {"pad": (1, 1, 1, 1), "stride": (1, 1), "dilation": (1, 1)}
        x = self.stored(x)
        y = self.requantized(self.q.conv(x, self.weights(x.shape[1], x.shape[1], 3, 3), **same))
        return self.requantized(self.q.op("add", x, y))

    def choices(self) -> list[Callable[[Value], Value]]:
        return [self.convolution, self.convolution, self.depthwise, self.largest, self.residual, self.function]

    def grown(self, steps: int) -> Graph:
        """``steps`` layers one behind the other."""
        x = self.values[0]
        for _ in range(steps):
            choices = self.choices()
            x = choices[int(self.rng.integers(len(choices)))](x)
        end = x if self.kind == "float" else self.q.quantize(x, *self.parameters(), self.dtype())
        return replace(self.q.graph(end), name=f"stem_{self.kind}")
