"""Depthwise convolutions in blocks of two rows of outputs."""

from __future__ import annotations

import re

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel
from ccml.emit_llvm.objects import emit_assembly
from ccml.ir.graph import Graph
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import lower_graph
from ccml.program.goal import Goal, Optimize
from ccml.schedule.blocking import pieces
from ccml.schedule.depthwise_lanes import block_height
from ccml.targets import Machine, select

from tests.schedule.graphs import conv_graph, integer_conv_graph, random_inputs
from tests.schedule.test_winograd import levels

V3 = select("x86", cpu="x86-64-v3")
PAD = (1, 1, 1, 1)
WINDOWS = {
    "odd rows": ((1, 7, 9, 20), (3, 3), (1, 1), PAD, (1, 1)),
    "one row": ((1, 1, 6, 8), (3, 3), (1, 1), PAD, (1, 1)),
    "steps of two": ((2, 10, 11, 12), (3, 3), (2, 2), (0, 0, 1, 1), (1, 1)),
    "steps of three down": ((1, 13, 8, 9), (3, 3), (3, 1), PAD, (1, 1)),
    "rows that share nothing": ((1, 9, 8, 9), (1, 3), (1, 1), (0, 1, 0, 1), (1, 1)),
    "dilated rows": ((1, 11, 9, 16), (3, 3), (1, 1), (2, 1, 2, 1), (2, 1)),
    "dilated rows, even steps": ((1, 14, 9, 16), (3, 2), (2, 1), (2, 0, 2, 1), (2, 1)),
    "tall kernel": ((1, 12, 6, 24), (5, 2), (1, 1), (2, 0, 2, 1), (1, 1)),
    "wide kernel": ((1, 6, 12, 24), (3, 7), (1, 2), (1, 3, 1, 3), (1, 1)),
}  # fmt: skip


def graphs() -> dict[str, Graph]:
    found = {}
    for name, (x, kernel, stride, pad, dilation) in WINDOWS.items():
        channels = x[-1]
        shape = (channels, *kernel, 1)
        options = {"stride": stride, "pad": pad, "dilation": dilation, "group": channels}
        found[f"floats, {name}"] = conv_graph(x, shape, epilogue=["relu"], **options)  # type: ignore[arg-type]
        found[f"bytes, {name}"] = integer_conv_graph(x, shape, dtype=DType.U8, zero_point=9, **options)  # type: ignore[arg-type]
    found["bytes, volume"] = integer_conv_graph(
        (1, 4, 5, 6, 12), (12, 2, 3, 3, 1), stride=(1, 1, 1), pad=(0, 1, 1, 1, 1, 1), dilation=(1, 1, 1), group=12
    )
    return found


GRAPHS = graphs()


@pytest.mark.parametrize("machine", levels(), ids=lambda m: m.cpu.name)
@pytest.mark.parametrize("name", GRAPHS)
def test_results(name: str, machine: Machine) -> None:
    graph = GRAPHS[name]
    inputs, (output,) = random_inputs(graph), graph.outputs
    found = JitModel(lower_graph(graph, machine), machine).run(inputs)[output.name]
    expected = evaluate_graph(graph, inputs)[output.name]
    if output.dtype.is_float:
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    else:
        np.testing.assert_array_equal(found, expected)


def conversions(goal: Goal) -> float:
    """Vectors of bytes that are brought into floats for each fused multiply-add of a layer of 3x3 taps."""
    graph = integer_conv_graph((1, 16, 16, 32), (32, 3, 3, 1), group=32, pad=PAD, dtype=DType.U8)
    text = emit_assembly(lower_graph(graph, V3, goal), V3)
    return len(re.findall(r"\bvcvtdq2ps\b", text)) / len(re.findall(r"\bvfmadd\w+ps\b", text))


def test_what_both_rows_see_is_converted_once() -> None:
    """Of 4 x 2 outputs 6 x 4 inputs, of 4 outputs 6 x 3."""
    assert conversions(Goal()) == pytest.approx(6 * 4 / (9 * 8))
    assert conversions(Goal(optimize=Optimize.RAM)) == pytest.approx(6 * 3 / (9 * 4))


def test_weights_leave_room_for_two_rows() -> None:
    """Of 16 registers: 2 x 4 sums, two rows of three weights, and an input; not of five."""
    assert block_height(V3.cpu, 4, (3, 3), stride=1, dilation=1, registers=1) == 2
    assert block_height(V3.cpu, 4, (5, 5), stride=1, dilation=1, registers=1) == 1
    assert block_height(V3.cpu, 4, (3, 3), stride=1, dilation=1, registers=2) == 1
    assert block_height(V3.cpu, 4, (3,), stride=1, dilation=1, registers=1) == 1


def test_pieces() -> None:
    assert pieces(7, 3) == [(0, 2, 3), (6, 1, 1)]
    assert pieces(6, 3) == [(0, 2, 3)]
    assert pieces(2, 3) == [(0, 1, 2)]
