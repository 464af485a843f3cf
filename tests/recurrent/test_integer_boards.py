"""Integer recurrent layers on emulated boards: the bits of their meaning, by the C sources and by LLVM's objects."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ccml.artifact.emit import Emit
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.fuse import fuse
from ccml.program.build import lower_graph
from ccml.targets import select

from tests.artifacts.built import run_artifact
from tests.schedule.test_int_recurrent import layer
from tests.tools import needs

LAYERS = {
    "int_lstm": {"weights": np.int8, "features": 6, "hidden": 11, "direction": "bidirectional", "lengths": True},
    "int_gru": {"weights": np.int16, "x": np.int8, "zero_point": 5, "features": 9, "hidden": 16},
    "int_rnn": {"weights": np.int8, "x": np.uint8, "zero_point": 131, "features": 1, "hidden": 3},
}


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("emit", [Emit.C, Emit.OBJECT], ids=lambda emit: emit.value)
@pytest.mark.parametrize("core", ["m0plus", "m3", "m4", "m55"])
@pytest.mark.parametrize("op", list(LAYERS))
def test_bits(op: str, core: str, emit: Emit, tmp_path: Path) -> None:
    graph, inputs = layer(op, **LAYERS[op])
    machine = select(core)
    (found,) = run_artifact(lower_graph(fuse(graph), machine), machine, emit, tmp_path, [inputs])
    expected = evaluate_graph(graph, inputs)
    for value in graph.outputs:
        np.testing.assert_array_equal(found[value.name], expected[value.name])
