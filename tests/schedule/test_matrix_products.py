"""Contractions by instructions that multiply matrices: rows in pairs, and what is left over where nothing is whole."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from ccml.artifact.emit import Emit
from ccml.ir.graph import Graph
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.artifacts.built import run_artifact
from tests.artifacts.machines import machine_id
from tests.schedule.assembly import Compiled, by_gcc, by_llvm, innermost
from tests.schedule.graphs import integer_conv_graph, random_inputs
from tests.schedule.test_staged import matmul_graph
from tests.tools import needs

I8MM, DOTPROD, ARMV8 = (
    select("linux-arm64", cpu=cpu) for cpu in ("armv8.2-a-i8mm", "armv8.2-a-dotprod", "armv8-a")
)

GRAPHS: dict[str, Graph] = {
    **{
        f"{rows} rows of {depth}, {columns} columns": matmul_graph((rows,), depth, columns)
        for rows, depth, columns in (
            (1, 32, 8), (2, 8, 2), (3, 16, 5), (7, 24, 12), (8, 40, 9), (13, 64, 32), (6, 11, 7),
        )
    },
    "plain 3x3": integer_conv_graph((1, 8, 8, 16), (16, 3, 3, 16), pad=(1, 1, 1, 1)),
    "three channels": integer_conv_graph((1, 9, 9, 3), (8, 3, 3, 3), stride=(2, 2), pad=(0, 0, 1, 1)),
    "groups": integer_conv_graph((1, 5, 5, 32), (10, 3, 3, 16), group=2, pad=(1, 1, 1, 1)),
    "unsigned": integer_conv_graph((1, 8, 8, 16), (16, 3, 3, 16), pad=(1, 1, 1, 1), dtype=DType.U8, zero_point=128),
    "halfwords": integer_conv_graph((1, 5, 5, 16), (10, 1, 1, 16), dtype=DType.I16, zero_point=0),
    "dilation": integer_conv_graph((1, 9, 9, 16), (8, 3, 3, 16), dilation=(2, 2), pad=(2, 2, 2, 2)),
}


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
@pytest.mark.parametrize("machine", [I8MM, ARMV8], ids=machine_id)
@pytest.mark.parametrize(
    "route", [pytest.param(Emit.C, marks=pytest.mark.check, id="c"), pytest.param(Emit.OBJECT, id="llvm")]
)
def test_bytes_are_those_of_the_meaning(route: Emit, machine: Machine, tmp_path: Path) -> None:
    for number, (name, graph) in enumerate(GRAPHS.items()):
        inputs, output = random_inputs(graph), graph.outputs[0].name
        program = lower_graph(graph, machine)
        (found,) = run_artifact(program, machine, route, tmp_path / str(number), [inputs])
        np.testing.assert_array_equal(found[output], evaluate_graph(graph, inputs)[output], name)


PRODUCT = GRAPHS["13 rows of 64, 32 columns"]
COMPILED = pytest.mark.parametrize(
    "compiled", [by_llvm, pytest.param(by_gcc, marks=needs("aarch64-linux-gnu-gcc"))], ids=["llvm", "gcc"]
)


@COMPILED
def test_rows_meet_matrices(compiled: Compiled, tmp_path: Path) -> None:
    assert "smmla" in compiled(lower_graph(GRAPHS["plain 3x3"], I8MM), I8MM, tmp_path)


@COMPILED
def test_dot_products_take_activations_from_lanes(compiled: Compiled, tmp_path: Path) -> None:
    """Without an instruction that copies them to a vector first."""
    text = compiled(lower_graph(PRODUCT, DOTPROD), DOTPROD, tmp_path)
    assert "sdot" in text and len(re.findall(r"\bsdot\b.*\[\d\]", text)) == len(re.findall(r"\bsdot\b", text))


@COMPILED
def test_widened_products_take_activations_from_lanes(compiled: Compiled, tmp_path: Path) -> None:
    """Without dot products: both halves of a vector of halfwords by an element of another."""
    text = compiled(lower_graph(PRODUCT, ARMV8), ARMV8, tmp_path)
    lower = re.findall(r"\bsmlal\s+v\d+\.4s, v\d+\.4h, v\d+\.h\[\d\]", text)
    upper = re.findall(r"\bsmlal2\s+v\d+\.4s, v\d+\.8h, v\d+\.h\[\d\]", text)
    assert len(lower) == len(upper) >= 64 and "ldrsb" not in text


@COMPILED
@pytest.mark.parametrize("machine", [ARMV8, DOTPROD], ids=machine_id)
def test_depthwise_layers_multiply_halfwords(machine: Machine, compiled: Compiled, tmp_path: Path) -> None:
    graph = integer_conv_graph((1, 9, 9, 24), (24, 3, 3, 1), group=24, pad=(1, 1, 1, 1))
    text = compiled(lower_graph(graph, machine), machine, tmp_path)
    assert {"smlal", "smlal2"} <= set(re.findall(r"\b(smlal2?)\b", text))


@needs("aarch64-linux-gnu-gcc")
@pytest.mark.parametrize("machine", [ARMV8, DOTPROD], ids=machine_id)
def test_gcc_keeps_accumulators_in_registers(machine: Machine, tmp_path: Path) -> None:
    """Loops over k touch no stack and copy no vectors from general registers."""
    lines = by_gcc(lower_graph(PRODUCT, machine), machine, tmp_path).splitlines()
    found = ["\n".join(body) for body in innermost(lines) if sum("sdot" in x or "smlal" in x for x in body) >= 12]
    assert found
    assert not [body for body in found if re.search(r"\[sp|\bdup\b|\bumov\b", body)]
