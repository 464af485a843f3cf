"""What the states of a model hold at each step of a sequence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..emit_llvm.jit import JitModel, host_machine
from ..ir.graph import Graph
from ..passes.pipeline import optimize
from ..program.build import lower_graph
from ..samples import Samples


def with_states(graph: Graph, samples: Samples) -> Samples:
    """``samples`` of the other inputs, which are the steps of one sequence, with arrays for the states of ``graph``:
    what each step finds there when the model runs."""
    model = JitModel(lower_graph(optimize(graph), host_machine()))
    found: dict[str, list[np.ndarray]] = {state.input: [] for state in graph.states}
    for inputs in samples:
        for name, values in found.items():
            values.append(model.state.values[name].copy())
        model.run(inputs)
    return replace(samples, inputs={**samples.inputs, **{name: np.stack(values) for name, values in found.items()}})
