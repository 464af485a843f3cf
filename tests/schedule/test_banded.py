"""Products with constant matrices that are mostly zeros: a band is added up, on machines where that is less."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.frontend_onnx import import_model
from ccml.ir.program import Program
from ccml.ir.steps import walk_calls
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.schedule.banded import band
from ccml.targets import select

from tests.frontend_onnx.compiled import compiled
from tests.frontend_onnx.graphs import one_node

M4, AVX512 = select("cortex-m4"), select("x86", cpu="x86-64-v4")


def triangles(rows: int, columns: int, dtype: type[Any] = np.float32) -> np.ndarray:
    """Each column has three elements, further down from column to column; the last one has none."""
    weights = np.zeros((rows, columns), dtype)
    for n in range(columns - 1):
        weights[n * (rows - 3) // columns :][:3, n] = (1, 2, 1)
    return weights


def program(x: np.ndarray, weights: np.ndarray, machine: Any) -> Program:
    proto, _ = one_node("MatMul", [x, weights], 13, [1])
    return lower_graph(optimize(import_model(proto)), machine)


def generators(built: Program) -> list[str]:
    return [call.generator for call in walk_calls(built.body)]


def test_band_holds_all_that_is_not_zero() -> None:
    weights = np.array([[0, 0, 0, 5], [0, 1, 0, 0], [2, 0, 0, 0], [3, 0, 0, 0]])
    start, rows = band(weights)
    rebuilt = np.zeros_like(weights)
    for n, (first, values) in enumerate(zip(start, rows)):
        rebuilt[first : first + len(values), n] = values
    np.testing.assert_array_equal(rebuilt, weights)
    assert rows.shape == (4, 2)


@pytest.mark.parametrize("machine", [M4, AVX512])
def test_narrow_bands_are_added_up_alone(machine: Any) -> None:
    x = np.zeros((2, 64), np.float32)
    assert generators(program(x, triangles(64, 9), machine)) == ["band"]
    assert generators(program(x, np.ones((64, 9), np.float32), machine)) != ["band"]


def test_vectors_take_what_is_little_more_whole() -> None:
    x = np.zeros((2, 24), np.float32)
    assert generators(program(x, triangles(24, 16), M4)) == ["band"]
    assert generators(program(x, triangles(24, 16), AVX512)) != ["band"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("shape", [(64,), (5, 64), (2, 3, 64)])
def test_results(dtype: type[Any], shape: tuple[int, ...]) -> None:
    """Exact: small whole numbers."""
    x = np.random.default_rng(0).integers(0, 50, shape).astype(dtype)
    weights = triangles(64, 9, dtype)
    proto, feeds = one_node("MatMul", [x, weights], 13, [1])
    np.testing.assert_array_equal(compiled(proto, feeds)[0], x @ weights)
