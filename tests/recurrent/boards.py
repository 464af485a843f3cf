"""Many cases of the matrix as one model, on an emulated board."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from ccml.artifact.emit import Emit
from ccml.driver import compile_source, import_source
from ccml.targets import Machine
from onnx import compose, helper

from tests.artifacts.built import run_artifact
from tests.recurrent.matrix import TOLERANCE, Case, onnxruntime_results


def joined(cases: Sequence[Case]) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """One model of all cases, whose values have ``n_`` before their names for case n, and its inputs."""
    models = [compose.add_prefix(case.model(), f"{number}_") for number, case in enumerate(cases)]
    feeds = {f"{n}_{name}": array for n, case in enumerate(cases) for name, array in case.feeds().items()}
    parts = ("node", "input", "output", "initializer")
    nodes, inputs, outputs, constants = ([item for m in models for item in getattr(m.graph, part)] for part in parts)
    graph = helper.make_graph(nodes, "layers", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=models[0].opset_import, ir_version=10), feeds


def board_failures(cases: Sequence[Case], machine: Machine, folder: Path) -> list[str]:
    """What the objects for ``machine`` compute wrongly, under emulation. Float cases only."""
    model, feeds = joined(cases)
    expected = onnxruntime_results(model, feeds)
    program = compile_source(import_source(Path("layers.onnx"), model), machine).program
    (found,) = run_artifact(program, machine, Emit.OBJECT, folder, [feeds])
    worst = {name: float(np.abs(found[name] - wanted).max()) for name, wanted in expected.items()}
    return [
        f"{cases[int(name.split('_')[0])]} on {machine.name}: {name} is off by {error:.2g}"
        for name, error in worst.items()
        if not error <= TOLERANCE
    ]
