"""Operators along dimensions whose extents are arguments, at every extent, against ONNX Runtime. What lies beyond the
extents in memory is no number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import onnx
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import Range, import_model
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph

from tests.frontend_onnx.compiled import onnxruntime
from tests.frontend_onnx.graphs import Operand, checked_import, model, value
from tests.frontend_onnx.ranged_models import make
from tests.schedule.test_actual_extents import run_among_garbage

Dims = Sequence[int | str]
Numbers = Mapping[str, int]
Fill = Callable[[np.random.Generator, tuple[int, ...], Numbers], np.ndarray]
"""An array of a shape, for some extents."""


def normal(rng: np.random.Generator, shape: tuple[int, ...], n: Numbers) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


TABLE: Mapping[str, Operand] = {
    "zero": np.array([0]), "one": np.array(1), "first": np.array([0]), "two": np.array(2), "once": np.array([1]),
    "w": np.arange(40, dtype=np.float32).reshape(20, 2),
}  # fmt: skip


def sparse(rng: np.random.Generator, shape: tuple[int, ...], n: Numbers) -> np.ndarray:
    return np.round(rng.standard_normal(shape)).astype(np.float32)


def places(dim: str | int) -> Fill:
    """Indices of a dimension, some of them negative."""

    def fill(rng: np.random.Generator, shape: tuple[int, ...], n: Numbers) -> np.ndarray:
        extent = n[dim] if isinstance(dim, str) else dim
        return rng.integers(-extent, extent, shape)

    return fill


def places_from_0(dim: str | int) -> Fill:
    """Indices of a dimension."""

    def fill(rng: np.random.Generator, shape: tuple[int, ...], n: Numbers) -> np.ndarray:
        return rng.integers(0, n[dim] if isinstance(dim, str) else dim, shape)

    return fill


def ends_up_to(extent: int) -> Fill:
    """How many of as many places count, one at least."""

    def fill(rng: np.random.Generator, shape: tuple[int, ...], n: Numbers) -> np.ndarray:
        return rng.integers(1, extent + 1, shape, np.int32)

    return fill


def boxes(rng: np.random.Generator, shape: tuple[int, ...], n: Numbers) -> np.ndarray:
    """Corners of regions, parts of which are outside of any image."""
    corners = rng.random((*shape[:-1], 2, 2)) * 10 - 2
    return np.sort(corners, axis=-2).reshape(shape).astype(np.float32)


def distinct(dim: str | int) -> Fill:
    """Different indices along the first axis."""

    def fill(rng: np.random.Generator, shape: tuple[int, ...], n: Numbers) -> np.ndarray:
        extent = n[dim] if isinstance(dim, str) else dim
        rows = rng.permutation(extent)[: shape[0]]
        return np.broadcast_to(rows.reshape(-1, *[1] * (len(shape) - 1)), shape).copy()

    return fill


def chosen(rng: np.random.Generator, shape: tuple[int, ...], n: Numbers) -> np.ndarray:
    return rng.random(shape) < 0.6


@dataclass(frozen=True)
class Case:
    """Inputs are named a, b, ...; the outputs are those of the last node that have names, or ``outputs``."""

    nodes: Sequence[onnx.NodeProto]
    inputs: Sequence[tuple[Dims, Fill]]
    constants: Mapping[str, Operand] = field(default_factory=dict)
    outputs: Sequence[str] = ("y",)
    ranges: Mapping[str, Range] = field(default_factory=lambda: {"n": Range(1, 5), "s": Range(2, 7)})
    opset: int = 21

    def proto(self) -> onnx.ModelProto:
        rng = np.random.default_rng(0)
        most = {name: each.most for name, each in self.ranges.items()}
        arrays = self.feeds(most, rng)
        inputs = [
            value(name, dims, onnx.helper.np_dtype_to_tensor_dtype(arrays[name].dtype))
            for name, (dims, _) in zip("abcdef", self.inputs)
        ]
        domains = {node.domain: 1 for node in self.nodes if node.domain}
        return model(self.nodes, inputs, self.outputs, self.constants, self.opset, domains=domains)

    def used(self) -> dict[str, Range]:
        names = {dim for dims, _ in self.inputs for dim in dims if isinstance(dim, str)}
        return {name: each for name, each in self.ranges.items() if name in names}

    def feeds(self, numbers: Numbers, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {
            name: fill(rng, tuple(numbers[d] if isinstance(d, str) else d for d in dims), numbers)
            for name, (dims, fill) in zip("abcdef", self.inputs)
        }


X: tuple[Dims, Fill] = (("n", "s", 3), normal)
WEIGHTS = np.random.default_rng(0).standard_normal((6, 18)).astype(np.float32)



def _step(rows: int | str = 1, row: str = "r") -> onnx.GraphProto:
    """A decaying sum; ``row`` is what each step leaves behind."""
    nodes = [
        make("Mul", ["state", "half"], ["less"]), make("Add", ["less", "x"], ["next"]),
        make("Identity" if row == "again" else "Neg", ["next"], [row]),
    ]  # fmt: skip
    half = onnx.numpy_helper.from_array(np.float32(0.5), "half")
    inputs = [value("state", [rows, 3]), value("x", [rows, 3])]
    return onnx.helper.make_graph(nodes, "step", inputs, [value("next", [rows, 3]), value(row, [rows, 3])], [half])


def _row(cond: str) -> onnx.GraphProto:
    """Row ``i`` of the tensor around it, twice as much."""
    nodes = [
        make("Cast", [cond], ["on"], to=onnx.TensorProto.BOOL), make("Gather", ["a", "i"], ["row"]),
        make("Add", ["row", "row"], ["more"]),
    ]  # fmt: skip
    inputs = [value("i", [], onnx.TensorProto.INT64), value("going", [], onnx.TensorProto.BOOL)]
    return onnx.helper.make_graph(nodes, "row", inputs, [value("on", [], onnx.TensorProto.BOOL), value("more", [3])])


CASES: Mapping[str, Case] = {
    "gather": Case([make("Gather", ["a", "b"], ["y"], axis=1)], [X, ((4,), places("s"))]),
    "gather by indices with an extent": Case(
        [make("Gather", ["a", "b"], ["y"], axis=1)], [X, (("n", 2), places("s"))]
    ),
    "gather constant places": Case(
        [make("Gather", ["a", "c"], ["y"], axis=1)], [X], {"c": np.array([[1, -1], [0, -2]])}
    ),
    "gather elements": Case(
        [make("GatherElements", ["a", "b"], ["y"], axis=1)], [X, (("n", 4, 3), places("s"))]
    ),
    "gather elements along another": Case(
        [make("GatherElements", ["a", "b"], ["y"], axis=2)], [X, (("n", "s", 2), places(3))]
    ),
    "gather nd": Case([make("GatherND", ["a", "b"], ["y"])], [X, (("s", 1), places("n"))]),
    "gather nd of batches": Case(
        [make("GatherND", ["a", "b"], ["y"], batch_dims=1)], [X, (("n", 4, 1), places("s"))]
    ),
    "scatter elements": Case(
        [make("ScatterElements", ["a", "b", "c"], ["y"], axis=1)],
        [X, (("n", 1, 2), places("s")), (("n", 1, 2), normal)],
    ),
    "scatter added elements": Case(
        [make("ScatterElements", ["a", "b", "c"], ["y"], axis=0, reduction="add")],
        [X, (("n", "s", 3), places("n")), (("n", "s", 3), normal)],
    ),
    "scatter rows": Case(
        [make("ScatterND", ["a", "b", "c"], ["y"])], [X, ((1, 1), places("n")), ((1, "s", 3), normal)]
    ),
    "scatter as many rows": Case(
        [make("ScatterND", ["a", "b", "c"], ["y"])],
        [(("s", 3), normal), (("n", 1), distinct("s")), (("n", 3), normal)],
        ranges={"n": Range(1, 3), "s": Range(3, 6)},
    ),
    "nonzero": Case([make("NonZero", ["a"], ["y"])], [(("n", "s", 3), sparse)]),
    "unique rows": Case(
        [make("Unique", ["a"], ["y", "first", "inverse", "counts"], axis=1)], [((2, "s"), sparse)],
        outputs=("y", "first", "inverse", "counts"),
    ),
    "unique in order": Case(
        [make("Unique", ["a"], ["y", "first", "inverse", "counts"], sorted=0)], [(("s",), sparse)],
        outputs=("y", "first", "inverse", "counts"),
    ),
    "compress": Case([make("Compress", ["a", "b"], ["y"], axis=1)], [X, (("s",), chosen)]),
    "compress with a short condition": Case(
        [make("Compress", ["a", "b"], ["y"], axis=1)], [X, ((2,), chosen)]
    ),
    "compress by a constant along another dimension": Case(
        [make("Compress", ["a", "kept"], ["z"], axis=2), make("Sub", ["z", "c"], ["y"])], [X],
        {"kept": np.array([True, False, True]), "c": np.array([1, 2], np.float32)},
    ),
    "the row of a table behind a cache": Case(
        [make("Shape", ["a"], ["t"]), make("Gather", ["t", "one"], ["s"]), make("Add", ["first", "s"], ["p"]),
         make("Unsqueeze", ["p", "zero"], ["u"]), make("Add", ["u", "two"], ["q"]), make("Gather", ["w", "q"], ["y"])],
        [X], TABLE,
    ),
    "the row of a table behind a cache for each of a batch": Case(
        [make("Shape", ["a"], ["t"]), make("Gather", ["t", "one"], ["s"]), make("Add", ["first", "s"], ["p"]),
         make("Unsqueeze", ["p", "zero"], ["u"]), make("Gather", ["t", "zero"], ["n"]),
         make("Concat", ["n", "once"], ["r"], axis=0), make("Tile", ["u", "r"], ["q"]),
         make("Gather", ["w", "q"], ["y"])],
        [X], TABLE,
    ),
    "the part of a mask for each layer": Case(  # as exporters cut it to the keys that there are
        [make("Shape", ["a"], ["t"]), make("Gather", ["t", "one"], ["s"]), make("Unsqueeze", ["s", "zero"], ["end"]),
         make("Range", ["none", "s", "one"], ["columns"]), make("Unsqueeze", ["columns", "one"], ["rows"]),
         make("LessOrEqual", ["columns", "rows"], ["below"]), make("Gather", ["t", "zero"], ["n"]),
         make("Concat", ["n", "end", "end"], ["square"], axis=0), make("Expand", ["below", "square"], ["each"]),
         make("Where", ["each", "nothing", "low"], ["mask"]), make("Transpose", ["a"], ["turned"], perm=[0, 2, 1]),
         make("MatMul", ["a", "turned"], ["scores"]),
         make("Neg", ["mask"], ["higher"]), make("Reshape", ["higher", "flat"], ["f"]),
         make("ReduceMax", ["f"], ["most"], keepdims=0), make("Add", ["scores", "most"], ["z"]),
         make("Slice", ["mask", "zero", "end", "last"], ["again"]), make("Add", ["z", "again"], ["y"])],
        [X],
        {"zero": np.array([0]), "one": np.array(1), "none": np.array(0), "last": np.array([2]),
         "nothing": np.float32(0), "low": np.float32(-9), "flat": np.array([-1])},
    ),
    "the greatest": Case(
        [make("TopK", ["a", "k"], ["y", "i"], axis=1)], [X], {"k": np.array([2])}, ("y", "i")
    ),
    "at most 4 of the greatest": Case(
        [make("Shape", ["a"], ["t"], start=1, end=2), make("Min", ["t", "four"], ["k"]),
         make("TopK", ["a", "k"], ["y", "i"], axis=1)], [X], {"four": np.array([4])}, ("y", "i"),
    ),
    "the greatest half": Case(
        [make("Shape", ["a"], ["t"], start=1, end=2), make("Div", ["t", "two"], ["k"]),
         make("TopK", ["a", "k"], ["y", "i"], axis=1)], [X], {"two": np.array([2])}, ("y", "i"),
    ),
    "the least": Case(
        [make("TopK", ["a", "k"], ["y", "i"], axis=1, largest=0)], [X], {"k": np.array([2])}, ("y", "i")
    ),
    "merged": Case([make("Reshape", ["a", "c"], ["y"])], [X], {"c": np.array([-1, 3])}),
    "merged inside": Case(
        [make("Reshape", ["a", "c"], ["y"])], [((2, "n", "s", 3), normal)], {"c": np.array([2, -1, 3])}
    ),
    "all in a row": Case([make("Reshape", ["a", "c"], ["y"])], [X], {"c": np.array([-1])}),
    "two rows": Case([make("Reshape", ["a", "c"], ["y"])], [(("s", 4), normal)], {"c": np.array([2, -1])}),
    "flat": Case([make("Flatten", ["a"], ["y"], axis=2)], [(("n", "s", 3, 2), normal)]),
    "apart again": Case(
        [make("Reshape", ["a", "c"], ["r"]), make("MatMul", ["r", "w"], ["m"]), make("Shape", ["a"], ["t"]),
         make("Reshape", ["m", "t"], ["y"])],
        [X], {"c": np.array([-1, 3]), "w": np.random.default_rng(1).standard_normal((3, 3)).astype(np.float32)},
    ),
    "first": Case(
        [make("Slice", ["a", "b", "e", "x"], ["y"])], [X],
        {"b": np.array([0]), "e": np.array([3]), "x": np.array([1])},
    ),
    "last": Case(
        [make("Slice", ["a", "b", "e", "x"], ["y"])], [X],
        {"b": np.array([-3]), "e": np.array([2**62]), "x": np.array([1])},
    ),
    "without the ends": Case(
        [make("Slice", ["a", "b", "e", "x"], ["y"])], [X],
        {"b": np.array([1]), "e": np.array([-1]), "x": np.array([1])}, ranges={"n": Range(1, 5), "s": Range(3, 7)},
    ),
    "backwards": Case(
        [make("Slice", ["a", "b", "e", "x", "t"], ["y"])], [X],
        {"b": np.array([-1]), "e": np.array([-(2**62)]), "x": np.array([1]), "t": np.array([-1])},
    ),
    "every other": Case(
        [make("Slice", ["a", "b", "e", "x", "t"], ["y"])], [X],
        {"b": np.array([0, 1]), "e": np.array([2**62, 2**62]), "x": np.array([0, 1]), "t": np.array([2, 2])},
    ),
    "up to an extent": Case(
        [make("Shape", ["b"], ["t"], end=1), make("Slice", ["a", "z", "t", "x"], ["y"])],
        [((9, 2), normal), (("n",), normal)], {"z": np.array([0]), "x": np.array([0])},
    ),
    "behind an extent": Case(
        [make("Shape", ["b"], ["t"], end=1), make("Add", ["t", "two"], ["u"]),
         make("Slice", ["a", "t", "u", "x"], ["y"])],
        [((9, 2), normal), (("n",), normal)], {"two": np.array([2]), "x": np.array([0])},
    ),
    "halves": Case(
        [make("Split", ["a"], ["y", "z"], axis=1, num_outputs=2)], [X], outputs=("y", "z"),
    ),
    "a part and the rest": Case(
        [make("Shape", ["a"], ["t"], start=1, end=2), make("Sub", ["t", "one"], ["u"]),
         make("Concat", ["one", "u"], ["sizes"], axis=0), make("Split", ["a", "sizes"], ["y", "z"], axis=1)],
        [X], {"one": np.array([1])}, ("y", "z"),
    ),
    "expanded": Case(
        [make("Shape", ["a"], ["t"]), make("Expand", ["b", "t"], ["y"])], [X, (("n", 1, 3), normal)],
    ),
    "a constant expanded": Case(
        [make("Shape", ["a"], ["t"]), make("Concat", ["t", "t"], ["u"], axis=0), make("Expand", ["c", "u"], ["y"])],
        [(("n", "s"), normal)], {"c": np.float32(2)},
    ),
    "tiles": Case([make("Tile", ["a", "c"], ["y"])], [X], {"c": np.array([2, 3, 1])}),
    "as many tiles": Case(
        [make("Shape", ["b"], ["t"]), make("Concat", ["t", "one"], ["u"], axis=0), make("Tile", ["a", "u"], ["y"])],
        [((2, 3), normal), (("n",), normal)], {"one": np.array([1])},
    ),
    "places behind a cache": Case(
        [make("Shape", ["a"], ["l"], start=0, end=1), make("Shape", ["b"], ["k"], start=0, end=1),
         make("Squeeze", ["l"], ["past"]), make("Squeeze", ["k"], ["new"]), make("Add", ["past", "new"], ["now"]),
         make("Range", ["past", "now", "one"], ["p"]), make("Gather", ["table", "p"], ["e"]),
         make("Add", ["e", "b"], ["y"])],
        [(("n", 2), normal), (("s", 4), normal)],
        {"one": np.array(1), "table": np.random.default_rng(2).standard_normal((12, 4)).astype(np.float32)},
    ),
    "a mean by the length": Case(
        [make("Shape", ["a"], ["t"], start=1, end=2), make("Cast", ["t"], ["f"], to=1), make("Sqrt", ["f"], ["r"]),
         make("Div", ["a", "r"], ["y"])], [X],
    ),
    "shape": Case([make("Shape", ["a"], ["y"])], [X]),
    "size": Case([make("Size", ["a"], ["n"]), make("Add", ["n", "n"], ["y"])], [X]),
    "scan over time": Case(
        [make("Scan", ["h", "a"], ["last", "y"], body=_step(), num_scan_inputs=1, scan_input_axes=[1],
              scan_output_axes=[1])],
        [((1, "s", 3), normal)], {"h": np.zeros((1, 3), np.float32)}, ("last", "y"),
    ),
    "scan backwards": Case(
        [make("Scan", ["h", "a"], ["last", "y"], body=_step(), num_scan_inputs=1, scan_input_directions=[1],
              scan_output_directions=[1])],
        [(("s", 1, 3), normal)], {"h": np.zeros((1, 3), np.float32)}, ("last", "y"),
    ),
    "numbers of the greatest": Case(
        [make("MaxPool", ["a"], ["v", "x"], kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1]),
         make("MaxPool", ["a"], ["w", "z"], kernel_shape=[2, 2], storage_order=1),
         make("Cast", ["a"], ["i"], to=onnx.TensorProto.INT8),
         make("MaxPool", ["i"], ["m", "y"], kernel_shape=[1, 2], ceil_mode=1, strides=[1, 2], dilations=[1, 1])],
        [(("n", 2, "s", "t"), sparse)], {}, ("x", "z", "m", "y"),
        {"n": Range(1, 2), "s": Range(2, 4), "t": Range(2, 5)},
    ),
    "channels pooled": Case([make("MaxPool", ["a"], ["y"], kernel_shape=[2])], [((2, "n", 6), normal)]),
    "grid": Case(
        [make("GridSample", ["a", "b"], ["y"])], [(("n", 2, 3, 4), normal), (("n", 2, 5, 2), normal)],
    ),
    "frames of a signal": Case(
        [make("STFT", ["a", "step", "w"], ["y"], onesided=1)], [(("n", "s", 1), normal)],
        {"step": np.array(2), "w": np.hanning(6)[1:5].astype(np.float32)},
        ranges={"n": Range(1, 3), "s": Range(4, 11)}, opset=17,
    ),
    "entries of a shape that are constants beside one that is not": Case(
        [make("NonZero", ["a"], ["z"]), make("Shape", ["z"], ["t"]), make("Gather", ["t", "o"], ["r"]),
         make("Range", ["o", "r", "one"], ["p"]), make("Gather", ["t", "one"], ["k"]),
         make("Add", ["p", "k"], ["y"])],
        [(("n", "s"), sparse)], {"o": np.array(0), "one": np.array(1)},
    ),
    "a mask at positions in all rows": Case(  # as PyTorch exports indices over several dimensions
        [make("Shape", ["a"], ["t"]), make("Split", ["t"], ["rows", "columns"], num_outputs=2),
         make("Squeeze", ["rows"], ["n"]), make("Squeeze", ["columns"], ["s"]), make("Range", ["o", "n", "one"], ["i"]),
         make("Range", ["o", "s", "one"], ["j"]), make("Mul", ["i", "s"], ["begin"]),
         make("Unsqueeze", ["begin", "behind"], ["column"]), make("Add", ["column", "j"], ["places"]),
         make("Reshape", ["a", "flat"], ["f"]), make("Gather", ["f", "places"], ["taken"]),
         make("Shape", ["places"], ["u"]), make("Expand", ["two", "u"], ["twos"]),
         make("Mul", ["taken", "twos"], ["y"])],
        [(("n", "s"), normal)],
        {"o": np.array(0), "one": np.array(1), "behind": np.array([1]), "flat": np.array([-1]), "two": np.float32(2)},
    ),
    "positions behind a cache are compared": Case(
        [make("Shape", ["a"], ["p"], end=1), make("Shape", ["b"], ["q"], end=1), make("Squeeze", ["p"], ["past"]),
         make("Squeeze", ["q"], ["new"]), make("Add", ["past", "new"], ["all"]),
         make("Range", ["o", "new", "one"], ["r"]),
         make("Add", ["r", "past"], ["rows"]), make("Range", ["o", "all", "one"], ["columns"]),
         make("Unsqueeze", ["rows", "behind"], ["column"]), make("LessOrEqual", ["columns", "column"], ["mask"]),
         make("Cast", ["mask"], ["y"], to=1)],
        [(("n", 2), normal), (("s", 2), normal)],
        {"o": np.array(0), "one": np.array(1), "behind": np.array([1])},
    ),
    "expanded to a shape with -1 in it": Case(  # torch.Tensor.expand
        [make("Shape", ["a"], ["t"], end=1), make("Concat", ["t", "minus"], ["u"], axis=0),
         make("ConstantOfShape", ["two"], ["ones"], value=onnx.helper.make_tensor("v", 7, [1], [1])),
         make("Mul", ["ones", "minus"], ["all"]), make("Equal", ["u", "all"], ["open"]),
         make("Where", ["open", "ones", "u"], ["w"]), make("Unsqueeze", ["b", "first"], ["row"]),
         make("Expand", ["row", "w"], ["e"]), make("Add", ["a", "e"], ["y"])],
        [(("n", "s"), normal), (("s",), normal)],
        {"two": np.array([2]), "minus": np.array([-1]), "first": np.array([0])},
    ),
    "constants tiled and expanded": Case(
        [make("Shape", ["a"], ["t"], end=1), make("Mul", ["t", "two"], ["d"]),
         make("Concat", ["d", "one"], ["u"], axis=0),
         make("Tile", ["c", "u"], ["tiles"]), make("Shape", ["a"], ["n"], start=1, end=2),
         make("Squeeze", ["n"], ["s"]), make("Range", ["o", "s", "step"], ["r"]), make("Cast", ["r"], ["f"], to=1),
         make("Concat", ["d", "n"], ["v"], axis=0), make("Expand", ["f", "v"], ["rows"]),
         make("MatMul", ["tiles", "w"], ["m"]), make("Add", ["rows", "m"], ["sums"]),
         make("ReduceMax", ["a"], ["most"]),
         make("Mul", ["sums", "most"], ["y"])],
        [(("n", "s"), normal)],
        {"c": np.arange(3, dtype=np.float32).reshape(1, 3), "w": np.ones((3, 1), np.float32), "two": np.array([2]),
         "one": np.array([1]), "o": np.array(0), "step": np.array(1)},
    ),
    "differences of positions": Case(  # torch.diff
        [make("Shape", ["a"], ["t"], start=1, end=2), make("Squeeze", ["t"], ["s"]),
         make("Range", ["o", "s", "one"], ["r"]), make("Shape", ["a"], ["n"], end=1),
         make("Concat", ["n", "ones"], ["u"], axis=0), make("Unsqueeze", ["r", "first"], ["row"]),
         make("Tile", ["row", "u"], ["p"]), make("Slice", ["p", "first", "ones", "ones"], ["q"]),
         make("Sub", ["q", "one"], ["before"]), make("Concat", ["before", "p"], ["both"], axis=1),
         make("Add", ["t", "one"], ["behind"]), make("Slice", ["both", "ones", "behind", "ones"], ["later"]),
         make("Slice", ["both", "first", "t", "ones"], ["earlier"]), make("Sub", ["later", "earlier"], ["d"]),
         make("Cast", ["d"], ["f"], to=1), make("Add", ["a", "f"], ["y"])],
        [(("n", "s"), normal)],
        {"o": np.array(0), "one": np.array(1), "ones": np.array([1]), "first": np.array([0])},
    ),
    "as many windows of windows as the model says": Case(  # a division for all where the layers have one each
        [make("Conv", ["a", "w"], ["c"], strides=[4]), make("Conv", ["c", "v"], ["d"], strides=[2]),
         make("Shape", ["a"], ["t"], start=2, end=3), make("Squeeze", ["t"], ["u"]), make("Div", ["u", "eight"], ["q"]),
         make("Add", ["q", "minus"], ["k"]), make("Range", ["o", "k", "one"], ["r"]), make("Cast", ["r"], ["f"], to=1),
         make("Add", ["d", "f"], ["y"])],
        [((1, 1, "s"), normal)],
        {"w": np.random.default_rng(4).standard_normal((2, 1, 8)).astype(np.float32),
         "v": np.random.default_rng(5).standard_normal((2, 2, 3)).astype(np.float32), "eight": np.array(8),
         "minus": np.array(-1), "o": np.array(0), "one": np.array(1)}, ranges={"s": Range(16, 43)},
    ),
    "recurrence from a constant state": Case(
        [make("Shape", ["a"], ["t"], start=1, end=2), make("Concat", ["one", "t", "four"], ["u"], axis=0),
         make("ConstantOfShape", ["u"], ["h"]),
         make("GRU", ["a", "w", "r", "", "", "h"], ["y", "last"], hidden_size=4)],
        [(("s", "n", 3), normal)],
        {"one": np.array([1]), "four": np.array([4]),
         "w": np.random.default_rng(4).standard_normal((1, 12, 3)).astype(np.float32),
         "r": np.random.default_rng(5).standard_normal((1, 12, 4)).astype(np.float32)}, ("y", "last"),
    ),
    "recurrence of a constant from a state": Case(
        [make("Shape", ["a"], ["t"], start=1, end=2), make("Concat", ["two", "t", "three"], ["u"], axis=0),
         make("ConstantOfShape", ["u"], ["x"], value=onnx.helper.make_tensor("v", 1, [1], [0.5])),
         make("RNN", ["x", "w", "r", "", "", "a"], ["y"], hidden_size=4)],
        [((1, "n", 4), normal)],
        {"two": np.array([2]), "three": np.array([3]),
         "w": np.random.default_rng(4).standard_normal((1, 4, 3)).astype(np.float32),
         "r": np.random.default_rng(5).standard_normal((1, 4, 4)).astype(np.float32)},
    ),
    **{
        f"samples at points, {mode}, {border}, {'corners' if align else 'borders'}": Case(
            [make("GridSample", ["a", "b"], ["y"], mode=mode, padding_mode=border, align_corners=align)],
            [(("n", 2, "s", "t"), normal), (("n", "t", "s", 2), normal)],
            ranges={"n": Range(1, 2), "s": Range(1, 4), "t": Range(2, 5)},
        )
        for mode, border, align in (
            ("linear", "zeros", 0), ("linear", "border", 1), ("nearest", "border", 0), ("cubic", "zeros", 1),
            ("cubic", "border", 0), ("cubic", "border", 1), ("cubic", "reflection", 0), ("cubic", "reflection", 1),
            ("linear", "reflection", 0), ("linear", "reflection", 1), ("nearest", "reflection", 0),
        )
    },
    "samples at points of images whose extents are known": Case(
        [make("GridSample", ["a", "b"], ["y"], padding_mode="reflection")],
        [(("n", 2, 3, 4), normal), (("n", "s", 2, 2), normal)],
    ),
    "one place of as many as there are rows": Case(
        [make("Shape", ["a"], ["t"], start=1, end=2), make("Cast", ["b"], ["i"], to=7),
         make("OneHot", ["i", "t", "v"], ["y"], axis=1)],
        [(("n", "s"), normal), (("n", 3), places("s"))], {"v": np.array([-1, 2], np.float32)},
    ),
    "a diagonal of what was joined": Case(
        [make("Concat", ["a", "a"], ["u"], axis=1), make("EyeLike", ["u"], ["e"], k=1), make("Add", ["u", "e"], ["y"])],
        [(("n", "s"), normal)],
    ),
    "scan from a constant state": Case(
        [make("Shape", ["a"], ["t"], start=1, end=2), make("Concat", ["t", "three"], ["u"], axis=0),
         make("ConstantOfShape", ["u"], ["h"]),
         make("Scan", ["h", "a"], ["last", "y"], body=_step("n"), num_scan_inputs=1)],
        [(("s", "n", 3), normal)], {"three": np.array([3])}, ("last", "y"),
    ),
    "scan that leaves its states behind": Case(
        [make("Scan", ["a", "b"], ["last", "y"], body=_step("n", "again"), num_scan_inputs=1)],
        [(("n", 3), normal), (("s", "n", 3), normal)], {}, ("last", "y"),
    ),
    "rows of a cache at places of each sequence": Case(
        [make("TensorScatter", ["a", "b", "c"], ["y"], axis=2)],
        [(("n", 2, "s", 3), normal), (("n", 2, 1, 3), normal), (("n",), places_from_0("s"))], {}, ("y",), opset=24,
    ),
    "rows around the end of a cache": Case(
        [make("TensorScatter", ["a", "b", "c"], ["y"], mode="circular")],
        [(("n", "s", 3), normal), (("n", "m", 3), normal), (("n",), places_from_0("s"))], {}, ("y",),
        {"n": Range(1, 3), "s": Range(3, 6), "m": Range(1, 3)}, opset=24,
    ),
    **{
        f"rolled by {shift}": Case(
            [make("Shape", ["a"], ["n"], end=1), make("Mod", ["shift", "n"], ["at"]),
             make("Slice", ["a", "first", "at", "first"], ["behind"]),
             make("Slice", ["a", "at", "n", "first"], ["before"]),
             make("Concat", ["before", "behind"], ["rolled"], axis=0), make("Add", ["rolled", "a"], ["y"])],
            [(("n", 3), normal)], {"shift": np.array([shift]), "first": np.array([0])}, ("y",),
        )
        for shift in (-1, 1, 3, -7)
    },
    "regions of images": Case(
        [make("RoiAlign", ["a", "b", "c"], ["y"], output_height=2, output_width=3, sampling_ratio=2,
              spatial_scale=0.5)],
        [(("n", 2, "s", "t"), normal), (("m", 4), boxes), (("m",), places_from_0("n"))], {}, ("y",),
        {"n": Range(1, 3), "s": Range(1, 6), "t": Range(2, 5), "m": Range(1, 3)},
    ),
    "parts of regions by their size": Case(
        [make("RoiAlign", ["a", "b", "c"], ["y"], output_height=2, output_width=2, mode="max")],
        [((1, "n", "s", 4), normal), ((3, 4), boxes), ((3,), places_from_0(1))], {}, ("y",),
        {"n": Range(1, 3), "s": Range(1, 6)},
    ),
    "places by a limit of floats": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "one"], ["s"]), make("Add", ["s", "s"], ["twice"]),
         make("Cast", ["twice"], ["limit"], to=onnx.TensorProto.FLOAT),
         make("Range", ["start", "limit", "step"], ["r"]), make("Add", ["r", "half"], ["y"])],
        [X], {"one": np.array(1), "start": np.float32(0), "step": np.float32(1), "half": np.float32(0.5)}, ("y",),
    ),
    "places up to the last one, for each of a batch": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "one"], ["s"]),
         make("Range", ["zero", "s", "one"], ["r"]), make("Add", ["r", "two"], ["behind"]),
         make("Sub", ["s", "one"], ["last"]), make("Clip", ["behind", "zero", "last"], ["p"]),
         make("Expand", ["p", "shape"], ["places"]), make("GatherElements", ["a", "places"], ["y"], axis=1)],
        [(("n", "s"), normal)], {"zero": np.array(0), "one": np.array(1), "two": np.array(2)},
    ),
    "places that are counted down, through weights": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "one"], ["s"]), make("Neg", ["s"], ["e"]),
         make("Range", ["s", "e", "step"], ["r"]), make("Cast", ["r"], ["f"], to=onnx.TensorProto.FLOAT),
         make("Unsqueeze", ["f", "axis"], ["row"]), make("MatMul", ["w", "row"], ["m"]),
         make("MatMul", ["a", "m"], ["y"])],
        [(("n", "s", 3), normal)],
        {"one": np.array(1), "step": np.array(-2), "axis": np.array([0]), "w": np.float32([[1.5], [2], [-1]])},
    ),
    "windows by places, multiplied with as many kernels": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "one"], ["s"]),
         make("Range", ["zero", "s", "one"], ["r"]), make("Unsqueeze", ["r", "last"], ["column"]),
         make("Add", ["column", "window"], ["places"]), make("Pad", ["a", "border"], ["padded"]),
         make("Gather", ["padded", "places"], ["w"], axis=1), make("Reshape", ["w", "rows"], ["left"]),
         make("Reshape", ["a", "columns"], ["right"]), make("MatMul", ["left", "right"], ["y"])],
        [(("n", "s", 3), normal)],
        {"zero": np.array(0), "one": np.array(1), "last": np.array([-1]), "window": np.array([[0, 1, 2, 3]]),
         "border": np.array([0, 0, 0, 0, 3, 0]), "rows": np.array([-1, 4, 3]), "columns": np.array([-1, 3, 1])},
    ),
    "a transform along a dimension beside others": Case(
        [make("DFT", ["a", "", "axis"], ["y"], onesided=1)], [(("n", "s", 6, 1), normal)], {"axis": np.array(2)},
    ),
    "transforms along a dimension": Case(
        [make("DFT", ["a", "", "axis"], ["f"]), make("DFT", ["f", "", "axis"], ["y"], inverse=1)],
        [(("n", "s", 3, 1), normal)], {"axis": np.array(1)}, ("f", "y"),
    ),
    "a transform of half the spectrum and back": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "one"], ["s"]),
         make("DFT", ["a", "", "axis"], ["f"], onesided=1),
         make("DFT", ["f", "s", "axis"], ["y"], inverse=1, onesided=1)],
        [(("n", "s", 1), normal)], {"axis": np.array(1), "one": np.array(1)}, ("f", "y"),
    ),
    "a transform of constant length": Case(
        [make("DFT", ["a", "length", "axis"], ["y"])], [(("n", "s", 2), normal)],
        {"axis": np.array(1), "length": np.array(5)},
    ),
    "amounts of padding in a table, up to a multiple": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "last"], ["s"]), make("Add", ["s", "three"], ["t"]),
         make("Div", ["t", "four"], ["d"]), make("Mul", ["d", "four"], ["m"]), make("Sub", ["m", "s"], ["rest"]),
         make("Concat", ["zero", "rest", "zero", "zero", "zero", "zero"], ["list"], axis=0),
         make("Reshape", ["list", "pairs"], ["table"]),
         make("Slice", ["table", "last", "before", "zero", "last"], ["turned"]),
         make("Transpose", ["turned"], ["across"]), make("Reshape", ["across", "last"], ["amounts"]),
         make("Pad", ["a", "amounts"], ["y"])],
        [(("n", 3, "s"), normal)],
        {"zero": np.array([0]), "three": np.array([3]), "four": np.array([4]), "last": np.array([-1]),
         "pairs": np.array([-1, 2]), "before": np.array([-(2**63) + 1])},
    ),
    "a static dimension padded by the rest of a negative number": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "one"], ["size"]), make("Neg", ["size"], ["n"]),
         make("Mod", ["n", "three"], ["rest"]), make("Concat", ["zero", "rest"], ["border"], axis=0),
         make("Pad", ["a", "border", "", "one"], ["x"]), make("Reshape", ["x", "rows"], ["y"])],
        [(("n", 5, 3), normal)],
        {"one": np.array([1]), "zero": np.array([0]), "three": np.array([3]), "rows": np.array([0, 2, 3, 3])},
    ),
    "a mask that is padded up to a multiple": Case(
        [make("Shape", ["a"], ["shape"]), make("ConstantOfShape", ["shape"], ["mask"]),
         make("Gather", ["shape", "one"], ["s"]), make("Neg", ["s"], ["n"]), make("Mod", ["n", "four"], ["rest"]),
         make("Concat", ["zeros", "rest"], ["border"], axis=0), make("Pad", ["mask", "border", "fill"], ["x"]),
         make("Reshape", ["x", "rows"], ["y"])],
        [(("n", "s"), normal)],
        {"one": np.array([1]), "zeros": np.array([0, 0, 0]), "four": np.array([4]), "fill": np.float32(1),
         "rows": np.array([0, -1, 4])},
        ranges={"n": Range(1, 3), "s": Range(2, 12)},
    ),
    "chunks of what is padded up to a multiple": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "one"], ["s"]), make("Mod", ["s", "four"], ["over"]),
         make("Sub", ["four", "over"], ["missing"]), make("Mod", ["missing", "four"], ["rest"]),
         make("Concat", ["zeros", "rest"], ["border"], axis=0), make("Pad", ["a", "border"], ["x"]),
         make("Add", ["s", "rest"], ["sum"]), make("Div", ["sum", "four"], ["chunks"]),
         make("Concat", ["zero", "chunks", "four"], ["rows"], axis=0), make("Reshape", ["x", "rows"], ["y"])],
        [(("n", "s"), normal)],
        {"one": np.array([1]), "zero": np.array([0]), "zeros": np.array([0, 0, 0]), "four": np.array([4])},
        ranges={"n": Range(1, 3), "s": Range(2, 10)},
    ),
    "embeddings of relative places, of a table that is padded or cut at both ends": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "first"], ["s"]),
         make("Sub", ["s", "five"], ["far"]), make("Sub", ["five", "s"], ["near"]), make("Add", ["s", "s"], ["s2"]),
         make("Max", ["zero", "far"], ["wide"]), make("Max", ["zero", "near"], ["begin"]),
         make("Sub", ["s2", "one"], ["d"]), make("Add", ["begin", "d"], ["end"]),
         make("Concat", ["wide", "zero", "wide", "zero"], ["border"], axis=0),
         make("Pad", ["table", "border"], ["padded"]), make("Slice", ["padded", "begin", "end", "zero"], ["own"]),
         make("Transpose", ["own"], ["t"], perm=[1, 0]), make("MatMul", ["a", "t"], ["m"]),
         make("Pad", ["m", "last"], ["m2"]), make("Reshape", ["m2", "all"], ["flat"]),
         make("Sub", ["s", "one"], ["s1"]),
         make("Concat", ["zero", "s1"], ["more"], axis=0), make("Pad", ["flat", "more"], ["longer"]),
         make("Add", ["s", "one"], ["rows"]), make("Concat", ["rows", "d"], ["turned"], axis=0),
         make("Reshape", ["longer", "turned"], ["x"]), make("Slice", ["x", "zero", "s", "zero"], ["upper"]),
         make("Slice", ["upper", "s1", "far away", "one"], ["y"])],
        [(("s", 2), normal)],
        {"first": np.array([0]), "zero": np.array([0]), "one": np.array([1]), "five": np.array([5]),
         "table": np.random.default_rng(2).standard_normal((9, 2)).astype(np.float32), "last": np.array([0, 0, 0, 1]),
         "all": np.array([-1]), "far away": np.array([2**63 - 1])},
        ranges={"s": Range(2, 8)},
    ),
    "queries of a model for each element of a batch, in heads": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "first"], ["n"]),
         make("Concat", ["one", "n", "one"], ["each"], axis=0), make("Expand", ["table", "each"], ["q"]),
         make("MatMul", ["q", "w"], ["p"]), make("Mul", ["n", "two"], ["heads"]),
         make("Concat", ["four", "heads", "three"], ["parts"], axis=0), make("Reshape", ["p", "parts"], ["r"]),
         make("Transpose", ["r"], ["t"], perm=[1, 0, 2]), make("Reshape", ["a", "flat"], ["k"]),
         make("MatMul", ["t", "k"], ["y"])],
        [(("n", 2, 3, 5), normal)],
        {"first": np.array([0]), "one": np.array([1]), "two": np.array([2]), "four": np.array([4]),
         "three": np.array([3]), "flat": np.array([-1, 3, 5]),
         "table": np.random.default_rng(2).standard_normal((4, 1, 6)).astype(np.float32),
         "w": np.random.default_rng(3).standard_normal((6, 6)).astype(np.float32)},
    ),
    "part of a table, quantized by what is in it": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "first"], ["s"]), make("Sub", ["seven", "s"], ["b"]),
         make("Slice", ["table", "b", "seven", "first"], ["part"]),
         make("DynamicQuantizeLinear", ["part"], ["q", "scale", "point"]),
         make("MatMulInteger", ["q", "w", "point", "w point"], ["i"]),
         make("Cast", ["i"], ["f"], to=onnx.TensorProto.FLOAT), make("Mul", ["f", "scale"], ["m"]),
         make("Add", ["a", "m"], ["y"])],
        [(("s", 3), normal)],
        {"first": np.array([0]), "seven": np.array([7]), "w point": np.uint8(120),
         "table": np.random.default_rng(2).standard_normal((9, 4)).astype(np.float32),
         "w": np.random.default_rng(3).integers(0, 255, (4, 3)).astype(np.uint8)},
    ),
    "one number for all elements of a mask": Case(
        [make("Greater", ["b", "zero"], ["mask"]), make("NonZero", ["mask"], ["rows"]),
         make("Transpose", ["rows"], ["places"]), make("Reshape", ["mask", "flat"], ["m"]),
         make("Cast", ["m"], ["numbers"], to=onnx.TensorProto.INT64), make("ReduceSum", ["numbers"], ["count"]),
         make("Expand", ["seven", "count"], ["sevens"]), make("ScatterND", ["a", "places", "sevens"], ["y"])],
        [(("n", "s"), normal), (("n", "s"), normal)],
        {"zero": np.float32(0), "seven": np.float32(7), "flat": np.array([-1])},
    ),
    "as many rows as a mask has places": Case(
        [make("NonZero", ["b"], ["rows"]), make("Transpose", ["rows"], ["places"]),
         make("ScatterND", ["a", "places", "c"], ["y"])],
        [((2, 5), normal), ((2, 5), lambda rng, shape, n: rng.permutation(np.arange(10) < 3).reshape(shape)),
         ((3,), normal)],
    ),
    "reshaped as the table of its places is": Case(
        [make("Shape", ["a"], ["shape"]), make("Squeeze", ["shape"], ["s"]), make("Neg", ["a"], ["less"]),
         make("Range", ["zero", "s", "one"], ["places"]), make("Shape", ["places"], ["same"]),
         make("Reshape", ["less", "same"], ["again"]), make("Relu", ["again"], ["y"])],
        [(("s",), normal)], {"zero": np.array(0), "one": np.array(1)},
    ),
    "a table from the end on, as many rows as there are": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "one"], ["s"]), make("Neg", ["s"], ["behind"]),
         make("Slice", ["table", "zero", "s", "zero"], ["part"]),
         make("Slice", ["part", "behind", "most", "zero"], ["rows"]),
         make("Expand", ["rows", "shape"], ["whole"]), make("Add", ["a", "whole"], ["y"])],
        [(("n", "s", 3), normal)],
        {"zero": np.array([0]), "one": np.array([1]), "most": np.array([2**31]),
         "table": np.arange(27, dtype=np.float32).reshape(9, 3)},
    ),
    "a loop over rows, whose condition is cast from one around it": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "zero"], ["n"]),
         make("Loop", ["n", "true"], ["rows"], body=_row("true")), make("Mul", ["rows", "a"], ["y"])],
        [(("n", 3), normal)], {"zero": np.array(0), "true": np.array(True)},
    ),
    "reversed sequences of given lengths": Case(
        [make("ReverseSequence", ["a", "b"], ["y"], time_axis=1, batch_axis=0)], [X, (("n",), places_from_0("s"))],
    ),
    "whole sequences reversed": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "one"], ["s"]),
         make("Gather", ["shape", "zero"], ["n"]), make("Expand", ["s", "n"], ["lengths"]),
         make("ReverseSequence", ["a", "lengths"], ["y"], time_axis=1, batch_axis=0)],
        [X], {"zero": np.array([0]), "one": np.array([1])},
    ),
    "rows of a batch reversed": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "zero"], ["n"]),
         make("Expand", ["three", "n"], ["lengths"]),
         make("ReverseSequence", ["a", "lengths"], ["y"], time_axis=1, batch_axis=0)],
        [(("n", 5, 2), normal)], {"zero": np.array([0]), "three": np.array([3])},
    ),
    "negative borders": Case([make("Pad", ["a", "amounts"], ["y"])], [X], {"amounts": np.array([0, 1, 0, 2, -2, -1])}),
    "the edge of what is cut": Case(
        [make("Pad", ["a", "amounts"], ["y"], mode="edge")], [X], {"amounts": np.array([0, 2, 0, 0, -1, 0])},
    ),
    "one step later": Case([make("Pad", ["a", "amounts"], ["y"])], [X], {"amounts": np.array([0, -1, 0, 0, 2, 0])}),
    "one more row of each, times a matrix": Case(
        [make("Pad", ["a", "border"], ["x"]), make("Einsum", ["x", "b"], ["y"], equation="nsk,kc->nsc")],
        [X, ((3, 4), normal)], {"border": np.array([0, 0, 0, 0, 1, 0])},
    ),
    "outer rows and columns": Case(
        [make("Einsum", ["a", "b"], ["y"], equation="hnsk,tkhm->smthn")],
        [((2, "n", "s", 3), normal), (("t", 3, 2, "m"), normal)],
        ranges={"n": Range(1, 3), "s": Range(2, 4), "t": Range(1, 2), "m": Range(1, 2)},
    ),
    "a table of a batch that is flat, by places": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "zero"], ["n"]),
         make("Gather", ["shape", "one"], ["s"]), make("Range", ["zero", "n", "one"], ["rows"]),
         make("Range", ["zero", "s", "one"], ["columns"]),
         make("Unsqueeze", ["rows", "behind"], ["column"]), make("Mul", ["column", "s"], ["begins"]),
         make("Mul", ["column", "ten"], ["tens"]), make("Add", ["tens", "columns"], ["table"]),
         make("Cast", ["table"], ["floats"], to=onnx.TensorProto.FLOAT), make("Reshape", ["floats", "flat"], ["f"]),
         make("Add", ["begins", "columns"], ["places"]), make("Gather", ["f", "places"], ["g"]),
         make("Add", ["a", "g"], ["y"])],
        [(("n", "s"), normal)],
        {"zero": np.array(0), "one": np.array(1), "behind": np.array([1]), "ten": np.array(10), "flat": np.array([-1])},
    ),
    "columns that a run selects, all of which a product needs": Case(
        [make("Compress", ["a", "b"], ["x"], axis=1), make("MatMul", ["x", "w"], ["y"])],
        [(("n", 6), normal), ((6,), lambda rng, shape, n: np.ones(shape, bool))],
        {"w": np.random.default_rng(1).standard_normal((6, 2)).astype(np.float32)},
    ),
    "rows put at places, which are repeated to a shape with their number": Case(
        [make("Shape", ["c"], ["t"]), make("Shape", ["b"], ["p"]), make("ScatterElements", ["t", "one", "p"], ["u"]),
         make("Unsqueeze", ["b", "last"], ["v"]), make("Expand", ["v", "u"], ["w"]),
         make("ScatterElements", ["c", "w", "a"], ["y"], axis=1)],
        [((2, "n", 3), normal), (("n",), distinct(9)), ((2, 9, 3), normal)],
        {"one": np.array([1]), "last": np.array([1])},
    ),
    "one place of a dimension, which a run tells": Case(
        [make("Add", ["b", "one"], ["end"]), make("Slice", ["a", "b", "end", "one"], ["y"])],
        [X, ((1,), places("s"))], {"one": np.array([1])},
    ),
    "places of ones": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "first"], ["n"]), make("Add", ["n", "n"], ["twice"]),
         make("ConstantOfShape", ["twice"], ["ones"], value=onnx.numpy_helper.from_array(np.array([2]))),
         make("NonZero", ["ones"], ["places"]), make("Concat", ["b", "b"], ["bb"], axis=0),
         make("Transpose", ["places"], ["column"]), make("Cast", ["column"], ["f"], to=onnx.TensorProto.FLOAT),
         make("Add", ["f", "bb"], ["y"])],
        [X, (("n", 3), normal)], {"first": np.array([0])}, ("y",),
    ),
    "a size by a factor of floats": Case(
        [make("Shape", ["a"], ["shape"]), make("Cast", ["shape"], ["floats"], to=onnx.TensorProto.FLOAT),
         make("Mul", ["floats", "factors"], ["product"]), make("Floor", ["product"], ["floor"]),
         make("Cast", ["floor"], ["sizes"], to=onnx.TensorProto.INT64), make("Resize", ["a", "", "", "sizes"], ["y"])],
        [X], {"factors": np.array([1, 1.5, 1], np.float32)}, ("y",),
    ),
    "sums of parts between the numbers of a list, in a loop that counts": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "zero"], ["n"]), make("Mul", ["n", "two"], ["rows"]),
         make("Range", ["zero", "rows", "two"], ["begins"]), make("Unsqueeze", ["rows", "first"], ["last"]),
         make("Concat", ["begins", "last"], ["ends"], axis=0), make("Concat", ["a", "a"], ["aa"], axis=0),
         make("Less", ["zero", "n"], ["go"]), make("SequenceEmpty", [], ["none"]),
         make("Loop", ["", "go", "none", "zero"], ["list", "passes"], body=onnx.helper.make_graph(
             [make("Unsqueeze", ["k", "first"], ["k1"]), make("Add", ["k1", "one"], ["k2"]),
              make("Slice", ["ends", "k1", "k2"], ["begin"]), make("Add", ["k2", "one"], ["k3"]),
              make("Slice", ["ends", "k2", "k3"], ["end"]), make("Slice", ["aa", "begin", "end"], ["part"]),
              make("ReduceSum", ["part", "first"], ["sum"]), make("SequenceInsert", ["s", "sum"], ["s2"]),
              make("Add", ["k", "one"], ["next"]), make("Less", ["next", "n"], ["on"])],
             "body", [value("i", [], 7), value("c", [], 9), onnx.ValueInfoProto(name="s"), value("k", [], 7)],
             [onnx.ValueInfoProto(name=name) for name in ("on", "s2", "next")])),
         make("ConcatFromSequence", ["list"], ["y"], axis=0)],
        [(("n", 3), normal)],
        {"zero": np.array(0), "one": np.array(1), "two": np.array(2), "first": np.array([0])},
    ),
    "a recurrent layer as TensorFlow exports it: the limit and the weights are carried, and compared as floats": Case(
        [make("Shape", ["a"], ["shape"]), make("Cast", ["shape"], ["short"], to=onnx.TensorProto.INT32),
         make("Slice", ["short", "first", "one"], ["part"]), make("Squeeze", ["part", "first"], ["n"]),
         make("Cast", ["n"], ["f"], to=onnx.TensorProto.FLOAT), make("Less", ["none", "f"], ["go"]),
         make("Loop", ["", "go", "zero", "h0", "n", "w"], ["i9", "y", "n9", "w9", "rows"], body=onnx.helper.make_graph(
             [make("Gather", ["a", "k"], ["x"]), make("MatMul", ["h", "v"], ["m"]), make("Add", ["x", "m"], ["z"]),
              make("Tanh", ["z"], ["h2"]), make("Add", ["k", "step"], ["k2"]), make("Identity", ["h2"], ["row"]),
              make("Cast", ["k2"], ["f1"], to=onnx.TensorProto.FLOAT), make("Identity", ["limit"], ["kept"]),
              make("Cast", ["limit"], ["f2"], to=onnx.TensorProto.FLOAT), make("Less", ["f1", "f2"], ["on"])],
             "body", [value("p", [], 7), value("c", [], 9), value("k", [], 6), value("h", [2, 3]),
                      value("limit", [], 6), value("v", [3, 3])],
             [onnx.ValueInfoProto(name=name) for name in ("on", "k2", "h2", "kept", "v", "row")])),
         make("Cast", ["n9"], ["f9"], to=onnx.TensorProto.FLOAT),
         make("Cast", ["i9"], ["f8"], to=onnx.TensorProto.FLOAT),
         make("Add", ["f8", "f9"], ["y2"]), make("Neg", ["w9"], ["y3"]), make("Neg", ["rows"], ["y4"])],
        [(("n", 2, 3), normal)],
        {"first": np.array([0]), "one": np.array([1]), "none": np.float32(0), "zero": np.int32(0), "step": np.int32(1),
         "h0": np.zeros((2, 3), np.float32), "w": np.arange(-4, 5, dtype=np.float32).reshape(3, 3) / 8},
        ("y", "y2", "y3", "y4"),
    ),
    "fractions of an extent that are stored quantized": Case(
        [make("Shape", ["a"], ["shape"]), make("Gather", ["shape", "one"], ["s"]),
         make("Range", ["zero", "s", "one"], ["places"]), make("Cast", ["places"], ["f"], to=onnx.TensorProto.FLOAT),
         make("Cast", ["s"], ["whole"], to=onnx.TensorProto.FLOAT), make("Div", ["f", "whole"], ["parts"]),
         make("QuantizeLinear", ["parts", "scale", "point"], ["q"]),
         make("DequantizeLinear", ["q", "scale", "point"], ["d"]), make("Mul", ["a", "d"], ["y"])],
        [((2, "s"), normal)],
        {"zero": np.array(0), "one": np.array(1), "scale": np.float32(1 / 128), "point": np.int8(-3)},
    ),
    "rows of a table that is quantized in blocks": Case(
        [make("Gather", ["w", "a"], ["rows"]), make("Gather", ["scales", "a"], ["factors"]),
         make("DequantizeLinear", ["rows", "factors"], ["y"], axis=2, block_size=4)],
        [(("n", "s"), places(5))],
        {"w": np.arange(-20, 20, dtype=np.int8).reshape(5, 8),
         "scales": np.arange(1, 11, dtype=np.float32).reshape(5, 2) / 4},
    ),
    "random numbers of one value, for each element": Case(
        [make("RandomUniformLike", ["a"], ["three"], low=3.0, high=3.0), make("Mul", ["a", "three"], ["more"]),
         make("Dropout", ["more", "zero", "training"], ["y"])],
        [X], {"zero": np.float32(0), "training": np.array(True)},
    ),
    "random numbers of one value, for each element that a run finds": Case(
        [make("NonZero", ["a"], ["places"]), make("Cast", ["places"], ["f"], to=onnx.TensorProto.FLOAT),
         make("RandomUniformLike", ["f"], ["three"], low=3.0, high=3.0), make("Add", ["f", "three"], ["y"])],
        [(("n", "s"), sparse)],
    ),
    "all boxes that do not overlap": Case(
        [make("NonMaxSuppression", ["a", "b", "k", "t"], ["y"])],
        [((1, "s", 4), normal), ((1, 2, "s"), normal)],
        {"k": np.array([2**63 - 1]), "t": np.array([0.4], np.float32)},
    ),
    "attention to the tokens before the end of each sentence": Case(
        [make("Attention", ["a", "weights", "bias", "b"], ["y"], domain="com.microsoft", num_heads=2)],
        [(("n", 5, 6), normal), (("n",), ends_up_to(5))], {"weights": WEIGHTS, "bias": WEIGHTS[0]},
    ),
    "boxes of a batch": Case(
        [make("NonMaxSuppression", ["a", "b", "k", "t"], ["y"])],
        [(("n", "s", 4), normal), (("n", 2, "s"), normal)], {"k": np.array([3]), "t": np.array([0.4], np.float32)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_every_extent(name: str) -> None:
    case = CASES[name]
    proto, ranges = case.proto(), case.used()
    compiled = JitModel(lower_graph(optimize(checked_import(proto, dims=ranges)), host_machine()))
    rng = np.random.default_rng(3)
    for numbers in product(*(range(each.least, each.most + 1) for each in ranges.values())):
        feeds = case.feeds(dict(zip(ranges, numbers)), rng)
        found = run_among_garbage(compiled, feeds)
        for output, wanted in zip(case.outputs, onnxruntime(proto, feeds), strict=True):
            result = found[output]
            assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype), (output, numbers)
            np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5, err_msg=f"{output} {numbers}")


def test_a_constant_place_that_not_every_extent_has() -> None:
    proto = model([make("Gather", ["a", "c"], ["y"], axis=1)], [value("a", [2, "s"])], ["y"], {"c": np.array([0, 3])})
    with pytest.raises(CcmlError) as caught:
        import_model(proto, dims={"s": Range(1, 7)})
    assert caught.value.kind is ErrorCode.UNSUPPORTED_FEATURE
    assert caught.value.hint is not None and "let the range begin at 4 (--dim s=4..)" in caught.value.hint
