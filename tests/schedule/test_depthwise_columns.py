"""Depthwise layers of bytes whose rows one instruction adds up, and groups of bytes that are not whole."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from ccml.artifact.emit import Emit
from ccml.emit_llvm.objects import emit_assembly
from ccml.ir.graph import Graph
from ccml.ir.loops_text import print_kernel
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import lower_graph
from ccml.schedule.depthwise_columns import row_groups
from ccml.targets import Machine, select

from tests.artifacts.built import run_artifact
from tests.artifacts.machines import machine_id, runs_here
from tests.schedule.graphs import integer_conv_graph, random_inputs

VNNI = [select("x86", cpu=cpu) for cpu in ("x86-64-v3-vnni", "x86-64-v4-vnni")]


def depthwise(x: tuple[int, ...], kernel: tuple[int, ...], **options: object) -> Graph:
    return integer_conv_graph(x, (x[-1], *kernel, 1), group=x[-1], **options)  # type: ignore[arg-type]


UNSIGNED = {"dtype": DType.U8, "zero_point": 128}
GRAPHS: dict[str, Graph] = {
    "3x3": depthwise((1, 9, 9, 24), (3, 3), pad=(1, 1, 1, 1)),
    "unsigned": depthwise((1, 9, 9, 24), (3, 3), pad=(1, 1, 1, 1), **UNSIGNED),
    "5x5, stride 2": depthwise((2, 11, 11, 17), (5, 5), stride=(2, 2), pad=(2, 2, 2, 2), **UNSIGNED),
    "7x2": depthwise((1, 9, 6, 19), (7, 2), **UNSIGNED),
    "rows in time": depthwise((1, 24, 1, 32), (10, 1)),
    "rows in time, unsigned": depthwise((1, 23, 1, 40), (5, 1), **UNSIGNED),
    "4x3": depthwise((1, 9, 7, 16), (4, 3), stride=(2, 1), pad=(1, 1, 1, 1)),
    "2x1": depthwise((1, 4, 5, 8), (2, 1)),
    "dilation": depthwise((1, 9, 9, 20), (3, 3), dilation=(2, 3), pad=(2, 3, 2, 3)),
    "three channels": depthwise((1, 7, 7, 3), (3, 3), pad=(1, 1, 1, 1), **UNSIGNED),
    "one row of the kernel": depthwise((1, 3, 9, 16), (1, 3), pad=(0, 1, 0, 1)),
    "groups of 9 bytes": integer_conv_graph((1, 9, 9, 3), (8, 3, 3, 3), stride=(2, 2), pad=(0, 0, 1, 1), **UNSIGNED),
    "groups of 5 bytes": integer_conv_graph((1, 5, 6, 5), (17, 2, 2, 5), dilation=(1, 2)),
    "3 bytes": integer_conv_graph((1, 5, 6, 3), (9, 1, 1, 3)),
    "7 bytes of a row": integer_conv_graph((1, 5, 6, 7), (4, 1, 1, 7), **UNSIGNED),
}


@pytest.mark.parametrize(
    "machine", [pytest.param(machine, marks=runs_here(machine), id=machine_id(machine)) for machine in VNNI]
)
@pytest.mark.parametrize("route", [Emit.C, Emit.OBJECT], ids=["c", "llvm"])
def test_bytes_are_those_of_the_meaning(route: Emit, machine: Machine, tmp_path: Path) -> None:
    for number, (name, graph) in enumerate(GRAPHS.items()):
        inputs, output = random_inputs(graph), graph.outputs[0].name
        (found,) = run_artifact(lower_graph(graph, machine), machine, route, tmp_path / str(number), [inputs])
        np.testing.assert_array_equal(found[output], evaluate_graph(graph, inputs)[output], name)


def test_words_have_each_product_once() -> None:
    for taps, stride, height in product(range(1, 12), range(1, 4), range(1, 9)):
        groups = row_groups(taps, stride, height)
        assert all(group.first in group.rows and len(group.rows) <= 4 for group in groups)
        for output in range(height):
            seen = sorted(row for group in groups if output in group.outputs for row in group.rows)
            first = output * stride
            wanted = [row for row in seen if first <= row < first + taps]
            assert wanted == list(range(first, first + taps)), (taps, stride, height, output)


@pytest.mark.parametrize("machine", VNNI, ids=machine_id)
def test_outputs_share_words(machine: Machine) -> None:
    """Two outputs one below the other see four rows, whose bytes come side by side once."""
    kernel = lower_graph(depthwise((1, 10, 3, 16), (3, 3), **UNSIGNED), machine).kernels[0]
    text = print_kernel(kernel)
    assert "for o:4" in text
    assert text.count("let xv") == 3 and text.count(" = dot4_u8i8(") == 2 * 3


@pytest.mark.parametrize("machine", VNNI, ids=machine_id)
def test_rows_are_added_up_by_one_instruction(machine: Machine) -> None:
    text = emit_assembly(lower_graph(GRAPHS["unsigned"], machine), machine)
    assert "vpdpbusd" in text and not re.search(r"\bvfmadd", text)


@pytest.mark.parametrize("machine", VNNI, ids=machine_id)
def test_no_group_is_put_together_byte_by_byte(machine: Machine) -> None:
    assert "vpinsrb" not in emit_assembly(lower_graph(GRAPHS["groups of 9 bytes"], machine), machine)
