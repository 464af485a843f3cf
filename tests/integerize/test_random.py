"""Random graphs of what has an exact integer form, quantized here and there: the same bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from ccml.ir.graph import Graph, Value
from ccml.ir.types import DType

from tests.integerize.building import Qdq, check

SHAPE = (1, 3, 4, 5)
GEOMETRY = {"kernel": (3, 3), "stride": (1, 1), "pad": (1, 1, 1, 1), "dilation": (1, 1), "ceil_mode": False}


class RandomGraph:
    """Grows a graph on values of one shape."""

    def __init__(self, seed: int) -> None:
        self.rng, self.q = np.random.default_rng(seed), Qdq()
        self.values = [self.q.input(SHAPE, *self.parameters(), self.dtype()) for _ in range(2)]

    def dtype(self) -> DType:
        return DType.I8 if self.rng.random() < 0.5 else DType.U8

    def parameters(self) -> tuple[float, int]:
        return float(self.rng.uniform(0.01, 0.1)), int(self.rng.integers(0, 128))

    def any_value(self) -> Value:
        return self.values[int(self.rng.integers(len(self.values)))]

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

    def grown(self, steps: int) -> Graph:
        choices: list[Callable[[Value], Value]] = [
            self.requantized, self.function, self.with_number, self.pair, self.there_and_back, self.flat_and_back,
            self.joined, self.greatest,
        ]  # fmt: skip
        for _ in range(steps):
            self.values.append(choices[int(self.rng.integers(len(choices)))](self.any_value()))
        ends = [self.values[-1], self.any_value(), self.any_value()]
        return self.q.graph(*(self.q.quantize(x, *self.parameters(), self.dtype()) for x in ends))


@pytest.mark.parametrize("seed", range(12))
def test_same_bytes(seed: int) -> None:
    check(RandomGraph(seed).grown(8), seeds=2)
