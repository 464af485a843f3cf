"""The float model, compiled into this process, with its inner values to be seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from ..emit_llvm.jit import JitModel, host_machine
from ..ir.graph import Graph
from ..passes.eliminate_dead_code import eliminate_dead_code
from ..passes.pipeline import optimize
from ..program.build import lower_graph

Arrays = Mapping[str, np.ndarray]


class FloatModel:
    """``run`` gives the inputs and the values asked for. States are inputs like others."""

    def __init__(self, graph: Graph, names: Iterable[str]) -> None:
        given = {value.name for value in graph.inputs}
        wanted = set(names) - given
        shown = tuple(value for value in graph.values() if value.name in wanted)
        self._names = [value.name for value in shown]
        self._model: JitModel | None = None
        if shown:
            machine = host_machine()
            seen = eliminate_dead_code(replace(graph, outputs=shown, states=()))
            self._model = JitModel(lower_graph(optimize(seen), machine), machine)

    def run(self, inputs: Arrays) -> dict[str, np.ndarray]:
        if self._model is None:
            return dict(inputs)
        return {**inputs, **dict(zip(self._names, self._model.run(inputs).values(), strict=True))}
