"""Small graphs on emulated machines: the C that is emitted for them gives the bytes of the operators' definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from ccml.artifact.emit import Emit
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.ir.graph import Graph
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.artifacts.built import run_artifact

HOST = (host_machine(), select("x86"), select("generic"))
CORES = (select("cortex-m4"), select("cortex-m0"), select("cortex-m55"))

Feeds = Sequence[Mapping[str, np.ndarray]]


def assert_bits_in_process(graph: Graph, feeds: Feeds) -> None:
    """LLVM's code for this machine."""
    optimized = optimize(graph)
    model = JitModel(lower_graph(optimized, host_machine()), host_machine())
    _compare(optimized, feeds, [model.run(dict(feed)) for feed in feeds])


def assert_bits(graph: Graph, feeds: Feeds, machine: Machine, folder: Path) -> None:
    """C by GCC, on ``machine`` or its emulation."""
    optimized = optimize(graph)
    program = lower_graph(optimized, machine)
    _compare(optimized, feeds, run_artifact(program, machine, Emit.C, folder, feeds))


def _compare(graph: Graph, feeds: Feeds, results: Sequence[Mapping[str, np.ndarray]]) -> None:
    for feed, found in zip(feeds, results, strict=True):
        values = evaluate_graph(graph, feed)
        for value in graph.outputs:
            np.testing.assert_array_equal(found[value.name], values[value.name])
