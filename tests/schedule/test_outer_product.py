"""Matrix products over one element, with batches that broadcast and work behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.frontend_onnx import import_model
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import select

from tests.frontend_onnx.graphs import one_node

SHAPES = [((5, 1), (1, 37)), ((3, 4, 1), (1, 18)), ((2, 1, 7, 1), (3, 1, 16)), ((1, 1), (1, 1)), ((6, 1), (2, 1, 9))]


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("frozen", [[], [1]])
def test_products(a: tuple[int, ...], b: tuple[int, ...], dtype: type[Any], frozen: list[int]) -> None:
    """One rounding each, and so the same bits as NumPy's product."""
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in (a, b)]
    proto, feeds = one_node("MatMul", arrays, 13, frozen)
    (got,) = JitModel(lower_graph(optimize(import_model(proto)), host_machine())).run(feeds).values()
    np.testing.assert_array_equal(got, arrays[0] * arrays[1])


@pytest.mark.parametrize(("target", "cpu", "taken"), [("x86", "x86-64-v3", True), ("arm", "cortex-m4", False)])
def test_where_there_are_vectors(target: str, cpu: str, taken: bool) -> None:
    proto, _ = one_node("MatMul", [np.zeros((8, 1), np.float32), np.zeros((1, 40), np.float32)], 13)
    program = lower_graph(optimize(import_model(proto)), select(target, cpu=cpu))
    assert ("outer product" in {call.generator for call in program.calls}) == taken
