"""Random graphs of tensors whose extents a run tells: a batch ``n`` and a length ``s``, which operators move, reduce,
window, and join. Each is compiled once and run at several extents; what lies beyond them in memory is NaN.

    python -m tests.fuzz.ranges --seed 7 --count 300 --threads 2

ONNX Runtime is the reference. The exit code is 1 where a result was wrong or an error internal.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import Range
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.program.goal import Goal

from tests.frontend_onnx.graphs import checked_import, model, value
from tests.frontend_onnx.ranged_models import make
from tests.schedule.test_actual_extents import run_among_garbage

FEATURES = 6
RANGES = {"n": Range(1, 5), "s": Range(1, 7)}
EXTENTS = ((1, 1), (2, 1), (1, 7), (3, 4), (5, 7))
TOLERANCE = 2e-3
"""Of sums of some ten products of normal numbers, and functions of these."""


@dataclass(frozen=True)
class _Tensor:
    """``shape`` has names where a run tells the extent."""

    name: str
    shape: tuple[int | str, ...]

    def fixed(self, least: int = 1) -> list[int]:
        """The axes with a constant extent of at least ``least``."""
        return [axis for axis, extent in enumerate(self.shape) if isinstance(extent, int) and extent >= least]

    def with_extent(self, axis: int, extent: int | str) -> tuple[int | str, ...]:
        return (*self.shape[:axis], extent, *self.shape[axis + 1 :])


@dataclass
class _Graph:
    """Each method adds one operator behind ``x``, or gives ``None`` where none fits."""

    rng: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    live: list[_Tensor] = field(default_factory=lambda: [_Tensor("x", ("n", "s", FEATURES))])

    def between(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def pick(self, choices: Sequence[str]) -> str:
        return str(self.rng.choice(choices))

    def constant(self, array: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = array
        return name

    def normal(self, *shape: int) -> str:
        return self.constant(self.rng.standard_normal(shape).astype(np.float32))

    def whole(self, *numbers: int) -> str:
        return self.constant(np.array(numbers, np.int64))

    def add(self, op: str, inputs: Sequence[str], shape: tuple[int | str, ...], **attributes: object) -> _Tensor:
        name = f"t{len(self.nodes)}"
        self.nodes.append(make(op, inputs, [name], **attributes))
        return _Tensor(name, shape)

    # ---- operators

    def function(self, x: _Tensor) -> _Tensor:
        return self.add(self.pick(["Relu", "Sigmoid", "Abs", "Identity"]), [x.name], x.shape)

    def of_two(self, x: _Tensor) -> _Tensor:
        others = [other.name for other in self.live if other.shape == x.shape]
        return self.add(self.pick(["Add", "Mul", "Sub", "Max"]), [x.name, self.pick(others)], x.shape)

    def product(self, x: _Tensor) -> _Tensor | None:
        depth = x.shape[-1]
        if not isinstance(depth, int):
            return None
        columns = self.between(1, 20)
        return self.add("MatMul", [x.name, self.normal(depth, columns)], (*x.shape[:-1], columns))

    def product_of_two(self, x: _Tensor) -> _Tensor | None:
        others = [y for y in self.live if y.shape[:-2] == x.shape[:-2] and y.shape[-2:-1] == x.shape[-1:]]
        if len(x.shape) < 2 or not others:
            return None
        other = others[self.between(0, len(others) - 1)]
        return self.add("MatMul", [x.name, other.name], (*x.shape[:-1], other.shape[-1]))

    def along(self, x: _Tensor) -> _Tensor:
        axis = self.between(0, len(x.shape) - 1)
        if self.rng.random() < 0.5:
            return self.add("Softmax", [x.name], x.shape, axis=axis)
        flags = {"reverse": self.between(0, 1), "exclusive": self.between(0, 1)}
        return self.add("CumSum", [x.name, self.constant(np.array(axis, np.int64))], x.shape, **flags)

    def reduced(self, x: _Tensor) -> _Tensor | None:
        axis, keep = self.between(0, len(x.shape) - 1), self.between(0, 1)
        if len(x.shape) == 1 and not keep:
            return None
        shape = x.with_extent(axis, 1) if keep else (*x.shape[:axis], *x.shape[axis + 1 :])
        op = self.pick(["ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ArgMax"])
        if op != "ArgMax":
            return self.add(op, [x.name, self.whole(axis)], shape, keepdims=keep)
        found = self.add(op, [x.name], shape, axis=axis, keepdims=keep)
        return self.add("Cast", [found.name], shape, to=onnx.TensorProto.FLOAT)

    def centred(self, x: _Tensor) -> _Tensor:
        axis = self.between(0, len(x.shape) - 1)
        mean = self.add("ReduceMean", [x.name, self.whole(axis)], x.with_extent(axis, 1), keepdims=1)
        return self.add("Sub", [x.name, mean.name], x.shape)

    def normalized(self, x: _Tensor) -> _Tensor | None:
        count = x.shape[-1]
        if not isinstance(count, int):
            return None
        return self.add("LayerNormalization", [x.name, self.normal(count), self.normal(count)], x.shape, axis=-1)

    def turned(self, x: _Tensor) -> _Tensor:
        order = [int(axis) for axis in self.rng.permutation(len(x.shape))]
        return self.add("Transpose", [x.name], tuple(x.shape[axis] for axis in order), perm=order)

    def joined(self, x: _Tensor) -> _Tensor | None:
        if not x.fixed():
            return None
        axis = x.fixed()[self.between(0, len(x.fixed()) - 1)]
        others = [y for y in self.live if y.with_extent(axis, 0) == x.with_extent(axis, 0) and axis in y.fixed()]
        other = others[self.between(0, len(others) - 1)]
        extent = int(x.shape[axis]) + int(other.shape[axis])
        return self.add("Concat", [x.name, other.name], x.with_extent(axis, extent), axis=axis)

    def part(self, x: _Tensor) -> _Tensor | None:
        if not x.fixed(2):
            return None
        axis = x.fixed(2)[0]
        begin = self.between(0, int(x.shape[axis]) - 1)
        end = self.between(begin + 1, int(x.shape[axis]))
        operands = [x.name, self.whole(begin), self.whole(end), self.whole(axis)]
        return self.add("Slice", operands, x.with_extent(axis, end - begin))

    def gathered(self, x: _Tensor) -> _Tensor | None:
        if not x.fixed():
            return None
        axis = x.fixed()[0]
        places = self.rng.integers(0, int(x.shape[axis]), self.between(1, 5))
        return self.add("Gather", [x.name, self.whole(*places)], x.with_extent(axis, len(places)), axis=axis)

    def bordered(self, x: _Tensor) -> _Tensor | None:
        if not x.fixed():
            return None
        axis, pads = x.fixed()[0], [0] * (2 * len(x.shape))
        pads[axis], pads[len(x.shape) + axis] = self.between(1, 3), self.between(0, 2)
        shape = x.with_extent(axis, int(x.shape[axis]) + sum(pads))
        return self.add("Pad", [x.name, self.whole(*pads)], shape, mode=self.pick(["constant", "edge"]))

    def windowed(self, x: _Tensor) -> _Tensor | None:
        """A convolution or a pool along the last of three axes."""
        channels = x.shape[1] if len(x.shape) == 3 else None
        if not isinstance(channels, int):
            return None
        if self.rng.random() < 0.5:
            return self.add(self.pick(["MaxPool", "AveragePool"]), [x.name], x.shape, kernel_shape=[3], pads=[1, 1])
        size, out = self.between(0, 1) * 2 + 1, self.between(1, 9)
        weights, pads = self.normal(out, channels, size), [size // 2] * 2
        return self.add("Conv", [x.name, weights], x.with_extent(1, out), kernel_shape=[size], pads=pads)

    def deeper(self, x: _Tensor) -> _Tensor | None:
        if len(x.shape) > 3:
            return None
        axis = self.between(0, len(x.shape))
        return self.add("Unsqueeze", [x.name, self.whole(axis)], (*x.shape[:axis], 1, *x.shape[axis:]))

    def ranged_axis(self, x: _Tensor) -> int | None:
        axes = [axis for axis, extent in enumerate(x.shape) if isinstance(extent, str)]
        return axes[self.between(0, len(axes) - 1)] if axes else None

    def cut(self, x: _Tensor) -> _Tensor | None:
        """A part of an axis with an extent, of at least one element."""
        axis = self.ranged_axis(x)
        if axis is None:
            return None
        far, count = 2**40, self.between(1, 4)
        kinds = ((0, count, 1), (-count, far, 1), (0, far, 2), (-1, -far, -1))
        start, end, step = kinds[self.between(0, len(kinds) - 1)]
        operands = [x.name, *(self.whole(number) for number in (start, end, axis, step))]
        extent = x.shape[axis] if step < 0 else f"part{len(self.nodes)}"
        return self.add("Slice", operands, x.with_extent(axis, extent))

    def picked(self, x: _Tensor) -> _Tensor | None:
        """The first and the last element along an axis with an extent."""
        axis = self.ranged_axis(x)
        if axis is None:
            return None
        return self.add("Gather", [x.name, self.whole(0, -1)], x.with_extent(axis, 2), axis=axis)

    def merged(self, x: _Tensor) -> _Tensor | None:
        """Two neighbouring axes as one; those behind them are fixed."""
        axis = self.between(0, max(len(x.shape) - 2, 0))
        behind = x.shape[axis + 2 :]
        if len(x.shape) < 2 or any(isinstance(extent, str) for extent in behind):
            return None
        shape = self.whole(*[0] * axis, -1, *(int(extent) for extent in behind))
        pair = x.shape[axis : axis + 2]
        fixed = [extent for extent in pair if isinstance(extent, int)]
        extent = fixed[0] * fixed[1] if len(fixed) == 2 else f"merged{len(self.nodes)}"
        return self.add("Reshape", [x.name, shape], (*x.shape[:axis], extent, *behind))

    def flat(self, x: _Tensor) -> _Tensor | None:
        """Two axes as one, which is reduced at once: its extent has no name."""
        count = x.shape[-1]
        if len(x.shape) != 3 or not isinstance(count, int) or not isinstance(x.shape[1], int):
            return None
        rows = self.add("Reshape", [x.name, self.whole(-1, count)], (0, count))
        found = self.add("MatMul", [rows.name, self.normal(count, 5)], (0, 5))
        return self.add("ReduceMax", [found.name, self.whole(0)], (5,), keepdims=0)


_STEPS: tuple[Callable[[_Graph, _Tensor], _Tensor | None], ...] = (
    _Graph.function, _Graph.of_two, _Graph.product, _Graph.product_of_two, _Graph.along, _Graph.reduced, _Graph.centred,
    _Graph.normalized, _Graph.turned, _Graph.joined, _Graph.part, _Graph.gathered, _Graph.bordered, _Graph.windowed,
    _Graph.deeper, _Graph.flat, _Graph.cut, _Graph.picked, _Graph.merged,
)  # fmt: skip


def ranged_graph(seed: int) -> onnx.ModelProto:
    """A model of one input ``[n, s, 6]`` and one or two outputs."""
    graph = _Graph(np.random.default_rng(seed))
    wanted = graph.between(3, 8)
    while len(graph.live) <= wanted:
        x = graph.live[graph.between(0, len(graph.live) - 1)]
        made = _STEPS[graph.between(0, len(_STEPS) - 1)](graph, x)
        if made is not None:
            graph.live.append(made)
    outputs = dict.fromkeys([graph.live[-1].name, graph.live[len(graph.live) // 2].name])
    return model(graph.nodes, [value("x", ["n", "s", FEATURES])], list(outputs), graph.constants)


def differences(proto: onnx.ModelProto, threads: int = 0) -> Iterator[str]:
    """Where the compiled model gives something else than ONNX Runtime. Raises ``CcmlError`` where it is refused."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    graph = optimize(checked_import(proto, dims=RANGES))
    compiled = JitModel(lower_graph(graph, host_machine(), Goal(threads=threads)))
    rng = np.random.default_rng(1)
    for batch, length in EXTENTS:
        x = rng.standard_normal((batch, length, FEATURES)).astype(np.float32)
        wanted = dict(zip([side.name for side in session.get_outputs()], session.run(None, {"x": x})))
        for name, found in run_among_garbage(compiled, {"x": x}).items():
            if found.shape != wanted[name].shape:
                yield f"n={batch}, s={length}: {name} has the shape {found.shape}, not {wanted[name].shape}"
            elif not np.allclose(found, wanted[name], TOLERANCE, TOLERANCE):
                yield f"n={batch}, s={length}: {name} differs by {np.abs(found - wanted[name]).max()}"


def verdict(seed: int, threads: int = 0) -> tuple[str, str]:
    """``ok``, ``refused``, ``wrong`` or ``internal``, and what there is to say."""
    try:
        found = list(differences(ranged_graph(seed), threads))
    except CcmlError as problem:
        kind = "refused" if problem.kind is ErrorCode.UNSUPPORTED_FEATURE else "internal"
        return kind, str(problem)
    return ("wrong", found[0]) if found else ("ok", "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--threads", type=int, default=0, help="compile for so many")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.count):
        kind, what = verdict(seed, options.threads)
        counts[kind] += 1
        if kind in ("wrong", "internal"):
            print(f"{seed}: {kind}: {what}")
    print(dict(counts))
    return int(bool(counts["wrong"] or counts["internal"]))


if __name__ == "__main__":
    sys.exit(main())
