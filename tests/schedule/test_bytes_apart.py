"""Sums of bytes where an instruction multiplies pairs of halfwords: four bytes of activations are taken apart in a
vector, weights while compiling or, where they are read once, in each step."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import lower_graph
from ccml.schedule.blocking import Product
from ccml.schedule.dots import parts_apart, usable_dots
from ccml.targets import Machine, select
from ccml.targets.target import ElementKind

from tests.artifacts.machines import V2, V3, machine_id, runs_here
from tests.schedule.assembly import Compiled, by_gcc, by_llvm, innermost
from tests.schedule.graphs import integer_conv_graph, random_inputs
from tests.schedule.test_generators import INTEGER_CONVS
from tests.tools import needs

V4 = select("x86", cpu="x86-64-v4")
HERE = [pytest.param(machine, marks=runs_here(machine), id=machine_id(machine)) for machine in (V2, V3, V4)]
BYTES = (DType.I8, DType.U8)


def chosen(machine: Machine, activation: DType, rows: int) -> ElementKind:
    """How weights of a product of ``rows`` rows by 512 columns and 1,024 k are packed."""
    dots = usable_dots(machine.cpu, activation, np.dtype(np.int8))
    return Product(dots, rows, 512, (1024,)).cheapest(machine.cpu).dot.weight


@pytest.mark.parametrize("activation", BYTES)
@pytest.mark.parametrize("machine", [V2, V3, V4], ids=machine_id)
def test_weights_that_are_read_once_stay_bytes(machine: Machine, activation: DType) -> None:
    assert chosen(machine, activation, 1) is ElementKind.I8
    assert chosen(machine, activation, 196) is ElementKind.I16


def test_even_places_of_a_group_come_before_odd_ones() -> None:
    """Two groups of four weights of one column, in one block."""
    dot = next(dot for dot in V3.cpu.dots if dot.parts == 2 and dot.weight is ElementKind.I16)
    groups = np.arange(8, dtype=np.int16).reshape(2, 4, 1, 1)
    assert parts_apart(dot, groups).reshape(4, 2).tolist() == [[0, 2], [1, 3], [4, 6], [5, 7]]


SHAPES = {
    f"{depth} k, {rows} rows, {columns} columns": ((1, 1, rows, depth), (columns, 1, 1, depth))
    for depth in (1, 2, 3, 4, 5, 7, 8, 33)
    for rows, columns in ((1, 24), (1, 3), (9, 17), (2, 64))
}


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("machine", HERE)
def test_all_depths_are_exact(machine: Machine, dtype: DType) -> None:
    """Groups that are whole, that end before the last k, and that there are none of."""
    for name, (x, weights) in SHAPES.items():
        graph = integer_conv_graph(x, weights, dtype=dtype, zero_point=5)
        inputs = random_inputs(graph)
        expected = evaluate_graph(graph, inputs)[graph.outputs[0].name]
        actual = JitModel(lower_graph(graph, machine), machine).run(inputs)[graph.outputs[0].name]
        np.testing.assert_array_equal(actual, expected, name)


@pytest.mark.parametrize("compiled", [by_llvm, pytest.param(by_gcc, marks=needs("gcc"))], ids=["llvm", "gcc"])
@pytest.mark.parametrize("machine", [V2, V3], ids=machine_id)
def test_bytes_never_go_through_other_registers(machine: Machine, compiled: Compiled, tmp_path: Path) -> None:
    """In loops that multiply, four bytes of activations are loaded as a word, LLVM has it in a vector register at once,
    and two instructions take it apart: no byte is moved elsewhere."""
    text = compiled(lower_graph(INTEGER_CONVS["unsigned"], machine), machine, tmp_path)
    loops = [loop for loop in innermost(text.splitlines()) if any("pmaddwd" in line for line in loop)]
    assert loops
    for line in (line for loop in loops for line in loop):
        assert not re.search(r"\b(movz[bw]\w*|v?pinsr\w|and[bl])\s", line), line
        assert compiled is by_gcc or not re.search(r"\bv?movd\s+%[er]", line), line
