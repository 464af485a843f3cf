"""The float model, compiled into this process, with its inner values to be seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from ..emit_llvm.jit import JitModel, host_machine
from ..ir.graph import Graph, Value
from ..passes.eliminate_dead_code import eliminate_dead_code
from ..passes.pipeline import optimize
from ..program.build import lower_graph

Arrays = Mapping[str, np.ndarray]


_MOST_RESULTS = 960
"""Of one compiled function: what calls it from here (ctypes) takes 1024 arguments at most."""


class FloatModel:
    """``run`` gives the inputs and the values asked for, as a whole, whatever their extents in a run. States are inputs
    like others."""

    def __init__(self, graph: Graph, names: Iterable[str]) -> None:
        given = {value.name for value in graph.inputs}
        wanted = set(names) - given
        shown = tuple(value for value in graph.values() if value.name in wanted)
        parts = [shown[begin : begin + _MOST_RESULTS] for begin in range(0, len(shown), _MOST_RESULTS)]
        self._models = [([value.name for value in part], _compiled(graph, part)) for part in parts]

    def run(self, inputs: Arrays) -> dict[str, np.ndarray]:
        found = dict(inputs)
        for names, model in self._models:
            found.update(zip(names, model.run(inputs).values(), strict=True))
        return found

    def batches(self, inputs: Arrays) -> Iterator[dict[str, np.ndarray]]:
        """Of inputs ``[samples, ...]``, one sample after the other, as stacks of one."""
        for number in range(len(next(iter(inputs.values())))):
            found = self.run({name: array[number] for name, array in inputs.items()})
            yield {name: array[np.newaxis] for name, array in found.items()}


def _compiled(graph: Graph, shown: tuple[Value, ...]) -> JitModel:
    machine = host_machine()
    seen = eliminate_dead_code(replace(graph, outputs=shown, states=(), extents=()))
    return JitModel(lower_graph(optimize(seen), machine), machine)
