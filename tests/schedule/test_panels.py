"""Weights in panels: kernels for all processors of an ABI read the same ones, whatever their blocks are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.driver import compile_model, lower_levels
from ccml.schedule.blocking import Blocking, panel_width
from ccml.targets import select
from ccml.targets.target import CacheSets, Dot, ElementKind
from ccml.targets.x86 import V2, V3, V4
from onnx import TensorProto
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from onnx.numpy_helper import from_array

F = ElementKind.F32
PANEL = 16
CACHE = CacheSets(period=4096, ways=8, refill=32.0)
CPU = replace(V3, panel=PANEL, sets=CACHE)


def blocking(rows: int, vectors: int, lanes: int = 8, name: str = "fma") -> Blocking:
    return Blocking(Dot(name, lanes, 1, F, F, F), rows, vectors, 1, 1)


@pytest.mark.parametrize(
    ("block", "columns", "expected"),
    [
        (blocking(6, 2), 64, 16),
        (blocking(6, 1), 64, 16),
        (blocking(6, 2), 8, 8),
        (blocking(6, 2), 9, 16),
        (blocking(6, 1, lanes=4), 3, 4),
        (blocking(14, 2, lanes=16), 3, 16),
    ],
)
def test_width_of_panels(block: Blocking, columns: int, expected: int) -> None:
    assert panel_width(CPU, block, columns, depth=1024) == expected


def test_blocks_that_end_within_a_panel_have_their_own_weights_where_those_of_panels_do_not_stay() -> None:
    # Two panels of 16 floats for each of 128 steps are half of 32 KiB; 12 products take 6 cycles.
    assert panel_width(CPU, blocking(4, 3), 48, depth=128) == PANEL
    assert panel_width(CPU, blocking(4, 3), 48, depth=129) == 0
    assert panel_width(CPU, blocking(1, 3), 48, depth=129) == PANEL
    assert panel_width(CPU, blocking(4, 3, name="mul+add"), 48, depth=129) == PANEL


def test_no_panels_without_vectors_or_where_they_are_not_whole() -> None:
    assert panel_width(CPU, blocking(6, 2, lanes=1), 64, depth=8) == 0
    assert panel_width(replace(CPU, panel=12), blocking(6, 2), 64, depth=8) == 0
    assert panel_width(replace(CPU, panel=0), blocking(6, 2), 64, depth=8) == 0


@pytest.mark.parametrize("columns", [1, 5, 17, 96])
def test_levels_share_weights(tmp_path: Path, columns: int) -> None:
    weights = np.random.default_rng(0).normal(size=(80, columns)).astype(np.float32)
    graph = make_graph(
        [make_node("MatMul", ["x", "w"], ["y"])], "g",
        [make_tensor_value_info("x", TensorProto.FLOAT, [30, 80])],
        [make_tensor_value_info("y", TensorProto.FLOAT, [30, columns])],
        [from_array(weights, "w")],
    )  # fmt: skip
    path = tmp_path / "product.onnx"
    path.write_bytes(make_model(graph, opset_imports=[make_opsetid("", 17)]).SerializeToString())
    levels = lower_levels(compile_model(path, select("x86")))
    assert [level.machine.cpu for level in levels] == [V4, V3, V2]
    wide = [level for level in levels if columns > PANEL // 2 or level.machine.cpu is not V4]
    packed = [_weights(level.program.constants) for level in wide]
    assert {array.tobytes() for array in packed} == {packed[0].tobytes()}


def _weights(constants: dict[str, np.ndarray]) -> np.ndarray:
    found = [array for array in constants.values() if array.ndim > 1]
    assert len(found) == 1
    return found[0]
