"""What the states of a model hold at each step of a sequence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..emit_llvm.jit import JitModel, host_machine
from ..ir.extents import Extent, axes_of
from ..ir.graph import Graph
from ..passes.pipeline import optimize
from ..program.build import lower_graph
from ..record import record


@record
class States:
    """The states that the runs of a sequence find, by the name of the input: an array for each run, of the extents that
    it has there. ``extents`` are those that no other input tells, ``[runs]``, by the inputs that hold them."""

    arrays: Mapping[str, Sequence[np.ndarray]]
    extents: Mapping[str, np.ndarray]

    @property
    def longest(self) -> dict[str, int]:
        """The greatest extents."""
        return {name: int(sizes.max()) for name, sizes in self.extents.items()}

    def stacked(self, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
        """States ``[runs, *shape]`` of greater shapes: beyond its extents each is repeated, or zero where it has no
        elements, so that what is there is like what a run finds."""
        return {n: np.stack([_repeated(a, shapes[n]) for a in found]) for n, found in self.arrays.items()}


def _repeated(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if not array.size:
        return np.zeros(shape, array.dtype)
    for axis, (size, bound) in enumerate(zip(array.shape, shape, strict=True)):
        if size != bound:
            array = np.take(array, np.arange(bound) % size, axis=axis)
    return array


def states_of(graph: Graph, extents: Sequence[Extent], samples: Iterable[Mapping[str, np.ndarray]]) -> States:
    """What each step finds in the states of ``graph``, where ``samples`` of the other inputs, of the extents that these
    have, are the steps of a sequence. Another one begins where a state becomes longer than its range allows.

    ``extents`` have the dimensions of states, too (``ranged.extents_of``).
    """
    model = JitModel(lower_graph(optimize(graph), host_machine()))
    free = {extent.value: extent for extent in model.program.free_extents}
    least = {name: extent.least for name, extent in free.items()}
    sizes = least
    arrays: dict[str, list[np.ndarray]] = {state.input: [] for state in graph.states}
    lengths: dict[str, list[int]] = {name: [] for name in free}
    for inputs in samples:
        given = {**inputs, **{name: np.asarray(size, np.int64) for name, size in sizes.items()}}
        told = {**model.program.filled(given)}
        for name, found in arrays.items():
            found.append(_within(extents, name, model.state.values[name], told))
        for name, size in sizes.items():
            lengths[name].append(size)
        told |= model.run(given)
        sizes = {name: _behind(graph, extents, name, told) for name in free}
        if any(size > free[name].bound for name, size in sizes.items()):
            model.state.reset()
            sizes = least
    return States(arrays, {name: np.array(found, np.int64) for name, found in lengths.items()})


def _within(extents: Sequence[Extent], name: str, array: np.ndarray, told: Mapping[str, np.ndarray]) -> np.ndarray:
    """A copy of the elements that a state has by the extents that are ``told``."""
    axes = axes_of(extents, name)
    ends = (int(told[axes[axis].value]) if axis in axes else size for axis, size in enumerate(array.shape))
    return array[tuple(map(slice, ends))].copy()


def _behind(graph: Graph, extents: Sequence[Extent], argument: str, told: Mapping[str, np.ndarray]) -> int:
    """What an argument of states is in the next run, by the extents of the new values."""
    outputs = {state.input: state.output for state in graph.states}
    dims = next(extent.dims for extent in extents if extent.value == argument)
    name, axis = next((outputs[name], axis) for name, axis in dims if name in outputs)
    extent = axes_of(extents, name).get(axis)
    if extent is not None:
        return int(told[extent.value])
    return next(value.shape[axis] for value in graph.outputs if value.name == name)
