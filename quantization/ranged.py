"""Models of which each run has extents of its own: quantized with those of the calibration data as bounds, where no
element is beyond them, and then given the bounds that were asked for.

Both graphs are made of the same operators by the same names; what differs are shapes, attributes that tell shapes, and
constants that follow from shapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import numpy as np

from ..driver import PathLike, Source, read
from ..errors import CcmlError, ErrorCode
from ..frontend_onnx.dims import Range
from ..ir.extents import Extent, axes_of, filled
from ..ir.graph import Graph, Node, Value
from ..ops.table import infer_types
from ..record import record
from ..samples import ONLY_INPUT, read_shapes
from .calibration import CalibrationData, Sample

if TYPE_CHECKING:
    from .sequences import States

_LEAST_BOUND = 2
"""Dimensions of one element are computed otherwise than longer ones."""


def extents_of(source: Source) -> tuple[Extent, ...]:
    """The extents of a model with the dimensions of its states, which a graph with states does not tell: each run has
    others of the old and of the new value."""
    if not source.graph.states or not source.graph.extents:
        return source.graph.extents
    return read(source.path, replace(source.options, states={})).graph.extents


def calibration_extents(graph: Graph, given: PathLike | Iterable[Sample] | None) -> dict[str, int]:
    """The extents that samples have, by the values that hold them; the bounds without samples, or where only states
    have them. The first of ``given`` samples, which are there a second time, tells them.

    Where a first dimension is ranged, the first axis of a file's arrays counts samples of one element there.
    Raises ``BAD_INPUT`` where inputs differ in what is one extent.
    """
    found: dict[str, tuple[int, str]] = {}
    tensors = _tensors(graph)
    shapes = _first_shapes(tensors, given)
    for value in tensors:
        sample = shapes.get(value.name, shapes.get(ONLY_INPUT) if len(tensors) == 1 else None)
        if sample is None:
            continue
        shape = _own_shape(sample, value, 0 in axes_of(graph.extents, value.name))
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


def _first_shapes(tensors: Sequence[Value], given: PathLike | Iterable[Sample] | None) -> dict[str, tuple[int, ...]]:
    """Of the first file or sample, by the names of inputs."""
    if given is None:
        return {}
    if not isinstance(given, (str, PurePath)):
        first = next(iter(given), {})
        return {name: np.shape(a) for name, a in (first if isinstance(first, Mapping) else {ONLY_INPUT: first}).items()}
    path = Path(given)
    if path.is_dir():
        files = {value.name: next(iter(sorted((path / value.name).glob("*.npy"))), None) for value in tensors}
        files = {**files, ONLY_INPUT: next(iter(sorted(path.glob("*.npy"))), None)}
        return {name: read_shapes(file)[ONLY_INPUT] for name, file in files.items() if file is not None}
    return {name.removeprefix("in:"): shape for name, shape in read_shapes(path).items()}


def _own_shape(shape: tuple[int, ...], value: Value, counted: bool) -> tuple[int, ...]:
    """Of a sample of the input: with samples along an axis of their own, or in place of a first dimension of one
    element, or ``counted`` by one of several; without such an axis the first dimension may be missing, too."""
    rank = value.type.rank
    if len(shape) == rank + 1:
        return shape[1:]
    if len(shape) == rank:
        return (1, *shape[1:]) if counted or value.shape[:1] == (1,) else shape
    if len(shape) == rank - 1:
        return (1, *shape)
    reason = f"expected {rank} dimensions, or {rank + 1} with samples along the first axis, got {list(shape)}"
    raise CcmlError(ErrorCode.BAD_INPUT, reason, loc=value.name)


def with_bounds_of(source: Source, extents: Sequence[Extent], sizes: Mapping[str, int]) -> Source:
    """``source`` with the extents of samples as bounds: ``sizes``, by the values that hold them. Raises ``BAD_INPUT``
    where a range does not hold them."""
    ranges: dict[str, Range] = {}
    for extent in extents:
        if extent.value not in sizes:
            continue
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


def with_states(graph: Graph, data: CalibrationData, states: States) -> CalibrationData:
    """Samples of the bounds' shapes with what they find in the states, and the extents that each has."""
    inputs = data.samples.inputs
    if graph.argument_extents:
        types = {value.name: value.type for value in graph.inputs}
        named = replace(data.samples, inputs={**inputs, **states.extents})
        rows = [filled(graph.extents, types, sample) for sample in named]
        inputs = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    found = states.stacked({value.name: value.shape for value in graph.inputs})
    return replace(data, samples=replace(data.samples, inputs={**inputs, **found}))


@record
class OwnOutputs:
    """Cuts outputs to the extents that all samples have: ``sizes``, by the values that hold them. Beside states samples
    are given with their own extents, by which outputs are dense; else the bounds are given as extents."""

    graph: Graph
    sizes: Mapping[str, int]

    def cut(self, name: str, array: np.ndarray) -> np.ndarray:
        return self._cut(name, array, 0)

    def cut_stacked(self, outputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Of outputs ``[samples, ...]``."""
        return {name: self._cut(name, array, 1) for name, array in outputs.items()}

    def _cut(self, name: str, array: np.ndarray, ahead: int) -> np.ndarray:
        axes = axes_of(self.graph.extents, name)
        if self.graph.states and name not in {state.output for state in self.graph.states}:
            return self._dense(axes, array, ahead)
        for axis, extent in axes.items():
            if extent.value in self.sizes and self.sizes[extent.value] < array.shape[ahead + axis]:
                array = np.take(array, np.arange(self.sizes[extent.value]), axis=ahead + axis)
        return array

    def _dense(self, axes: Mapping[int, Extent], array: np.ndarray, ahead: int) -> np.ndarray:
        if not axes or any(extent.value not in self.sizes for extent in axes.values()):
            return array
        outer, shape = array.shape[:ahead], list(array.shape[ahead:])
        for axis, extent in axes.items():
            shape[axis] = self.sizes[extent.value]
        return array.reshape(*outer, -1)[..., : prod(shape)].reshape(*outer, *shape)


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
        own = node.outputs[0].name.removesuffix(".float")  # an output that is stored as integers has its name
        before, after = (graph.producer(own) for graph in (self.small, self.large))
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
