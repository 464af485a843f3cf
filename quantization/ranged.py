"""Models of which each run has extents of its own: quantized with those of the calibration data as bounds, where no
element is beyond them, and then given the bounds that were asked for.

Both graphs are made of the same operators by the same names; what differs are shapes, attributes that tell shapes, and
constants that follow from shapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..driver import PathLike, Source, read
from ..errors import CcmlError, ErrorCode
from ..frontend_onnx.dims import Range
from ..ir.extents import Extent, axes_of
from ..ir.graph import Graph, Node, Value
from ..ops.table import infer_types
from ..record import record
from ..samples import ONLY_INPUT, read_arrays
from .calibration import CalibrationData, Sample

_LEAST_BOUND = 2
"""Dimensions of one element are computed otherwise than longer ones."""


def calibration_extents(graph: Graph, given: PathLike | Iterable[Sample] | None) -> dict[str, int]:
    """The extents that samples have, by the values that hold them; the bounds without samples. The first of ``given``
    samples, which are there a second time, tells them.

    Where a first dimension is ranged, the first axis of a file's arrays counts samples of one element there.
    Raises ``BAD_INPUT`` where inputs differ in what is one extent.
    """
    found: dict[str, tuple[int, str]] = {}
    tensors = _tensors(graph)
    arrays = _first_arrays(tensors, given)
    for value in tensors:
        array = arrays.get(value.name, arrays.get(ONLY_INPUT) if len(tensors) == 1 else None)
        if array is None:
            continue
        shape = _own_shape(array, value, 0 in axes_of(graph.extents, value.name))
        for axis, extent in axes_of(graph.extents, value.name).items():
            size, name = found.setdefault(extent.value, (shape[axis], value.name))
            if size != shape[axis]:
                reason = f"{extent.value} is {shape[axis]}, and {size} in {name}"
                raise CcmlError(ErrorCode.BAD_INPUT, reason, loc=value.name)
    return {e.value: found[e.value][0] if e.value in found else e.bound for e in graph.argument_extents}


def _tensors(graph: Graph) -> list[Value]:
    """The inputs without extents and states."""
    others = {extent.value for extent in graph.extents} | {state.input for state in graph.states}
    return [value for value in graph.inputs if value.name not in others]


def _first_arrays(tensors: Sequence[Value], given: PathLike | Iterable[Sample] | None) -> dict[str, np.ndarray]:
    """Of the first file or sample, by the names of inputs."""
    if given is None:
        return {}
    if not isinstance(given, (str, Path)):
        first = next(iter(given), {})
        return {n: np.asarray(a) for n, a in first.items()} if isinstance(first, Mapping) else {ONLY_INPUT: first}
    path = Path(given)
    if path.is_dir():
        files = {value.name: next(iter(sorted((path / value.name).glob("*.npy"))), None) for value in tensors}
        files = {**files, ONLY_INPUT: next(iter(sorted(path.glob("*.npy"))), None)}
        return {name: read_arrays(file)[ONLY_INPUT] for name, file in files.items() if file is not None}
    return {name.removeprefix("in:"): array for name, array in read_arrays(path).items()}


def _own_shape(array: np.ndarray, value: Value, counted: bool) -> tuple[int, ...]:
    """Of a sample of the input: with samples along an axis of their own, or in place of a first dimension of one
    element, or ``counted`` by one of several; without such an axis the first dimension may be missing, too."""
    rank = value.type.rank
    if array.ndim == rank + 1:
        return array.shape[1:]
    if array.ndim == rank:
        return (1, *array.shape[1:]) if counted or value.shape[:1] == (1,) else array.shape
    if array.ndim == rank - 1:
        return (1, *array.shape)
    reason = f"expected {rank} dimensions, or {rank + 1} with samples along the first axis, got {list(array.shape)}"
    raise CcmlError(ErrorCode.BAD_INPUT, reason, loc=value.name)


def with_bounds_of(source: Source, sizes: Mapping[str, int]) -> Source:
    """``source`` with the extents of samples as bounds. Raises ``BAD_INPUT`` where a range does not hold them."""
    ranges: dict[str, Range] = {}
    for extent in source.graph.argument_extents:
        size = sizes[extent.value]
        if not extent.least <= size <= extent.bound or size % extent.step:
            reason = f"the samples have {extent.value} = {size}, which is not in {extent.least}..{extent.bound}"
            raise CcmlError(ErrorCode.BAD_INPUT, reason, loc=extent.value)
        most = min(max(size, _LEAST_BOUND * extent.step), extent.bound)
        range_ = Range(min(extent.least, max(most - extent.step, 0)), most, extent.step)
        ranges |= dict.fromkeys(_dimensions(source, extent), range_)
    return read(source.path, replace(source.options, dims={**source.options.dims, **ranges}))


def _dimensions(source: Source, extent: Extent) -> list[str]:
    """The names that the model has for dimensions of this extent; that of the argument is another where a tensor has
    it."""
    dims = {info.name: info.type.tensor_type.shape.dim for info in source.model.graph.input}
    names = [dims[name][axis].dim_param for name, axis in extent.dims if name in dims]
    return [name for name in dict.fromkeys((*names, extent.value)) if name in source.options.dims]


def own_inputs(graph: Graph, inputs: Iterable[Value], sizes: Mapping[str, int]) -> list[Value]:
    """The inputs as samples have them."""
    found = []
    for value in inputs:
        shape = list(value.shape)
        for axis, extent in axes_of(graph.extents, value.name).items():
            shape[axis] = sizes.get(extent.value, shape[axis])
        found.append(replace(value, type=value.type.with_shape(tuple(shape))))
    return found


def with_arguments(graph: Graph, data: CalibrationData) -> CalibrationData:
    """Samples of the bounds' shapes, by repeating what there is, and the bounds as extents."""
    inputs = dict(data.samples.inputs)
    for value in _tensors(graph):
        for axis in axes_of(graph.extents, value.name):
            array, bound = inputs[value.name], value.shape[axis]
            if array.shape[1 + axis] != bound:
                places = np.arange(bound) % array.shape[1 + axis]
                inputs[value.name] = np.take(array, places, axis=1 + axis)
    count = data.samples.count
    extents = {extent.value: np.full(count, extent.bound, np.int64) for extent in graph.argument_extents}
    return replace(data, samples=replace(data.samples, inputs=inputs | extents))


@record
class OwnOutputs:
    """Cuts outputs to the extents that the samples have: ``sizes``, by the values that hold them."""

    graph: Graph
    sizes: Mapping[str, int]

    def cut(self, name: str, array: np.ndarray) -> np.ndarray:
        return self._cut(name, array, 0)

    def cut_stacked(self, outputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Of outputs ``[samples, ...]``."""
        return {name: self._cut(name, array, 1) for name, array in outputs.items()}

    def _cut(self, name: str, array: np.ndarray, ahead: int) -> np.ndarray:
        for axis, extent in axes_of(self.graph.extents, name).items():
            if extent.value in self.sizes and self.sizes[extent.value] < array.shape[ahead + axis]:
                array = np.take(array, np.arange(self.sizes[extent.value]), axis=ahead + axis)
        return array


# ---------------------------------------------------------------- other bounds


def with_bounds(quantized: Graph, small: Graph, large: Graph) -> Graph:
    """The graph that was quantized, ``small`` before, with the bounds of ``large``, which is the same otherwise.

    Raises ``UNSUPPORTED_FEATURE`` that names the tensor where they differ in more.
    """
    return _Bounds(quantized, small, large).run()


class _Bounds:
    def __init__(self, quantized: Graph, small: Graph, large: Graph) -> None:
        self.quantized, self.small, self.large = quantized, small, large
        self.values = {value.name: value for value in (*large.inputs, *quantized.inputs)}
        self.constants: dict[str, np.ndarray] = {}

    def run(self) -> Graph:
        inputs = tuple(self._input(value) for value in self.quantized.inputs)
        self.values |= {value.name: value for value in inputs}
        for name, array in self.quantized.constants.items():
            self._set_constant(name, array)
        nodes = [self._node(node) for node in self.quantized.nodes]
        outputs = tuple(self.values[value.name] for value in self.quantized.outputs)
        return replace(
            self.quantized, inputs=inputs, outputs=outputs, nodes=tuple(nodes), constants=self.constants,
            extents=self.large.extents,
        )  # fmt: skip

    def _input(self, value: Value) -> Value:
        shapes = {other.name: other.shape for other in self.large.inputs}
        return replace(value, type=value.type.with_shape(shapes[value.name]))

    def _set_constant(self, name: str, array: np.ndarray) -> None:
        before, after = self.small.constants.get(name), self.large.constants.get(name)
        if before is not None and after is not None:
            if np.array_equal(before, array, equal_nan=array.dtype.kind == "f"):
                array = after
            elif before.shape != after.shape:
                raise self._differs(name)
        self.constants[name] = array

    def _node(self, node: Node) -> Node:
        before, after = (graph.producer(node.outputs[0].name) for graph in (self.small, self.large))
        attrs = dict(node.attrs)
        if before is not None and after is not None and before.op == after.op == node.op:
            attrs |= {name: after.attrs[name] for name, own in attrs.items() if before.attrs.get(name) == own}
        operands = [None if value is None else self._operand(value) for value in node.inputs]
        try:
            types = infer_types(node.op, operands, attrs, node.loc)
        except CcmlError as problem:
            raise self._differs(node.outputs[0].name) from problem
        outputs = tuple(replace(value, type=type_) for value, type_ in zip(node.outputs, types, strict=True))
        self.values |= {value.name: value for value in outputs}
        return replace(node, inputs=tuple(operands), outputs=outputs, attrs=attrs)

    def _operand(self, value: Value) -> Value:
        array = self.constants.get(value.name)
        if array is not None:
            return replace(value, type=value.type.with_shape(array.shape))
        return self.values[value.name]

    def _differs(self, name: str) -> CcmlError:
        return CcmlError(
            ErrorCode.UNSUPPORTED_FEATURE, "what it is depends on extents in a way that quantization does not know",
            loc=name, hint="--dim NAME=N fixes a dimension",
        )  # fmt: skip
