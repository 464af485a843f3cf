"""Intermediate values of the running model, in the shapes of the optimized graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..driver import Compiled
from ..emit_llvm.jit import JitModel


class ObservedModel:
    """A model compiled into this process that shows every value that has memory.

    A value may lie inside of a larger buffer, with a halo of zeros around it: the halo is cut off. Narrow types, which
    kernels see as integers, are themselves.
    """

    def __init__(self, compiled: Compiled) -> None:
        program = compiled.program
        values = {value.name: value for value in compiled.optimized.values()}
        self._parts = {
            name: tuple(slice(at, at + extent) for at, extent in zip(begin, values[name].shape, strict=True))
            for name, begin in program.framed.items()
            if name in values
        }
        self._narrow = {name: value.dtype.numpy for name, value in values.items() if value.dtype.is_narrow}
        taps = {**program.taps, **{name: name for name in self._parts}}
        self._jit = JitModel(replace(program, taps=taps), compiled.machine)

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """All values by name, outputs among them."""
        found = self._jit.observe(inputs)
        return {
            name: array[self._parts.get(name, ...)].view(self._narrow.get(name, array.dtype))
            for name, array in found.items()
        }
