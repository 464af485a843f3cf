"""Resize of images with channels first: columns for a vector of results are lanes of two vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.frontend_onnx import import_model
from ccml.ir.program import Program
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.program.goal import Goal
from ccml.targets import select
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from tests.frontend_onnx.graphs import one_node

V4 = select("x86", cpu="x86-64-v4")
PICKS = "pick_words" in host_machine().cpu.features
HALF, ALIGNED, WHOLE = "half_pixel", "align_corners", "asymmetric"


def resize(shape: tuple[int, ...], size: tuple[int, ...], **attrs: Any) -> tuple[ModelProto, dict[str, np.ndarray]]:
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    inputs = [x, None, None, np.array(size, np.int64)]
    return one_node("Resize", inputs, 19, [3], **attrs)


def generators(program: Program) -> set[str]:
    return {call.generator for call in program.calls}


@pytest.mark.parametrize(("shape", "size", "mode", "transform"), [
    ((1, 3, 17, 23), (1, 3, 40, 61), "linear", HALF), ((2, 2, 9, 16), (2, 2, 10, 32), "linear", ALIGNED),
    ((1, 1, 20, 40), (1, 1, 30, 33), "linear", HALF), ((1, 2, 12, 31), (1, 2, 25, 80), "cubic", HALF),
    ((1, 1, 5, 2), (1, 1, 7, 19), "linear", HALF), ((1, 1, 9, 65), (1, 1, 14, 48), "linear", WHOLE),
    ((1, 1, 3, 9000), (1, 1, 4, 12000), "linear", HALF),
])  # fmt: skip
def test_values(shape: tuple[int, ...], size: tuple[int, ...], mode: str, transform: str) -> None:
    proto, feeds = resize(shape, size, mode=mode, coordinate_transformation_mode=transform)
    (wanted,) = ReferenceEvaluator(proto).run(None, feeds)
    program = lower_graph(optimize(import_model(proto)), host_machine())
    (got,) = JitModel(program).run(feeds).values()
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-4)
    assert not PICKS or "picked columns" in generators(program)


def test_the_same_bits_by_threads() -> None:
    proto, feeds = resize((1, 3, 64, 64), (1, 3, 150, 150), mode="linear")
    graph = optimize(import_model(proto))
    (wanted,) = JitModel(lower_graph(graph, host_machine())).run(feeds).values()
    model = JitModel(lower_graph(graph, host_machine(), Goal(threads=2)))
    with model.threads(2):
        (got,) = model.run(feeds).values()
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(("shape", "size"), [((1, 1, 8, 400), (1, 1, 8, 100)), ((1, 1, 8, 8), (1, 1, 8, 15))])
def test_columns_far_apart_and_few_results_have_other_loops(shape: tuple[int, ...], size: tuple[int, ...]) -> None:
    proto, _ = resize(shape, size, mode="linear")
    assert "picked columns" not in generators(lower_graph(optimize(import_model(proto)), V4))
