"""TopK of short lines by vectors: the order of the heap, of all elements that have keys, at all extents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.frontend_onnx import import_model
from ccml.ir.loops import Select, Store
from ccml.ir.loops_rewrite import walk_stmts
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import select

from tests.frontend_onnx.graphs import one_node
from tests.schedule.top_k_order import check_order, with_specials

CASES = [
    ((2, 64, 37), 1, 5), ((2, 40, 64), 2, 5), ((3, 24, 20), 2, 1), ((20, 7, 33), 0, 3), ((35, 90), 1, 16),
    ((19, 8), 1, 8), ((1, 19, 50), 2, 8), ((5, 4), 1, 2), ((16, 70), 0, 7), ((18, 1), 1, 1), ((1, 19), 0, 1),
    ((17, 3000), 1, 2),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "axis", "k"), CASES)
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint8, np.int32])
def test_order(shape: tuple[int, ...], axis: int, k: int, largest: int, dtype: type[Any]) -> None:
    rng = np.random.default_rng(4)
    check_order(with_specials(rng, rng.integers(0, 7, shape).astype(dtype)), axis, k, largest)


@pytest.mark.parametrize(("target", "cpu"), [("x86", "x86-64-v4"), ("x86", "x86-64-v3"), ("linux-arm64", "armv8-a")])
@pytest.mark.parametrize("axis", [1, 2])
def test_lines_are_lanes(target: str, cpu: str, axis: int) -> None:
    proto, _ = one_node("TopK", [np.zeros((2, 48, 64), np.float32), np.array([3])], 13, [1], axis=axis, outputs=2)
    machine = select(target, cpu=cpu)
    found = next(k for k in lower_graph(optimize(import_model(proto)), machine).kernels if k.name.startswith("top_k"))
    moved = [s for s in walk_stmts(found.body) if isinstance(s, Store) and isinstance(s.value, Select)]
    assert moved and all(stmt.value.type.lanes > 1 for stmt in moved)
