"""Intermediate values of the running model, in the shapes of the optimized graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..driver import Compiled
from ..emit_llvm.jit import JitModel
from ..ir.graph import Graph, Value
from ..schedule.borders import anchor_of, needed_halo
from ..schedule.tensors import Halo


class ObservedModel:
    """A model compiled into this process that shows every value that has memory.

    A value may lie inside of a larger buffer, with a halo of zeros around it: the halo is cut off.
    """

    def __init__(self, compiled: Compiled) -> None:
        program = compiled.program
        halos = _halos(compiled.optimized)
        self._parts: dict[str, Halo] = {}
        taps = dict(program.taps)
        for value in compiled.optimized.values():
            halo = halos.get(value.name)
            buffer = program.buffers.get(value.name)
            if halo is not None and buffer is not None and halo.padded(value.shape) == buffer.shape:
                taps[value.name] = value.name
                self._parts[value.name] = halo
        self._jit = JitModel(replace(program, taps=taps), compiled.machine)

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """All values by name, outputs among them."""
        found = self._jit.observe(inputs)
        return {name: self._part(name, array) for name, array in found.items()}

    def _part(self, name: str, array: np.ndarray) -> np.ndarray:
        halo = self._parts.get(name)
        if halo is None:
            return array
        ends = [extent - after for extent, after in zip(array.shape, halo.after)]
        return array[tuple(slice(begin, end) for begin, end in zip(halo.before, ends))]


def _halos(graph: Graph) -> dict[str, Halo]:
    """The zeros that the convolutions behind each value want to find around it."""
    found: dict[str, Halo] = {}
    for node in graph.nodes:
        anchor = anchor_of(node)
        image: Value | None = anchor.inputs[0] if anchor is not None and anchor.op == "conv" else None
        if anchor is None or image is None or anchor.attrs["layout"] != "channels_last":
            continue
        halo = needed_halo(anchor)
        if not halo.empty:
            found[image.name] = found.get(image.name, Halo.none(len(image.shape))).merge(halo)
    return found
