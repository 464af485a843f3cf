"""A model that runs in this process."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import numpy as np

from .driver import Compiled
from .emit_llvm.jit import JitModel, StateMemory
from .errors import CcmlError, ErrorCode
from .samples import ONLY_INPUT, Samples

log = logging.getLogger(__name__)


class LoadedModel:
    """A model compiled into this process by :func:`ccml.load`. It may be run from several threads.

    Where inputs and outputs are states (``ModelOptions.states``), each run goes on where the one before ended.
    """

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        log.info("compiling for this machine (%s)", compiled.machine.cpu.name)
        self._jit = JitModel(compiled.program, compiled.machine)

    def run(
        self, inputs: Mapping[str, np.ndarray] | np.ndarray, state: StateMemory | None = None
    ) -> dict[str, np.ndarray]:
        """The outputs by their ONNX names, for inputs by theirs, of exactly the model's types and shapes.

        Where the model has one input, its array alone will do, or the name ``input``. The run updates ``state``, or the
        one that the model keeps itself. Raises ``BAD_INPUT`` that names the tensor that is missing, not known, or of
        another type or shape.
        """
        return self._jit.run(self._named(inputs), state)

    def run_samples(self, samples: Samples) -> dict[str, np.ndarray]:
        """The outputs by name for several samples, stacked as the inputs are. Where the model has states, the samples
        are the steps of one sequence, which begins anew."""
        state = self.new_state()
        return samples.joined([self._jit.run(inputs, state) for inputs in samples])

    def new_state(self) -> StateMemory:
        """States of a sequence beside that of the model, with their first values: ``values`` are arrays by the names of
        the inputs, ``reset`` begins anew."""
        return StateMemory(self.compiled.program)

    def reset(self) -> None:
        """Gives the states that the model keeps itself their first values."""
        self._jit.state.reset()

    def observe(self, inputs: Mapping[str, np.ndarray] | np.ndarray) -> dict[str, np.ndarray]:
        """The outputs and every intermediate value that has memory of its own, in the layout that it has inside.

        ``inputs`` are as for :meth:`run`.
        """
        return self._jit.observe(self._named(inputs))

    def _named(self, inputs: Mapping[str, np.ndarray] | np.ndarray) -> Mapping[str, np.ndarray]:
        """``inputs`` by the names that the model has for them."""
        names = [side.name for side in self.compiled.program.tensors]
        given = inputs if isinstance(inputs, Mapping) else {ONLY_INPUT: inputs}
        if len(names) == 1 and list(given) == [ONLY_INPUT]:
            return {names[0]: given[ONLY_INPUT]}
        if not isinstance(inputs, Mapping):
            listed = ", ".join(names) or "none"
            reason = f"a single array fits a model with one input; this one has {len(names)}"
            raise CcmlError(ErrorCode.BAD_INPUT, reason, hint=f"give a dict of arrays by name; the inputs: {listed}")
        return inputs
