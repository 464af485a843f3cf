"""Running float graphs on samples: by the definition of their operators, or compiled where that is worth it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

import numpy as np

from ..ir.graph import Graph
from ..ops.evaluate import evaluation_work
from ..ops.stacked import evaluate_stacked, in_batches
from ..record import record

Arrays = Mapping[str, np.ndarray]

_WORTH_COMPILING = 1 << 33
"""Work, as ``evaluation_work`` counts it, that takes NumPy about as long as a model takes to compile."""


class Runner(Protocol):
    """``batches`` gives, for inputs ``[samples, ...]``, batch by batch the inputs and the values that were asked for,
    ``[samples of the batch, ...]``."""

    def batches(self, inputs: Arrays) -> Iterator[Arrays]: ...


@record
class _Evaluated:
    graph: Graph
    names: tuple[str, ...]

    def batches(self, inputs: Arrays) -> Iterator[Arrays]:
        for some in in_batches(self.graph, inputs):
            yield {**some, **evaluate_stacked(self.graph, some, self.names, precise=True)}


def runner(graph: Graph, names: Iterable[str], runs: int) -> Runner:
    """What gives the values ``names`` in about ``runs`` runs: compiled code where compiling is worth it."""
    if not is_worth_compiling(runs * work_of(graph)):
        return _Evaluated(graph, tuple(names))
    from .float_model import FloatModel  # what generates and compiles code takes long to import

    return FloatModel(graph, names)


def work_of(graph: Graph) -> int:
    """Of one evaluation by the definition of the operators."""
    nodes = ((node, [value.type for value in node.outputs]) for node in graph.nodes)
    return sum(evaluation_work(node.op, node.inputs, types, node.attrs) for node, types in nodes)


def is_worth_compiling(work: int) -> bool:
    return work >= _WORTH_COMPILING
