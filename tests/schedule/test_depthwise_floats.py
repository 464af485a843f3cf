"""Depthwise layers of bytes whose sums are floats: whole numbers from the bias to the scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel
from ccml.emit_llvm.objects import emit_assembly
from ccml.ir.graph import Graph
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.schedule.graphs import integer_conv_graph, random_inputs
from tests.schedule.test_winograd import levels

V3 = select("x86", cpu="x86-64-v3")
PAD = (1, 1, 1, 1)


def depthwise(bias: int, **options: object) -> Graph:
    graph = integer_conv_graph((1, 7, 9, 20), (20, 3, 3, 1), group=20, pad=PAD, scale=1e-3, **options)  # type: ignore[arg-type]
    return replace(graph, constants={**graph.constants, "b": np.full(20, bias, np.int32)})


GRAPHS = {
    "small": depthwise(1234, dtype=DType.U8, zero_point=7),
    "a bias that floats do not hold": depthwise((1 << 24) + 1, dtype=DType.U8, zero_point=0),
    "a sum that floats do not hold": depthwise((1 << 24) - 999),
    "negative": depthwise(-(1 << 27) - 1),
    "residual": depthwise(-777, residual=True),
    "stride": depthwise(55, stride=(2, 2)),
}


@pytest.mark.parametrize("machine", levels(), ids=lambda m: m.cpu.name)
@pytest.mark.parametrize("name", GRAPHS)
def test_bytes(name: str, machine: Machine) -> None:
    graph = GRAPHS[name]
    inputs, (output,) = random_inputs(graph), graph.outputs
    found = JitModel(lower_graph(graph, machine), machine).run(inputs)[output.name]
    np.testing.assert_array_equal(found, evaluate_graph(graph, inputs)[output.name])


def test_sums_that_floats_hold_are_never_integers() -> None:
    assert "vcvttps2dq" not in emit_assembly(lower_graph(GRAPHS["small"], V3), V3)
    assert "vcvttps2dq" in emit_assembly(lower_graph(GRAPHS["a bias that floats do not hold"], V3), V3)
