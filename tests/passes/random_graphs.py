"""Random graphs of the operators that passes move and merge: convolutions in channels_first, as importers make them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ccml.ir.graph import AttrValue, Graph, GraphBuilder, Value
from ccml.ir.types import DType, TensorType
from ccml.ops.table import infer_types


class RandomGraph:
    """Grows a graph by operators on random earlier values. The same seed gives the same graph."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.builder = GraphBuilder(infer_types)
        name = self.builder.names.fresh("input")
        shape = (1, *(int(extent) for extent in self.rng.choice([1, 3, 4, 6, 8], 3)))
        self.input = Value(name, TensorType(DType.F32, shape))
        self.values = [self.input]

    def grow(self, steps: int) -> Graph:
        makers: list[Callable[[Value], Value | None]] = [
            self.conv, self.conv, self.conv_transpose, self.pool, self.unary, self.unary, self.affine, self.affine,
            self.binary, self.swish, self.transpose, self.reshape, self.reduce, self.along_axis, self.slice, self.pad,
            self.concat, self.matmul, self.matmul, self.broadcast,
        ]  # fmt: skip
        while len(self.builder.nodes) < steps:
            recent = self.values[-3:] if self.rng.random() < 0.8 else self.values
            made = makers[self.rng.integers(len(makers))](recent[self.rng.integers(len(recent))])
            if made is not None and 0 < made.type.size <= 4096:
                self.values.append(made)
        used = {value.name for node in self.builder.nodes for value in node.operands}
        outputs = [v for node in self.builder.nodes for v in node.outputs if v.name not in used]
        extra = self.builder.nodes[self.rng.integers(len(self.builder.nodes))].output
        outputs += [extra] if self.rng.random() < 0.3 and extra not in outputs else []
        return Graph("random", (self.input,), tuple(outputs), tuple(self.builder.nodes), self.builder.constants)

    def array(self, *shape: int) -> Value:
        magnitude, sign = self.rng.uniform(0.5, 1.5, shape), self.rng.choice([-1, 1], shape)
        return self.builder.constant((magnitude * sign).astype(np.float32))

    def emit(self, op: str, *inputs: Value | None, **attrs: AttrValue) -> Value:
        loc = f"{op}{len(self.builder.nodes)}"
        return self.builder.emit1(op, *inputs, loc=loc, name=loc, **attrs)

    def pick(self, *choices: int) -> int:
        return int(self.rng.choice(choices))

    # One function an operator; None where the operand does not suit.

    def _window(self, x: Value) -> tuple[tuple[int, ...], dict[str, tuple[int, ...]]] | None:
        if len(x.shape) not in (3, 4):
            return None
        spatial = x.shape[2:]
        kernel = tuple(min(self.pick(1, 2, 3), extent) for extent in spatial)
        pad = tuple(self.pick(0, 0, k // 2) for k in kernel) * 2
        ones = (1,) * len(spatial)
        return kernel, {"stride": tuple(self.pick(1, 2) for _ in spatial), "pad": pad, "dilation": ones}

    def conv(self, x: Value) -> Value | None:
        window = self._window(x)
        if window is None or x.shape[1] > 16:
            return None
        group = x.shape[1] if self.rng.random() < 0.3 else 1
        out = group * self.pick(1, 2) if group > 1 else self.pick(2, 3, 8)
        bias = self.array(out) if self.rng.random() < 0.5 else None
        weights = self.array(out, x.shape[1] // group, *window[0])
        return self.emit("conv", x, weights, bias, group=group, layout="channels_first", **window[1])

    def conv_transpose(self, x: Value) -> Value | None:
        window = self._window(x)
        if window is None or x.shape[1] > 16 or any(window[1]["pad"]):
            return None
        group = x.shape[1] if self.rng.random() < 0.3 else 1
        weights, extra = self.array(x.shape[1], self.pick(1, 3), *window[0]), (0,) * len(window[0])
        attrs = {"group": group, "layout": "channels_first", "output_padding": extra, **window[1]}
        return self.emit("conv_transpose", x, weights, **attrs)

    def pool(self, x: Value) -> Value | None:
        window = self._window(x)
        if window is None:
            return None
        kernel = x.shape[2:] if self.rng.random() < 0.3 else window[0]
        attrs = {**window[1], "pad": (0,) * (2 * len(kernel)), "kernel": kernel, "layout": "channels_first"}
        kind = str(self.rng.choice(["max", "avg"]))
        return self.emit("pool", x, kind=kind, ceil_mode=False, count_include_pad=False, **attrs)

    def unary(self, x: Value) -> Value:
        op = str(self.rng.choice(["relu", "sigmoid", "tanh", "neg", "clip", "abs"]))
        return self.emit(op, x, **({"lo": -1.0, "hi": float(self.pick(1, 6))} if op == "clip" else {}))

    def affine(self, x: Value) -> Value:
        shapes: list[tuple[int, ...]] = [(), x.shape[-1:], (1,) * len(x.shape)]
        if len(x.shape) > 2:
            shapes.append((x.shape[1], *(1 for _ in x.shape[2:])))
        operands = [x, self.array(*shapes[self.rng.integers(len(shapes))])]
        op = str(self.rng.choice(["add", "sub", "mul", "div"]))
        return self.emit(op, *(operands if op == "div" or self.rng.random() < 0.7 else operands[::-1]))

    def binary(self, x: Value) -> Value:
        alike = [value for value in self.values if value.shape == x.shape]
        return self.emit(str(self.rng.choice(["add", "mul", "max"])), x, alike[self.rng.integers(len(alike))])

    def swish(self, x: Value) -> Value:
        return self.emit("mul", x, self.emit("sigmoid", x))

    def transpose(self, x: Value) -> Value:
        return self.emit("transpose", x, perm=tuple(int(axis) for axis in self.rng.permutation(len(x.shape))))

    def reshape(self, x: Value) -> Value:
        shape = [extent for extent in x.shape if extent != 1 or self.rng.random() < 0.5]
        if len(shape) > 1 and self.rng.random() < 0.5:
            axis = self.rng.integers(len(shape) - 1)
            shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
        even = [axis for axis, extent in enumerate(shape) if extent % 2 == 0]
        if even and len(shape) < 5 and self.rng.random() < 0.5:
            shape[even[0] : even[0] + 1] = [2, shape[even[0]] // 2]
        while len(shape) < 3:
            shape.insert(self.rng.integers(len(shape) + 1), 1)
        return self.emit("reshape", x, shape=tuple(shape))

    def reduce(self, x: Value) -> Value | None:
        axes = tuple(axis for axis in range(1, len(x.shape)) if self.rng.random() < 0.5)
        kind, keepdims = str(self.rng.choice(["mean", "max", "sum"])), self.rng.random() < 0.5
        if not axes or (not keepdims and len(x.shape) - len(axes) < 2):
            return None
        return self.emit("reduce", x, kind=kind, axes=axes, keepdims=keepdims)

    def along_axis(self, x: Value) -> Value:
        axis = int(self.rng.integers(len(x.shape)))
        if self.rng.random() < 0.5:
            return self.emit("softmax", x, axis=axis)
        return self.emit("cumsum", x, axis=axis, exclusive=False, reverse=True)

    def slice(self, x: Value) -> Value:
        axis = int(self.rng.integers(len(x.shape)))
        start = int(self.rng.integers(x.shape[axis]))
        size = int(self.rng.integers(1, x.shape[axis] - start + 1))
        starts = tuple(start if d == axis else 0 for d in range(len(x.shape)))
        sizes = tuple(size if d == axis else extent for d, extent in enumerate(x.shape))
        return self.emit("slice", x, starts=starts, steps=(1,) * len(starts), sizes=sizes)

    def pad(self, x: Value) -> Value:
        before, after = (tuple(self.pick(0, 0, 1) for _ in x.shape) for _ in range(2))
        return self.emit("pad", x, before=before, after=after, mode="constant", value=float(self.pick(0, 1)))

    def concat(self, x: Value) -> Value:
        alike = [value for value in self.values if value.shape == x.shape]
        return self.emit("concat", x, alike[self.rng.integers(len(alike))], axis=int(self.rng.integers(len(x.shape))))

    def matmul(self, x: Value) -> Value | None:
        if self.rng.random() < 0.5 and len(x.shape) > 2:
            x = self.emit("reshape", x, shape=(x.shape[0], x.type.size // x.shape[0]))
        return self.emit("matmul", x, self.array(x.shape[-1], self.pick(2, 5))) if len(x.shape) > 1 else None

    def broadcast(self, x: Value) -> Value:
        """A gate as in squeeze and excitation: the mean over the last dimensions scales the value."""
        axes = tuple(range(2, len(x.shape)))
        gate = self.emit("sigmoid", self.emit("reduce", x, kind="mean", axes=axes, keepdims=True)) if axes else x
        return self.emit("mul", gate, x)


def random_graph(seed: int, steps: int = 14) -> Graph:
    return RandomGraph(seed).grow(steps)
